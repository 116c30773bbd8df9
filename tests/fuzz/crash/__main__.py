"""python -m tests.fuzz.crash COUNT [SEED]: so many fuzzed programs; prints what crashed, hung or failed internally."""

import argparse
import collections
import re
import sys
import time

from . import judge, workers

CALLED = re.compile(r"[\w.]+(?=\()")


class Report:
    """Prints each kind of finding once or twice, as lines to run, and counts the rest."""

    def __init__(self, seed, limits, most):
        self.seed, self.limits, self.most = seed, limits, most
        self.kinds = collections.Counter()

    def add(self, kind, text, index, lines, where, fails):
        self.kinds[kind, where] += 1
        if self.kinds[kind, where] > self.most:
            return
        alone = fails(lines)
        lines = workers.shortened(lines, fails) if alone else lines
        print(f"\n{kind}: {text}\n    {where}\n    python -m tests.fuzz.crash 1 {self.seed} --first {index}")
        print("    " + ("" if alone else "not by itself: ") + "; ".join(lines), flush=True)

    def ended(self, index, lines, ending):
        def fails(lines):
            return workers.run_lines(lines, self.limits)[1].problem == ending.problem

        last = lines[-1] if lines else ""
        called = CALLED.search(last.partition(" = ")[2] or last)
        where = f"{called[0] if called else last} {ending.where}"
        self.add(ending.problem, "" if ending.where else ending.log[-500:], index, lines, where, fails)

    def accident(self, index, lines, reason, text, where):
        def fails(lines):
            return any(found[::2] == (reason, where) for found in workers.run_lines(lines, self.limits)[0])

        self.add(reason, text, index, lines, where, fails)


def run(count, seed, first, limits, each, severe, chunk=500):
    """Runs programs first to first + count - 1; the number of kinds of findings, with `severe` of severe ones only."""
    shared, report = workers.Shared(), Report(seed, limits, each)
    totals, started, shown, index = collections.Counter(), time.monotonic(), time.monotonic(), first
    while index < first + count:
        last = min(index + chunk, first + count)
        accidents, ending = workers.run_programs(seed, index, last, shared, limits)
        for accident in accidents:
            if not severe or accident[2] not in judge.MILD:
                report.accident(*accident)
        if ending.problem:
            report.ended(shared.index, shared.lines, ending)
        index = shared.index + 1 if ending.problem else last
        totals.update(shared.take_counts())
        if time.monotonic() - shown > 10:
            shown = time.monotonic()
            rate = (index - first) / (shown - started)
            print(
                f"{index - first} of {count}, {rate:.0f} a second, {report.kinds.total()} findings",
                file=sys.stderr,
                flush=True,
            )
    kinds = collections.Counter()
    for (kind, _), times in report.kinds.items():
        kinds[kind] += times
    print(f"{count} programs of {totals.total()} lines:", *(f"{totals[name]} {name}," for name in workers.COUNTS))
    print(f"{report.kinds.total()} findings of {len(report.kinds)} kinds", dict(kinds))
    return len(report.kinds)


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.crash", description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("seed", type=int, nargs="?", default=0)
    parser.add_argument("--first", type=int, default=0, help="the first program's number")
    parser.add_argument("--each", type=int, default=1, help="how many findings of one kind are printed")
    parser.add_argument("--severe", action="store_true", help="crashes, hangs and internal errors of the core only")
    parser.add_argument("--memory", type=float, default=2.0, help="GiB of addresses for a process; 0: no limit")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long one line may take")
    options = parser.parse_args()
    limits = workers.Limits(int(options.memory * (1 << 30)), options.seconds)
    return 1 if run(options.count, options.seed, options.first, limits, options.each, options.severe) else 0


if __name__ == "__main__":
    sys.exit(main())
