"""The dependencies of linear ops, found by calling them: most of them move elements, and need no rule that says how."""

import numpy as np
from scipy import sparse

from ... import _C
from ...autograd import grad as _gradients
from ...autograd.grad_mode import enable_grad
from ...ops.batching import call
from ...ops.language import cat, zeros_like
from . import rows as sets

MOST_ENTRIES = 2**27  # of a matrix that is found column by column, or of one without zeros


def linear(this):
    """The rows of the results of a Call that is linear in what depends on the input; None of any other.

    If the op copies elements, or adds each to one place, a few calls tell: with ones, with random numbers r and with
    the elements' numbers. A result that has a single element in it has f(1) f(r r) = f(r) f(r), which holds for two by
    chance alone; and then f(number) / f(1) says which. Of other ops, the matrix is found column by column.
    """
    terms = [[name for name in term if name in this.tracked] for term in this.declaration.linear]
    known = {name for term in terms for name in term} == set(this.tracked) and all(len(term) < 2 for term in terms)
    if not known or any(x.is_complex() for x in (*this.outputs, *(x for x, _ in this.members()))):
        return None
    op = _Linear(this, terms)
    found = [rows for rows in (op.copied(), op.added()) if rows is not None]
    if not found and (rows := op.by_columns()) is not None:
        found = [rows]
    if not found:
        return None
    # Where several elements are written to one place the last is there, but the gradient goes to each: both count.
    ends = np.cumsum([y.numel() for y in this.outputs])
    whole = sets.united(found)
    return [whole[end - y.numel() : end] for y, end in zip(this.outputs, ends, strict=True)]


class _Linear:
    """A Call as a linear function: of all elements that depend on the input, to all elements of its results."""

    def __init__(self, this, terms):
        self.this = this
        self.rows = sparse.vstack([rows for _, rows in this.members()], format="csr")
        self.size = sum(y.numel() for y in this.outputs), self.rows.shape[0]
        self.fixed = dict(this.arguments)
        for term, tracked in zip(this.declaration.linear, terms, strict=True):
            for name in term:
                self.fixed[name] = _each(lambda x: x.detach().double(), self.fixed[name])
            if not tracked:
                self.fixed[term[0]] = 0 if _is_number(self.fixed[term[0]]) else _each(zeros_like, self.fixed[term[0]])

    def __call__(self, vector):
        arguments, start = dict(self.fixed), 0
        for name, rows in self.this.tracked.items():
            several = isinstance(rows, list)
            parts = []
            for x, its_rows in zip(arguments[name], rows, strict=True) if several else [(arguments[name], rows)]:
                count = 0 if its_rows is None else x.numel()
                parts.append(vector[start : start + count].view(x.shape) if count else zeros_like(x))
                start += count
            arguments[name] = parts if several else parts[0]
        result = call(self.this.op, *arguments.values())
        several = result if isinstance(result, tuple | list) else (result,)
        return cat([(y if y.is_floating_point() else zeros_like(y)).double().reshape(-1) for y in several])

    def transposed(self):
        """The function of weights of the results that gives those of the elements."""
        with enable_grad():
            vector = _C.zeros(self.size[1], dtype=_C.float64, requires_grad=True)
            output = self(vector)
        if not output.requires_grad:
            return None
        return lambda weights: _gradients(output, vector, weights, retain_graph=True)[0]

    def copied(self):
        """The rows of results that have one element each, at most."""
        places = _single(self, self.size[1])
        return None if places is None else sets.picked(self.rows, places)

    def added(self):
        """The rows of results to one of which, at most, each element goes: the transpose copies."""
        back = self.transposed()
        groups = None if back is None else _single(back, self.size[0])
        return None if groups is None else sets.gathered(self.rows, groups, self.size[0])

    def by_columns(self):
        """The rows of results that mix elements in any way; or row by row, if there are fewer of these."""
        if self.size[0] * self.size[1] > MOST_ENTRIES:
            return None
        if self.size[1] <= self.size[0]:
            columns, rows = _entries(self, self.size[1])
        elif (back := self.transposed()) is not None:
            rows, columns = _entries(back, self.size[0])
        else:
            return None
        return sets.matrix(rows, columns, self.size) @ self.rows


def _single(function, count):
    """Which of its elements each result of a linear function has, -1 for none; None if one has several."""
    numbers = np.random.default_rng(0).uniform(1, 2, count)
    vectors = np.ones(count), numbers, numbers * numbers, np.arange(1.0, count + 1)
    ones, random, squares, places = (function(_C.tensor(vector)).numpy() for vector in vectors)
    product = random * random
    if not (np.abs(ones * squares - product) <= 1e-9 * product).all():
        return None
    found = np.full(len(ones), -1)
    present = random != 0
    found[present] = np.rint(places[present] / ones[present]).astype(np.int64) - 1
    return found


def _entries(function, count):
    """(numbers of elements, numbers of the results that each of them is in)."""
    elements, results = [], []
    unit = _C.zeros(count, dtype=_C.float64)
    for i in range(count):
        unit[i] = 1
        results.append(np.flatnonzero(function(unit).numpy()))
        elements.append(np.full(len(results[-1]), i))
        unit[i] = 0
    return np.concatenate(elements), np.concatenate(results)


def _each(function, value):
    """A value with the function of each tensor of real numbers in it."""
    if isinstance(value, tuple | list):
        return [_each(function, item) for item in value]
    return function(value) if isinstance(value, _C.Tensor) and value.is_floating_point() else value


def _is_number(value):
    return isinstance(value, int | float)
