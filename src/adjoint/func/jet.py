"""Taylor mode: all derivatives of a function along a curve, up to an order, in one pass.

Along x(t) = x + t v every tensor that depends on x is a polynomial in t. Its coefficients are kept as tangents are, one
level of forward mode for each power, so that views, saved values and changes in place carry them along. These levels
rest: a level inside of them sees each op, and wakes them for what is linear, which forward mode computes as it is; the
coefficients of other results come from _series.py.
"""

import contextlib
import functools
import math

from .. import _C
from ..autograd.grad_mode import inference_mode, is_inference_mode_enabled, no_grad
from ..ops.batching import call
from ..ops.language import TABLE, ones_like, zeros_like
from ..utils._pytree import tree_flatten, tree_unflatten
from ._series import Polynomials, Series, is_differentiable, is_linear, outputs_of
from .reverse import check_outputs

HIGHEST = 170  # whose factorial a double still holds


def jet(func, x, order, *, direction=None):
    """The derivatives of t -> func(x + t * direction) at 0: (func(x), the first, ..., the one of this order).

    `direction` is ones by default: for a function of each element, its derivatives there. The cost grows with the
    square of the order, where nested derivatives double with each; ops that have neither a formula nor a rule for
    tangents fall back on those. For a function of several tensors, x and `direction` are tuples of them; where func
    returns a container, each derivative is one like it.

    >>> import adjoint as torch
    >>> torch.func.jet(lambda x: x ** 3, torch.tensor(2.0), 4)
    (tensor(8.), tensor(12.), tensor(12.), tensor(6.), tensor(0.))
    """
    if not isinstance(order, int) or not 0 <= order <= HIGHEST:
        raise ValueError(f"jet: expected an order from 0 to {HIGHEST}, got {order!r}")
    points, along = (x, direction) if isinstance(x, tuple) else ((x,), None if direction is None else (direction,))
    along = _directions(points, along)
    if order == 0:
        return (func(*points),)
    with Curve(order) as curve:
        first = curve.levels[0]
        # A copy: func may change its argument in place, and its coefficient with it.
        moving = [_C._make_dual(point, v.clone(), first) for point, v in zip(points, along, strict=True)]
        with curve.seen():
            results, spec = tree_flatten(func(*moving))
        check_outputs(results, "jet")
        rows = [curve.derivatives(result) for result in results]
        curve.leave(results)
    return tuple(tree_unflatten(column, spec) for column in zip(*rows, strict=True))


def _directions(points, along):
    """Those in which the points move, ones where none are given."""
    for point in points:
        if not is_differentiable(point):
            given = getattr(point, "dtype", type(point).__name__)
            raise ValueError(f"jet: expected a tensor of floating point or complex numbers, got {given}")
    if along is None:
        return tuple(map(ones_like, points))
    if not isinstance(along, tuple) or len(along) != len(points):
        raise ValueError(f"jet: expected a tuple of {len(points)} directions, one for each tensor, got {along!r}")
    for point, v in zip(points, along, strict=True):
        if v.shape != point.shape:
            raise ValueError(f"jet: expected a direction of shape {tuple(point.shape)}, got {tuple(v.shape)}")
    return along


CURVES = {}  # those that are open, by the level that sees ops


