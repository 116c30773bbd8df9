"""Tangents of ops by transposing the transpose.

The gradient of an op is a linear function of the gradient g that comes in: its matrix is the transposed Jacobian. The
gradient of that function, by g, is therefore a product with the Jacobian itself: the tangent.
"""

from .. import _C
from ..autograd import _unused_allowed
from ..autograd.grad_mode import enable_grad
from ..ops.batching import call, is_recorded
from ..ops.language import zeros_like
from ..utils._pytree import tree_leaves
from .safe import transposing


def tangent(op, arguments, tangents):
    """The tangents of op(*arguments), given those of its arguments, or None for them: a tensor, or a tuple."""
    recorded = any(is_recorded(x) for x in tree_leaves((arguments, tangents)) if isinstance(x, _C.Tensor))
    inputs, along = [], []

    def fresh(value, its_tangent):
        if its_tangent is None:
            return value
        if isinstance(its_tangent, tuple):
            return tuple(map(fresh, value, its_tangent))
        inputs.append(_C._fresh(value, recorded))
        along.append(its_tangent)
        return inputs[-1]

    with enable_grad(), transposing():
        results = call(op, *map(fresh, arguments, tangents))
        several = isinstance(results, tuple)
        results = results if several else (results,)
        moving = [y for y in results if y.requires_grad]
        answers = iter(_products_or_refusal(op, moving, inputs, along, recorded))
    # An output that no gradient passes has no tangent.
    found = tuple(next(answers) if y.requires_grad else None for y in results)
    return found if several else found[0]


def _products_or_refusal(op, outputs, inputs, along, recorded):
    try:
        return _products(outputs, inputs, along, recorded)
    except RuntimeError as error:
        if "is not implemented" not in str(error):
            raise
        raise NotImplementedError(
            f"Trying to use forward AD with {op.__name__} that does not support it because it has not been implemented "
            f"yet: {error}"
        ) from error


def _products(outputs, inputs, along, recorded):
    weights = [_C._requiring_grad(zeros_like(y), True) for y in outputs]
    gradients = _unused_allowed(outputs, inputs, weights, create_graph=True)
    pairs = [(g, t) for g, t in zip(gradients, along, strict=True) if g is not None and g.requires_grad]
    if not pairs:
        return [zeros_like(y) for y in outputs]
    gradients, along = zip(*pairs, strict=True)
    products = _unused_allowed(gradients, weights, along, create_graph=recorded)
    for leaf in (*weights, *(x for x in inputs if x.is_leaf)):
        _C._requiring_grad(leaf, False)  # nobody asks for its gradient, though the graph may lead there
    if not recorded:
        products = [None if p is None else _C._bare_tangents(p) for p in products]
    return [zeros_like(y) if p is None else p for p, y in zip(products, outputs, strict=True)]
