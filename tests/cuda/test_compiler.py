"""Kernels on their way from text to function: what is compiled, when, and what is kept, as the stand-in counts it."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(os.environ.get("ADJOINT_CUDA_LIBRARIES", "nowhere"))
pytestmark = pytest.mark.skipif(not (FOLDER / "cuda_shim.h").exists(), reason="needs the stand-in driver")

START = """
import ctypes, os, time
import adjoint as torch
library = ctypes.CDLL(os.environ["ADJOINT_CUDA_LIBRARIES"] + "/libcuda.so.1")
count = lambda name: library.standin_count(name.encode())
x = torch.arange(24.0).reshape(4, 6).cuda().requires_grad_()
"""


def said(program, cache, **variables):
    """What a program prints, with a cache of kernels of its own."""
    environment = {**os.environ, "ADJOINT_CACHE": str(cache), **variables}
    command = [sys.executable, "-c", START + program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


SOFTMAX = """
y = x.softmax(1)
torch.autograd.grad(y, x, torch.ones_like(y))
torch.cuda.synchronize()
print([count("nvrtcCompileProgram"), count("cuModuleLoadData")])
"""


def test_a_backward_is_compiled_with_its_forward(tmp_path):
    compiled, loaded = ast.literal_eval(said(SOFTMAX, tmp_path))
    assert compiled == loaded == len(list(tmp_path.glob("*.cubin")))  # each once, and none for nothing
    again, loaded_again = ast.literal_eval(said(SOFTMAX, tmp_path))
    assert (again, loaded_again) == (0, loaded)


def test_a_program_may_end_before_what_it_has_begun(tmp_path):
    assert said("y = x.softmax(1)\nprint(y.shape)", tmp_path) == "torch.Size([4, 6])\n"
    names = {path.name for path in tmp_path.glob("*.cubin")}
    said(SOFTMAX, tmp_path)
    assert names <= {path.name for path in tmp_path.glob("*.cubin")}
    assert not [path for path in tmp_path.iterdir() if path.suffix != ".cubin"]


def test_a_forked_process_waits_for_no_threads(tmp_path):
    program = """
y = x.softmax(1)
child = os.fork()
if child == 0:
    raise SystemExit(0)
print(os.waitpid(child, 0)[1])
"""
    assert said(program, tmp_path) == "0\n"


def test_nothing_is_begun_where_no_gradient_is_recorded(tmp_path):
    program = """
with torch.no_grad():
    y = x.softmax(1)
torch.cuda.synchronize()
time.sleep(0.2)
print([count("nvrtcCompileProgram"), count("cuModuleLoadData")])
"""
    compiled, loaded = ast.literal_eval(said(program, tmp_path))
    assert compiled == loaded


def test_files_that_are_no_code_are_made_again(tmp_path):
    said(SOFTMAX, tmp_path)
    for path in tmp_path.glob("*.cubin"):
        path.write_bytes(b"not a kernel")
    compiled, _ = ast.literal_eval(said(SOFTMAX, tmp_path))
    assert compiled == len(list(tmp_path.glob("*.cubin")))
    assert all(path.read_bytes() != b"not a kernel" for path in tmp_path.glob("*.cubin"))


def test_a_file_without_the_kernel_is_made_again(tmp_path):
    said(SOFTMAX, tmp_path)
    program = f"library.standin_fail(b'cuModuleGetFunction', 500, 0)\n{SOFTMAX}"
    compiled, _ = ast.literal_eval(said(program, tmp_path))
    assert compiled == 1
