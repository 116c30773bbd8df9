"""python -m tests.cuda.sanitize [memcheck racecheck ...]: compute-sanitizer looks at every sample of the op table.

For a machine with a GPU. Samples are shared out over as many processes as there are cores: values, gradients, and
gradients of these. Each storage has an allocation of its own, so that no access goes to a neighbour unseen.
"""

import argparse
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


def run_part(number, parts):
    """Calls the samples of every so many ops; what an op refuses is for other tests."""
    import adjoint as torch

    from .test_samples import SAMPLES, derived

    names = sorted({each.values[0] for each in SAMPLES})[number::parts]
    done = 0
    for each in SAMPLES:
        name, sample, dtype = each.values
        if name not in names:
            continue
        try:
            derived(name, sample, dtype, "contiguous", "cuda", sample.gradgrad and dtype == sample.precise)
        except (NotImplementedError, TypeError, ValueError, IndexError):
            pass
        except RuntimeError as error:
            if "CUDA error" in str(error):
                raise
        torch.cuda.synchronize()
        done += 1
    print(f"{DONE}{done}", flush=True)


def start(tool, number, parts, folder):
    command = ["compute-sanitizer", "--tool", tool, "--log-file", str(folder / f"{tool}-{number}")]
    command += [sys.executable, "-W", "ignore", "-m", "tests.cuda.sanitize", "--part", str(number), str(parts)]
    environment = os.environ | {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
    return subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def sanitize(tool, parts, folder):
    """Prints what a tool says, and gives how many errors it found; a process that does not come to its end is one."""
    began = time.perf_counter()
    processes = [start(tool, number, parts, folder) for number in range(parts)]
    outputs = [process.communicate()[0] for process in processes]
    done = [re.search(f"{DONE}(\\d+)", output) for output in outputs]
    logs = [(folder / f"{tool}-{number}").read_text() for number in range(parts)]
    summaries = [re.search(r"(?:ERROR|RACECHECK) SUMMARY: (\d+)", log) for log in logs]
    errors = sum(int(found[1]) if found else 1 for found in summaries)
    for output, found, log in zip(outputs, done, logs, strict=True):
        if found is None:
            errors += 1
            print(output[-2000:])
        said = [line for line in log.splitlines() if "COMPUTE-SANITIZER" not in line and "SUMMARY: 0" not in line]
        print(*said[:40], sep="\n", end="\n" if said else "")
    count = sum(int(found[1]) for found in done if found)
    print(f"{tool}: {count} samples, {errors} errors, {time.perf_counter() - began:.0f} s", flush=True)
    return errors


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tools", nargs="*", default=TOOLS, help="those of compute-sanitizer; memcheck and racecheck")
    parser.add_argument("--part", nargs=2, type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        return run_part(*options.part)
    with tempfile.TemporaryDirectory() as folder:
        errors = [sanitize(tool, len(os.sched_getaffinity(0)), Path(folder)) for tool in options.tools]
    return sum(errors) > 0


if __name__ == "__main__":
    sys.exit(main())
