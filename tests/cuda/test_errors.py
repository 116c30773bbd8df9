"""What is said where there is no driver, an old one or no GPU, and where a call of the driver fails."""

import os
import subprocess
import sys

import pytest

import adjoint as torch

from . import standin
from .driver import fail, standin_only

pytestmark = standin_only


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


LIBRARIES = """
print(torch.cuda.is_available())
torch._C._cuda_set_folders([])  # whatever wheels there are
print({name: path or missing for name, path, missing in torch._C._cuda_libraries()})
try:
    print((torch.ones(3, device="cuda") + 1.25).tolist())
except RuntimeError as error:
    print(error)
"""


def test_libraries_of_a_newer_cuda_than_the_drivers_are_passed_over(tmp_path):
    folder = standin.build()
    for name in ("libcuda.so.1", "cuda_shim.h", "libnvrtc.so.13"):
        (tmp_path / name).symlink_to(folder / name)
    variables = {"ADJOINT_CUDA_LIBRARIES": str(tmp_path), "ADJOINT_CACHE": str(tmp_path / "cache")}
    assert f"'nvrtc': '{tmp_path}/libnvrtc.so.13'" in said(LIBRARIES, **variables)
    text = said(LIBRARIES, ADJOINT_STANDIN_VERSION="12040", **variables)
    assert "libnvrtc.so.13" not in text
    assert "no libnvrtc.so.12 on this machine" in text
    assert "pip install nvidia-cuda-nvrtc-cu12" in text
    (tmp_path / "libnvrtc.so.12").symlink_to(folder / "libnvrtc.so.13")
    text = said(LIBRARIES, ADJOINT_STANDIN_VERSION="12040", **variables)
    assert f"'nvrtc': '{tmp_path}/libnvrtc.so.12'" in text
    assert text.endswith("[2.25, 2.25, 2.25]")


def test_an_old_compiler(tmp_path):
    text = said(LIBRARIES, ADJOINT_STANDIN_NVRTC="1202", ADJOINT_CACHE=str(tmp_path))
    assert "NVRTC 12.2 is too old, kernels need 12.3" in text


def test_what_a_library_needs_is_looked_for_in_all_folders(tmp_path):
    """A wheel finds others where it lies itself, and they may lie elsewhere on the path."""
    first, second, standins = tmp_path / "first", tmp_path / "second", standin.build()
    for folder in (first, second):
        folder.mkdir()
    needed, library = second / "libneeded.so.1", first / "libcufft.so.12"
    shared = ["g++", "-shared", "-fPIC", "-x", "c++", "/dev/null", "-Wl,--no-as-needed"]
    subprocess.run([*shared, "-Wl,-soname,libneeded.so.1", "-o", needed], check=True)
    (tmp_path / "libneeded.so").symlink_to(needed)
    subprocess.run([*shared, "-o", library, f"-L{tmp_path}", "-lneeded"], check=True)
    program = f"""
torch.cuda.is_available()
for folders in ({[str(first)]!r}, {[str(first), str(second)]!r}):
    torch._C._cuda_set_folders(folders)
    print({{name: (path, missing) for name, path, missing in torch._C._cuda_libraries()}}["cufft"])
"""
    (tmp_path / "libcuda.so.1").symlink_to(standins / "libcuda.so.1")
    before, after = said(program, ADJOINT_CUDA_LIBRARIES=str(tmp_path)).splitlines()
    assert before.startswith("('', 'libneeded.so.1: cannot open shared object file")
    assert after.startswith(f"('{library}', 'cufftCreate, ")


def test_one_gpu():
    assert (
        said("print(torch.cuda.device_count(), torch.ones(2).to(0).device)", ADJOINT_STANDIN_DEVICES="1") == "1 cuda:0"
    )
    text = said("try:\n    torch.ones(1, device='cuda:1')\nexcept RuntimeError as error:\n    print(error)",
                ADJOINT_STANDIN_DEVICES="1")  # fmt: skip
    assert "invalid device ordinal; there are 1 devices, counted from 0, got 1" in text


def test_errors_of_the_driver_are_named():
    fail("cuStreamSynchronize", 700)
    with pytest.raises(RuntimeError, match=r"an illegal memory access was encountered \(CUDA_ERROR_ILLEGAL_ADDRESS\)"):
        torch.ones(3, device="cuda").cpu()
    fail("cuMemHostAlloc", 2)
    with pytest.raises(RuntimeError, match="pinned memory: can't allocate"):
        torch.empty(12345678, pin_memory=True)
