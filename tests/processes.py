"""Programs in processes of their own: they may crash, must start afresh, or change what the whole process shares."""

import os
import subprocess
import sys
from pathlib import Path

import adjoint

ROOT = Path(__file__).resolve().parent.parent
# What the tests import, the programs find too, in whatever folder they run.
PATHS = [str(Path(adjoint.__file__).resolve().parent.parent), str(ROOT), os.environ.get("PYTHONPATH", "")]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, PATHS))}
MOST = 4000  # characters of the output that a failure shows


def python(*arguments, code=0, timeout=300, environment=None, folder=None, given=None):
    """Runs the interpreter with these arguments and asserts its exit code; .stdout and .stderr are what it wrote.

    `environment` comes on top of that of the tests, `given` is its input: with bytes, what it writes is bytes as well.
    """
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=folder,
        env={**ENVIRONMENT, **(environment or {})},
        input=given,
        capture_output=True,
        text=not isinstance(given, bytes),
        timeout=timeout,
        check=False,
    )
    assert done.returncode == code, f"exit code {done.returncode}\n{done.stdout[-MOST:]}\n{done.stderr[-MOST:]}"
    return done


def script(text, *arguments, **options):
    """`python` of a program given as text."""
    return python("-c", text, *arguments, **options)
