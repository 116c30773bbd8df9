"""Huge numbers in the place of every integer argument of every op: refused in words and in time. See huge.py."""

import pytest

import adjoint

from .processes import python


def test_huge_sizes_are_refused_with_words_and_in_time():
    run = python("-m", "tests.huge")
    assert run.stdout.endswith(" calls, 0 wrong\n"), run.stdout[-3000:]


def test_no_error_of_memory_is_without_words():
    with pytest.raises(RuntimeError, match="not enough memory for the working space of an operation; free"):
        adjoint.ones(1).expand(1 << 46).median(0)
