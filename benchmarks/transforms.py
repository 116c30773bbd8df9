"""Function transforms beside torch.func: `python benchmarks/transforms.py`.

Measured as in run.py: a process for each library, taking turns. Prints a table in Markdown. Where JAX is installed, a
column has the times of the same functions compiled by it, for information.
"""

import argparse
import importlib.util

from run import LIBRARIES, Progress, Worker, cells, describe, machine_lines, measure_case, show
from transforms_cases import CASES

HEADER = ["transform", *LIBRARIES, "torch / adjoint", "aim"]
JAX = "transforms_jax"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=[case.name for case in CASES], help="measure these alone")
    parser.add_argument("--repetitions", type=int, default=10, help="how often each case is timed (10)")
    options = parser.parse_args()
    chosen = [case for case in CASES if not options.only or case.name in options.only]
    with_jax = importlib.util.find_spec("jax") is not None
    workers = {library: Worker(library) for library in (*LIBRARIES, *[JAX] * with_jax)}
    machine = machine_lines(describe(workers))
    progress = Progress(len(chosen))
    header = [*HEADER, *["JAX, compiled"] * with_jax]
    lines = ["| " + " | ".join(header) + " |", "|---|" + "---:|" * (len(header) - 1)]
    for case in chosen:
        (item,) = measure_case(case, workers, options.repetitions, progress)
        jax = [show(min(item["values"][JAX]), "s")] if with_jax else []
        lines.append("| " + " | ".join([*cells(item), *jax]) + " |")
    progress.clear()
    for worker in workers.values():
        worker.close()
    print("\n".join([*lines, "", *(f"{line}." for line in machine)]))


if __name__ == "__main__":
    main()
