"""Cross products, traces, distances between vectors, and vectors cut to a length."""

import warnings
from math import prod

from .batching import behind, with_batch
from .checks import integer, number
from .language import (
    _cdist,
    _cdist_backward,
    _euclidean_dist,
    _pdist,
    _pdist_backward,
    _ratio_or_zero,
    abs,
    cat,
    clamp_min,
    composite,
    conj,
    elementwise,
    eye,
    index_select,
    linalg_cross,
    ones_like,
    op,
    renorm,
    sgn,
    sqrt,
    triu_indices,
    vector_norm,
    where,
    zeros_like,
)
from .language import bool as bool_type
from .matmul import _broadcast
from .reduce import INF, norm_gradient

# ---- Batch rules; see batching.py


def _trace_batch(op, size, batched, input):
    if input.dim() != 3 or input.dtype == bool_type:
        return NotImplemented  # which the op refuses
    return input.diagonal(0, 1, 2).sum(1)


def _renorm_batch(op, size, batched, input, p, dim, maxnorm):
    if input.dim() < 3:
        return NotImplemented  # which the op refuses
    dim = behind(dim, input.dim() - 1)
    slices = input.movedim(dim, 1)
    return renorm(slices.flatten(0, 1), p, 0, maxnorm).unflatten(0, slices.shape[:2]).movedim(1, dim)


def _cdist_batch(op, size, batched, x1, x2, p):
    x1, x2 = with_batch(size, batched[:2], (x1, x2))
    return _cdist(x1.flatten(0, 1), x2.flatten(0, 1), p).unflatten(0, x1.shape[:2])


def _cdist_backward_batch(op, size, batched, grad, x1, x2, p, out):
    grad, x1, x2, p, out = with_batch(size, batched, (grad, x1, x2, p, out))
    gradient = _cdist_backward(grad.flatten(0, 1), x1.flatten(0, 1), x2.flatten(0, 1), p, out.flatten(0, 1))
    return gradient.unflatten(0, x1.shape[:2])


def _pairs(count, device):
    """The numbers of the first and of the second row of each pair."""
    return triu_indices(count, count, 1, device=device).unbind()


def _pdist_batch(op, size, batched, input, p):
    """Those of the distances of each row to each other row that pdist has."""
    count = input.shape[1]
    first, second = _pairs(count, input.device)
    return index_select(_cdist(input, input, p).flatten(1), 1, first * count + second)


def _pdist_backward_batch(op, size, batched, grad, input, p, out):
    grad, input, _, out = with_batch(size, batched, (grad, input, p, out))
    count = input.shape[1]
    first, second = _pairs(count, input.device)
    above, below = first * count + second, second * count + first

    def by_rows(values):
        table = values.new_zeros(size, count * count)
        return table.index_add(1, above, values).index_add(1, below, values).unflatten(1, (count, count))

    return _cdist_backward(by_rows(grad), input, input, p, by_rows(out))


op("linalg_cross(input, other, *, dim=-1)", loop="cross", native="linalg_cross", namespace="linalg", out="exact",
   apart=("input", "other"), linear="input * other",
   input=lambda g, other, dim: linalg_cross(conj(other), g, dim=dim),
   other=lambda g, input, dim: linalg_cross(g, conj(input), dim=dim),
   doc="The cross product of vectors of three elements along a dimension.",
   batch="dim")  # fmt: skip


@composite(out="exact", apart=("input", "other"), autocast="none, promote")
def cross(input, other, dim=None):
    """The cross product along a dimension, by default the first that has three elements.

    >>> import adjoint as torch
    >>> torch.cross(torch.tensor([1.0, 0.0, 0.0]), torch.tensor([0.0, 1.0, 0.0]), dim=0)
    tensor([0., 0., 1.])
    """
    if dim is None:
        warnings.warn(
            "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim explicitly or "
            "simply use torch.linalg.cross.\nThe default value of dim will change to agree with that of linalg.cross "
            "in a future release.",
            UserWarning,
            stacklevel=2,
        )
        dim = next((d for d, size in enumerate(input.shape) if size == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    return linalg_cross(input, other, dim=dim)


def _trace(input):
    if input.dtype == bool_type:
        raise NotImplementedError("\"trace\" not implemented for 'Bool'; convert to numbers with .int()")
    if input.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
    return input.diagonal().sum()


op("trace(input)", forward=_trace, autocast="float32, none", linear="input",
   input=lambda g, input_meta: g * eye(*input_meta.shape, dtype=g.dtype, device=g.device),
   doc="The sum of the elements on the diagonal of a matrix.",
   batch=_trace_batch)  # fmt: skip


def _renorm(input, p, dim, maxnorm):
    number("renorm", p=p, maxnorm=maxnorm)
    integer("renorm", "dim", dim)
    if isinstance(p, complex) or not p > 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if isinstance(maxnorm, complex):
        raise RuntimeError("renorm: maxnorm must be real-valued")
    if not maxnorm >= 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    if input.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions")
    if not -input.ndim <= dim < input.ndim:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-input.ndim}, {input.ndim - 1}], but got {dim})"
        )
    return (input * _scales(*_slice_norms(input, p, dim), maxnorm)).contiguous()


