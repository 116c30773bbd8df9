"""Huge numbers in the place of every integer argument of every op: refused in words and in time. See huge.py."""

import subprocess
import sys


def test_huge_sizes_are_refused_with_words_and_in_time():
    run = subprocess.run([sys.executable, "-m", "tests.huge"], capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, "\n".join(run.stderr.splitlines()[-30:])
    assert run.stdout.endswith(" calls, 0 wrong\n"), run.stdout[-3000:]
