"""No call crashes the interpreter, whatever its arguments."""

import json
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


def run_wrong_operands(library):
    """What the calls of wrong_operands.py came to, by their labels."""
    run = subprocess.run(
        [sys.executable, "-m", "tests.wrong_operands", library],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, "\n".join(run.stderr.splitlines()[-30:])
    return json.loads(run.stdout)


def test_wrong_operands_are_refused_before_anything_is_recorded():
    ours, theirs = run_wrong_operands("adjoint"), run_wrong_operands("torch")
    assert ours.pop("others") > 10_000
    assert len(ours) > 100_000
    assert {how for how in ours.values() if how != "value"} <= {"TypeError", "RuntimeError", "IndexError"}
    assert {label: ours[label] for label in theirs} == theirs
