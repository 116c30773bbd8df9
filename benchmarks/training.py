"""Whole training steps beside torch, with peak memory: `python benchmarks/training.py`.

The models and loops are those in `examples/`. Measured as in run.py: a process for each library, taking turns. Every
case has processes of its own, so that the peak of their resident set is that case's. Prints a table in Markdown.
"""

import argparse

from run import LIBRARIES, Progress, Worker, cells, describe, machine_lines, measure_case, show
from training_cases import CASES

HEADER = ["training step", *LIBRARIES, "torch / adjoint", *(f"peak, {library}" for library in LIBRARIES)]


def main():
    names = [case.name.removeprefix("train_") for case in CASES]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=names, help="measure these alone")
    parser.add_argument("--repetitions", type=int, default=10, help="how often each case is timed (10)")
    options = parser.parse_args()
    chosen = [case for case, name in zip(CASES, names, strict=True) if name in (options.only or names)]
    progress = Progress(len(chosen))
    lines = ["| " + " | ".join(HEADER) + " |", "|---|" + "---:|" * (len(HEADER) - 1)]
    for case in chosen:
        workers = {library: Worker(library) for library in LIBRARIES}
        machine = machine_lines(describe(workers))
        (item,) = measure_case(case, workers, options.repetitions, progress)
        peaks = [show(worker.ask(do="peak")["bytes"], "B") for worker in workers.values()]
        for worker in workers.values():
            worker.close()
        lines.append("| " + " | ".join([*cells(item)[:-1], *peaks]) + " |")
    progress.clear()
    print("\n".join([*lines, "", *(f"{line}." for line in machine)]))


if __name__ == "__main__":
    main()
