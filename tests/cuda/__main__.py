"""python -m tests.cuda [--standin | --check] [pytest's arguments]: the tests of this folder.

On a machine with a GPU they run there. On another one, or with --standin, device code is compiled by the C++ compiler
and run by a stand-in for the driver, which lets the program touch the device's memory in no other way. With --check
the stand-in looks at each access to memory, for what compute-sanitizer finds on a GPU (standin/checks.h).
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from . import standin

ROOT = Path(__file__).resolve().parent.parent.parent


def main():
    arguments = sys.argv[1:]
    check = "--check" in arguments
    with tempfile.TemporaryDirectory() as findings:
        environment = dict(os.environ)
        if check or "--standin" in arguments or not standin.has_gpu():
            arguments = [argument for argument in arguments if argument not in ("--standin", "--check")]
            environment |= standin.environment(findings if check else None)
            folder = environment["ADJOINT_CUDA_LIBRARIES"]
            print(f"No GPU: device code runs on the stand-in driver in {folder}", flush=True)
        paths = [] if any(argument.startswith("tests") for argument in arguments) else ["tests/cuda"]
        # A plugin for benchmarks, where one is installed, warns of processes, and warnings are errors.
        without = ["-p", "no:cacheprovider", "-p", "no:benchmark"]
        command = [sys.executable, "-m", "pytest", *without, *paths, *arguments]
        code = subprocess.run(command, check=False, cwd=ROOT, env=environment).returncode
        if not check:
            return code
        found = standin.in_words(findings)
        print(*found, f"{len(found)} accesses are wrong", sep="\n")
        return code or bool(found)


if __name__ == "__main__":
    sys.exit(main())
