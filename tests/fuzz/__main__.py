"""python -m tests.fuzz COUNT [SEED] [--only FAMILY]: runs so many calls and prints those that differ."""

import argparse
import collections
import faulthandler
import random
import re
import sys
import time

import torch

from . import calls, outcomes


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Fuzzed calls on torch and on adjoint.")
    parser.add_argument("count", type=int)
    parser.add_argument("seed", type=int, nargs="?", default=0)
    parser.add_argument("--only", choices=sorted(calls.TABLE), help="one family of calls")
    parser.add_argument("--trace", action="store_true", help="print every call before it runs: the last one crashed")
    parser.add_argument("--each", type=int, default=3, help="how many differences of one call are printed")
    options = parser.parse_args()
    faulthandler.enable()
    torch.set_num_threads(1)
    found, slow = collections.Counter(), []
    for seed in range(options.seed, options.seed + options.count):
        line = calls.line(random.Random(seed), options.only)
        if options.trace:
            print(line, file=sys.stderr, flush=True)
        start = time.perf_counter()
        reason = outcomes.problem(line)
        if time.perf_counter() - start > 0.2:
            slow.append(line)
        if reason:
            call = line.rpartition("r = ")[2]
            name = re.sub(r"^\(?\w+\)?\.", "", call).partition("(")[0]
            found[name] += 1
            if found[name] <= options.each:
                print(f"{line}\n    # {seed}: {reason}")
    print(f"{options.count} calls, {found.total()} differ:", dict(found.most_common()))
    for line in slow:
        print("slow:", line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
