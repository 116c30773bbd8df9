"""A family of cases beside torch, as a table in Markdown: what distributions.py, foreach.py and overrides.py print.

Measured as in run.py: a process for each library, taking turns.
"""

import argparse

from run import LIBRARIES, Progress, Worker, cells, describe, machine_lines, measure_case


def main(cases, about, what="what"):
    """Measures the cases that the command line asks for; `about` is its help, `what` the title of the first column."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=[case.name for case in cases], help="measure these alone")
    parser.add_argument("--repetitions", type=int, default=10, help="how often each case is timed (10)")
    options = parser.parse_args()
    chosen = [case for case in cases if not options.only or case.name in options.only]
    workers = {library: Worker(library) for library in LIBRARIES}
    machine = machine_lines(describe(workers))
    progress = Progress(len(chosen))
    header = [what, *LIBRARIES, "torch / adjoint", "aim"]
    lines = ["| " + " | ".join(header) + " |", "|---|" + "---:|" * (len(header) - 1)]
    for case in chosen:
        (item,) = measure_case(case, workers, options.repetitions, progress)
        lines.append("| " + " | ".join(cells(item)) + " |")
    progress.clear()
    for worker in workers.values():
        worker.close()
    print("\n".join([*lines, "", *(f"{line}." for line in machine)]))
