"""What the comparison says: the figures, the entries that disagree and why, docs/coverage.md and agreed.txt."""

import pathlib

from .entries import EXPLAINED, LEFT_OUT, NOTHING

HERE = pathlib.Path(__file__).parent
AGREED = HERE / "agreed.txt"
COVERAGE = HERE.parent.parent / "docs" / "coverage.md"
TITLES = {"forward": "forward", "gradient": "gradient", "second": "second gradient", "errors": "error inputs"}
TITLES["jvp"] = "forward mode"
FIGURES = ("forward", "gradient", "second", "jvp")


def figures(results):
    """Level -> (entries that agree, entries that have the level)."""
    counts = {}
    for level in TITLES:
        having = [reasons[level] for name, reasons in results.items() if is_compared(name, level, reasons)]
        counts[level] = (sum(not reasons for reasons in having), len(having))
    return counts


def is_compared(name, level, reasons):
    """Whether there is something to compare with."""
    asked = "gradient" if level == "jvp" else level
    return level in reasons and asked not in NOTHING.get(name, ())


def summary(results):
    """One line a figure."""
    counts = figures(results)
    lines = [f"{TITLES[level]:16} {counts[level][0]:4} of {counts[level][1]}" for level in FIGURES]
    careless = [name for name, reasons in results.items() if not reasons["forward"] and reasons["errors"]]
    lines.append(f"{'error inputs':16} accepted by {len(careless)} entries that agree forward")
    return lines


def disagreements(results, verbose=False):
    """A line for each level of each entry that does not agree, with the first reason or all."""
    for name, reasons in sorted(results.items()):
        told = set()
        for level, found in reasons.items():
            shown = [reason for reason in (found if verbose else found[:1]) if reason not in told]
            told.update(shown)
            for reason in shown:
                yield f"{name} [{TITLES[level]}] {reason}"


def agreed():
    """Name -> levels that agreed when agreed.txt was written."""
    pairs = (line.split(": ") for line in AGREED.read_text().splitlines() if line and not line.startswith("#"))
    return {name: levels.split() for name, levels in pairs}


def write(results):
    """Writes both files for a full run."""
    held = {
        name: [level for level, found in reasons.items() if not found and is_held(name, level, reasons)]
        for name, reasons in results.items()
    }
    lines = ["# Entries of torch's operator database and where they agree; written by python -m tests.oracle --write"]
    lines += [f"{name}: {' '.join(levels)}" for name, levels in sorted(held.items()) if levels and levels != ["errors"]]
    AGREED.write_text("\n".join(lines) + "\n")
    COVERAGE.write_text("\n".join(coverage(results)) + "\n")


def is_held(name, level, reasons):
    """Whether the test that holds the line looks at a level: tangents have one of their own."""
    return level != "jvp" and is_compared(name, level, reasons)


def coverage(results):
    """The lines of docs/coverage.md."""
    counts = figures(results)
    yield "# Coverage"
    yield ""
    yield "Adjoint against the operator database that ships with torch 2.13.0: the samples of every entry run in both"
    yield "libraries and are compared in structure, shape, dtype and values, then in first and second gradients and in"
    yield "tangents; inputs that torch refuses must be refused. `tests/oracle` says what is compared;"
    yield "`python -m tests.oracle --write` wrote this table."
    yield ""
    for level in FIGURES:
        yield f"- {TITLES[level]}: {counts[level][0]} of {counts[level][1]}"
    yield ""
    yield "These are the entries that have something to compare on a CPU."
    yield ""
    yield "## Where they differ"
    yield ""
    yield "| op | what | reason |"
    yield "|---|---|---|"
    for name, reasons in sorted(results.items()):
        levels = [level for level in TITLES if is_compared(name, level, reasons) and reasons[level]]
        if levels:
            told = EXPLAINED.get(name) or LEFT_OUT.get(name) or cell(reasons[levels[0]][0])
            yield f"| {name} | {', '.join(TITLES[level] for level in levels)} | {told} |"
    yield ""
    yield "## Nothing to compare"
    yield ""
    yield "| op | what | reason |"
    yield "|---|---|---|"
    for name, levels in sorted(NOTHING.items()):
        reason = LEFT_OUT.get(name, "torch has none on a CPU")
        yield f"| {name} | {', '.join(TITLES[level] for level in levels if level != 'errors')} | {reason} |"
    yield ""
    yield "## All entries"
    yield ""
    yield f"| op | {' | '.join(TITLES.values())} |"
    yield f"|---|{'---|' * len(TITLES)}"
    for name, reasons in sorted(results.items()):
        cells = [mark(name, reasons, level) for level in TITLES]
        yield f"| {name} | {' | '.join(cells)} |"


def mark(name, reasons, level):
    """One cell: yes, no, or a dash where torch has nothing to compare with."""
    if not is_compared(name, level, reasons):
        return "-"
    return "no" if reasons[level] else "yes"


def cell(reason):
    """A reason in a table."""
    return reason.replace("|", "\\|").replace("\n", " ")[:120]
