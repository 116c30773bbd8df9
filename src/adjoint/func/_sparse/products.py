"""The dependencies of matrix products and of convolutions, where a factor that is constant shows its zeros."""

import math

import numpy as np
from scipy import sparse

from ... import _C
from ...ops.batching import call
from ...ops.language import zeros_like
from . import rows as sets

# By op: its two factors and how they are read, and what is added.
PRODUCTS = {
    "mm": ("input", "", "mat2", "", None),
    "mm_nt": ("input", "", "mat2", "transposed", None),
    "mm_tn": ("input", "transposed", "mat2", "", None),
    "bmm": ("input", "", "mat2", "", None),
    "bmm_nt": ("input", "", "mat2", "transposed", None),
    "bmm_tn": ("input", "transposed", "mat2", "", None),
    "mv": ("input", "", "vec", "column", None),
    "mv_t": ("input", "transposed", "vec", "column", None),
    "dot": ("input", "row", "tensor", "column", None),
    "vdot": ("input", "row", "other", "column", None),
    "addmm": ("mat1", "", "mat2", "", "input"),
    "addmv": ("mat", "", "vec", "column", "input"),
    "baddbmm": ("batch1", "", "batch2", "", "input"),
    "addr": ("vec1", "column", "vec2", "row", "input"),
    "linear_plain": ("input", "rows", "weight", "transposed", None),
    "linear_biased": ("input", "rows", "weight", "transposed", "bias"),
}


def product(this):
    """A constant factor's zeros leave elements out; of one that depends on the input, none is known."""
    left, left_form, right, right_form, added = PRODUCTS[this.declaration.name]
    a, a_rows = _factor(this, left, left_form)
    b, b_rows = _factor(this, right, right_form)
    target = (*a.shape[:-1], b.shape[-1])
    parts = []
    if b_rows is not None:
        parts.append(_through(None if a_rows is not None else a != 0, b_rows, b.shape, -2, target))
    if a_rows is not None:
        parts.append(_through(None if b_rows is not None else b != 0, a_rows, a.shape, -1, target))
    if added in this.tracked:
        parts.append(sets.broadcast(this.tracked[added], this.shape(added), tuple(this.outputs[0].shape)))
    return [sets.united(parts)]


def distances(this):
    """Of each of some points to each of others, which are rows."""
    target, parts = tuple(this.outputs[0].shape), []
    for name, form, dim in (("x1", "", -1), ("x2", "transposed", -2)):
        points, rows = _factor(this, name, form)
        if rows is not None:
            parts.append(_through(None, rows, points.shape, dim, target))
    return [sets.united(parts)]


def _factor(this, name, form):
    """(the values of a factor as a matrix or a batch of them, its rows or None)."""
    values, rows = this.arguments[name].detach().numpy(), this.tracked.get(name)
    if form == "transposed":
        if rows is not None:
            rows = rows[np.arange(values.size).reshape(values.shape).swapaxes(-1, -2).ravel()]
        return values.swapaxes(-1, -2), rows
    shapes = {"": values.shape, "column": (-1, 1), "row": (1, -1), "rows": (-1, values.shape[-1])}
    return values.reshape(shapes[form]), rows


def _through(pattern, rows, shape, dim, target):
    """The rows of a factor once it is multiplied, along `dim`, by one of this pattern; None for an unknown one."""
    if pattern is None or pattern.all():
        dim %= len(shape)
        reduced = (*shape[:dim], 1, *shape[dim + 1 :])
        return sets.broadcast(sets.along(rows, shape, {dim}, reduced), reduced, target)
    blocks = []
    for one in pattern if pattern.ndim == 3 else [pattern]:
        one = sparse.csr_array(one)
        same = sparse.eye_array(shape[-1] if dim == -2 else shape[-2], dtype=bool)
        blocks.append(sparse.kron(one, same) if dim == -2 else sparse.kron(same, one.T))
    return sparse.block_diag(blocks, format="csr", dtype=bool) @ rows


def convolution(this):
    """Each element depends on those in its window, where the weight is not zero, and on the weight of its channel."""
    target, shape = tuple(this.outputs[0].shape), this.shape("weight")
    channels = (1, target[1], *(1,) * (len(target) - 2))
    if len(target) != len(shape) or this.outputs[0].is_complex():
        return None
    parts = []
    if "input" in this.tracked:
        parts.append(_windows(this) @ this.tracked["input"])
    if "bias" in this.tracked:
        parts.append(sets.broadcast(this.tracked["bias"], channels, target))
    if "weight" in this.tracked and this.arguments["transposed"]:
        parts.append(sets.repeated(this.tracked["weight"], math.prod(target)))
    elif "weight" in this.tracked:
        mixed = sets.along(this.tracked["weight"], shape, set(range(1, len(shape))), shape[:1])
        parts.append(sets.broadcast(mixed, channels, target))
    return [sets.united(parts)]


def _windows(this):
    """Which elements of the input each of the output has in its window: by weights of one element each."""
    weight = this.arguments["weight"].detach()
    present = _C.ones(weight.shape, dtype=_C.bool) if "weight" in this.tracked else weight != 0
    shape = this.shape("input")
    numbers = _C.arange(1.0, math.prod(shape) + 1, dtype=_C.float64).view(shape)
    outputs, inputs = [], []
    transposed = this.arguments["transposed"]  # and then the weight has the channels of the input first
    for channel, *offset in np.ndindex(weight.shape[0 if transposed else 1], *weight.shape[2:]):
        place = (channel, slice(None), *offset) if transposed else (slice(None), channel, *offset)
        alone = zeros_like(present, dtype=_C.float64)
        alone[place] = present[place].double()
        given = {**this.arguments, "input": numbers, "weight": alone, "bias": None}
        found = call(this.op, *given.values()).numpy().ravel()
        outputs.append(np.flatnonzero(found))
        inputs.append(np.rint(found[outputs[-1]]).astype(np.int64) - 1)
    size = (this.outputs[0].numel(), math.prod(shape))
    return sets.matrix(np.concatenate(outputs), np.concatenate(inputs), size)
