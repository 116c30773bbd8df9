"""Calls that `__torch_function__` takes over, beside torch: `python benchmarks/overrides.py`.

Measured as in run.py: a process for each library, taking turns. Prints a table in Markdown.
"""

import argparse

from overrides_cases import CASES
from run import LIBRARIES, Progress, Worker, cells, describe, machine_lines, measure_case

HEADER = ["call", *LIBRARIES, "torch / adjoint", "aim"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=[case.name for case in CASES], help="measure these alone")
    parser.add_argument("--repetitions", type=int, default=10, help="how often each case is timed (10)")
    options = parser.parse_args()
    chosen = [case for case in CASES if not options.only or case.name in options.only]
    workers = {library: Worker(library) for library in LIBRARIES}
    machine = machine_lines(describe(workers))
    progress = Progress(len(chosen))
    lines = ["| " + " | ".join(HEADER) + " |", "|---|" + "---:|" * (len(HEADER) - 1)]
    for case in chosen:
        (item,) = measure_case(case, workers, options.repetitions, progress)
        lines.append("| " + " | ".join(cells(item)) + " |")
    progress.clear()
    for worker in workers.values():
        worker.close()
    print("\n".join([*lines, "", *(f"{line}." for line in machine)]))


if __name__ == "__main__":
    main()
