"""Variances and standard deviations over some or all dimensions."""

from .checks import boolean, only_with_dim
from .language import (
    composite,
    keep_dims,
    mean_dim,
    op,
    spread,
    std_dim,
    std_mean_dim,
    var_dim,
    var_mean_dim,
    where,
)
from .reduce import reduced_count

INF = float("inf")


def _var_gradient(g, input, dim, correction):
    """d var = 2 (x - mean) / (n - correction)"""
    freedom = reduced_count(input, g) - (1 if correction is None else correction)
    g = keep_dims(g, dim, input.ndim)
    centred = input - mean_dim(input, dim, True)
    if freedom <= 0:
        return g * where(centred == 0, float("nan"), INF)
    return g * (2 / freedom) * centred


def _std_gradient(g, input, out, dim, correction):
    # The root's slope is infinite at 0; there, as for the norm, the subgradient 0 is taken.
    return _var_gradient(where(out == 0, 0, g / (2 * out)), input, dim, correction)


def _mean_gradient(g, input, dim):
    return spread(g / reduced_count(input, g), input.shape, dim)


op("var_dim(input, dim=None, *, correction=1, keepdim=False)", loop="std_cpu", widened="complex32",
   native="var", node="VarBackward0", out=True,
   public=False, shown="var",
   input=lambda g, input, dim, correction: _var_gradient(g, input, dim, correction),
   batch="dim?")  # fmt: skip
op("std_dim(input, dim=None, *, correction=1, keepdim=False)", loop="std_cpu", widened="complex32",
   native="standard_deviation", node="StdBackward0",
   out=True, public=False, shown="std",
   input=lambda g, input, out, dim, correction: _std_gradient(g, input, out, dim, correction),
   batch="dim?")  # fmt: skip
op("var_mean_dim(input, dim=None, *, correction=1, keepdim=False)", loop="std_cpu", widened="complex32",
   native="var_mean", outputs=("var", "mean"),
   node="VarMeanBackward0", public=False, shown="var_mean",
   input=lambda g_var, g_mean, input, dim, correction:
       _var_gradient(g_var, input, dim, correction) + _mean_gradient(g_mean, input, dim),
   batch="dim?")  # fmt: skip
op("std_mean_dim(input, dim=None, *, correction=1, keepdim=False)", loop="std_cpu", widened="complex32",
   native="std_mean", outputs=("std", "mean"),
   node="StdMeanBackward0", public=False, shown="std_mean",
   input=lambda g_std, g_mean, std, input, dim, correction:
       _std_gradient(g_std, input, std, dim, correction) + _mean_gradient(g_mean, input, dim),
   batch="dim?")  # fmt: skip


def _var_arguments(name, dim, unbiased, keepdim, correction):
    """(dim, correction, keepdim) of the call forms var(unbiased), var(dim, unbiased, keepdim), var(correction=)."""
    if isinstance(dim, bool):
        only_with_dim(name, keepdim)
        dim, unbiased = None, dim
    if unbiased is None:
        return dim, correction, keepdim
    boolean(name, unbiased=unbiased)
    return dim, int(unbiased), keepdim


@composite
def var(input, dim=None, unbiased=None, keepdim=False, *, correction=1, out=None):
    """The variance: squared distances from the mean, summed, over the count less `correction`.

    >>> import adjoint as torch
    >>> torch.tensor([1.0, 2.0, 3.0]).var()
    tensor(1.)
    """
    dim, correction, keepdim = _var_arguments("var", dim, unbiased, keepdim, correction)
    return var_dim(input, dim, correction=correction, keepdim=keepdim, out=out)


@composite
def std(input, dim=None, unbiased=None, keepdim=False, *, correction=1, out=None):
    """The standard deviation: the square root of the variance.

    >>> import adjoint as torch
    >>> torch.tensor([1.0, 2.0, 3.0]).std()
    tensor(1.)
    """
    dim, correction, keepdim = _var_arguments("std", dim, unbiased, keepdim, correction)
    return std_dim(input, dim, correction=correction, keepdim=keepdim, out=out)


@composite(method=False)
def var_mean(input, dim=None, unbiased=None, keepdim=False, *, correction=1):
    """The variance and the mean.

    >>> import adjoint as torch
    >>> torch.var_mean(torch.tensor([1.0, 2.0, 3.0]))
    (tensor(1.), tensor(2.))
    """
    dim, correction, keepdim = _var_arguments("var_mean", dim, unbiased, keepdim, correction)
    return tuple(var_mean_dim(input, dim, correction=correction, keepdim=keepdim))


@composite(method=False)
def std_mean(input, dim=None, unbiased=None, keepdim=False, *, correction=1):
    """The standard deviation and the mean.

    >>> import adjoint as torch
    >>> torch.std_mean(torch.tensor([1.0, 2.0, 3.0]))
    (tensor(1.), tensor(2.))
    """
    dim, correction, keepdim = _var_arguments("std_mean", dim, unbiased, keepdim, correction)
    return tuple(std_mean_dim(input, dim, correction=correction, keepdim=keepdim))
