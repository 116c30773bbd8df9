"""python -m tests.cuda.sanitize [memcheck racecheck ...]: compute-sanitizer looks at every sample of the op table.

For a machine with a GPU. Samples are shared out over as many processes as there are cores: values, gradients, and
gradients of these. Each storage has an allocation of its own, so that no access goes to a neighbour unseen.
"""

import argparse
import itertools
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TOOLS = ("memcheck", "racecheck")
DONE = "samples done: "


def part_of(samples, number, parts):
    """The samples of every so many ops, the first of each op before the second."""
    names = sorted({each.values[0] for each in samples})[number::parts]
    mine = {name: [each.values for each in samples if each.values[0] == name] for name in names}
    return [values for turn in itertools.zip_longest(*mine.values()) for values in turn if values]


def run_part(number, parts, seconds):
    """Calls samples, until the time is over; what an op refuses is for other tests."""
    import adjoint as torch

    from .test_samples import SAMPLES, derived

    samples, done, end = part_of(SAMPLES, number, parts), 0, time.monotonic() + seconds
    for name, sample, dtype in samples:
        if time.monotonic() > end:
            break
        try:
            derived(name, sample, dtype, "contiguous", "cuda", sample.gradgrad and dtype == sample.precise)
        except (NotImplementedError, TypeError, ValueError, IndexError):
            pass
        except RuntimeError as error:
            if "CUDA error" in str(error):
                raise
        torch.cuda.synchronize()
        done += 1
    print(f"{DONE}{done} of {len(samples)}", flush=True)


def start(tool, number, parts, seconds, folder):
    tests = [sys.executable, "-W", "ignore", "-m", "tests.cuda.sanitize"]
    part = ["--part", *map(str, (number, parts, seconds))]
    command = ["compute-sanitizer", "--tool", tool, "--log-file", str(folder / f"{tool}-{number}"), *tests, *part]
    environment = os.environ | {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
    return subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def sanitize(tool, parts, seconds, folder):
    """Prints what a tool says, and gives how many errors it found; a process that does not come to its end is one."""
    began = time.perf_counter()
    processes = [start(tool, number, parts, seconds, folder) for number in range(parts)]
    outputs = [process.communicate()[0] for process in processes]
    done = [re.search(f"{DONE}(\\d+) of (\\d+)", output) for output in outputs]
    logs = [(folder / f"{tool}-{number}").read_text() for number in range(parts)]
    summaries = [re.search(r"(?:ERROR|RACECHECK) SUMMARY: (\d+)", log) for log in logs]
    errors = sum(int(found[1]) if found else 1 for found in summaries)
    for output, found, log in zip(outputs, done, logs, strict=True):
        if found is None:
            errors += 1
            print(output[-2000:])
        said = [line for line in log.splitlines() if "COMPUTE-SANITIZER" not in line and "SUMMARY: 0" not in line]
        print(*said[:40], sep="\n", end="\n" if said else "")
    count, all_of_them = (sum(int(found[i]) for found in done if found) for i in (1, 2))
    print(f"{tool}: {count} of {all_of_them} samples, {errors} errors, {time.perf_counter() - began:.0f} s", flush=True)
    return errors


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tools", nargs="*", default=TOOLS, help="those of compute-sanitizer; memcheck and racecheck")
    parser.add_argument("--part", nargs=3, type=int, help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=int, default=86400, help="of calling samples, for a first look")
    options = parser.parse_args()
    if options.part:
        return run_part(*options.part)
    with tempfile.TemporaryDirectory() as folder:
        parts = len(os.sched_getaffinity(0))
        errors = [sanitize(tool, parts, options.seconds, Path(folder)) for tool in options.tools]
    return sum(errors) > 0


if __name__ == "__main__":
    sys.exit(main())