def _slice_norms(input, p, dim):
    """The norms of the slices along a dimension, and the other dimensions."""
    others = [d for d in range(input.ndim) if d != dim % input.ndim]
    return vector_norm(input, p, others, True), others


def _scales(norms, others, maxnorm):
    """What the slices are multiplied with."""
    del others
    return where(norms > maxnorm, maxnorm / (norms + 1e-7), ones_like(norms))


def _renorm_gradient(g, input, p, dim, maxnorm, fused=False):
    """x f(|x|): g f(|x|) + f'(|x|) (x g) d|x|, with f = maxnorm / |x| beyond maxnorm and 1 before."""
    norms, others = _slice_norms(input, p, dim)
    scales = _scales(norms, others, maxnorm)
    along = (conj(input) * g).sum(others, keepdim=True)
    along = along.real if along.is_complex() else along
    slope = where(norms > maxnorm, -along * scales / (norms + 1e-7), 0)
    return g * scales + norm_gradient(slope, input, norms, p, others, fused)


op("renorm(input, p, dim, maxnorm)", autocast="none, float32", forward=_renorm, inplace=True, out="exact",
   fused={"input": lambda g, input, p, dim, maxnorm: _renorm_gradient(g, input, p, dim, maxnorm, fused=True)},
   input=lambda g, input, p, dim, maxnorm: _renorm_gradient(g, input, p, dim, maxnorm),
   doc="The slices along a dimension, those with a p-norm above maxnorm scaled down to it.",
   batch=_renorm_batch)  # fmt: skip


# ---- Distances


def _refuse_second(g, name):
    del g
    raise RuntimeError(f"derivative for aten::{name} is not implemented")


def _slopes(difference, length, p):
    """The derivatives of p-norms: (|x| / |x|_p)^(p - 1) sgn(x), and 0 where that is not defined."""
    if p == 0:
        return zeros_like(difference)
    if p == 1:
        return sgn(difference)
    if p == 2:
        return _ratio_or_zero(difference, length)
    if p == INF:
        return sgn(difference) * (abs(difference) == length)
    ratio = _ratio_or_zero(abs(difference), length)
    return sgn(difference) * where(ratio == 0, 0, ratio ** (p - 1))


def _length_tangent(difference, tangent, length, p):
    """The tangents of the p-norms of differences along the last dimension."""
    return (_slopes(difference, length.unsqueeze(-1), p) * tangent).sum(-1)


def _cdist_tangent(x1, x2, x1_t, x2_t, p, out):
    difference = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    return _length_tangent(difference, x1_t.unsqueeze(-2) - x2_t.unsqueeze(-3), out, p)


def _pdist_tangent(input, input_t, p, out):
    first, second = _pairs(input.shape[0], input.device)

    def between(rows):
        return index_select(rows, 0, first) - index_select(rows, 0, second)

    return _length_tangent(between(input), between(input_t), out, p)


op("_cdist(x1, x2, p)", native="cdist_forward", node="CdistBackward0", public=False,
   x1=lambda g, x1, x2, p, out: _cdist_backward(g, x1, x2, p, out),
   x2=lambda g, x1, x2, p, out: _cdist_backward(g.mT, x2, x1, p, out.mT),
   jvp=_cdist_tangent,
   batch=_cdist_batch)  # fmt: skip
