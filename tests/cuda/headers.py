"""python -m tests.cuda.headers FOLDER [FOLDER ...]: our declarations of NVIDIA's functions beside NVIDIA's headers.

The folders hold cusolverDn.h, cublas_v2.h and what these include; the wheels nvidia-cusolver, nvidia-cublas,
nvidia-cusparse, nvidia-cuda-runtime and nvidia-cuda-crt have them. Nothing is run: a declaration that differs in its
name, in its number of parameters, or in what one of them is does not compile.
"""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    folders = [HERE.parent.parent / "csrc", *sys.argv[1:]]
    command = ["g++", "-std=c++20", "-fsyntax-only", "-Wall", *(f"-I{folder}" for folder in folders)]
    subprocess.run([*command, str(HERE / "headers.cpp")], check=True)
    print("Our declarations are NVIDIA's.")


if __name__ == "__main__":
    main()
