"""Holds the line: what agreed with torch's operator database when agreed.txt was written still agrees."""

import pytest

from . import check, report

AGREED = report.agreed()


@pytest.mark.parametrize("name", AGREED)
def test_still_agrees(name):
    findings = check.check(name, check.QUICK)
    broken = {level: findings[level] for level in AGREED[name] if findings[level]}
    assert not broken, f"{name} no longer agrees with torch: {broken}"


def test_figures_are_those_of_the_table():
    """docs/coverage.md and agreed.txt come from the same run."""
    text = report.COVERAGE.read_text()
    for level in ("forward", "gradient", "second"):
        assert f"- {report.TITLES[level]}: {sum(level in levels for levels in AGREED.values())} of " in text
