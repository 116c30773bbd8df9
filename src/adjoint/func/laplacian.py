"""The Laplacian: the trace of a Hessian, in one forward pass that forms none.

Every tensor that depends on x carries its derivatives in all directions, as one batch, and the sum of its second
derivatives, which has no directions any more: y = f(x) has the Laplacian f'(x) lap(x) + f''(x) sum_d x_d ^ 2, so that
only the first derivatives are computed for each direction.
"""

import functools

from .. import _C
from ..ops.language import ones_like, zeros_like
from ._series import Polynomials, Series, outputs_of, plus, times
from .jet import Curve
from .products import directions


def laplacian(func, x, *, chunk_size=None):
    """The sum of the second derivatives of `func` by each element of x: the trace of its Hessian.

    One forward pass with all directions, or `chunk_size` of them at once, which no graph is needed for. For many points
    use vmap. The result has the shape of func(x).

    >>> import adjoint as torch
    >>> torch.func.laplacian(lambda x: (x ** 3).sum(), torch.tensor([1.0, 2.0]))
    tensor(18.)
    """
    if chunk_size is not None and not (isinstance(chunk_size, int) and chunk_size > 0):
        raise ValueError(f"laplacian: expected a chunk_size of 1 or more, or None, got {chunk_size!r}")
    rows = directions(x)
    parts = [_along(func, x, part) for part in (rows.split(chunk_size) if chunk_size else (rows,))]
    return functools.reduce(lambda total, part: total + part, parts)


def _along(func, x, rows):
    """The sum of the second derivatives in these directions."""
    with _Spread(len(rows)) as curve:
        moving = _C._make_dual(x, _C._batch(rows, curve.batch), curve.levels[0])
        with curve.seen():
            result = func(moving)
        if not isinstance(result, _C.Tensor):
            raise TypeError(f"laplacian: expected a tensor from func, got {type(result).__name__}")
        found = _C._tangent(result, curve.levels[1])
        found = zeros_like(result) if found is None else found
        curve.leave([result])
        held = _C._batch_level(found)
        # Gradients inside of func are marked as the same for all directions.
        return held[1] if held and held[0] == curve.batch else found


class _Spread(Curve):
    """A curve for each direction. The level of the first power keeps the derivatives in all directions, batched; that
    of the second keeps the Laplacian."""

    def __init__(self, count):
        super().__init__(2)
        self.count = count

    def __enter__(self):
        self.batch = _C._open_batch(self.count, "same")
        return super().__enter__()

    def __exit__(self, *error):
        super().__exit__(*error)
        _C._close_level(self.batch)

    def total(self, value):
        """The sum over the directions."""
        return _C._unbatch(value, self.batch).sum(0)

    def coefficient(self, terms, power):
        """That of each curve: of the second power its share in the Laplacian."""
        term = terms[power - 1]
        return term / (2 * self.count) if power == 2 and term is not None else term

    def give(self, result, polynomials):
        for output in outputs_of(result):
            if series := polynomials.of(output):
                self.set(output, series[1], None if series[2] is None else 2 * self.total(series[2]))

    def set(self, output, first, second):
        for term, level in zip((first, second), self.levels, strict=True):
            if term is not None:
                _C._give_tangent(output, term, level)

    def follow(self, declaration, op, result, arguments):
        moving = [value for value in arguments if self.moves(value)]
        if declaration.kind == "elementwise" and len(moving) == 1 and not result.is_complex():
            self.follow_function(op, result, arguments, moving[0])
        else:
            super().follow(declaration, op, result, arguments)

    def follow_function(self, op, result, arguments, x):
        """Of a function of each element of x: its derivatives are the same for all directions."""
        first, second = self.terms(x)
        alone = Polynomials()
        alone.place(x, Series(x, lambda power: ones_like(x) if power == 1 else None))
        alone.follow(op, result, arguments)
        if not (series := alone.of(result)):
            return
        slope, half = series[1], series[2]
        alone.close()
        curved = None if first is None or half is None else 2 * half * self.total(first * first)
        self.set(result, times(slope, first), plus(times(slope, second), curved))
