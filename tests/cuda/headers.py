"""python -m tests.cuda.headers [FOLDER ...]: what csrc/cuda declares of NVIDIA's libraries, against NVIDIA's headers.

A C++ program (headers.cpp) that includes both says whether every function of ours is called as theirs is, and whether
numbers and structs are theirs. No GPU is needed, nor the libraries. Headers are taken from the folders that are named:
folders of headers, or of wheels, of which they are unpacked, such as

    pip download --no-deps -d wheels nvidia-cuda-runtime nvidia-cuda-crt nvidia-cuda-cccl nvidia-cuda-cupti \\
        nvidia-cuda-nvrtc nvidia-cublas nvidia-cudnn-cu13 nvidia-cufft nvidia-cusolver nvidia-cusparse nvidia-nvtx
    python -m tests.cuda.headers wheels

What is not there, from the wheels that are installed and from CUDA's own folder. Then the libraries are opened that
the package finds on this machine, and every symbol is looked for in them.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import adjoint
from adjoint import _C

ROOT = Path(__file__).resolve().parent.parent.parent
HEADERS = {
    "cuda.h": "nvidia-cuda-runtime nvidia-cuda-crt nvidia-cuda-cccl",
    "cupti_driver_cbid.h": "nvidia-cuda-cupti",
    "nvrtc.h": "nvidia-cuda-nvrtc",
    "cublas_v2.h": "nvidia-cublas",
    "cublasLt.h": "nvidia-cublas",
    "cudnn.h": "nvidia-cudnn-cu13",
    "cufft.h": "nvidia-cufft",
    "cusolverDn.h": "nvidia-cusolver nvidia-cusparse",
    "nvtx3/nvToolsExt.h": "nvidia-nvtx",
}


def installed():
    """Folders of headers on this machine."""
    for entry in sys.path:
        yield from sorted((Path(entry or ".") / "nvidia").glob("*/include"))
    roots = (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda")
    yield from (Path(root) / "include" for root in roots if root and (Path(root) / "include").is_dir())


def unpacked(wheels, target):
    """The folders of headers of a folder's wheels."""
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(target, [name for name in archive.namelist() if "/include/" in name])
    return sorted(target.glob("nvidia/*/include"))


def compared(folders, program):
    """Compiles the comparison; what is wrong, or nothing."""
    includes = [argument for folder in folders for argument in ("-isystem", str(folder))]
    command = ["g++", "-std=c++20", "-Wall", "-fmax-errors=0", f"-I{ROOT / 'csrc'}", *includes, "-o", str(program)]
    answer = subprocess.run([*command, str(Path(__file__).with_suffix(".cpp"))], capture_output=True, text=True)
    return answer.stderr if answer.returncode else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, help="of headers, or of wheels")
    options = parser.parse_args()
    wrong = False
    with tempfile.TemporaryDirectory() as place:
        folders = []
        for number, folder in enumerate(options.folders):
            wheels = sorted(folder.glob("*.whl"))
            folders += unpacked(wheels, Path(place) / str(number)) if wheels else [folder]
        folders += installed()
        folders += [folder / "cccl" for folder in folders if (folder / "cccl").is_dir()]
        for header, packages in HEADERS.items():
            if not any((folder / header).exists() for folder in folders):
                wrong = True
                print(f"{header} was not found, and nothing of it compared; pip install {packages}")
        if words := compared(folders, Path(place) / "compared"):
            sys.exit(words)
        print(subprocess.run([Path(place) / "compared"], check=True, capture_output=True, text=True).stdout, end="")
    assert adjoint.cuda is not None  # which tells the core where NVIDIA's wheels are
    for name, path, missing in _C._cuda_libraries():
        wrong = wrong or bool(path and missing)
        print(f"{path}: {'it has no ' + missing if missing else 'has every symbol'}" if path else f"{name}: {missing}")
    sys.exit(wrong)


if __name__ == "__main__":
    main()
