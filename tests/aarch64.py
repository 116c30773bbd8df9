"""The loops of ARM: cross-compiled with warnings as errors, and some run by an emulator.

    python -m tests.aarch64 [--all]

needs Debian's g++-aarch64-linux-gnu, and qemu-user for the second part, which compares the results of generated loops
with those of this machine. A part of the files is compiled, or, with --all, every file of the loops.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from adjoint.codegen import loops, reading
from adjoint.codegen.kernels import kernels_of

from . import compiled

COMPILER = "aarch64-linux-gnu-g++"
EMULATOR = "qemu-aarch64"
# As CMakeLists.txt has them, without the vector functions that this C library has for x86 alone.
OPTIONS = [
    "-std=c++20",
    "-O2",
    "-fPIC",
    "-ftree-vectorize",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=off",
]
OPTIONS += ["-Wall", "-Wextra", "-Werror", f"-I{compiled.ROOT / 'csrc'}"]
PART = ["kernels_real_0.cpp", "kernels_other_0.cpp", "copy_isa.cpp", "reduce_runs_isa.cpp", "matmul_small_isa.cpp"]
RUN = ["exp", "tanh", "mul", "mul.input", "maximum", "silu", "lgamma", "i0", "floor_divide", "atan2"]

# Calls one loop with the numbers of standard input, an array in each line, and prints the result.
MAIN = """
#include <cstdio>
#include <cstdlib>
int main(int, char** arguments) {
  const int inputs = std::atoi(arguments[2]), n = std::atoi(arguments[3]);
  double* numbers = new double[(inputs + 1) * n];
  char* arrays[8];
  for (int k = 0; k <= inputs; ++k) arrays[k] = reinterpret_cast<char*>(numbers + k * n);
  for (int i = n; i < (inputs + 1) * n; ++i) if (std::scanf("%la", numbers + i) != 1) return 2;
  if (run(arguments[1], arrays, n, nullptr)) return 1;
  for (int i = 0; i < n; ++i) std::printf("%a\\n", numbers[i]);
}
"""


def compile_files(folder, everything):
    """Compiles files of loops, one after another; the names of those that failed."""
    generate = [sys.executable, compiled.ROOT / "tools" / "generate.py", "--out", folder]
    subprocess.run(generate, check=True)
    files = sorted([*folder.glob("kernels_*.cpp"), *(compiled.ROOT / "csrc").glob("*/*_isa.cpp")])
    failed = []
    for path in files:
        if everything or path.name in PART:
            print(path.name, flush=True)
            command = [COMPILER, *OPTIONS, "-c", path, "-o", folder / "loops.o"]
            if subprocess.run(command, check=False).returncode:
                failed.append(path.name)
    return failed


def run_loops(folder):
    """Runs loops in the emulator and here; the names of those that differ."""
    table = reading.read_table()
    items = [table.ops[name] for name in dict.fromkeys(name.partition(".")[0] for name in RUN) if name in table.ops]
    kernels = [kernel for item in items for kernel in kernels_of(table, item) if kernel.name in RUN]
    text = loops.loop_file("real_0", kernels, loops.REAL)
    compiled.compile_loops(text, folder)
    here = compiled.load_loops(folder)
    (folder / "main.cpp").write_text(compiled.SHIM + MAIN)
    program = folder / "loops"
    sources = [folder / "kernels.cpp", folder / "main.cpp"]
    subprocess.run([COMPILER, *OPTIONS, "-static", *sources, "-o", program], check=True)
    failed = []
    for kernel in kernels:
        inputs = np.random.default_rng(0).uniform(0.1, 3.0, (len(kernel.inputs), 101))
        numbers = "\n".join(float(x).hex() for x in inputs.ravel())
        command = [EMULATOR, program, kernel.name, str(len(inputs)), str(inputs.shape[1])]
        done = subprocess.run(command, input=numbers, capture_output=True, text=True, check=True)
        there = np.array([float.fromhex(line) for line in done.stdout.split()])
        if not np.allclose(there, compiled.call_loop(here, kernel.name, list(inputs)), rtol=1e-14, atol=1e-15):
            failed.append(kernel.name)
    print(f"{len(kernels)} loops run by {EMULATOR}")
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="compile every file of the loops")
    options = parser.parse_args()
    missing = [name for name in (COMPILER, EMULATOR) if not shutil.which(name)]
    if missing:
        print(f"{', '.join(missing)} missing: apt-get install g++-aarch64-linux-gnu qemu-user", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as name:
        failed = compile_files(Path(name), options.all) + run_loops(Path(name))
    print("all passed" if not failed else f"failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
