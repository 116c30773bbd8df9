"""torch.masked: reductions, scans and normalisations that leave out the elements where a mask is False."""

from .. import _C
from .language import (
    _log_softmax,
    _softmax,
    amax,
    amin,
    argmax,
    argmin,
    composite,
    conj,
    cumprod,
    cumsum,
    logaddexp,
    logsumexp,
    maximum,
    nanmedian,
    prod_dim,
    scalar_tensor,
    sqrt,
    sum_dim,
    vector_norm,
    where,
)

INF = float("inf")

# ---- Filling in what is masked out


def _shown(input, mask):
    """The mask in the input's shape."""
    if mask.ndim > input.ndim:
        raise IndexError(
            "_input_mask expected broadcastable mask (got mask dimensionality higher than of the input); got "
            f"{mask.ndim} dimensions for {input.ndim}"
        )
    return mask.to(_C.bool).expand(input.shape)


def _filled(input, mask, identity):
    """The input with a number that changes nothing where it is masked out."""
    return input if mask is None else where(_shown(input, mask), input, identity)


def _bounds(name, dtype):
    """Numbers that no number of this type is less, or greater than."""
    if dtype is _C.bool:
        raise NotImplementedError(f"identity of {name} on {dtype} input")
    if dtype.is_floating_point or dtype.is_complex:
        return -INF, INF
    if dtype is _C.uint8:
        return 0, 255
    half = 1 << (8 * dtype.itemsize - 1)
    return -half, half - 1


def _least(name, input, mask):
    return None if mask is None else _bounds(name, input.dtype)[0]


def _greatest(name, input, mask):
    return None if mask is None else _bounds(name, input.dtype)[1]


def _dims(input, dim):
    """The dimensions to reduce, not negative: all of them for None and ()."""
    if dim is None or (isinstance(dim, tuple | list) and not dim):
        return tuple(range(input.ndim))
    dims = []
    for each in (dim,) if isinstance(dim, int) else dim:
        bound = max(input.ndim, 1)
        if not -bound <= each < bound:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-bound}, {bound - 1}], but got {each})"
            )
        if each % bound in dims:
            raise RuntimeError(f"dim={each % bound} appears multiple times in the list of dims")
        dims.append(each % bound)
    return tuple(dims)


def _is_float(dtype):
    return dtype.is_floating_point or dtype.is_complex


# ---- Reductions


