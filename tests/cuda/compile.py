"""python -m tests.cuda.compile [sm_80 ...]: every kernel of the op table, compiled by NVRTC, which needs no GPU.

Kernels are compiled many to a program, each in all types that the CPU has a loop for. What other kernels launch, with
types and strides as they come, is compiled from the texts that the tests of this folder keep:

    ADJOINT_CUDA_KEEP_SOURCES=folder python -m tests.cuda --standin
    python -m tests.cuda.compile --folder folder

There are thousands of these, most of which differ in types and numbers alone. Of those that do, one is compiled for
each architecture, for every architecture another one; with --all, all are.
"""

import argparse
import os
import re
import sys
import time
from collections import defaultdict
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
KEPT_TOGETHER = 12  # which are longer
INCLUDE = re.compile(r"^#include .*$", re.MULTILINE)
BODIES = re.compile(r"^namespace adjoint::cuda \{.*?(?=^using)", re.MULTILINE | re.DOTALL)  # of the op table
TYPE = re.compile(r"\b(float|double|Half|BFloat16|complex64|complex128|u?int\d+_t|bool|Float8\w+)\b")


def sources():
    """(name, text) of every elementwise kernel in every type."""
    table = reading.read_table()
    for item in table.unique("elementwise"):
        for kernel in kernels_of(table, item):
            families = {"float" if family == "bfloat16" else family for family in kernel.families()}
            for dtype in (dtype for family in sorted(families) for dtype in TYPES[family]):
                yield f"{kernel.name} of {dtype}", _C._cuda_source(kernel.name, getattr(adjoint, dtype))


def joined(texts):
    """One program of several texts, each of which declares a kernel and has names of its own."""
    includes, lines = {}, []
    for number, text in enumerate(texts):
        includes |= dict.fromkeys(INCLUDE.findall(text))
        text = INCLUDE.sub("", text)
        if BODIES.search(text):
            text = re.sub(r"\b(body_\d+|KernelArgs)\b", rf"\1_of_{number}", text)
        else:
            text = f"namespace text_{number} {{\n{text}\n}}"
        lines += ["#undef ADJOINT_NAME", f"#define ADJOINT_NAME kernel_{number}", text]
    kernel = (
        "#define ADJOINT_KERNEL(Args, ...) "
        'extern "C" __global__ __launch_bounds__(__VA_ARGS__) void ADJOINT_NAME(const __grid_constant__ Args args)'
    )
    return "\n".join([kernel, *includes, *lines])


def compiled(job):
    """What is wrong with a program, or nothing."""
    assert adjoint.cuda is not None  # which tells the core where NVIDIA's wheels are
    label, text, architecture = job
    try:
        _C._cuda_compile(text, int(architecture.removeprefix("sm_")))
    except RuntimeError as error:
        return f"{label} for {architecture}:\n{str(error)[:2000]}"
    return ""


def kind(text):
    """What texts have in common that differ in types and numbers alone, and in the expressions of ops."""
    text = BODIES.sub("", re.sub(r"^// .*$", "", text, flags=re.MULTILINE))
    return re.sub(r"\b\d+\b", "0", TYPE.sub("T", text))


def kept(folder, architectures, everything):
    """(header, text, architecture) of the texts in a folder."""
    kinds = defaultdict(list)
    for path in sorted(folder.glob("*.cu")):
        text = path.read_text()
        kinds[text if everything else kind(text)].append(text)
    for number, architecture in enumerate(architectures):
        for texts in kinds.values():
            text = texts[number % len(texts)]
            # What groups of warps do together is of one architecture.
            if architecture == "sm_90" or "GroupRows" not in text:
                yield INCLUDE.search(text)[0], text, architecture


def parts(items, size):
    items = list(items)
    return [items[start : start + size] for start in range(0, len(items), size)]


def jobs(options):
    """(label, program, architecture) of what is to be compiled."""
    if options.folder is None:
        known = dict(sources())
        for architecture in options.architectures:
            for part in parts(known, TOGETHER):
                yield f"{part[0]} ... {part[-1]}", joined([known[name] for name in part]), architecture
        return
    programs = defaultdict(list)
    for header, text, architecture in kept(options.folder, options.architectures, options.all):
        # An optimizer's text has names that others have, too.
        alone = text if "update.h" in header else ""
        programs[header, architecture, alone].append(text)
    for (header, architecture, _), texts in programs.items():
        for part in parts(texts, KEPT_TOGETHER):
            yield header, joined(part), architecture


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("architectures", nargs="*", default=ARCHITECTURES)
    parser.add_argument("--folder", type=Path, help="of texts that tests have kept")
    parser.add_argument("--all", action="store_true", help="all of them")
    options = parser.parse_args()
    start, wrong, count = time.perf_counter(), [], 0
    # The compiler takes one program of a process at a time.
    with ProcessPoolExecutor(len(os.sched_getaffinity(0)), get_context("spawn")) as pool:
        for answer in pool.map(compiled, jobs(options)):
            count += 1
            wrong += [answer] if answer else []
            print(f"\r{count} programs, {len(wrong)} wrong, {time.perf_counter() - start:.0f} s", end="", flush=True)
    print()
    for answer in wrong:
        print(answer)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
