"""torch.cuda.nvtx: what a profiler is told, as the stand-in for NVTX keeps it."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

import adjoint as torch

from . import standin

LIBRARY = Path(os.environ.get("ADJOINT_CUDA_LIBRARIES", "nowhere")) / "libnvtx3interop.so.1"
STANDIN = ctypes.CDLL(str(LIBRARY)) if LIBRARY.exists() else None
pytestmark = pytest.mark.skipif(not hasattr(STANDIN, "standin_marks"), reason="needs the stand-in for NVTX")


def told():
    STANDIN.standin_marks.restype = ctypes.c_char_p
    return STANDIN.standin_marks().decode().split(";")[:-1]


def test_ranges_and_marks():
    nvtx = torch.cuda.nvtx
    told()
    assert [nvtx.range_push("outer"), nvtx.range_push("inner"), nvtx.range_pop(), nvtx.range_pop()] == [0, 1, 1, 0]
    nvtx.range_end(nvtx.range_start("över"))
    nvtx.mark("here")
    assert told() == ["push outer", "push inner", "pop", "pop", "start över", "end 1", "mark here"]


def test_a_range_ends_with_an_error():
    told()
    with pytest.raises(ZeroDivisionError), torch.cuda.nvtx.range("step {} of {total}", 3, total=4):
        1 / 0  # noqa: B018 - the error is the test
    assert told() == ["push step 3 of 4", "pop"]
    with pytest.raises(TypeError):
        torch.cuda.nvtx.mark(3)


def test_without_nvtx_marks_are_legal(tmp_path):
    for name in ("libcuda.so.1", "libnvrtc.so.13", "cuda_shim.h"):
        (tmp_path / name).symlink_to(standin.build() / name)
    program = """
import adjoint as torch
torch.cuda.is_available()
torch._C._cuda_set_folders([])
nvtx = torch.cuda.nvtx
with nvtx.range("part"):
    nvtx.mark("here")
print(nvtx.range_push("a"), nvtx.range_pop(), nvtx.range_end(nvtx.range_start("b")))
"""
    environment = {**os.environ, **standin.environment(), "ADJOINT_CUDA_LIBRARIES": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.stdout == "-2 -2 None\n", done.stderr
