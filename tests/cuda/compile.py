"""python -m tests.cuda.compile [sm_80 ...]: every kernel of the op table, compiled by NVRTC, which needs no GPU.

Kernels are compiled many to a program, each in all types that the CPU has a loop for. What other kernels launch, with
types and strides as they come, is compiled from the texts that the tests of this folder keep:

    ADJOINT_CUDA_KEEP_SOURCES=folder python -m tests.cuda --standin
    python -m tests.cuda.compile --folder folder
"""

import argparse
import os
import re
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import adjoint
from adjoint import _C
from adjoint.codegen import reading
from adjoint.codegen.kernels import kernels_of

ARCHITECTURES = ("sm_80", "sm_90", "sm_100")
TYPES = {
    "float": ("float32", "float64", "float16", "bfloat16"),
    "complex": ("complex64", "complex128"),
    "integer": ("int64", "int32", "uint8"),
    "bool": ("bool",),
}
TOGETHER = 40  # kernels of a program


def sources():
    """(name, text) of every elementwise kernel in every type."""
    table = reading.read_table()
    for item in table.unique("elementwise"):
        for kernel in kernels_of(table, item):
            families = {"float" if family == "bfloat16" else family for family in kernel.families()}
            for dtype in (dtype for family in sorted(families) for dtype in TYPES[family]):
                yield f"{kernel.name} of {dtype}", _C._cuda_source(kernel.name, getattr(adjoint, dtype))


def joined(texts):
    """One program of several texts, each of which declares a kernel."""
    lines = [
        "#define ADJOINT_KERNEL(Args, threads) "
        'extern "C" __global__ __launch_bounds__(threads) void ADJOINT_NAME(const __grid_constant__ Args args)'
    ]
    included = set()
    for number, text in enumerate(texts):
        for line in re.findall(r'^#include ".*\.cpp"$', text, re.MULTILINE):
            text = text if line not in included else text.replace(line, "")
            included.add(line)
        text = re.sub(r"\b(body_0|KernelArgs)\b", rf"\1_{number}", text)
        lines += ["#undef ADJOINT_NAME", f"#define ADJOINT_NAME kernel_{number}", text]
    return "\n".join(lines)


def compiled(job):
    """What is wrong with a program, or nothing."""
    assert adjoint.cuda is not None  # which tells the core where NVIDIA's wheels are
    label, text, architecture = job
    try:
        _C._cuda_compile(text, int(architecture.removeprefix("sm_")))
    except RuntimeError as error:
        return f"{label} for {architecture}:\n{str(error)[:2000]}"
    return ""


def jobs(folder, architectures):
    if folder is not None:
        for path in sorted(folder.glob("*.cu")):
            text = path.read_text()
            for architecture in architectures:
                # What groups of warps do together is of one architecture.
                if architecture == "sm_90" or "GroupRows" not in text:
                    yield path.name, text, architecture
        return
    known = list(dict(sources()).items())
    for start in range(0, len(known), TOGETHER):
        part = known[start : start + TOGETHER]
        label = f"{part[0][0]} ... {part[-1][0]}"
        yield from ((label, joined([text for _, text in part]), architecture) for architecture in architectures)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("architectures", nargs="*", default=ARCHITECTURES)
    parser.add_argument("--folder", type=Path, help="of texts that tests have kept")
    options = parser.parse_args()
    start, wrong, count = time.perf_counter(), [], 0
    # The compiler takes one program of a process at a time.
    with ProcessPoolExecutor(len(os.sched_getaffinity(0)), get_context("spawn")) as pool:
        for answer in pool.map(compiled, jobs(options.folder, options.architectures)):
            count += 1
            wrong += [answer] if answer else []
            print(f"\r{count} programs, {len(wrong)} wrong, {time.perf_counter() - start:.0f} s", end="", flush=True)
    print()
    for answer in wrong:
        print(answer)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
