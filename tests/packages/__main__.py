"""Packages that people use on torch, each run with torch and with Adjoint in its place, and their numbers compared.

    python -m tests.packages                       # all of them
    python -m tests.packages einops zuko           # some
    python -m tests.packages --quick               # those that are installed and run within seconds
    python -m tests.packages --list                # their names, versions and what their programs do
    python -m tests.packages --itself              # torch beside torch: whether the programs do the same every time
    python -m tests.packages --write               # and put the results into the table of docs/packages.md
    python -m tests.packages --keep ~/.cache/them  # where they are installed; build/packages unless told

Ends with 1 if one of them does not agree.
"""

import argparse
import ast
import sys
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from . import table
from .catalogue import PACKAGES
from .running import PROGRAMS, outcome

ROOT = Path(__file__).resolve().parent.parent.parent


def main(given):
    options = arguments().parse_args(given)
    chosen = [package for package in PACKAGES if not options.quick or package.quick]
    if options.names:
        unknown = set(options.names) - {package.name for package in PACKAGES}
        if unknown:
            sys.exit(f"no program for {', '.join(sorted(unknown))}; --list says which there are")
        chosen = [package for package in PACKAGES if package.name in options.names]
    console = Console()
    if options.list:
        for package in chosen:
            console.print(f"{package.name:28}{package.version:12}{purpose(package)}", markup=False, highlight=False)
        return 0
    outcomes = run_all(chosen, options.keep.expanduser().resolve(), options.itself, console)
    console.print(table.shown(outcomes))
    if options.write and not options.itself:
        table.write(outcomes)
    agreeing = sum(item.kind == "agrees" for item in outcomes)
    console.print(f"{agreeing} of {len(outcomes)} agree")
    return int(agreeing < len(outcomes))


def arguments():
    parser = argparse.ArgumentParser(prog="python -m tests.packages", description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="a package; all unless told")
    parser.add_argument("--list", action="store_true", help="say which there are, and run nothing")
    parser.add_argument("--quick", action="store_true", help="those that are installed and run within seconds")
    parser.add_argument("--itself", action="store_true", help="compare torch with torch")
    parser.add_argument("--write", action="store_true", help="put the results into the table of docs/packages.md")
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", default=ROOT / "build" / "packages", help="for what pip installs"
    )
    return parser


def purpose(package):
    """What the program of a package does: the first line of its text."""
    return ast.get_docstring(ast.parse((PROGRAMS / package.program()).read_text())).partition("\n")[0]


def run_all(chosen, keep, itself, console):
    """The outcomes of packages, one after the other, with progress."""
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    outcomes = []
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=len(chosen))
        for package in chosen:
            stage = lambda text, name=package.name: progress.update(task, description=f"{name}: {text}")
            outcomes.append(outcome(package, keep, stage, itself))
            if not console.is_terminal:
                console.print(f"{package.name}: {outcomes[-1].words()}", markup=False, highlight=False, soft_wrap=True)
            progress.advance(task)
    return outcomes


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
