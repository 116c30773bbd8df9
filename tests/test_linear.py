"""What `linear=` says of an op (Note [Linear ops] in ops/declaration.py) is what its values show.

The formula of every op is found from its calls alone: in which arguments is it affine, and which products of them does
it add up? It must be the one that is declared. And the calls that a tangent is made of are linear, and add up to it.
"""

import copy
import itertools
import math

import numpy as np
import pytest

import adjoint
from adjoint.ops.declaration import parse_terms

from .op_calls import OF_LIBRARIES, OF_SPARSE, attempt, calls, is_number, is_precise
from .test_op_table import TABLE

# Linear but for one rounding.
EXCEPT = {"nextafter"}


# ---- Values


def mapped(function, value, *others):
    """function(value, *others) of numbers and tensors in double precision, also in lists; anything else as it is."""
    if is_precise(value) or is_number(value):
        return function(value, *others)
    if isinstance(value, list | tuple):
        return [mapped(function, *values) for values in zip(value, *others, strict=True)]
    return value


def random_like(value, seed):
    """Other values for an argument, of its shape and type."""
    random = np.random.default_rng(seed)

    def numbers(value):
        if is_number(value):
            return random.uniform(-1, 1)
        values = random.uniform(-1, 1, tuple(value.shape))
        if value.is_complex():
            values = values + 1j * random.uniform(-1, 1, tuple(value.shape))
        return adjoint.tensor(values, dtype=value.dtype)

    return mapped(numbers, value)


def zeros(value):
    """An argument of zeros, whatever its type."""
    if isinstance(value, list | tuple):
        return [zeros(item) for item in value]
    return adjoint.zeros_like(value) if isinstance(value, adjoint.Tensor) else 0 if is_number(value) else value


def tangent_of(value, seed):
    """A tangent of an argument: zeros where it has tensors of other types."""
    return mapped(lambda _, new: new, zeros(value), random_like(value, seed))


def close(found, expected):
    """Whether two lists of arrays are the same, but for rounding."""
    largest = max((np.abs(x[np.isfinite(x)]).max(initial=1.0) for x in (*found, *expected)), default=1.0)
    return all(np.allclose(a, b, rtol=1e-9, atol=1e-9 * largest) for a, b in zip(found, expected, strict=True))


def added(*terms):
    """The sum of factor * arrays over pairs (factor, arrays)."""
    factors = [factor for factor, _ in terms]
    with np.errstate(invalid="ignore"):  # of infinities, which are close to nothing
        return [
            sum(factor * x for factor, x in zip(factors, xs, strict=True))
            for xs in zip(*(arrays for _, arrays in terms), strict=True)
        ]


# ---- Formulas from values


def candidates(call):
    """The arguments in which an op may be linear: those that carry gradients, and numbers that may be zero."""
    defaults = call.declaration.defaults
    numbers = [name for name, value in call.values.items() if is_number(value) and defaults.get(name, 0) == 0]
    return call.carrying[0] + (numbers if call.carrying[0] else [])


def is_affine(call, name):
    """Whether the result at x + 1.5 (x - y) lies on the line through those at x and y; and nan is passed on."""
    x = call.values[name]
    y = random_like(x, 1)
    line, nan = mapped(lambda x, y: 2.5 * x - 1.5 * y, x, y), mapped(lambda x: x * math.nan, x)
    results, error = attempt(lambda: [call.numbers(**{name: value}) for value in (x, y, line, nan)])
    if error is not None or len({tuple(array.shape for array in arrays) for arrays in results}) > 1:
        return False
    at_x, at_y, at_line, at_nan = results
    passed_on = all(np.isnan(c[a != b]).all() for a, b, c in zip(at_x, at_y, at_nan, strict=True))
    return passed_on and close(at_line, added((2.5, at_x), (-1.5, at_y)))


def terms_of(call, names):
    """The products of arguments that the result is a sum of: what there is when others are zero, less smaller ones."""
    names = [name for name in names if call.values.get(name) is not None]
    nothing = [np.zeros_like(x) for x in call.numbers()]
    parts = {}
    for term in map(frozenset, itertools.chain(*(itertools.combinations(names, n) for n in range(len(names) + 1)))):
        value = call.numbers(**{name: zeros(call.values[name]) for name in names if name not in term})
        parts[term] = added((1, value), *((-1, part) for smaller, part in parts.items() if smaller < term))
    return {term for term, part in parts.items() if not close(part, nothing)}


def terms_of_all(its_calls, names):
    """The terms of an op in its calls; an argument that is None, or not given, is a factor of one."""
    found = []
    for call in its_calls:
        absent = {name for name in names if call.values.get(name) is None}
        if len(absent) < len(names):
            found.append((absent, terms_of(call, names)))
    terms = set().union(*(its_terms for absent, its_terms in found if not absent))
    for absent, its_terms in found:
        terms |= its_terms - {term - absent for term in terms if term - absent}
    return terms


def is_replaceable(name, terms):
    """Whether a tangent can take the place of this argument: zeros elsewhere make all terms without it vanish."""
    meeting = set().union(*(term for term in terms if name in term))
    return all(name in term or not term <= meeting for term in terms)


def formula(its_calls):
    """The terms of an op as sets of arguments, by its calls alone."""
    its_calls = [call for call in its_calls if call.carrying[0]]
    tensors = {name for call in its_calls for name in call.carrying[0]}
    names = list(dict.fromkeys(name for call in its_calls for name in candidates(call)))
    names = [name for name in names if all(is_affine(call, name) for call in its_calls if name in candidates(call))]
    while tensors.intersection(names):
        terms = terms_of_all(its_calls, names)
        used = set().union(*terms)
        terms |= {frozenset([name]) for name in tensors.intersection(names) - used}  # the result does not depend on it
        left = [name for name in names if name in tensors | used and is_replaceable(name, terms)]
        if left == names:
            return terms
        names = left
    return set()


