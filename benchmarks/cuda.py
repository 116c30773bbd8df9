"""Adjoint beside torch on one GPU: `python benchmarks/cuda.py`, on a machine that has one.

Each case runs in a process of its own, first of one library, then of the other; a time is that of one step, out of as
many as take a tenth of a second, and the device is waited for at both ends. Prints a table in Markdown.
"""

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

from cuda_cases import CASES

LIBRARIES = ("adjoint", "torch")
LONG_ENOUGH = 0.1  # seconds of one measurement


def timed(step, synchronize):
    """Seconds that one step takes: the best of five measurements."""
    for _ in range(3):
        step()
    synchronize()
    count, times = 1, []
    while len(times) < 5:
        start = time.perf_counter()
        for _ in range(count):
            step()
        synchronize()
        taken = time.perf_counter() - start
        if taken < LONG_ENOUGH:
            count = max(count + 1, int(1.2 * count * LONG_ENOUGH / max(taken, 1e-6)))
        else:
            times.append(taken / count)
    return min(times)


def work(library, name):
    """Prints what a case takes with a library, and the most memory that it held."""
    start = time.perf_counter()
    torch = __import__(library)
    case = next(case for case in CASES if case.name == name)
    step = case.make(torch)
    step()
    torch.cuda.synchronize()
    first = time.perf_counter() - start
    torch.cuda.reset_peak_memory_stats()
    seconds = timed(step, torch.cuda.synchronize)
    device = torch.cuda.get_device_name(0)
    peak = torch.cuda.max_memory_allocated()
    print(
        json.dumps({"seconds": seconds, "first": first, "peak": peak, "device": device, "version": torch.__version__})
    )


def measured(library, name, **variables):
    command = [sys.executable, __file__, "--work", library, "--only", name]
    environment = os.environ | variables
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        return {"error": done.stderr.strip().splitlines()[-1:]}
    return json.loads(done.stdout.splitlines()[-1])


def in_ms(seconds):
    return f"{seconds * 1e3:.3g} ms"


def row(case, results):
    """The cells of a case's row: times, ratio, aim, first steps, peaks of memory."""
    wrong = {library: found["error"] for library, found in results.items() if "error" in found}
    if wrong:
        return [case.title, *(str(wrong.get(library, "")) for library in LIBRARIES), "", case.aim, "", ""]
    ours, theirs = (results[library] for library in LIBRARIES)
    firsts = f"{ours['first']:.2f} s ({theirs['first']:.2f} s)"
    peaks = f"{ours['peak'] / 2**20:.0f} MiB ({theirs['peak'] / 2**20:.0f} MiB)"
    ratio = f"{theirs['seconds'] / ours['seconds']:.2f}x"
    return [case.title, in_ms(ours["seconds"]), in_ms(theirs["seconds"]), ratio, case.aim, firsts, peaks]


def first_steps(name):
    """Seconds from import on to the end of a case's first step, without compiled kernels and with all of them.

    Modules of Python are compiled before, as an installation does.
    """
    with tempfile.TemporaryDirectory() as folder:
        before = {"PYTHONPYCACHEPREFIX": f"{folder}/bytecode"}
        measured("adjoint", name, **before)
        caches = before | {"ADJOINT_CACHE": f"{folder}/kernels"}
        return [measured("adjoint", name, **caches).get("first", math.nan) for _ in range(2)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", help="measure these cases alone")
    parser.add_argument("--work", choices=LIBRARIES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        sys.path.insert(0, str(Path(__file__).resolve().parent))
        work(options.work, options.only[0])
        return
    header = ["case", *LIBRARIES, "torch / adjoint", "aim", "first step from import on (torch)", "peak memory (torch)"]
    print("| " + " | ".join(header) + " |\n|---|" + "---:|" * (len(header) - 1))
    about, measured_cases = {}, [case for case in CASES if not options.only or case.name in options.only]
    for case in measured_cases:
        results = {library: measured(library, case.name) for library in LIBRARIES}
        print("| " + " | ".join(row(case, results)) + " |", flush=True)
        about |= {library: found for library, found in results.items() if "error" not in found}
    versions = ", ".join(f"{library} {found['version']}" for library, found in about.items())
    if any(case.name == "gpt" for case in measured_cases):
        empty, full = first_steps("gpt")
        print(f"\nThe small GPT's first step: {empty:.2f} s without compiled kernels, {full:.2f} s with all of them.")
    device = next((found["device"] for found in about.values()), "no GPU")
    print(f"\n{date.today()}; {device}; {versions}; Python {platform.python_version()}; {platform.platform()}.")


if __name__ == "__main__":
    main()
