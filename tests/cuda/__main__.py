"""python -m tests.cuda [--standin] [pytest's arguments]: the tests of this folder.

On a machine with a GPU they run there. On another one, or with --standin, device code is compiled by the C++ compiler
and run by a stand-in for the driver, which lets the program touch the device's memory in no other way.
"""

import os
import sys
from pathlib import Path

from . import standin

ROOT = Path(__file__).resolve().parent.parent.parent


def main():
    arguments = sys.argv[1:]
    environment = dict(os.environ)
    if "--standin" in arguments or not standin.has_gpu():
        arguments = [argument for argument in arguments if argument != "--standin"]
        environment |= standin.environment()
        print(f"No GPU: device code runs on the stand-in driver in {environment['ADJOINT_CUDA_LIBRARIES']}", flush=True)
    paths = [] if any(argument.startswith("tests") for argument in arguments) else ["tests/cuda"]
    os.chdir(ROOT)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *paths, *arguments]
    os.execve(sys.executable, command, environment)


if __name__ == "__main__":
    main()
