"""Two builds of Adjoint side by side: `python benchmarks/compare.py ../before`, a tree that is built in place.

Every case of run.py, training.py and sweep.py, each tree in a process of its own, taking turns; the best time counts. A
case that comes out slower is measured again, twice as often, and once more if it still does. Prints the cases in which
this tree is slower or faster than the other one by more than the limit, and the mean of all.
"""

import argparse
import fnmatch
import os
import statistics
from pathlib import Path

import sweep_cases
import training_cases
from cases import CASES
from run import Worker
from sweep import measure_all

HERE = Path(__file__).resolve().parent.parent


def start(tree):
    """A process that imports the Adjoint of this tree."""
    if not list((tree / "src" / "adjoint").glob("_C.*")):
        raise SystemExit(f"{tree}: expected a tree with the extension built in place; see CONTRIBUTING.md")
    return Worker("adjoint", {**os.environ, "PYTHONPATH": str(tree / "src")})


def lines(times, names):
    yield "| case | before | now | now / before |"
    yield "|---|---:|---:|---:|"
    for name in names:
        before, now = times[name]["before"], times[name]["now"]
        yield f"| {name.replace(' | ', ', ')} | {before * 1e6:.2f} µs | {now * 1e6:.2f} µs | {now / before:.2f} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path, help="the other tree")
    parser.add_argument("--only", action="append", metavar="PATTERN", help='cases by name, such as "softmax*"')
    parser.add_argument("--repetitions", type=int, default=5, help="how often each case is timed (5)")
    parser.add_argument("--limit", type=float, default=1.1, help="ratios beyond this are printed (1.1)")
    parser.add_argument("--all", action="store_true", help="print every case")
    options = parser.parse_args()
    chosen = [
        case for case in CASES + training_cases.CASES + sweep_cases.CASES
        if not options.only or any(fnmatch.fnmatch(case.name, pattern) for pattern in options.only)
    ]  # fmt: skip
    if not chosen:
        parser.error(f"no case is called {' or '.join(options.only)}")
    workers = {"before": start(options.tree.resolve()), "now": start(HERE)}
    times, _ = measure_all(chosen, workers, options.repetitions)

    def ratio(name):
        return times[name]["now"] / times[name]["before"]

    def slower():
        return sorted((name for name in times if ratio(name) > options.limit), key=ratio, reverse=True)

    for _ in range(2):
        again = [case for case in chosen if case.name in slower()]
        for name, best in measure_all(again, workers, 2 * options.repetitions)[0].items():
            times[name] = {tree: min(times[name][tree], best[tree]) for tree in workers}
    for worker in workers.values():
        worker.close()

    faster = sorted((name for name in times if ratio(name) < 1 / options.limit), key=ratio)
    mean = statistics.geometric_mean(ratio(name) for name in times)
    print(f"{len(times)} cases; in the geometric mean, now takes {mean:.3f} of the time before.")
    parts = {"All": times} if options.all else {"Slower": slower(), "Faster": faster}
    for title, names in parts.items():
        print(f"\n{title}: {len(names)}\n")
        print("\n".join(lines(times, names)))


if __name__ == "__main__":
    main()