def spelled(terms):
    return " + ".join(sorted(" * ".join(sorted(term)) for term in terms))


def disagreement(declaration, its_calls):
    """What is wrong with `linear=` of an op, or None."""
    declared, found = spelled(declaration.linear), spelled(formula(its_calls))
    return None if declared == found else f"linear={declared!r} is declared, linear={found!r} is what its calls show"


# ---- The tests


def test_every_op_is_called():
    # But for those that draw numbers, whose calls cannot be made again.
    wanted = [name for name, item in TABLE.items() if item.differentiable and "generator" not in item.arguments]
    assert not [name for name in wanted if name not in OF_SPARSE | OF_LIBRARIES and not calls()[name]]


def test_the_formula_of_every_op_is_what_its_calls_show():
    found = {
        name: disagreement(TABLE[name], its_calls)
        for name, its_calls in calls().items()
        if name not in EXCEPT | OF_SPARSE
    }
    assert not {name: reason for name, reason in found.items() if reason}


def test_linear_ops_are_linear_and_their_substitutions_add_up_to_tangents():
    for its_calls in calls().values():
        check(its_calls)


def check(its_calls):
    for call in its_calls:
        if any(call.values.get(name) is not None for term in call.declaration.linear for name in term):
            for replaced, zeroed in call.declaration.substitutions:
                check_linearity(call, replaced, zeroed)
            check_tangent(call)


def check_linearity(call, replaced, zeroed):
    """f(ax + by) = a f(x) + b f(y) for real numbers a and b, and f(0) = 0."""
    old = {name: call.values[name] for name in replaced if call.values.get(name) is not None}
    if not old:
        return
    fixed = {name: zeros(call.values[name]) for name in zeroed if name in call.values}
    nothing = {name: zeros(value) for name, value in old.items()}
    x, y = ({name: tangent_of(value, seed) for name, value in old.items()} for seed in (2, 3))
    both = {name: mapped(lambda x, y: 0.7 * x - 1.9 * y, x[name], y[name]) for name in old}
    at_x, at_y, at_both, at_nothing = (call.numbers(**fixed, **values) for values in (x, y, both, nothing))
    assert close(at_both, added((0.7, at_x), (-1.9, at_y))), f"not linear in {', '.join(old)}: {call!r}"
    assert close(at_nothing, [np.zeros_like(result) for result in at_x]), f"not zero for {', '.join(old)}: {call!r}"


def check_tangent(call):
    """The calls in `substitutions` add up to the derivative in a direction, by differences."""
    names = [name for name in set().union(*call.declaration.linear) if call.values.get(name) is not None]
    tangents = {name: tangent_of(call.values[name], 4) for name in names}
    step = 1e-4

    def moved(by):
        return call.numbers(
            **{name: mapped(lambda x, t: x + by * t, call.values[name], tangents[name]) for name in names}
        )

    expected = added((0.5 / step, moved(step)), (-0.5 / step, moved(-step)))
    terms = []
    for replaced, zeroed in call.declaration.substitutions:
        if any(name in names for name in replaced):
            values = {name: zeros(call.values[name]) for name in zeroed if name in names}
            terms.append((1, call.numbers(**values, **{name: tangents[name] for name in replaced if name in names})))
    for found, derivative in zip(added(*terms), expected, strict=True):
        np.testing.assert_allclose(found, derivative, rtol=1e-6, atol=1e-6, err_msg=repr(call))


# ---- That the tests would see it


@pytest.mark.parametrize(
    ("name", "terms"),
    [
        ("exp", ""),
        ("floor", ""),
        ("relu", ""),
        ("nansum", ""),
        ("xlogy", ""),
        ("scatter_reduce", ""),
        ("mul", "input * other"),
        ("add", "input + other"),
        ("div", "input"),
        ("lerp", "end + input"),
        ("addmm", "input + mat1 * mat2"),
        ("mse_slope", "input * scale + scale * target"),
        ("cat", "tensors"),
        ("conj_physical", "input"),
        ("constant_pad_nd", "input + value"),
        ("copy", "input + other"),
    ],
)
def test_formulas_that_are_known(name, terms):
    assert spelled(formula(calls()[name])) == terms


def claiming(name, linear):
    """The calls of an op, as if its declaration said this."""
    item = copy.copy(TABLE[name])
    item.linear = parse_terms(linear)
    its_calls = [copy.copy(call) for call in calls()[name]]
    for call in its_calls:
        call.declaration = item
    return its_calls


WRONG = [
    ("exp", "input"),
    ("abs", "input"),
    ("div", "input * other"),
    ("mul", "input + other"),
    ("add", "input * other"),
    ("add", "input"),
    ("cumprod", "input"),
]
INCOMPLETE = [("mul", "input"), ("addmm", "input + mat1"), ("sum_all", ""), ("where", "")]


@pytest.mark.parametrize(("name", "linear"), [*WRONG, *INCOMPLETE])
def test_a_wrong_or_incomplete_formula_disagrees(name, linear):
    its_calls = claiming(name, linear)
    assert disagreement(its_calls[0].declaration, its_calls)


@pytest.mark.parametrize(("name", "linear"), WRONG)
def test_a_wrong_formula_is_not_linear_or_no_tangent(name, linear):
    with pytest.raises(AssertionError):
        check(claiming(name, linear))
