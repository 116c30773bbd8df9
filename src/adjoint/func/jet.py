"""Taylor mode: all derivatives of a function along a curve, up to an order, in one pass.

Along x(t) = x + t v + ..., every tensor that depends on x is a polynomial in t. A level sees each op and computes the
coefficients of its result from those of its arguments: a linear op is applied to each, a product of two is their
convolution, an elementwise function y = f(x) follows from y' = f'(x) x', and any other op from nested forward mode.
"""

import math

from .. import _C
from ..ops.batching import call
from ..ops.language import TABLE, ones_like, zeros_like
from .forward import jvp


def jet(func, x, order, *, direction=None):
    """The derivatives of t -> func(x + t * direction) at 0: (func(x), the first, ..., the one of this order).

    `direction` is ones by default: for a function of each element, its derivatives there. The cost grows with a power
    of the order, where nested derivatives double with each; sums, products, matrix products and elementwise functions
    take part, other ops fall back on nested forward mode.

    >>> import adjoint as torch
    >>> torch.func.jet(lambda x: x ** 3, torch.tensor(2.0), 4)
    (tensor(8.), tensor(12.), tensor(12.), tensor(6.), tensor(0.))
    """
    if not isinstance(order, int) or order < 0:
        raise ValueError(f"jet: expected an order of 0 or more, got {order!r}")
    direction = ones_like(x) if direction is None else direction
    if direction.shape != x.shape:
        raise ValueError(f"jet: expected a direction of shape {tuple(x.shape)}, got {tuple(direction.shape)}")
    if order == 0:
        return (func(x),)
    curve = _Curve(order)
    level = _C._open_handled(curve.handle)
    try:
        moving = x.view_as(x)
        curve.set(moving, [direction] + [None] * (order - 1))
        result = func(moving)
        terms = curve.get(result) or [None] * order
    finally:
        _C._close_level(level)
    found = [zeros_like(result) if c is None else math.factorial(k) * c for k, c in enumerate(terms, 1)]
    return (result, *found)


