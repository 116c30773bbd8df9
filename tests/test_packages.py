"""What tests.packages says of numbers and of errors, and that its list and its programs belong together."""

import dataclasses

import numpy as np
import pytest

from .packages import table
from .packages.catalogue import PACKAGES, VERSIONS, Package
from .packages.install import NotInstalled, installed
from .packages.running import PROGRAMS, Outcome, compared, distance, outcome, reason

PACKAGE = Package("einops", "1.0")
ROWS = "| package | version | result | faster |\n|---|---|---|---|\n| zuko | 1 | agrees | 2.0x |\n"
PAGE = f"Above.\n\n{table.BEGIN}{ROWS}{table.END}\nBelow.\n"


def test_every_package_has_a_program_and_every_program_a_package():
    assert {package.program() for package in PACKAGES} == {path.name for path in PROGRAMS.glob("use_*.py")}
    assert [package.name for package in PACKAGES] == sorted({package.name for package in PACKAGES})


def test_versions_are_stated_once_and_all_are_used():
    needed = {need for package in PACKAGES for need in package.needs}
    packages = {package.name for package in PACKAGES}
    assert needed - packages == VERSIONS.keys()
    assert not any(requirement.startswith("torch==") for package in PACKAGES for requirement in package.requirements())


def test_other_tolerances_have_reasons():
    assert [package.name for package in PACKAGES if (package.within is None) != (package.because == "")] == []


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("ModuleNotFoundError: No module named 'torch.jit': Adjoint stands for torch here", "torch.jit"),
        ("AttributeError: module 'torch' has no attribute 'jit'", "torch.jit"),
        ("ImportError: cannot import name 'Proxy' from 'adjoint.fx' (/some/where/fx.py)", "torch.fx.Proxy"),
        ("No module named 'torch.fx'\n\nRuntimeError: could not load", "torch.fx"),
        ("Traceback\n  somewhere\nValueError: it is odd\n\n", "ValueError: it is odd"),
        ("ModuleNotFoundError: No module named 'torchvision'", "ModuleNotFoundError: No module named 'torchvision'"),
        ("AttributeError: it has none\n\nWhile executing\nNone", "AttributeError: it has none"),
        ("", "no message"),
    ],
)
def test_what_a_program_stopped_at(said, expected):
    assert reason(said) == expected


def test_distances_are_relative_to_the_largest_number_and_in_units_of_what_is_allowed():
    ones = np.array([1.0, 1e-9], np.float32)
    assert distance(ones, ones, None) == 0
    assert distance(ones + np.array([0, 1e-4], np.float32), ones, None) == pytest.approx(10, rel=1e-3)
    assert distance(ones + np.array([0, 1e-4], np.float32), ones, 1e-3) == pytest.approx(0.1, rel=1e-3)
    assert distance(ones.astype(np.float64), ones, None) == np.inf
    assert distance(ones[:1], ones, None) == np.inf
    assert distance(np.array([np.nan]), np.array([1.0]), None) == np.inf
    assert distance(np.array([np.inf]), np.array([-np.inf]), None) == np.inf
    assert distance(np.array([np.nan, 1.0]), np.array([np.nan, 1.0]), None) == 0
    assert distance(np.array([1]), np.array([2]), None) == np.inf
    assert distance(np.zeros(2), np.zeros(2), None) == 0
    assert distance(np.zeros(0), np.zeros(0), None) == 0


def test_gradients_that_are_zero_but_for_rounding_need_only_be_as_small():
    noise, small = np.array([1e-8, -2e-8], np.float32), np.array([1e-4], np.float32)
    assert distance(-noise, noise, None, steepest=0.2) == 0
    assert distance(-noise, noise, None) > 1
    assert distance(small, noise[:1], None, steepest=0.2) > 1
    assert distance(small * 1.01, small, None, steepest=0.2) > 1


def test_outcomes_say_what_differs_by_how_much_and_how_much_faster():
    theirs = {"seconds": np.array([0.4, 0.2]), "number:loss": np.array([1.0, 2.0])}
    ours = {"seconds": np.array([0.1, 0.3]), "number:loss": np.array([1.0, 2.0])}
    found = compared(PACKAGE, dict(ours), dict(theirs))
    assert (found.kind, found.faster, found.words()) == ("agrees", pytest.approx(2), "agrees")
    found = compared(PACKAGE, ours | {"number:loss": np.array([1.0, 2.2])}, dict(theirs))
    assert found.words() == "differs: loss by 1.0e-01"
    found = compared(PACKAGE, ours | {"number:loss": np.array([1.0, np.nan])}, dict(theirs))
    assert found.words() == "differs: loss by 1 that are not finite for 0"
    found = compared(PACKAGE, ours | {"number:more": np.array(1.0)}, dict(theirs))
    assert found.words() == "differs: more is reported by one alone"


def test_the_table_of_the_page_keeps_what_was_not_run(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    table.write([Outcome(PACKAGE, "stops", "torch.jit")], page)
    assert page.read_text() == PAGE.replace("| zuko", "| einops | 1.0 | stops at torch.jit |  |\n| zuko")
    table.write([Outcome(PACKAGE, "agrees", faster=3.04)], page)
    assert page.read_text() == PAGE.replace("| zuko", "| einops | 1.0 | agrees | 3.0x |\n| zuko")
    assert [path.name for path in tmp_path.iterdir()] == ["page.md"]


def test_what_pip_does_not_install_leaves_nothing_behind(tmp_path):
    odd = "no such requirement!"
    with pytest.raises(NotInstalled, match=odd):
        installed(odd, tmp_path)
    assert list(tmp_path.iterdir()) == []
    found = outcome(dataclasses.replace(PACKAGE, version="0.0.no"), tmp_path)
    assert found.words().startswith("fails: not installed: einops==0.0.no: ")
    assert list(tmp_path.iterdir()) == []
