"""What a report of an error should say of the machine and the versions: `python -m adjoint.utils.collect_env`."""

import importlib.metadata
import platform
import sys
from typing import NamedTuple

from .. import _C, version


class SystemEnv(NamedTuple):
    """The facts, by name."""

    torch_version: str
    is_debug_build: str
    cuda_compiled_version: str
    os: str
    libc_version: str
    python_version: str
    python_platform: str
    is_cuda_available: str
    threads: int
    pip_packages: str


def get_env_info():
    """The facts.

    >>> from adjoint.utils.collect_env import get_env_info
    >>> get_env_info().is_cuda_available
    'False'
    """
    return SystemEnv(
        torch_version=version.__version__,
        is_debug_build="False",
        cuda_compiled_version="None",
        os=f"{platform.system()} {platform.release()} ({platform.machine()})",
        libc_version="-".join(platform.libc_ver()),
        python_version=f"{sys.version.splitlines()[0]} ({sys.maxsize.bit_length() + 1}-bit runtime)",
        python_platform=platform.platform(),
        is_cuda_available=str(not _C._cuda_why_unavailable()),
        threads=_C.get_num_threads(),
        pip_packages="\n".join(_packages()),
    )


def _packages():
    for name in ("adjoint", "numpy", "scipy-openblas64", "safetensors", "torch"):
        try:
            yield f"{name}=={importlib.metadata.version(name)}"
        except importlib.metadata.PackageNotFoundError:
            continue


def pretty_str(envinfo):
    """The facts as a text.

    >>> from adjoint.utils.collect_env import get_env_info, pretty_str
    >>> pretty_str(get_env_info()).startswith("PyTorch version: 2.")
    True
    """
    lines = [
        f"PyTorch version: {envinfo.torch_version}",
        f"Is debug build: {envinfo.is_debug_build}",
        f"CUDA used to build PyTorch: {envinfo.cuda_compiled_version}",
        "",
        f"OS: {envinfo.os}",
        f"Libc version: {envinfo.libc_version}",
        "",
        f"Python version: {envinfo.python_version}",
        f"Python platform: {envinfo.python_platform}",
        f"Is CUDA available: {envinfo.is_cuda_available}",
        f"Threads: {envinfo.threads}",
        "",
        "Versions of relevant libraries:",
        *(f"[pip3] {line}" for line in envinfo.pip_packages.splitlines()),
    ]
    return "\n".join(lines)


def get_pretty_env_info():
    """The facts of this machine as a text.

    >>> from adjoint.utils.collect_env import get_pretty_env_info
    >>> "Python version" in get_pretty_env_info()
    True
    """
    return pretty_str(get_env_info())


def main():
    """Prints the facts."""
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
