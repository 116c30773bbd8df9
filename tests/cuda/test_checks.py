"""The stand-in driver finds what is wrong with kernels (standin/checks.h): kernels that are wrong, and right ones."""

import ctypes
import os
import subprocess
import sys

import pytest

from . import standin
from .driver import driver

pytestmark = pytest.mark.skipif("ADJOINT_STANDIN_FOLDER" not in os.environ, reason="needs the stand-in driver")

WRONG = {
    "reads outside of every allocation": "args.data[threadIdx.x] = args.data[threadIdx.x + 1];",
    "writes outside of every allocation": "args.data[threadIdx.x + 1] = 1;",
    "misaligned access": """
      struct alignas(8) Pair { float a, b; };
      if (threadIdx.x == 0) *reinterpret_cast<Pair*>(args.data + 1) = Pair{1, 2};""",
    "index outside of an array": "float few[4] = {1, 2, 3, 4}; args.data[threadIdx.x] = few[threadIdx.x];",
    "misaligned copy of 16 bytes": """
      alignas(16) __shared__ float copied[64];
      adjoint::cuda::begin_copy(copied + 4 * (threadIdx.x % 16), args.data + 1, true);
      adjoint::cuda::close_group();
      adjoint::cuda::wait_for_groups<0>();""",
    "reads what another thread has written": """
      __shared__ float all[64];
      all[threadIdx.x] = 1;
      args.data[threadIdx.x] = all[63 - threadIdx.x];""",
    "writes what another thread has read": """
      __shared__ float all[64];
      all[threadIdx.x] = 1;
      __syncthreads();
      const float other = all[63 - threadIdx.x];
      all[threadIdx.x] = 2;
      args.data[threadIdx.x] = other;""",
    "writes what another thread has written": "args.data[0] = threadIdx.x;",
    "threads wait for one another at different places": """
      if (threadIdx.x < 32) {
        args.data[threadIdx.x] = 1;
        __syncthreads();
      } else {
        __syncthreads();
        args.data[threadIdx.x] = 2;
      }""",
}
RIGHT = {
    "barriers": """
      __shared__ float all[64];
      all[threadIdx.x] = threadIdx.x;
      __syncthreads();
      args.data[threadIdx.x] = all[63 - threadIdx.x];
      __syncthreads();
      all[63 - threadIdx.x] = 1;""",
    "barriers of a warp": """
      __shared__ float all[64];
      all[threadIdx.x] = threadIdx.x;
      __syncwarp();
      args.data[threadIdx.x] = all[threadIdx.x ^ 1];""",
    "atomic additions": "atomicAdd(args.data, 1.0f);",
    "a barrier between two conditions": """
      __shared__ float all[64];
      const bool first = threadIdx.x < 17;
      if (first) all[threadIdx.x] = 1;
      __syncthreads();
      if (first) args.data[threadIdx.x] = all[16 - threadIdx.x];""",
}
TEXT = "struct Args {{ float* data; }};\nADJOINT_KERNEL(Args, 64) {{ {} }}\n"


def run(text, blocks):
    """Compiles and runs a kernel of 64 threads that has a memory of 64 floats."""
    standin = driver()
    program, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    address, size = ctypes.c_ulonglong(), ctypes.c_size_t()
    names, texts = (ctypes.c_char_p * 1)(b"elementwise.h"), (ctypes.c_char_p * 1)(b"")
    assert standin.nvrtcCreateProgram(ctypes.byref(program), text.encode(), None, 1, texts, names) == 0
    assert standin.nvrtcCompileProgram(program, 0, None) == 0
    standin.nvrtcGetCUBINSize(program, ctypes.byref(size))
    code = ctypes.create_string_buffer(size.value)
    standin.nvrtcGetCUBIN(program, code)
    assert standin.cuInit(0) == 0
    assert standin.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(64 * 4)) == 0
    assert standin.cuModuleLoadData(ctypes.byref(module), code) == 0
    assert standin.cuModuleGetFunction(ctypes.byref(function), module, b"kernel") == 0
    given = (ctypes.c_void_p * 1)(ctypes.addressof(address))
    assert standin.cuLaunchKernel(function, blocks, 1, 1, 64, 1, 1, 0, None, given, None) == 0
    assert standin.cuCtxSynchronize() == 0


def findings(folder, body, blocks=1):
    text = TEXT.format(body)
    program = f"from tests.cuda.test_checks import run; run({text!r}, {blocks})"
    found = folder / "findings"
    found.mkdir()
    environment = {**os.environ, **standin.environment(found), "ADJOINT_STANDIN_FOLDER": str(folder / "kernels")}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)
    return standin.in_words(found)


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_found(tmp_path, what):
    found = findings(tmp_path, WRONG[what])
    named = [text for text in found if what in text.splitlines()[0]]
    assert len(named) == 1, found
    assert "standin_kernel" in named[0]


@pytest.mark.parametrize("what", RIGHT)
def test_what_is_right_is_let_pass(tmp_path, what):
    assert findings(tmp_path, RIGHT[what]) == []


def test_blocks_that_meet_in_memory(tmp_path):
    body = "if (threadIdx.x == 0) args.data[blockIdx.x / 2] = 1;"
    assert "writes what another thread has written" in findings(tmp_path, body, 2)[0]


def test_no_kernel_finds_zeros(tmp_path):
    # New memory is full of ones, so that a float is NaN: an index of it lies outside.
    body = "if (threadIdx.x == 0 && !(args.data[0] == 0)) args.data[64] = 1;"
    assert "writes outside" in findings(tmp_path, body)[0]
    body = (
        "__shared__ int all[64]; if (threadIdx.x > 99) all[5] = 0; if (threadIdx.x == 0 && all[5]) args.data[64] = 1;"
    )
    again = tmp_path / "again"
    again.mkdir()
    assert "writes outside" in findings(again, body)[0]
