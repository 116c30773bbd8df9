"""Statistics of samples: quantiles, covariances and correlations."""

import warnings

from .. import _C
from .checks import boolean, demanded, holds, tensor
from .language import complex as complex_
from .language import composite, conj, isnan, lerp, scalar_tensor, where
from .out_words import QUANTILE

Tensor = _C.Tensor
INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")

# ---- Quantiles


def _check_quantile(name, input, q, interpolation):
    """Checks the arguments; returns q as a tensor."""
    if input.numel() == 0:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if input.dtype not in (_C.float32, _C.float64):
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    if input.numel() > 2**24:
        raise RuntimeError(f"{name}() input tensor is too large")
    if interpolation not in INTERPOLATIONS:
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}"
        )
    if not isinstance(q, Tensor):
        if not 0 <= q <= 1:
            raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q}")
        return scalar_tensor(q, dtype=input.dtype, device=input.device)
    if q.ndim > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
    if q.dtype is not input.dtype:
        raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
    wrong = f"{name}() q values must be in the range [0, 1]"
    if not demanded((q >= 0) & (q <= 1), wrong):
        raise RuntimeError(wrong)
    return q


def _ranks(rows, q, ignore_nan):
    """The places (rows, quantiles) of the quantiles in sorted rows, between two elements as a rule."""
    last = rows.shape[-1] - 1
    nans = isnan(rows.detach())
    if ignore_nan:
        return (q * ((~nans).sum(-1, True) - 1).to(q.dtype)).clamp(min=0)
    # nan comes last in order, so that a row with one has its last element for an answer.
    return where(nans.narrow(-1, last, 1), float(last), q * float(last))


def _quantile(name, input, q, dim, keepdim, interpolation, ignore_nan):
    boolean(name, keepdim=keepdim)
    q = _check_quantile(name, input, q, interpolation)
    if dim is None:
        rest = (1,) * input.ndim if keepdim else ()
        rows = input.reshape(1, -1)
    else:
        moved = input.movedim(dim, -1) if input.ndim else input.reshape(1)
        rest = moved.shape[:-1]
        if keepdim and input.ndim:
            at = dim % input.ndim
            rest = (*rest[:at], 1, *rest[at:])
        rows = moved.reshape(-1, moved.shape[-1])
    rows = rows.sort(-1).values
    ranks = _ranks(rows, q.reshape(1, -1), ignore_nan)
    if interpolation in ("lower", "higher", "nearest"):
        ranks = {"lower": ranks.floor, "higher": ranks.ceil, "nearest": ranks.round}[interpolation]()
    below = ranks.to(_C.int64)
    result = rows.gather(-1, below)
    if interpolation in ("linear", "midpoint"):
        above = rows.gather(-1, ranks.ceil().to(_C.int64))
        result = lerp(result, above, 0.5 if interpolation == "midpoint" else ranks - below.to(ranks.dtype))
    return result.T.reshape((q.numel(), *rest)) if q.ndim else result.reshape(rest)


@composite(out="exact", out_words=QUANTILE, autocast="float32")
def quantile(input, q, dim=None, keepdim=False, *, interpolation="linear"):
    """The value below which a part `q` of all elements lies, or of those along a dimension.

    >>> import adjoint as torch
    >>> torch.tensor([0.0, 1.0, 2.0, 3.0]).quantile(0.5)
    tensor(1.5000)
    """
    return _quantile("quantile", input, q, dim, keepdim, interpolation, False)


@composite(out="exact", out_words=QUANTILE, autocast="float32")
def nanquantile(input, q, dim=None, keepdim=False, *, interpolation="linear"):
    """The value below which a part `q` of the elements that are not nan lies; see quantile().

    >>> import adjoint as torch
    >>> torch.tensor([float("nan"), 1.0, 2.0]).nanquantile(0.5)
    tensor(1.5000)
    """
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, True)


# ---- Covariances


def _check_weights(name, weights, observations, kind):
    if weights.ndim > 1:
        raise RuntimeError(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with {weights.ndim} dimensions"
        )
    real = weights.is_floating_point()
    if real != (kind == "floating point") or weights.is_complex() or weights.dtype is _C.bool:
        raise RuntimeError(f"cov(): expected {name} to have {kind} dtype but got {name} with {weights.dtype} dtype")
    if weights.numel() != observations:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the input but got "
            f"{weights.numel()} != {observations}"
        )
    wrong = f"cov(): {name} cannot be negative"
    if observations and not demanded(weights >= 0, wrong):
        raise RuntimeError(wrong)


def _weights(fweights, aweights, observations):
    """How much each observation counts in all, or None."""
    if fweights is not None:
        _check_weights("fweights", fweights, observations, "integral")
    if aweights is not None:
        _check_weights("aweights", aweights, observations, "floating point")
    if fweights is None or aweights is None:
        return aweights if fweights is None else fweights
    return fweights * aweights


@composite
def cov(input, *, correction=1, fweights=None, aweights=None):
    """The covariances of variables, the rows of a matrix, whose observations are its columns.

    >>> import adjoint as torch
    >>> torch.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]).cov()
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    tensor("cov", input=input)
    if input.ndim > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {input.ndim} dimensions"
        )
    if input.dtype is _C.bool:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    if not isinstance(correction, int):
        raise TypeError(f"cov(): argument 'correction' must be int, not {type(correction).__name__}")
    rows = input if input.ndim == 2 else input.reshape(1, -1)
    observations = rows.shape[1]
    weights = _weights(fweights, aweights, observations)
    if weights is None:
        mean = rows.sum(1) / observations if observations else rows.sum(1) * float("nan")
        freedom = observations - correction
    else:
        total = weights.sum()
        if not holds(total != 0):
            raise RuntimeError("cov(): weights sum to zero, can't be normalized")
        mean = (rows * weights).sum(1) / total
        freedom = total - correction * ((weights * aweights).sum() / total if aweights is not None else 1)
    if not (holds(~(freedom <= 0)) if isinstance(freedom, Tensor) else freedom > 0):
        warnings.warn("cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of "
                      "observations.", stacklevel=2)  # fmt: skip
        freedom = freedom.clamp(min=0) if isinstance(freedom, Tensor) else 0
    centred = rows - mean.unsqueeze(1)
    weighted = centred if weights is None else centred * weights
    product = centred @ conj(weighted).T
    return (product / (freedom if isinstance(freedom, Tensor) else float(freedom))).squeeze()


@composite
def corrcoef(input):
    """The correlations of variables, the rows of a matrix, whose observations are its columns.

    >>> import adjoint as torch
    >>> torch.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]).corrcoef()
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    tensor("corrcoef", input=input)
    if input.ndim > 2:
        raise RuntimeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got an input with {input.ndim} dimensions"
        )
    covariance = cov(input)
    if covariance.ndim == 0:
        return covariance / covariance
    variance = covariance.diagonal()
    deviation = (variance.real if variance.is_complex() else variance).sqrt()
    result = covariance / deviation.unsqueeze(1) / deviation.unsqueeze(0)
    if result.is_complex():
        return complex_(result.real.clamp(-1, 1), result.imag.clamp(-1, 1))
    return result.clamp(-1, 1)
