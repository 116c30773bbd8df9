"""The promise of docs/design.md: the same bits for any number of threads, and for elementwise ops at any place.

tests/bits.py has the calls; `python -m tests.bits` prints them as a table.
"""

import pytest

import adjoint

from . import bits
from .processes import python

# What three ops of the sweep say in torch, too: index_reduce, stft and kl_div.
pytestmark = pytest.mark.filterwarnings(
    "ignore:index_reduce", "ignore:A window was not provided", "ignore:reduction. 'mean' divides the total loss"
)


@pytest.mark.parametrize("name", bits.OPS)
def test_an_op_and_its_gradients_do_not_depend_on_the_threads(name):
    assert bits.by_threads(lambda: bits.sweep_outcome(name)) == []


@pytest.mark.parametrize("name", bits.optimizers())
def test_an_optimizer_does_not_depend_on_the_threads(name):
    assert bits.by_threads(lambda: bits.trained(name)) == []


@pytest.mark.parametrize("name", bits.products())
def test_a_large_product_does_not_depend_on_the_threads(name):
    assert bits.by_threads(lambda: bits.product_outcome(name)) == []


@pytest.mark.parametrize("name", dict(bits.elementwise_ops()))
def test_an_element_has_the_same_bits_at_every_place(name):
    assert bits.changes_of(name, dict(bits.elementwise_ops())[name]) == []


LOWER = {"avx512": ["avx2", "baseline"], "avx2": ["baseline"], "baseline": ["baseline"]}


@pytest.mark.parametrize("isa", LOWER[adjoint._C._instruction_set()])
def test_other_instruction_sets_keep_the_promise(isa):
    """Each in a process of its own: the choice is made once."""
    run = python("-W", "ignore", "-m", "tests.bits", "elementwise", environment={"ADJOINT_ISA": isa}, timeout=600)
    assert f"| {isa} |" in run.stdout