class Curve:
    """The levels that keep the coefficients, by power from 1 on, and the handler of the level that sees ops."""

    def __init__(self, order):
        self.order = order
        self.levels = []
        self.modes = contextlib.ExitStack()

    def __enter__(self):
        if is_inference_mode_enabled():  # in which nothing has tangents
            self.modes.enter_context(inference_mode(False))
            self.modes.enter_context(no_grad())
        for _ in range(self.order):
            self.levels.append(_C._open_forward())
            _C._rest_level(self.levels[-1], True)
        return self

    def __exit__(self, *_):
        for level in reversed(self.levels):
            _C._close_level(level)
        self.modes.close()

    @contextlib.contextmanager
    def seen(self):
        """Ops come to handle() meanwhile, and custom Functions to apply()."""
        level = _C._open_handled(self.handle)
        CURVES[level] = self
        try:
            yield
        finally:
            del CURVES[level]
            _C._close_level(level)

    @contextlib.contextmanager
    def awake(self):
        """Each power is carried through ops by itself meanwhile: right for what is linear."""
        for level in self.levels:
            _C._rest_level(level, False)
        try:
            yield
        finally:
            for level in self.levels:
                _C._rest_level(level, True)

    def derivatives(self, result):
        """A result of the function and its derivatives."""
        terms = self.terms(result) or [None] * self.order
        found = [zeros_like(result) if c is None else float(math.factorial(k)) * c for k, c in enumerate(terms, 1)]
        return result, *found

    def leave(self, results):
        """Takes the coefficients off, which nothing will ask for any more."""
        for result in results:
            for level in self.levels:
                _C._take_tangent(result, level)

    def terms(self, value):
        """The coefficients beyond the first of a tensor, None if there are none."""
        found = [_C._tangent(value, level) for level in self.levels]
        return found if any(term is not None for term in found) else None

    def moves(self, value):
        """Whether an argument has coefficients, or one in a sequence."""
        if isinstance(value, _C.Tensor):
            return any(_C._tangent(value, level) is not None for level in self.levels)
        return isinstance(value, tuple | list) and any(map(self.moves, value))

    def polynomials(self, arguments):
        """Those among the tensors of arguments, in sequences, too."""
        found = Polynomials()
        for value in arguments:
            for item in value if isinstance(value, tuple | list) else (value,):
                if isinstance(item, _C.Tensor) and (terms := self.terms(item)):
                    found.place(item, Series(item, functools.partial(self.coefficient, terms)))
        return found

    def coefficient(self, terms, power):
        return terms[power - 1]

    def handle(self, op, arguments, in_place):
        moving = tuple(map(self.moves, arguments))
        if not any(moving):
            return _C._call_slots(op, arguments, in_place)
        declaration = TABLE[op.__name__]
        if in_place:
            return self.change(declaration, op, arguments, moving)
        if self.order == 1 or is_simple(declaration, moving):
            with self.awake():
                return call(op, *arguments)
        result = call(op, *arguments)
        self.follow(declaration, op, result, arguments)
        return result

    def follow(self, declaration, op, result, arguments):
        """Gives the results of an op that is not linear their coefficients."""
        polynomials = self.polynomials(arguments)
        polynomials.follow(op, result, arguments)
        self.give(result, polynomials)
        polynomials.close()

    def give(self, result, polynomials):
        """Gives the results of an op their coefficients."""
        for output in outputs_of(result):
            series = polynomials.of(output)
            for power, level in enumerate(self.levels, 1) if series else ():
                if series[power] is not None:
                    _C._give_tangent(output, series[power], level)

    def change(self, declaration, op, arguments, moving):
        """In place: as the op would, and then written."""
        if declaration.inplace == "only" or declaration.kind == "view" or is_simple(declaration, moving):
            with self.awake():
                return _C._call_slots(op, arguments, True)
        target = arguments[0]
        with self.awake():
            before = target.clone()  # what is recorded must not see the change
        result = self.handle(op, tuple(before if value is target else value for value in arguments), False)
        if result.shape != target.shape or result.is_complex() > target.is_complex():
            return _C._call_slots(op, arguments, True)  # which refuses it
        with self.awake():
            return target.copy_(result)

    def apply(self, function, arguments):
        """A custom Function, whose `jvp` nested forward mode asks for; None where nothing moves."""
        polynomials = self.polynomials(arguments)
        if not polynomials.moves(arguments):
            return None
        result = function.apply(*arguments)
        outputs = outputs_of(result)
        polynomials.place_all(outputs, polynomials.by_forward_mode(function.apply, arguments, outputs))
        self.give(result, polynomials)
        polynomials.close()
        return result


@functools.cache
def is_simple(declaration, moving):
    """Whether an op is linear in all that moves, together."""
    names = {name for name, moves in zip(declaration.arguments, moving, strict=True) if moves}
    return is_linear(declaration, moving) and all(len(names.intersection(term)) < 2 for term in declaration.linear)
