"""docs/mistakes.md is true: its messages are what both libraries say, and ours are better where it says so."""

import pytest

from .mistakes import MISTAKES, PAGE, messages, table
from .test_error_page import ENTRIES


@pytest.mark.parametrize("title", MISTAKES)
def test_verdict(title):
    theirs, ours = messages(title)
    assert ours != "nothing"
    for text in MISTAKES[title]:
        assert text in ours
        assert text not in theirs


def test_most_are_better():
    assert set(MISTAKES) <= set(ENTRIES)
    assert sum(map(bool, MISTAKES.values())) >= 50


def test_page_is_what_the_tool_writes():
    assert PAGE.read_text() == table(), "python -m tests.mistakes --write"