class _Curve:
    """The coefficients beyond the first of the tensors that move: a list by power, None for zero."""

    def __init__(self, order):
        self.order = order
        self.key = f"_curve_{id(self)}"

    def get(self, value):
        return value.__dict__.get(self.key) if isinstance(value, _C.Tensor) else None

    def set(self, tensor, terms):
        if any(term is not None for term in terms):
            tensor.__dict__[self.key] = terms

    def terms(self, value):
        """Those of an argument, of a list one list for each of its members; None where nothing moves."""
        if isinstance(value, tuple | list):
            found = [self.get(item) for item in value]
            return found if any(terms is not None for terms in found) else None
        return self.get(value)

    def handle(self, op, arguments, in_place):
        moving = {i: terms for i, value in enumerate(arguments) if (terms := self.terms(value)) is not None}
        if in_place:
            return self.change(op, arguments, moving)
        result = call(op, *arguments)
        if not moving or any(result is value for value in arguments):
            return result
        declaration = TABLE[op.__name__]
        outputs = result if isinstance(result, tuple) else (result,)
        if not any(y.is_floating_point() or y.is_complex() for y in outputs) or not declaration.rules:
            return result
        for output, terms in zip(outputs, self.derived(declaration, op, arguments, moving, result), strict=True):
            self.set(output, terms)
        return result

    def change(self, op, arguments, moving):
        """In place: as the op would, and then written."""
        if moving:
            raise NotImplementedError(
                f"jet: {op.__name__}_() changes a tensor in place along a curve; use the form without underscore"
            )
        return _C._call_slots(op, arguments, True)

    def derived(self, declaration, op, arguments, moving, result):
        names = declaration.arguments
        linear = {name for term in declaration.linear for name in term}
        if all(names[i] in linear for i in moving):
            return self.linear(declaration, op, arguments, moving, result)
        real = not any(isinstance(x, _C.Tensor) and x.is_complex() for x in (*arguments, result))
        if declaration.kind == "elementwise" and real:
            return [self.elementwise(declaration, arguments, moving, result)]
        return self.nested(op, arguments, moving, result)

    def linear(self, declaration, op, arguments, moving, result):
        """Sums of products: each power is a sum of calls with coefficients in the place of arguments."""
        several = isinstance(result, tuple)
        rows = [[None] * self.order for _ in (result if several else (result,))]
        places = {name: i for i, name in enumerate(declaration.arguments)}
        terms = [[places[name] for name in term if places[name] in moving] for term in declaration.linear]
        for power in range(1, self.order + 1):
            for powers in _splits(terms, power):
                given = list(arguments)
                if not self.fill(given, powers, moving, declaration, places):
                    continue
                answer = call(op, *given)
                for row, value in zip(rows, answer if several else (answer,), strict=True):
                    row[power - 1] = value if row[power - 1] is None else row[power - 1] + value
        return rows

    def fill(self, given, powers, moving, declaration, places):
        """Puts coefficients into the arguments of one term, and zeros into the other terms; False if one is zero."""
        chosen, powers = powers
        for place, power in powers.items():
            if power == 0:
                continue
            value = self.coefficient(given[place], moving[place], power)
            if value is None:
                return False
            given[place] = value
        for number, term in enumerate(declaration.linear):
            if number != chosen and not any(places[name] in powers for name in term):
                first = places[term[0]]
                given[first] = _zeros(given[first])
        return True

    def coefficient(self, value, terms, power):
        if isinstance(value, tuple | list):
            items = [None if one is None else one[power - 1] for one in terms]
            if all(item is None for item in items):
                return None
            return tuple(zeros_like(x) if item is None else item for x, item in zip(value, items, strict=True))
        return terms[power - 1]

    def elementwise(self, declaration, arguments, moving, result):
        """From y' = sum of df/dx x': the k-th coefficient from the lower ones of y and of the derivative."""
        terms = [None] * self.order
        for power in range(1, self.order + 1):
            total = None
            for place, x_terms in moving.items():
                slope = self.slope(declaration, arguments, place, result, terms, power - 1)
                if slope is None:
                    continue
                for j in range(1, power + 1):
                    if x_terms[j - 1] is None or slope[power - j] is None:
                        continue
                    part = slope[power - j] * (x_terms[j - 1] * (j / power))
                    total = part if total is None else total + part
            terms[power - 1] = None if total is None else total.expand(result.shape)
        return terms

    def slope(self, declaration, arguments, place, result, terms, order):
        """The coefficients of df/dx up to an order, by running the rule of the gradient along the curve."""
        rule = declaration.rules.get(declaration.arguments[place])
        if rule is None:
            return None
        inner = _Curve(order)
        level = _C._open_handled(inner.handle) if order else None
        try:
            moved = {}
            for name in declaration.uses[declaration.arguments[place]]:
                moved[name] = self.moved(inner, declaration, name, arguments, result, terms, order)
            found = rule(**moved)
            tail = inner.get(found) if order else None
        finally:
            if level is not None:
                _C._close_level(level)
        return [found, *(tail or [None] * order)]

    def moved(self, inner, declaration, name, arguments, result, terms, order):
        """What a rule calls by this name, with its coefficients up to an order."""
        if name == "g":
            return ones_like(result)
        if name == "out":
            value, its_terms = result, terms
        else:
            value = arguments[declaration.arguments.index(name)]
            its_terms = self.get(value)
            if not isinstance(value, _C.Tensor):
                return _C.tensor(value) if name in declaration.operands else value
        fresh = value.view_as(value)
        if order and its_terms is not None:
            inner.set(fresh, its_terms[:order])
        return fresh

    def nested(self, op, arguments, moving, result):
        """Any other op: derivatives of its result along the polynomials of its arguments, by nested forward mode."""

        def at(t):
            given = list(arguments)
            for place, terms in moving.items():
                given[place] = _polynomial(arguments[place], terms, t)
            return call(op, *given)

        several = isinstance(result, tuple)
        outputs = result if several else (result,)
        zero = _C.tensor(0.0, dtype=next(y.dtype for y in outputs if y.is_floating_point() or y.is_complex()))
        rows = [[None] * self.order for _ in outputs]
        function = at
        for power in range(1, self.order + 1):
            function = _along(function)
            answers = function(zero)
            for row, value, y in zip(rows, answers if several else (answers,), outputs, strict=True):
                if y.is_floating_point() or y.is_complex():
                    row[power - 1] = value / math.factorial(power)
        return rows


def _splits(terms, power):
    """For each term of a sum of products, the ways to spread a power over its moving factors, by their places."""
    for number, places in enumerate(terms):
        for powers in _spread(places, power):
            yield number, powers


def _spread(places, power):
    if len(places) == 1:
        yield {places[0]: power}
    for first in range(power + 1) if len(places) > 1 else ():
        for rest in _spread(places[1:], power - first):
            yield {places[0]: first, **rest}


def _zeros(value):
    if isinstance(value, tuple | list):
        return tuple(map(zeros_like, value))
    return zeros_like(value) if isinstance(value, _C.Tensor) else value if value is None else 0


def _polynomial(value, terms, t):
    if isinstance(value, tuple | list):
        return tuple(x if one is None else _polynomial(x, one, t) for x, one in zip(value, terms, strict=True))
    for power, term in enumerate(terms, 1):
        if term is not None:
            value = value + term * t.to(value.dtype) ** power
    return value


def _along(function):
    """The derivative of a function of one number."""
    return lambda t: jvp(function, (t,), (ones_like(t),))[1]
