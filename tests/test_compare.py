"""The comparison with torch that all suites use finds what is wrong, and nothing else; programs end as they should."""

import warnings

import numpy as np
import pytest
import torch

import adjoint

from . import compare
from .compare import ALL, EXACT, VALUES, Bound, assert_same, opening, same, words
from .processes import python, script


def pick(L, ours, theirs):
    return ours if L is adjoint else theirs


def fail(message):
    raise RuntimeError(message)


def warn(*messages, category=UserWarning):
    for message in messages:
        warnings.warn(message, category, stacklevel=1)


def backward(L, factor):
    x = L.ones(2, requires_grad=True)
    (x * x * factor).sum().backward()
    return x.grad


def second(L, factor):
    x = L.ones(2, requires_grad=True)
    (first,) = L.autograd.grad((x**3 * factor + x * (1 - factor) * 3).sum(), x, create_graph=True)
    return L.autograd.grad(first.sum(), x)


# What differs: a program of both libraries, and the word by which the difference is told.
DIFFERENT = {
    "value": (lambda L: L.tensor([1.0, pick(L, 2.0, 3.0)]), "value: 3.0 expected, got 2.0 at"),
    "last bits": (lambda L: L.tensor([pick(L, 1.0, 1.0 + 1e-14)], dtype=L.float64), "value"),
    "integer": (lambda L: L.tensor([pick(L, 2**60, 2**60 + 1)]), "value"),
    "truth": (lambda L: L.tensor([pick(L, True, False)]), "value"),
    "nan": (lambda L: L.tensor([1.0, pick(L, float("nan"), 1.0)]), "value"),
    "no nan": (lambda L: L.tensor([1.0, pick(L, 1.0, float("nan"))]), "value"),
    "infinity": (lambda L: L.tensor(pick(L, float("inf"), 3e38)), "value"),
    "sign of infinity": (lambda L: L.tensor(pick(L, float("inf"), float("-inf"))), "value"),
    "sign of zero": (lambda L: L.tensor(pick(L, 0.0, -0.0)), "value"),
    "small part": (lambda L: L.tensor(complex(1.0, pick(L, 1e-9, 2e-9))), "value"),
    "number": (lambda L: pick(L, 1.0, 1.1), "value"),
    "text": (lambda L: pick(L, "a", "b"), "value"),
    "number for integer": (lambda L: pick(L, 1.0, 1), "value"),
    "dtype": (lambda L: L.zeros(2, dtype=pick(L, L.float32, L.float64)), "dtype: float64 expected, got float32"),
    "dtype itself": (lambda L: pick(L, L.float32, L.float64), "value"),
    "shape": (lambda L: L.zeros(pick(L, (2, 1), (1, 2))), "shape"),
    "device": (lambda L: L.zeros(2, device=pick(L, "cpu", "meta")), "device"),
    "size": (lambda L: pick(L, L.Size([2]), (2,)), "structure"),
    "requires_grad": (lambda L: L.zeros(2, requires_grad=L is adjoint), "requires_grad"),
    "leaf": (lambda L: L.zeros(2).requires_grad_() if L is adjoint else L.zeros(2).requires_grad_() * 1, "leaf"),
    "node": (lambda L: pick(L, L.exp, L.sin)(L.zeros(2, requires_grad=True)), "node"),
    "gradient": (lambda L: backward(L, pick(L, 1, 2)), "value"),
    "second gradient": (lambda L: second(L, pick(L, 1, 2)), "value"),
    "missing gradient": (lambda L: [pick(L, None, L.zeros(2))], "structure"),
    "gradient too many": (lambda L: [pick(L, L.zeros(2), None)], "structure"),
    "tuple": (lambda L: pick(L, [1], (1,)), "structure: tuple of 1 expected, got list of 1"),
    "length": (lambda L: pick(L, [1], [1, 2]), "structure"),
    "keys": (lambda L: pick(L, {"a": 1, "b": 2}, {"b": 2, "a": 1}), "structure"),
    "inside": (lambda L: {"a": [1, L.tensor(pick(L, 2.0, 3.0))]}, r"value.* in \['a'\]\[1\]"),
    "named": (lambda L: pick(L, tuple, lambda x: x)(L.ones(2, 2).max(0)), "structure"),
    "no error": (lambda L: None if L is adjoint else fail("no"), "torch: RuntimeError: no\nadjoint: None"),
    "error": (lambda L: fail("no") if L is adjoint else None, "torch: None\nadjoint: RuntimeError: no"),
    "class of an error": (lambda L: pick(L, int, float)(pick(L, "a", None)), "torch: TypeError"),
    "message": (lambda L: fail(pick(L, "one thing", "another")), "torch: RuntimeError: another"),
    "message cut short": (lambda L: fail(pick(L, "one", "one thing")), "torch: RuntimeError"),
    "warning": (lambda L: warn(pick(L, "one", "two")), "warnings"),
    "class of a warning": (lambda L: warn("a", category=pick(L, UserWarning, FutureWarning)), "warnings"),
    "missing warning": (lambda L: warn(*pick(L, [], ["one"])), "warnings"),
    "warning too many": (lambda L: warn(*pick(L, ["one"], [])), "warnings"),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_differences_are_found(name):
    program, reason = DIFFERENT[name]
    with pytest.raises(AssertionError, match=f"^{reason}"):
        same(program)


SAME = {
    "last bits": lambda L: L.tensor([1.0, pick(L, 1.0, 1.0 + 2e-16)], dtype=L.float64),
    "nan": lambda L: (L.tensor([float("nan"), float("inf"), -0.0]), float("nan"), complex("nan+1j")),
    "bfloat16": lambda L: L.tensor([1.1], dtype=L.bfloat16),
    "meta": lambda L: L.zeros(2, device="meta"),
    "arrays": lambda L: L.ones(2).numpy(),
    "named": lambda L: L.ones(2, 2).max(0),
    "named here alone": lambda L: pick(L, lambda x: x, tuple)(L.ones(2, 2).max(0)),
    "library": lambda L: (L.float32, L.device("cpu"), L.Size([2]), L.strided),
    "gradient": lambda L: backward(L, 2),
    "second gradient": lambda L: second(L, 2),
    "error": lambda L: fail("no"),
    "message that goes on": lambda L: fail(pick(L, "no; do this", "no")),
    "warnings": lambda L: warn("one", "two"),
}


@pytest.mark.parametrize("name", SAME)
def test_what_is_the_same(name):
    same(SAME[name])


def test_strides_when_asked():
    ours, theirs = adjoint.ones(2, 3), torch.ones(3, 2).t()
    assert_same(ours, theirs)
    with pytest.raises(AssertionError, match=r"^result: strides"):
        assert_same(ours, theirs, (*VALUES, "strides"))
    with pytest.raises(AssertionError, match=r"^result: strides"):
        assert_same(ours, theirs, (*ALL, "strides"))


def test_bounds():
    def agree(ours, theirs, **bound):
        return not compare.wrong(np.array(ours), np.array(theirs), Bound(**bound)).any()

    assert agree([1.0, 2e-3], [1.0, 2.001e-3], relative=1e-3)
    assert not agree([1.0, 2e-3], [1.0, 2.003e-3], relative=1e-3)
    assert agree([1.0, 1e-4], [1.0, 0.0], absolute=1e-4)
    assert not agree([1.0, 1e-4], [1.0, 0.0], relative=1e-3)
    # As compared with the largest that is finite, within limits.
    assert agree([100.0, np.inf, 0.01], [100.0, np.inf, 0.0], absolute=1e-4, largest=(1.0, np.inf))
    assert not agree([100.0, np.inf, 0.01], [100.0, np.inf, 0.0], absolute=1e-4, largest=(1.0, 10.0))
    assert not agree([1e-6], [2e-6], absolute=1e-4, largest=(1e-3, np.inf))
    # Infinities and nan agree with their like alone, however wide the bound.
    assert not agree([1e300], [np.inf], relative=1.0, absolute=1e300)
    assert not agree([np.inf], [1e300], relative=1.0, absolute=1e300)
    assert not agree([np.nan], [1.0], absolute=1e300)
    assert not agree([1.0], [np.nan], absolute=1e300)
    assert agree([complex(np.inf, 1.0)], [complex(np.inf, 1.001)], absolute=1e-2)
    assert not agree([complex(np.inf, 1.0)], [complex(np.inf, 2.0)], absolute=1e-2)
    # Integers are never rounded.
    assert not agree([2**60], [2**60 + 1], relative=0.5, absolute=9.0)


def test_types_without_a_bound_are_compared_exactly():
    bound = {"float64": Bound(1e-3)}
    assert_same(adjoint.tensor([1.0]).double(), torch.tensor([1.0001]).double(), bound=bound)
    for ours, theirs in ((adjoint.tensor([1.0]), torch.tensor([1.0001])), (1.0, 1.0001)):
        with pytest.raises(AssertionError):
            assert_same(ours, theirs, bound=bound)


def test_results_no_farther_from_the_truth_than_torchs_agree():
    def difference(*values):
        ours, theirs, truth = (compare.plain(torch.tensor(value)) for value in values)
        return compare.difference(ours, theirs, EXACT, truth)

    assert difference([1.2, 5.0], [1.4, 5.0], [1.3, 5.0]) is None
    assert difference([1.1, 5.0], [1.4, 5.0], [1.3, 5.0]).startswith("value: 1.39")


def test_how_exceptions_are_compared():
    def agree(error, ours, theirs):
        return error(ours, theirs)

    assert agree(opening(3), ValueError("abcd"), ValueError("abce"))
    assert not agree(opening(4), ValueError("abcd"), ValueError("abce"))
    assert not agree(opening(3), ValueError("abc"), TypeError("abc"))
    assert agree(words(2), ValueError("one two; more"), ValueError("one two three"))
    assert not agree(words(3), ValueError("one two; more"), ValueError("one two three"))
    assert agree(words(3), ValueError("one two"), ValueError("one"))
    assert agree(compare.related, NotImplementedError(), RuntimeError())
    assert agree(compare.related, RuntimeError(), NotImplementedError())
    assert not agree(compare.related, ValueError(), RuntimeError())
    assert not agree(compare.of_one_kind, NotImplementedError(), RuntimeError())


def test_plain_data_keeps_what_was():
    x = adjoint.ones(2, dtype=adjoint.float64)
    seen = compare.plain([x, x.numpy()])
    x.zero_()
    assert [item["values"].tolist() for item in seen] == [[1.0, 1.0]] * 2


def test_processes_end_as_they_should():
    assert script("import adjoint, tests; print(adjoint.ones(1).item())").stdout == "1.0\n"
    assert script("import sys; print(sys.argv[1:], sys.stdin.read())", 3, given="a").stdout == "['3'] a\n"
    assert python("-c", "raise SystemExit(3)", code=3).stderr == ""
    assert script("import os; print(os.environ['SET'], end='')", environment={"SET": "here"}).stdout == "here"
    with pytest.raises(AssertionError, match=r"exit code 1\n\n(.*\n)*ZeroDivisionError"):
        script("1 / 0")
    with pytest.raises(AssertionError, match="exit code 0"):
        script("", code=1)
    with pytest.raises(AssertionError, match="exit code -6"):
        script("import os; os.abort()")
