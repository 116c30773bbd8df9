"""`python -m tests.oracle`: how far Adjoint agrees with torch's operator database, and where it does not."""

import argparse
import fnmatch
import sys
import time

from . import check, report
from .entries import entries
from .workers import check_all


def parse():
    parser = argparse.ArgumentParser(prog="python -m tests.oracle", description=__doc__)
    parser.add_argument("--only", nargs="+", default=["*"], metavar="PATTERN", help="entries by name, e.g. 'linalg.*'")
    parser.add_argument("--dtype", nargs="+", default=check.DTYPES, choices=check.DTYPES, help="only these types")
    parser.add_argument("--quick", action="store_true", help="few samples, as in the test that holds the line")
    parser.add_argument("--verbose", action="store_true", help="all reasons, and the time of slow entries")
    parser.add_argument("--write", action="store_true", help="write docs/coverage.md and tests/oracle/agreed.txt")
    parser.add_argument("--jobs", type=int, default=2, help="processes (2)")
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds for one entry (120)")
    arguments = parser.parse_args()
    if arguments.write and (arguments.only != ["*"] or arguments.dtype != check.DTYPES or arguments.quick):
        parser.error("--write needs a full run")
    return arguments


def main():
    arguments = parse()
    names = [name for name in entries() if any(fnmatch.fnmatch(name, pattern) for pattern in arguments.only)]
    plan = check.QUICK if arguments.quick else check.FULL
    results, times, start = {}, {}, time.monotonic()
    for name, reasons, seconds in check_all(names, plan, arguments.dtype, arguments.jobs, arguments.timeout):
        results[name], times[name] = reasons, seconds
        progress = f"{len(results)}/{len(names)} {time.monotonic() - start:.0f} s {name}"
        if sys.stderr.isatty():
            print(f"\r\033[K{progress}", end="", file=sys.stderr, flush=True)
        elif len(results) % 50 == 0:
            print(progress, file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    for line in report.disagreements(results, arguments.verbose):
        print(line)
    if arguments.verbose:
        for name in sorted(times, key=times.get, reverse=True)[:20]:
            print(f"{times[name]:6.1f} s  {name}")
    print("\n".join(report.summary(results)))
    if arguments.write:
        report.write(results)


if __name__ == "__main__":
    main()
