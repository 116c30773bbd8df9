"""Huge numbers in the place of every integer argument of every op: refused in words and in time. See huge.py."""

from .processes import python


def test_huge_sizes_are_refused_with_words_and_in_time():
    run = python("-m", "tests.huge")
    assert run.stdout.endswith(" calls, 0 wrong\n"), run.stdout[-3000:]
