"""Installs packages with pip: each in a folder of its own, once, without what it depends on."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

LIMIT = 300  # seconds for one


class NotInstalled(Exception):
    """pip did not install it; the message is the end of what pip said."""


def installed(requirement, folder: Path, limit=LIMIT) -> Path:
    """The folder of a requirement such as "einops==0.8.2" below `folder`, where it is installed if it is not there.

    It appears there whole, or not at all: pip works in a folder beside it.
    """
    final = folder / requirement
    if final.exists():
        return final
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".installing-", dir=folder) as work:
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check"]
        environment = {**os.environ, "TMPDIR": work}
        environment.pop("PYTHONPATH", None)
        try:
            done = subprocess.run(
                [*command, "--target", f"{work}/package", requirement],
                env=environment,
                capture_output=True,
                text=True,
                timeout=limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise NotInstalled(f"{requirement}: pip took longer than {limit} s") from None
        if done.returncode != 0:
            raise NotInstalled(f"{requirement}: {last_words(done.stderr)}")
        try:
            os.rename(f"{work}/package", final)
        except OSError:
            if not final.exists():  # another run was first
                raise
    return final


def last_words(text):
    """The last line that says something."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no message"
