"""No call crashes the interpreter, whatever its arguments."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("seed", range(3))
def test_garbage_arguments_do_not_crash(seed):
    run = subprocess.run(
        [sys.executable, "-m", "tests.garbage", str(seed), "6"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, "\n".join(run.stderr.splitlines()[-30:])
    assert "calls survived" in run.stdout


def test_huge_sizes_are_refused_with_words_and_in_time():
    run = subprocess.run([sys.executable, "-m", "tests.huge"], capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, "\n".join(run.stderr.splitlines()[-30:])
    assert run.stdout.endswith(" calls, 0 wrong\n"), run.stdout[-3000:]
