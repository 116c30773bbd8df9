"""Generated loops, compiled with the system's compiler, and called on NumPy arrays."""

import ctypes
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent

# Stands in for the registry: finds the float64 loops that the generated file registers.
SHIM = """
#include <cstring>
#include "cpu/isa.h"
#include "cpu/elementwise.h"
namespace adjoint {
template <Isa>
void register_loops_real_0();
static struct { const char* name; int params; Loop loop; } entries[16];
static int count = 0;
void register_loop(const char* name, ResultKind, int, int params, DType compute, Loop loop) {
  if (compute == DType::Float64) entries[count++] = {name, params, loop};
}
}
extern "C" __attribute__((visibility("default")))
int run(const char* name, char* const* arrays, int64_t n, const double* numbers) {
  using namespace adjoint;
  if (count == 0) register_loops_real_0<Isa::baseline>();
  for (int i = 0; i < count; ++i) {
    if (std::strcmp(entries[i].name, name)) continue;
    Scalar params[8];
    for (int p = 0; p < entries[i].params; ++p) params[p] = Scalar::of(numbers[p]);
    entries[i].loop(arrays, n, params);
    return 0;
  }
  return 1;
}
"""


def compiler():
    """The command of a C++ compiler, or None."""
    found = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")
    return found.split() if found else None


def compile_loops(text, folder):
    """Compiles a file of loops that registers as real_0, into a library in `folder`."""
    for name, content in (("kernels.cpp", text), ("shim.cpp", SHIM)):
        (folder / name).write_text(content)
    # Hidden, as in the package: what two libraries of a process show, they would share.
    options = ["-std=c++20", "-O1", "-shared", "-fPIC", "-fvisibility=hidden", f"-I{ROOT / 'csrc'}", f"-I{folder}"]
    files = [str(folder / name) for name in ("kernels.cpp", "shim.cpp", "kernels.so")]
    command = [*compiler(), *options, *files[:2], "-o", files[2]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def load_loops(folder):
    """The library that compile_loops has left in a folder."""
    library = ctypes.CDLL(str(folder / "kernels.so"))
    pointers = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_int64, ctypes.POINTER(ctypes.c_double)]
    library.run.argtypes = [ctypes.c_char_p, *pointers]
    return library


def call_loop(library, name, inputs, params=()):
    """One loop over float64 arrays of equal size."""
    inputs = [np.ascontiguousarray(x, dtype=np.float64).reshape(-1) for x in inputs]
    out = np.empty_like(inputs[0])
    arrays = (ctypes.c_void_p * (len(inputs) + 1))(*(x.ctypes.data for x in (out, *inputs)))
    numbers = (ctypes.c_double * max(1, len(params)))(*params)
    assert library.run(name.encode(), arrays, out.size, numbers) == 0, f"{name} was not generated"
    return out
