"""The stand-in driver: compiling it, and the environment in which the package finds it."""

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
NAMES = (
    "libcuda.so.1",
    "libcublas.so.13",
    "libcublasLt.so.13",
    "libcufft.so.12",
    "libcusolver.so.12",
    "libnvtx3interop.so.1",
    "libnvrtc.so.13",
)


def has_gpu():
    """Whether this machine has a GPU that can be used."""
    program = "import adjoint; raise SystemExit(not adjoint.cuda.is_available())"
    return subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def build():
    """Compiles the stand-in, once for each state of its sources; returns the folder of the libraries."""
    text = b"".join(path.read_bytes() for path in sorted(FOLDER.glob("*.cpp")) + sorted(FOLDER.glob("*.h")))
    user = os.environ.get("USER", "user")
    folder = Path(tempfile.gettempdir()) / f"adjoint-standin-{user}-{hashlib.sha256(text).hexdigest()[:16]}"
    if (folder / NAMES[-1]).exists():
        return folder
    folder.mkdir(exist_ok=True)
    draft = folder / f"draft-{os.getpid()}.so"
    sources = [str(path) for path in sorted(FOLDER.glob("*.cpp"))]
    command = ["g++", "-std=c++20", "-O2", "-fPIC", "-shared", "-Wall", "-o", str(draft), *sources]
    subprocess.run(command, check=True)
    for name in ("cuda_shim.h", "standin_thread.h"):
        (folder / name).write_bytes((FOLDER / name).read_bytes())
    for name in NAMES[1:]:
        link = folder / f"{name}.{os.getpid()}"
        link.symlink_to(NAMES[0])
        link.replace(folder / name)
    draft.replace(folder / NAMES[0])
    return folder


def environment(findings=None):
    """The variables with which a new process finds the stand-in; with a folder, one that checks what kernels do."""
    folder = build()
    kernels = "checked" if findings else "kernels"
    variables = {
        "ADJOINT_CUDA_LIBRARIES": str(folder),
        "ADJOINT_STANDIN_FOLDER": str(folder / kernels),
        "ADJOINT_CACHE": str(folder / f"cache-{kernels}"),
    }
    if findings:
        variables |= {"ADJOINT_STANDIN_CHECK": str(findings), "PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
    return variables


def in_words(findings):
    """What checks have found, each once, with the lines of device code."""
    found = {}
    for path in sorted(Path(findings).iterdir()):
        for line in path.read_text().splitlines():
            what, library, *codes = line.split("|")
            found.setdefault((what.partition(" (")[0], library, *codes), what)
    texts = {}
    for (kind, library, code, other), what in found.items():
        where = lines_of(library, code)
        if code == other or where != lines_of(library, other):
            texts.setdefault((kind, where[0]), "\n    ".join([what, *where, library]))
    return list(texts.values())


def lines_of(library, code):
    """The lines of a place in a library, the innermost first."""
    before = hex(int(code, 16) - 1)  # of the call, not of what comes after it
    command = ["addr2line", "-Cfsipe", library, before]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [line.strip().partition(" (discriminator")[0] for line in text.splitlines()]
