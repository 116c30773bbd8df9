"""`python -m adjoint.utils.bottleneck script.py`: where a program spends its time, by Python's profiler and by ops.

The program is run twice, once under each: it should end, and do the same each time.
"""

import argparse
import cProfile
import io
import platform
import pstats
import runpy
import sys
from pathlib import Path

from .. import _torch_place, version
from ..autograd.profiler import profile

RULE = "-" * 80
ROWS = 15


def environment():
    """What the program runs on, as a text.

    >>> from adjoint.utils.bottleneck import environment
    >>> environment().splitlines()[0]
    '  Environment Summary'
    """
    system = f"{platform.system()} {platform.machine()}"
    python = f"Python {platform.python_version()}"
    return "\n".join(
        (
            "  Environment Summary",
            RULE,
            f"Adjoint for PyTorch {version.__version__}",
            f"Running with {python} on {system}",
        )
    )


def run_cprofile(run):
    """The calls of Python's functions that took longest, as a text."""
    calls = cProfile.Profile()
    calls.enable()
    try:
        run()
    finally:
        calls.disable()
    text = io.StringIO()
    pstats.Stats(calls, stream=text).sort_stats("tottime").print_stats(ROWS)
    return "\n".join(("  cProfile output", RULE, text.getvalue().strip()))


def run_autograd(run):
    """The ops that took longest, as a text."""
    with profile() as prof:
        run()
    note = f"        top {ROWS} events sorted by cpu_time_total"
    table = prof.function_events.table(sort_by="cpu_time_total", row_limit=ROWS)
    return "\n".join(("  autograd profiler output (CPU mode)", RULE, note, "", table.strip()))


def main(given):
    """Runs the program that is named in the arguments of a command line, and prints what it spends its time on."""
    parser = argparse.ArgumentParser(
        prog="python -m adjoint.utils.bottleneck",
        description="Runs a script twice, under Python's profiler and under that of ops, and sums up both.",
    )
    parser.add_argument("scriptfile", help="the script, which should end in a short time, and do the same each time")
    parser.add_argument("args", nargs=argparse.REMAINDER, help="what the script is given")
    options = parser.parse_args(given)
    path = Path(options.scriptfile)
    if not path.exists():
        parser.error(f"there is no file {options.scriptfile!r}")
    _torch_place.as_torch()
    sys.argv = [options.scriptfile, *options.args]
    sys.path.insert(0, str(path.resolve().parent))

    def run():
        try:
            runpy.run_path(options.scriptfile, run_name="__main__")
        except SystemExit as end:
            if end.code not in (None, 0):
                raise

    print("Running your script with cProfile", flush=True)
    calls = run_cprofile(run)
    print("Running your script with the autograd profiler...", flush=True)
    ops = run_autograd(run)
    for part in (environment(), calls, ops):
        print(f"{RULE}\n{part}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
