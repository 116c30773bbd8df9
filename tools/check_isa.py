"""Finds code of files compiled for newer instruction sets that could run on a machine without them.

    python tools/check_isa.py --nm nm OBJECT...

Of an inline function or template that several files have, the linker keeps one copy, whichever comes first: these
objects may have only such that are named by the instruction set. And what is computed when the extension is loaded is
computed on every machine. See Note [Instruction sets] in csrc/cpu/isa.h.
"""

import argparse
import re
import subprocess

# The name of a namespace, or an instance of a template for one value of the enumeration but the first.
OF_ONE_ISA = re.compile(r"4avx2|6avx512|3IsaE[12]E")


AT_LOAD = re.compile(r"_GLOBAL__sub_I|__cxx_global_var_init")


def strays(nm, path):
    """Mangled names of what an object shares with others, but for that of one instruction set, or runs when loaded."""
    text = subprocess.run([nm, "-P", "--defined-only", path], capture_output=True, text=True, check=True).stdout
    for name, kind, *_ in map(str.split, text.splitlines()):
        if (kind in "WVu" and not OF_ONE_ISA.search(name)) or AT_LOAD.search(name):
            yield name


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nm", default="nm", help="the program that lists symbols")
    parser.add_argument("objects", nargs="+", help="what was compiled for newer instruction sets")
    options = parser.parse_args()
    found = [f"{path}: {name}" for path in options.objects for name in strays(options.nm, path)]
    if found:
        raise SystemExit("\n".join(["not fit for every machine (Note [Instruction sets] in csrc/cpu/isa.h):", *found]))


if __name__ == "__main__":
    main()
