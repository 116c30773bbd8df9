"""What the comparison says: the three figures, the entries that disagree, docs/coverage.md and agreed.txt."""

import pathlib

from .entries import LEFT_OUT

HERE = pathlib.Path(__file__).parent
AGREED = HERE / "agreed.txt"
COVERAGE = HERE.parent.parent / "docs" / "coverage.md"
TITLES = {"forward": "forward", "gradient": "gradient", "second": "second gradient", "errors": "error inputs"}


def figures(results):
    """Level -> (entries that agree, entries that have the level)."""
    counts = {}
    for level in TITLES:
        having = [reasons[level] for reasons in results.values() if level in reasons]
        counts[level] = (sum(not reasons for reasons in having), len(having))
    return counts


def summary(results):
    """One line a figure."""
    lines = [f"{TITLES[level]:16} {n:4} of {of}" for level, (n, of) in figures(results).items() if level != "errors"]
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
    held = {name: [level for level, found in reasons.items() if not found] for name, reasons in results.items()}
    lines = ["# Entries of torch's operator database and where they agree; written by python -m tests.oracle --write"]
    lines += [f"{name}: {' '.join(levels)}" for name, levels in sorted(held.items()) if levels and levels != ["errors"]]
    AGREED.write_text("\n".join(lines) + "\n")
    COVERAGE.write_text("\n".join(coverage(results)) + "\n")


def coverage(results):
    """The lines of docs/coverage.md."""
    counts = figures(results)
    yield "# Coverage"
    yield ""
    yield "Adjoint against the operator database that ships with torch 2.13.0: the samples of every entry run in both"
    yield "libraries and are compared in structure, shape, dtype and values, then in first and second gradients; inputs"
    yield "that torch refuses must be refused. `tests/oracle` says what is compared; `python -m tests.oracle --write`"
    yield "wrote this table."
    yield ""
    for level in ("forward", "gradient", "second"):
        yield f"- {TITLES[level]}: {counts[level][0]} of {counts[level][1]}"
    yield ""
    yield "| op | forward | gradient | second gradient | error inputs | forward mode |"
    yield "|---|---|---|---|---|---|"
    for name, reasons in sorted(results.items()):
        if name not in LEFT_OUT:
            cells = [mark(reasons, level) for level in TITLES]
            yield f"| {name} | {' | '.join(cells)} | later |"
    yield ""
    yield "## Left out"
    yield ""
    yield "| op | reason |"
    yield "|---|---|"
    for name, reason in sorted(LEFT_OUT.items()):
        yield f"| {name} | {reason} |"


def mark(reasons, level):
    """One cell: yes, no with the reason, or a dash where torch has nothing to compare with."""
    if level not in reasons:
        return "-"
    if not reasons[level]:
        return "yes"
    return "no: " + reasons[level][0].replace("|", "\\|").replace("\n", " ")[:80]
