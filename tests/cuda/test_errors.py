"""What is said where there is no driver, an old one or no GPU, and where a call of the driver fails."""

import ctypes
import os
import subprocess
import sys

import pytest

import adjoint as torch

from . import standin

STANDIN = torch.cuda.is_available() and torch.cuda.get_device_name() == "Stand-in"
pytestmark = pytest.mark.skipif(not STANDIN, reason="the stand-in driver fails when it is told to")


def said(program, **variables):
    """What a program prints in a process of its own."""
    environment = {**os.environ, **standin.environment(), **variables}
    text = f"import adjoint as torch\n{program}"
    done = subprocess.run([sys.executable, "-c", text], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


TRY = """
print(torch.cuda.is_available(), torch.cuda.device_count())
try:
    torch.ones(1, device="cuda")
except AssertionError as error:
    print(error)
"""


def test_an_old_driver():
    text = said(TRY, ADJOINT_STANDIN_VERSION="11080")
    assert text.startswith("False 0")
    assert "the NVIDIA driver is too old: it is for CUDA 11.8; install one for CUDA 12 or newer" in text


def test_no_gpu():
    text = said(TRY, ADJOINT_STANDIN_DEVICES="0")
    assert text.startswith("False 0")
    assert "the NVIDIA driver finds no GPU; look at nvidia-smi and CUDA_VISIBLE_DEVICES" in text


def test_no_driver(tmp_path):
    text = said(TRY, ADJOINT_CUDA_LIBRARIES=str(tmp_path))
    if text.startswith("True"):
        pytest.skip("there is a driver on this machine")
    assert text.startswith("False 0")
    assert "no NVIDIA driver was found" in text
    assert "or use device='cpu'" in text


def test_libraries_of_wheels_are_found(tmp_path):
    """As NVIDIA's wheels lie on the path, also where nobody has touched torch.cuda."""
    folder, libraries = standin.build(), tmp_path / "nvidia" / "cu13" / "lib"
    libraries.mkdir(parents=True)
    for path in folder.iterdir():
        (libraries / path.name).symlink_to(path)
    program = "import sys\nsys.path.insert(0, sys.argv[1])\nimport adjoint as torch\n"
    program += "print((torch.ones(3, device='cuda') + 1).tolist(), (torch.ones(2).to(0) * 2).tolist())"
    environment = {**os.environ, **standin.environment()}
    del environment["ADJOINT_CUDA_LIBRARIES"]
    command = [sys.executable, "-c", program, str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "[2.0, 2.0, 2.0] [2.0, 2.0]\n", done.stderr


def test_no_compiler(tmp_path):
    folder = standin.build()
    (tmp_path / "libcuda.so.1").symlink_to(folder / "libcuda.so.1")
    (tmp_path / "cuda_shim.h").symlink_to(folder / "cuda_shim.h")
    program = """
torch.cuda.is_available()
torch._C._cuda_set_folders([])  # whatever wheels there are
try:
    print((torch.ones(3, device="cuda") + 1.25).tolist())
except RuntimeError as error:
    print(error)
"""
    text = said(program, ADJOINT_CUDA_LIBRARIES=str(tmp_path), ADJOINT_CACHE=str(tmp_path / "cache"))
    assert "nvrtc" in text.lower()


def test_one_gpu():
    assert (
        said("print(torch.cuda.device_count(), torch.ones(2).to(0).device)", ADJOINT_STANDIN_DEVICES="1") == "1 cuda:0"
    )
    text = said("try:\n    torch.ones(1, device='cuda:1')\nexcept RuntimeError as error:\n    print(error)",
                ADJOINT_STANDIN_DEVICES="1")  # fmt: skip
    assert "invalid device ordinal; there are 1 devices, counted from 0, got 1" in text


def test_errors_of_the_driver_are_named():
    library = ctypes.CDLL(os.path.join(os.environ["ADJOINT_CUDA_LIBRARIES"], "libcuda.so.1"))
    library.standin_fail(b"cuStreamSynchronize", 700, 0)
    with pytest.raises(RuntimeError, match=r"an illegal memory access was encountered \(CUDA_ERROR_ILLEGAL_ADDRESS\)"):
        torch.ones(3, device="cuda").cpu()
    library.standin_fail(b"cuMemHostAlloc", 2, 0)
    with pytest.raises(RuntimeError, match="pinned memory: can't allocate"):
        torch.empty(12345678, pin_memory=True)
