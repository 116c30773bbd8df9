"""The fitted series of the special functions in the tree are what their program fits."""

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import special_tables

HEADER = (Path(special_tables.__file__).parent.parent / "csrc" / "cpu" / "special_tables.h").read_text()
# One of each kind; `python tools/special_tables.py` fits them all, in ten seconds.
FITTED = ("I1_LARGE", "J0_SMALL", "Q0", "AIRY_MIDDLE", "AIRY_Q", "ERFCX", "NDTRI_CENTRE", "NDTRI_TAIL")


@pytest.mark.parametrize("name", FITTED)
def test_a_series_is_what_its_program_fits(name):
    assert special_tables.chebyshev_table(name, dict(special_tables.tables())[name]) in HEADER


def test_taylor_series_are_what_their_program_finds():
    assert special_tables.taylor_table() in HEADER


def test_all_series_are_there_and_no_others():
    names = [name for name, _ in special_tables.tables()]
    assert re.findall(r"double (\w+)\[\] =", HEADER) == names
