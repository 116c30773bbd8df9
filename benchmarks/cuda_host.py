"""What a step on a GPU costs the host, and how often it calls the driver: `python benchmarks/cuda_host.py`.

No GPU is needed. The programs of cuda_cases.py run on a driver that does nothing (cuda_null.cpp), so that their time is
that of the package's own code: processor time of the process, the least of several measurements. A step on a GPU takes
at least that, or what its launches take; and both together, where the driver's part of a launch is the host's time.
Prints a table in Markdown. --kernels adds which kernels a step launches; --first tells what first steps take with
NVIDIA's compiler instead, with an empty cache of kernels and with a full one.
"""

import argparse
import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
LAUNCH = 3.2  # microseconds of a launch on an H200
# Torch's milliseconds on an H200, and how many times as fast a step is to be.
AIMS = {"chain": (3.67, 3), "ode": (42.8, 3), "mlp": (1.01, 3), "gpt": (5.14, 3), "pinn": (2.97, 2)}
COUNTS = ("launches", "products", "copies", "clears", "allocations", "waits", "compilations", "loads")
LONG_ENOUGH = 0.05  # seconds of one measurement


class Counts(ctypes.Structure):
    """What cuda_null.cpp has counted."""

    _fields_ = [(name, ctypes.c_long) for name in COUNTS]

    def numbers(self):
        return {name: getattr(self, name) for name in COUNTS}


def build(folder, compiler):
    """Compiles the null libraries into a folder, with or without one in NVRTC's place."""
    library = folder / "libcuda.so.1"
    sources = [f"-I{HERE.parent / 'csrc'}", str(HERE / "cuda_null.cpp")]
    subprocess.run(["g++", "-std=c++20", "-O2", "-fPIC", "-shared", "-o", str(library), *sources], check=True)
    for name in ("libcublas.so.13", *(["libnvrtc.so.13"] if compiler else [])):
        (folder / name).symlink_to(library)


def seconds_of(step):
    """Processor seconds of one step: the least of nine measurements."""
    count, times = 1, []
    while len(times) < 9:
        start = time.process_time()
        for _ in range(count):
            step()
        taken = time.process_time() - start
        if taken < LONG_ENOUGH:
            count = max(count + 1, int(1.2 * count * LONG_ENOUGH / max(taken, 1e-6)))
        else:
            times.append(taken / count)
    return min(times)


def launches_of(library):
    """How often each kernel was launched so far, by its text."""
    library.null_kernel_text.restype = ctypes.c_char_p
    texts = (library.null_kernel_text(i).decode() for i in range(library.null_kernel_count()))
    return {text: library.null_kernel_launches(i) for i, text in enumerate(texts)}


def work(name):
    """Prints what a case costs, as JSON."""
    library = ctypes.CDLL(os.environ["ADJOINT_CUDA_LIBRARIES"] + "/libcuda.so.1")
    counts = Counts.in_dll(library, "null_counts")
    start, used = time.perf_counter(), time.process_time()
    adjoint = __import__("adjoint")
    from cuda_cases import CASES

    step = next(case for case in CASES if case.name == name).make(adjoint)
    here = time.thread_time()
    step()
    adjoint.cuda.synchronize()
    now = time.perf_counter(), time.process_time(), time.thread_time()
    first = {"seconds": now[0] - start, "processor": now[1] - used, "step": now[2] - here, "counts": counts.numbers()}
    for _ in range(3):
        step()
    before, launches = counts.numbers(), launches_of(library)
    step()
    answer = {"first": first, "counts": {key: value - before[key] for key, value in counts.numbers().items()}}
    answer["kernels"] = {text: n - launches[text] for text, n in launches_of(library).items() if n > launches[text]}
    answer["us"] = 1e6 * seconds_of(step)
    print(json.dumps(answer))


def measured(name, folder):
    variables = {"ADJOINT_CUDA_LIBRARIES": str(folder), "ADJOINT_CACHE": str(folder / "cache")}
    command = [sys.executable, __file__, "--work", name]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | variables)
    return json.loads(done.stdout.splitlines()[-1])


def row(name, found):
    counts, us = found["counts"], found["us"]
    calls = sum(counts[key] for key in ("launches", "products", "copies", "clears"))
    least, most = (value / 1e3 for value in (max(us, LAUNCH * calls), us + LAUNCH * calls))
    theirs, aim = AIMS[name]
    cells = [counts[key] for key in COUNTS[:6]]
    ratio = f"{theirs / most:.1f}x to {theirs / least:.1f}x"
    return [name, f"{us:.0f}", f"{us / calls:.2f}", *cells, f"{least:.2f} to {most:.2f}", theirs, ratio, f"{aim}x"]


def first_row(name, cache, found):
    first, counts = found["first"], found["first"]["counts"]
    return [name, cache, *(f"{first[key]:.2f}" for key in ("seconds", "processor", "step")), counts["loads"]]


def print_table(header, rows):
    print("| " + " | ".join(header) + " |\n|---|" + "---:|" * (len(header) - 1))
    for cells in rows:
        print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def print_kernels(name, kernels):
    print(f"\n{name}:\n")
    for text, count in sorted(kernels.items(), key=lambda item: -item[1]):
        bodies = [line.strip() for line in text.splitlines() if line.startswith("  const auto v")]
        call = " ".join(text.partition("ADJOINT_KERNEL")[2].split())
        print(f"- {count}x `{' '.join(bodies)[:120]}` `{call[:160]}`")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=AIMS, help="measure these cases alone")
    parser.add_argument("--kernels", action="store_true", help="list the kernels of a step")
    parser.add_argument("--first", action="store_true", help="measure first steps, with NVRTC")
    parser.add_argument("--work", choices=AIMS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.work)
        return
    names = options.only or list(AIMS)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        build(folder, compiler=not options.first)
        if options.first:
            header = ["case", "cache", "s from import on", "processor s", "of them the step's own thread", "kernels"]
            runs = ((name, cache, measured(name, folder)) for name in names for cache in ("empty", "full"))
            print_table(header, (first_row(*run) for run in runs))
            return
        found = {name: measured(name, folder) for name in names}
    header = ["case", "host us", "us of a call", *COUNTS[:6], "ms of a step", "torch's ms", "torch / adjoint", "aim"]
    print_table(header, (row(name, each) for name, each in found.items()))
    if options.kernels:
        for name, each in found.items():
            print_kernels(name, each["kernels"])


if __name__ == "__main__":
    main()
