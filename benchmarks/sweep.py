"""Every op beside torch, at three sizes, forward and backward: `python benchmarks/sweep.py`.

Prints torch's time over Adjoint's per op (above 1, Adjoint is faster) and the twenty worst. Measured as in run.py:
a process for each library, taking turns; the best of a few repetitions counts.
"""

import argparse
import fnmatch
import json
import time
from pathlib import Path

from run import LIBRARIES, Progress, Worker, describe, machine_lines
from sweep_cases import CASES, SIZES

SECONDS = 0.02  # about this long is one repetition
PAUSE = 0.02  # seconds between turns of large cases: idle threads of the other library go on spinning
LIMIT = 1.5  # slower than torch by more than this is worth a reason
COLUMNS = [f"{size} | {direction}" for size in SIZES for direction in ("forward", "backward")]


def measure(case, workers, repetitions):
    """Best seconds by library, or None for a case that a library does not have."""
    for worker in workers.values():
        if "error" in worker.ask(do="prepare", name=case.name, seconds=SECONDS):
            return None
    best = dict.fromkeys(workers, float("inf"))
    for _ in range(repetitions):
        for library, worker in workers.items():
            if case.group != "small":
                time.sleep(PAUSE)
            best[library] = min(best[library], worker.ask(do="time", name=case.name)["seconds"])
    return best


def table(ratios):
    """The ratios as Markdown, a line per op."""
    lines = ["| op | " + " | ".join(column.replace(" | ", ", ") for column in COLUMNS) + " |"]
    lines.append("|---|" + "---:|" * len(COLUMNS))
    for name, found in ratios.items():
        cells = (f"{found[column]:.2f}" if column in found else "-" for column in COLUMNS)
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def worst(times, count=20):
    """The cases in which Adjoint is slowest beside torch, with both times."""
    ranked = sorted(times.items(), key=lambda item: item[1]["torch"] / item[1]["adjoint"])
    for name, best in ranked[:count]:
        microseconds = {library: f"{best[library] * 1e6:.1f}" for library in LIBRARIES}
        yield (f"{best['torch'] / best['adjoint']:6.2f}x  {name}  "
               f"(adjoint {microseconds['adjoint']} µs, torch {microseconds['torch']} µs)")  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="PATTERN", help='ops by name, such as "linalg.*"')
    parser.add_argument("--repetitions", type=int, default=3, help="how often each case is timed (3)")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="also write the table to FILE")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every measured value to FILE")
    options = parser.parse_args()
    chosen = [
        case for case in CASES
        if not options.only or any(fnmatch.fnmatch(case.title, pattern) for pattern in options.only)
    ]  # fmt: skip
    if not chosen:
        parser.error(f"no op is called {' or '.join(options.only)}")
    workers = {library: Worker(library) for library in LIBRARIES}
    machine = machine_lines(describe(workers))
    progress = Progress(len(chosen))
    times, missing = {}, []
    for case in chosen:
        progress.begin(case.name)
        best = measure(case, workers, options.repetitions)
        if best is None:
            missing.append(case.name)
        else:
            times[case.name] = best
    for worker in workers.values():
        worker.close()
    progress.clear()

    ratios = {}
    for name, best in times.items():
        op, column = name.split(" | ", 1)
        ratios.setdefault(op, {})[column] = best["torch"] / best["adjoint"]
    slow = sum(best["adjoint"] > LIMIT * best["torch"] for best in times.values())
    lines = [*machine, "", *table(ratios)]
    print("\n".join(lines))
    print(f"\n{len(times)} cases; slower than torch by more than {LIMIT} times: {slow}. The worst:")
    print("\n".join(worst(times)))
    forward_missing = [name for name in missing if name.endswith("forward")]
    if forward_missing:
        print("\nnot in one of the libraries: " + ", ".join(sorted({name.split(" | ")[0] for name in forward_missing})))
    if options.markdown:
        options.markdown.write_text("\n".join(lines) + "\n")
    if options.json:
        options.json.write_text(json.dumps(times, indent=2) + "\n")


if __name__ == "__main__":
    main()
