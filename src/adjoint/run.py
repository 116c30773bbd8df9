"""`python -m adjoint.run script.py`: runs a program that is written for torch, with Adjoint in torch's place."""

import argparse
import runpy
import sys
from pathlib import Path

from . import _torch_place


def main(given):
    parser = argparse.ArgumentParser(
        prog="python -m adjoint.run",
        description="Runs a program that is written for torch, unchanged, with Adjoint in torch's place.",
        usage="%(prog)s [--report] (script.py | -m module) ...",
    )
    parser.add_argument("--report", action="store_true", help="say at the end which names of torch were missing")
    parser.add_argument("-m", dest="module", metavar="module", help="run a module instead of a script")
    parser.add_argument("script", nargs="?", help="the program")
    own, rest = split(given)
    options = parser.parse_args(own)
    if options.module is None and options.script is None:
        parser.error("give a script, or -m and a module")
    _torch_place.as_torch()
    try:
        if options.module is not None:
            sys.argv = [options.module, *rest]
            sys.path.insert(0, "")
            runpy.run_module(options.module, run_name="__main__", alter_sys=True)
        else:
            path = Path(options.script)
            if not path.exists():
                parser.error(f"there is no file {options.script!r}")
            sys.argv = [options.script, *rest]
            sys.path.insert(0, str(path.resolve().parent))
            runpy.run_path(options.script, run_name="__main__")
    finally:
        if options.report:
            print(_torch_place.report(), file=sys.stderr)


def split(given):
    """(the options of this command with the program's name, what the program is given)."""
    for place, word in enumerate(given):
        if word == "-m":
            return given[: place + 2], given[place + 2 :]
        if not word.startswith("-"):
            return given[: place + 1], given[place + 1 :]
    return given, []


if __name__ == "__main__":
    main(sys.argv[1:])