@composite(namespace="masked")
def masked_sum(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The sum of the elements under the mask.

    >>> import adjoint as torch
    >>> torch.masked.sum(torch.tensor([1.0, 2.0, 4.0]), mask=torch.tensor([True, False, True]))
    tensor(5.)
    """
    return sum_dim(_filled(input, mask, 0), _dims(input, dim), keepdim, dtype=dtype)


@composite(namespace="masked")
def masked_prod(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The product of the elements under the mask.

    >>> import adjoint as torch
    >>> torch.masked.prod(torch.tensor([3.0, 2.0, 4.0]), mask=torch.tensor([True, False, True]))
    tensor(12.)
    """
    result = _filled(input, mask, 1)
    for each in sorted(_dims(input, dim), reverse=True):
        result = prod_dim(result, each, keepdim, dtype=dtype)
    return result if input.ndim else prod_dim(result, 0, dtype=dtype)


def _extreme(input, dim, keepdim, dtype, mask, form, identity):
    result = form(_filled(input, mask, identity), _dims(input, dim), keepdim)
    return result if dtype is None else result.to(dtype)


@composite(namespace="masked")
def masked_amax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The greatest of the elements under the mask.

    >>> import adjoint as torch
    >>> torch.masked.amax(torch.tensor([3.0, 5.0, 4.0]), mask=torch.tensor([True, False, True]))
    tensor(4.)
    """
    return _extreme(input, dim, keepdim, dtype, mask, amax, _least("amax", input, mask))


@composite(namespace="masked")
def masked_amin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The least of the elements under the mask.

    >>> import adjoint as torch
    >>> torch.masked.amin(torch.tensor([3.0, 2.0, 4.0]), mask=torch.tensor([True, False, True]))
    tensor(3.)
    """
    return _extreme(input, dim, keepdim, dtype, mask, amin, _greatest("amin", input, mask))


@composite(namespace="masked")
def masked_argmax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The index of the greatest of the elements under the mask, in the input's type as in torch.

    >>> import adjoint as torch
    >>> torch.masked.argmax(torch.tensor([3, 5, 4]), mask=torch.tensor([True, False, True]))
    tensor(2)
    """
    numbers = _filled(input, mask, _least("argmax", input, mask))
    return argmax(numbers, dim, keepdim).to(dtype or input.dtype)


@composite(namespace="masked")
def masked_argmin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The index of the least of the elements under the mask, in the input's type as in torch.

    >>> import adjoint as torch
    >>> torch.masked.argmin(torch.tensor([3, 2, 4]), mask=torch.tensor([True, False, True]))
    tensor(0)
    """
    numbers = _filled(input, mask, _greatest("argmin", input, mask))
    return argmin(numbers, dim, keepdim).to(dtype or input.dtype)


def _count(input, dims, keepdim, mask):
    """How many elements under the mask are reduced into each element of the result."""
    if mask is not None:
        return sum_dim(_shown(input, mask), dims, keepdim)
    count = 1
    for each in dims:
        count *= input.shape[each] if input.ndim else 1
    return scalar_tensor(count, dtype=_C.int64)


@composite(namespace="masked")
def masked_mean(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The mean of the elements under the mask.

    >>> import adjoint as torch
    >>> torch.masked.mean(torch.tensor([1.0, 2.0, 4.0]), mask=torch.tensor([True, False, True]))
    tensor(2.5000)
    """
    given = input.dtype if dtype is None else dtype
    if not _is_float(given):
        kind = "Input" if dtype is None else "Optional"
        raise ValueError(
            f"mean(): Could not infer output dtype. {kind} dtype must be either a floating point or complex dtype. "
            f"Got: {given}"
        )
    dims = _dims(input, dim)
    total = sum_dim(_filled(input, mask, 0), dims, keepdim, dtype=given)
    return total / _count(input, dims, keepdim, mask)


@composite(namespace="masked")
def masked_median(input, dim=-1, *, keepdim=False, dtype=None, mask=None):
    """The middle one of the elements under the mask that are not nan.

    >>> import adjoint as torch
    >>> torch.masked.median(torch.tensor([1.0, 2.0, 4.0]), 0, mask=torch.tensor([True, False, True]))
    tensor(1.)
    """
    if mask is None:
        return nanmedian(input, dim, keepdim).values
    if input.is_floating_point():
        return nanmedian(_filled(input, mask, float("nan")), dim, keepdim).values
    if not bool(_shown(input, mask).any(dim).all()):
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    numbers = _filled(input.to(_C.float64), mask, float("nan"))
    return nanmedian(numbers, dim, keepdim).values.to(input.dtype)


@composite(namespace="masked")
def masked_norm(input, ord=2.0, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The vector norm of the elements under the mask.

    >>> import adjoint as torch
    >>> torch.masked.norm(torch.tensor([3.0, 2.0, 4.0]), mask=torch.tensor([True, False, True]))
    tensor(5.)
    """
    numbers = _filled(input, mask, INF if ord == -INF else 0)
    return vector_norm(numbers, ord, _dims(input, dim), keepdim, dtype=dtype)


def _variance(input, dim, unbiased, correction, keepdim, dtype, mask):
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    if correction is None:
        correction = 1 if unbiased is None else int(unbiased)
    if dtype is None:
        dtype = input.dtype if _is_float(input.dtype) else _C.float32
    input = input.to(dtype)
    dims = _dims(input, dim)
    count = _count(input, dims, True, mask)
    distance = input - sum_dim(_filled(input, mask, 0), dims, True) / count
    square = distance * conj(distance) if distance.is_complex() else distance * distance
    total = sum_dim(_filled(square, mask, 0), dims, keepdim)
    count = count if keepdim or mask is None else count.reshape(total.shape)
    freedom = count - correction
    return total / maximum(freedom, scalar_tensor(0, dtype=freedom.dtype))


@composite(namespace="masked")
def masked_var(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The variance of the elements under the mask.

    >>> import adjoint as torch
    >>> torch.masked.var(torch.tensor([1.0, 2.0, 3.0]), mask=torch.tensor([True, False, True]))
    tensor(2.)
    """
    return _variance(input, dim, unbiased, correction, keepdim, dtype, mask)


@composite(namespace="masked")
def masked_std(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The standard deviation of the elements under the mask.

    >>> import adjoint as torch
    >>> torch.masked.std(torch.tensor([1.0, 2.0, 3.0]), mask=torch.tensor([True, False, True]))
    tensor(1.4142)
    """
    return sqrt(_variance(input, dim, unbiased, correction, keepdim, dtype, mask))


@composite(namespace="masked")
def masked_logsumexp(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The logarithm of the sum of exponentials of the elements under the mask.

    >>> import adjoint as torch
    >>> torch.masked.logsumexp(torch.tensor([0.0, 2.0, 0.0]), mask=torch.tensor([True, False, True]))
    tensor(0.6931)
    """
    numbers = _filled(input, mask, _least("logsumexp", input, mask))
    return logsumexp(numbers, _dims(input, dim), keepdim).to(dtype or input.dtype)


# ---- Elements by element, and along a dimension


@composite(namespace="masked")
def masked_logaddexp(input, other, *, dtype=None, input_mask=None, other_mask=None):
    """The logarithm of the sum of two exponentials, those that are masked out counting as 0.

    >>> import adjoint as torch
    >>> torch.masked.logaddexp(torch.tensor([1.0]), torch.tensor([5.0]), other_mask=torch.tensor([False]))
    tensor([1.])
    """
    result = logaddexp(_filled(input, input_mask, -INF), _filled(other, other_mask, -INF))
    return result if dtype is None else result.to(dtype)


@composite(namespace="masked")
def masked_softmax(input, dim, *, dtype=None, mask=None):
    """The softmax of the elements under the mask; it is 0 elsewhere.

    >>> import adjoint as torch
    >>> torch.masked.softmax(torch.tensor([1.0, 2.0, 1.0]), 0, mask=torch.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    return _softmax(_filled(input, mask, -INF if input.is_floating_point() else 0), dim, dtype)


@composite(namespace="masked")
def masked_log_softmax(input, dim, *, dtype=None, mask=None):
    """The logarithm of the softmax of the elements under the mask.

    >>> import adjoint as torch
    >>> torch.masked.log_softmax(torch.tensor([1.0, 2.0, 1.0]), 0, mask=torch.tensor([True, False, True]))
    tensor([-0.6931,    -inf, -0.6931])
    """
    return _log_softmax(_filled(input, mask, -INF if input.is_floating_point() else 0), dim, dtype)


@composite(namespace="masked")
def masked_softmin(input, dim, *, dtype=None, mask=None):
    """The softmax of the negated elements under the mask.

    >>> import adjoint as torch
    >>> torch.masked.softmin(torch.tensor([1.0, 2.0, 1.0]), 0, mask=torch.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    return _softmax(-_filled(input, mask, INF if input.is_floating_point() else 0), dim, dtype)


@composite(namespace="masked")
def masked_normalize(input, ord, dim, *, eps=1e-12, dtype=None, mask=None):
    """The elements under the mask over their norm along a dimension.

    >>> import adjoint as torch
    >>> torch.masked.normalize(torch.tensor([3.0, 2.0, 4.0]), 2.0, 0, mask=torch.tensor([True, False, True]))
    tensor([0.6000, 0.0000, 0.8000])
    """
    input = input if dtype is None else input.to(dtype)
    size = masked_norm(input, ord, dim, keepdim=True, mask=mask)
    return _filled(input, mask, 0) / maximum(size, scalar_tensor(eps, dtype=size.dtype))


@composite(namespace="masked")
def masked_cumsum(input, dim, *, dtype=None, mask=None):
    """The running sums of the elements under the mask.

    >>> import adjoint as torch
    >>> torch.masked.cumsum(torch.tensor([1.0, 2.0, 4.0]), 0, mask=torch.tensor([True, False, True]))
    tensor([1., 1., 5.])
    """
    return cumsum(_filled(input, mask, 0), dim, dtype=dtype or input.dtype)


@composite(namespace="masked")
def masked_cumprod(input, dim, *, dtype=None, mask=None):
    """The running products of the elements under the mask.

    >>> import adjoint as torch
    >>> torch.masked.cumprod(torch.tensor([3.0, 2.0, 4.0]), 0, mask=torch.tensor([True, False, True]))
    tensor([ 3.,  3., 12.])
    """
    return cumprod(_filled(input, mask, 1), dim, dtype=dtype or input.dtype)
