"""Every op beside torch, at three sizes, forward and backward: `python benchmarks/sweep.py`.

Prints torch's time over Adjoint's per op (above 1, Adjoint is faster), the twenty worst, and what is slower than torch
by more than the limit, with the reason. Measured as in run.py: a process for each library, taking turns; the best of a
few repetitions counts, and a case that comes out slow is measured again at the end, and once more if it still does.
With --device cuda all tensors are on a GPU, which is waited for after each repetition.
"""

import argparse
import fnmatch
import json
import statistics
import time
from pathlib import Path

from run import LIBRARIES, Progress, Worker, describe, machine_lines
from sweep_cases import CASES, SIZES
from sweep_reasons import reason_of

SECONDS = 0.01  # about this long is one repetition
PATIENCE = 1.0  # seconds for the repetitions of one case, if they take long
PAUSE = 0.02  # seconds between turns of large cases: idle threads of the other library go on spinning
LIMIT = 1.5  # slower than torch by more than this is worth a reason
COLUMNS = [f"{size} | {direction}" for size in SIZES for direction in ("forward", "backward")]


def measure(case, workers, repetitions):
    """Best seconds by library, or None for a case that a library does not have."""
    for worker in workers.values():
        if "error" in worker.ask(do="prepare", name=case.name, seconds=SECONDS):
            return None
    best = dict.fromkeys(workers, float("inf"))
    start = time.perf_counter()
    for _ in range(repetitions):
        for library, worker in workers.items():
            if case.group != "small":
                time.sleep(PAUSE)
            best[library] = min(best[library], worker.ask(do="time", name=case.name)["seconds"])
        if time.perf_counter() - start > PATIENCE:
            break
    return best


def measure_all(cases, workers, repetitions):
    """Best seconds by case and library, and the cases that a library does not have."""
    progress = Progress(len(cases))
    times, missing = {}, []
    for case in cases:
        progress.begin(case.name)
        best = measure(case, workers, repetitions)
        if best is None:
            missing.append(case.name)
        else:
            times[case.name] = best
    progress.clear()
    return times, missing


def ratio(best):
    return best["torch"] / best["adjoint"]


def slow_cases(times):
    """The names of the cases beyond the limit, worst first."""
    return sorted(
        (name for name, best in times.items() if ratio(best) < 1 / LIMIT), key=lambda name: ratio(times[name])
    )


def table(times):
    """The ratios as Markdown, a line per op."""
    ratios = {}
    for name, best in times.items():
        op, column = name.split(" | ", 1)
        ratios.setdefault(op, {})[column] = ratio(best)
    lines = ["| op | " + " | ".join(column.replace(" | ", ", ") for column in COLUMNS) + " |"]
    lines.append("|---|" + "---:|" * len(COLUMNS))
    for name, found in ratios.items():
        cells = (f"{found[column]:.2f}" if column in found else "-" for column in COLUMNS)
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def worst(times, count=20):
    """The cases in which Adjoint is slowest beside torch, with both times, as Markdown."""
    lines = ["| op | size | direction | torch / adjoint | adjoint | torch |", "|---|---|---|---:|---:|---:|"]
    for name in sorted(times, key=lambda name: ratio(times[name]))[:count]:
        best = times[name]
        microseconds = " | ".join(f"{best[library] * 1e6:.1f} µs" for library in LIBRARIES)
        lines.append(f"| {name} | {ratio(best):.2f} | {microseconds} |")
    return lines


def reasons(times, device):
    """The slow cases by their reasons, as a Markdown list; first those that have none. (Of a GPU none are known.)"""
    groups = {}
    for name in slow_cases(times):
        why = None if device else reason_of(name)
        groups.setdefault(why, []).append(f"{name.replace(' | ', ', ')} ({ratio(times[name]):.2f})")
    if None in groups:
        groups = {None: groups.pop(None), **groups}
    return [f"- {why or '**no reason known**'}: {'; '.join(names)}" for why, names in groups.items()]


def page(machine, times, device):
    """A page such as docs/sweep.md: the machine, the worst, the slow ones with their reasons, the whole table."""
    slow = len(slow_cases(times))
    fast = sum(ratio(best) >= 1 for best in times.values())
    mean = statistics.geometric_mean(ratio(best) for best in times.values())
    return [
        "# Every op beside torch",
        "",
        "Torch's time over Adjoint's: above 1, Adjoint is faster. Each op on tensors of about 16, 65,536 and 4,194,304",
        "elements, forward alone and forward with backward. Written by",
        "",
        "```sh",
        f"python benchmarks/sweep.py {f'--device {device}' if device else '--page docs/sweep.md'}",
        "```",
        "",
        *(f"{line}." for line in machine),
        "",
        f"{len(times)} cases, {fast} of them at least as fast as in torch, in the geometric mean {mean:.1f} times; "
        f"slower than torch by more than {LIMIT} times: {slow}.",
        "",
        "## The worst twenty",
        "",
        *worst(times),
        "",
        f"## Slower than torch by more than {LIMIT} times, and why",
        "",
        *(reasons(times, device) or ["None."]),
        "",
        "## All",
        "",
        *table(times),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="PATTERN", help='ops by name, such as "linalg.*"')
    parser.add_argument("--size", action="append", choices=SIZES, help="cases of this size alone")
    parser.add_argument("--device", help='where the tensors are, such as "cuda" (the CPU)')
    parser.add_argument("--repetitions", type=int, default=3, help="how often each case is timed (3)")
    parser.add_argument("--page", type=Path, metavar="FILE", help="also write the page docs/sweep.md")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every measured value to FILE")
    options = parser.parse_args()
    chosen = [
        case for case in CASES
        if not options.only or any(fnmatch.fnmatch(case.title, pattern) for pattern in options.only)
        if not options.size or case.name.split(" | ")[1] in options.size
    ]  # fmt: skip
    if not chosen:
        parser.error(f"no op is called {' or '.join(options.only)}")
    workers = {library: Worker(library, device=options.device) for library in LIBRARIES}
    machine = machine_lines(describe(workers))
    times, missing = measure_all(chosen, workers, options.repetitions)
    for _ in range(2):
        slow = [case for case in chosen if case.name in slow_cases(times)]
        for name, best in measure_all(slow, workers, 2 * options.repetitions)[0].items():
            times[name] = {library: min(times[name][library], best[library]) for library in LIBRARIES}
    for worker in workers.values():
        worker.close()

    lines = page(machine, times, options.device)
    print("\n".join(lines))
    forward_missing = [name for name in missing if name.endswith("forward")]
    if forward_missing:
        print("\nnot in one of the libraries: " + ", ".join(sorted({name.split(" | ")[0] for name in forward_missing})))
    if options.page:
        options.page.write_text("\n".join(lines) + "\n")
    if options.json:
        options.json.write_text(json.dumps(times, indent=2) + "\n")


if __name__ == "__main__":
    main()