op("_cdist_backward(grad, x1, x2, p, out_)", native="cdist_backward", public=False, linear="grad",
   grad=lambda g: _refuse_second(g, "_cdist_backward"), x1=lambda g: _refuse_second(g, "_cdist_backward"),
   x2=lambda g: _refuse_second(g, "_cdist_backward"), out_=lambda g: _refuse_second(g, "_cdist_backward"),
   batch=_cdist_backward_batch)  # fmt: skip

_MODES = {
    "use_mm_for_euclid_dist_if_necessary": lambda n, m: n > 25 or m > 25,
    "use_mm_for_euclid_dist": lambda n, m: True,
    "donot_use_mm_for_euclid_dist": lambda n, m: False,
}


def _euclidean(x1, x2):
    """|x - y|^2 = |x|^2 - 2 x y + |y|^2, as one matrix product."""
    squares1, squares2 = (x1 * x1).sum(-1, keepdim=True), (x2 * x2).sum(-1, keepdim=True)
    left = cat([-2 * x1, squares1, ones_like(squares1)], -1)
    right = cat([x2, ones_like(squares2), squares2], -1)
    return sqrt(clamp_min(left @ right.mT, 0))


op("_euclidean_dist(x1, x2)", forward=_euclidean, node="CdistBackward0", public=False,
   x1=lambda g, x1, x2, out: _euclidean_gradient(_ratio_or_zero(g, out), x1, x2),
   x2=lambda g, x1, x2, out: _euclidean_gradient(_ratio_or_zero(g, out).mT, x2, x1),
   batch="...")  # fmt: skip
elementwise("_ratio_or_zero(slope, length)", lambda slope, length: where(length == 0, 0, slope / length),
            linear="slope", public=False)  # fmt: skip


def _euclidean_gradient(ratio, x1, x2):
    """The sum over y of g (x - y) / |x - y|, with g / |x - y| given."""
    return x1 * ratio.sum(-1, keepdim=True) - ratio @ x2


@composite(method=False, autocast="float32")
def cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    """The p-norm distances of each row of x1 to each row of x2.

    >>> import adjoint as torch
    >>> torch.cdist(torch.zeros(1, 2), torch.tensor([[3.0, 4.0]]))
    tensor([[5.]])
    """
    for label, tensor in (("X1", x1), ("X2", x2)):
        if tensor.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {label} got: {tensor.ndim}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    for label, tensor in (("X1", x1), ("X2", x2)):
        if not tensor.is_floating_point():
            raise RuntimeError(f"cdist only supports floating-point dtypes, {label} got: {tensor.dtype}")
    if not p >= 0:
        raise RuntimeError("cdist only supports non-negative p values")
    if compute_mode not in _MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    n, m, d = x1.shape[-2], x2.shape[-2], x1.shape[-1]
    if p == 2 and n and m and d and _MODES[compute_mode](n, m):
        return _euclidean_dist(x1, x2)
    batch = _broadcast(x1.shape[:-2], x2.shape[:-2])
    left = x1.expand(*batch, n, d).reshape(prod(batch), n, d)
    right = x2.expand(*batch, m, d).reshape(prod(batch), m, d)
    return _cdist(left, right, float(p)).reshape(*batch, n, m)


op("_pdist(input, p)", native="pdist_forward", node="PdistBackward0", public=False,
   input=lambda g, input, p, out: _pdist_backward(g, input, p, out),
   jvp=_pdist_tangent,
   batch=_pdist_batch)  # fmt: skip
op("_pdist_backward(grad, input, p, out_)", native="pdist_backward", public=False, linear="grad",
   grad=lambda g: _refuse_second(g, "_pdist_backward"), input=lambda g: _refuse_second(g, "_pdist_backward"),
   out_=lambda g: _refuse_second(g, "_pdist_backward"),
   batch=_pdist_backward_batch)  # fmt: skip


@composite(method=False, autocast="none, float32")
def pdist(input, p=2.0):
    """The p-norm distances of each pair of rows.

    >>> import adjoint as torch
    >>> torch.pdist(torch.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]))
    tensor([5.0000, 1.0000, 4.2426])
    """
    if input.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    if not input.is_floating_point():
        raise RuntimeError("pdist only supports floating-point dtypes")
    if not p >= 0:
        raise RuntimeError("pdist only supports non-negative p values")
    return _pdist(input, float(p))


composite(pdist, namespace="nn.functional", name="pdist")
