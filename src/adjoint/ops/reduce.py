"""Reductions: sums, products, extremes, means and norms over some or all dimensions. (Variances: variance.py.)"""

from .batching import aligned, along_rows, behind, lined_up, rows, with_batch
from .checks import as_dtype, boolean, holds, integers, only_with_dim, tensor
from .language import (
    Tensor,
    _logsumexp,
    abs,
    amax,
    amin,
    composite,
    conj,
    cumprod,
    exp,
    flip,
    int64,
    isnan,
    keep_dims,
    linalg_matrix_norm,
    log,
    max_all,
    max_dim,
    maximum,
    mean_all,
    mean_dim,
    min_all,
    min_dim,
    minimum,
    nansum,
    ones_like,
    op,
    pick,
    prod_all,
    prod_dim,
    put_back,
    sgn,
    spread,
    squeeze,
    sum_all,
    sum_dim,
    sum_to,
    vector_norm,
    view,
    where,
    zeros_like,
)
from .out_words import MATCH_INPUT, bool_only
from .scan import delayed

INF = float("inf")


def reduced_count(input_meta, g):
    """How many elements were joined into each element of the result."""
    return input_meta.numel() // (g.numel() or 1)


# ---- Batch rules; see batching.py


def _spread_batch(op, size, batched, input, sizes, dim):
    if dim is None or dim == () or not sizes:
        return lined_up(input, len(sizes)).expand(size, *sizes)
    return spread(input, (size, *sizes), behind(dim, len(sizes)))


def _keep_dims_batch(op, size, batched, input, dim, ndim):
    if ndim == 0:
        return input
    every = tuple(range(ndim)) if dim is None or dim == () else dim
    return keep_dims(input, behind(every, ndim), ndim + 1)


def _sum_to_batch(op, size, batched, input, sizes):
    ones = (1,) * (input.dim() - 1 - len(sizes))
    return sum_to(input, (size, *ones, *sizes)).reshape(size, *sizes)


def _distance_batch(op, size, batched, input, other, p):
    input, other = aligned(batched[:2], (input, other), (0, 0))
    return vector_norm(rows(input - other), p, 1)


def _put_back_batch(op, size, batched, input, indices, sizes, dim):
    input, indices = with_batch(size, batched[:2], (input, indices))
    if not sizes:
        return input
    return put_back(input, indices, (size, *sizes), behind(dim, len(sizes)))


# ---- Going back from a reduced shape

op("spread(input, size, dim=None)", stored="all", native="spread", node="ExpandBackward0", linear="input", public=False,
   input=lambda g, input_meta, dim: sum_dim(g, dim, keepdim=input_meta.ndim == g.ndim),
   doc="Repeats a reduced tensor until it has the shape `size` again.",
   batch=_spread_batch)  # fmt: skip
view("keep_dims(input, dim, ndim)", native="keep_dims", node="UnsqueezeBackward0", linear="input", public=False,
     input=lambda g, input_meta: g.reshape(input_meta.shape),
     doc="Puts reduced dimensions back, with size 1.",
     batch=_keep_dims_batch)  # fmt: skip
op("sum_to(input, size)", widened="complex32", native="sum_to", node="SumBackward1", linear="input", public=False,
   input=lambda g, input_meta: g.expand(input_meta.shape),
   doc="Sums to a shape that broadcasts to the input's.",
   batch=_sum_to_batch)  # fmt: skip

# ---- Sums and means

op("sum_all(input, *, dtype=None)", autocast="none, float32", loop="sum_cpu", widened="unsigned",
   native="sum_all", node="SumBackward0", linear="input", out="exact typed",
   public=False, shown="sum", input=lambda g, input_meta: spread(g, input_meta.shape),
   batch=along_rows("sum_dim"))  # fmt: skip
op("sum_dim(input, dim, keepdim=False, *, dtype=None)", autocast="none, float32", loop="sum_cpu", widened="unsigned",
   native="sum", node="SumBackward1", linear="input",
   out="exact typed", public=False, shown="sum",
   input=lambda g, input_meta, dim: spread(g, input_meta.shape, dim),
   batch="dim?")  # fmt: skip
op("mean_all(input, *, dtype=None)", loop="sum_cpu",
   native="mean_all", node="MeanBackward0", linear="input", out="exact typed",
   public=False, shown="mean",
   input=lambda g, input_meta: spread(g / input_meta.numel(), input_meta.shape),
   batch=along_rows("mean_dim"))  # fmt: skip
op("mean_dim(input, dim, keepdim=False, *, dtype=None)", loop="sum_cpu",
   native="mean", node="MeanBackward1", linear="input",
   out="exact typed", public=False, shown="mean",
   input=lambda g, input_meta, dim: spread(g / reduced_count(input_meta, g), input_meta.shape, dim),
   batch="dim?")  # fmt: skip


@composite(forms=(sum_all, sum_dim))
def sum(input, dim=..., keepdim=False, *, dtype=None, out=None):
    """The sum of all elements, or over the given dimensions.

    >>> import adjoint as torch
    >>> torch.tensor([[1.0, 2.0], [3.0, 4.0]]).sum(dim=0)
    tensor([4., 6.])
    """
    if dim is ...:
        only_with_dim("sum", keepdim)
        return sum_all(input, dtype=dtype, out=out)
    return sum_dim(input, dim, keepdim, dtype=dtype, out=out)


@composite(forms=(mean_all, mean_dim))
def mean(input, dim=..., keepdim=False, *, dtype=None, out=None):
    """The mean of all elements, or over the given dimensions.

    >>> import adjoint as torch
    >>> torch.tensor([1.0, 2.0, 6.0]).mean()
    tensor(3.)
    """
    if dim is ...:
        only_with_dim("mean", keepdim)
        return mean_all(input, dtype=dtype, out=out)
    return mean_dim(input, dim, keepdim, dtype=dtype, out=out)


@composite(function_=False)
def sum_to_size(input, *size):
    """Sums to a shape that broadcasts to the tensor's.

    >>> import adjoint as torch
    >>> torch.ones(3, 4).sum_to_size(1, 4)
    tensor([[3., 3., 3., 3.]])
    """
    size = tuple(size[0] if len(size) == 1 and not isinstance(size[0], int) else size)
    if (size != input.shape or not size) and not (input.is_floating_point() or input.is_complex()):
        input = input.to(int64)  # the type in which sum() adds integers
    return sum_to(input, size)


op("nansum(input, dim=None, keepdim=False, *, dtype=None)", loop="nansum_cpu",
   widened="unsigned", native="nansum", out="exact typed",
   input=lambda g, input, dim: where(isnan(input), 0, spread(g, input.shape, dim)),
   doc="The sum of the elements that are not nan.",
   batch="dim?")  # fmt: skip


@composite(out=True)
def nanmean(input, dim=None, keepdim=False, *, dtype=None):
    """The mean of the elements that are not nan.

    >>> import adjoint as torch
    >>> torch.tensor([1.0, float("nan"), 3.0]).nanmean()
    tensor(2.)
    """
    if not (input.is_floating_point() or input.is_complex()):
        raise RuntimeError(
            f"nanmean(): expected input to have floating point or complex dtype but got {input.dtype}; convert it first"
        )
    if dtype is not None and not (as_dtype(dtype).is_floating_point or as_dtype(dtype).is_complex):
        raise RuntimeError(
            "nanmean(): could not infer output dtype. Optional dtype must be either a floating point or complex dtype. "
            f"Got: {dtype}"
        )
    return nansum(input, dim, keepdim, dtype=dtype) / (~isnan(input)).sum(dim, keepdim)


@composite
def count_nonzero(input, dim=None):
    """How many elements are not zero.

    >>> import adjoint as torch
    >>> torch.tensor([0, 3, 0, 5]).count_nonzero()
    tensor(2)
    """
    return sum_dim(input != 0, dim)


# ---- Products


def _products_of_others(x, dim):
    """For each element the product of all others along `dim`: right with zeros, at every order of derivative."""
    before = cumprod(delayed(x, dim, 1), dim)
    after = cumprod(delayed(flip(x, (dim,)), dim, 1), dim)
    return before * flip(after, (dim,))


def _prod_gradient(g, input, dim):
    return g * conj(_products_of_others(input, dim))


def _fused_prod_gradient(g, input, out, dim):
    return g * conj(out / input) if holds(input != 0) else _prod_gradient(g, input, dim)


op("prod_all(input, *, dtype=None)", loop="prod_out_cpu",
   widened="unsigned", native="prod_all", autocast="float32", node="ProdBackward0",
   out="exact typed", public=False, shown="prod",
   fused={"input": lambda g, input, out:
          _fused_prod_gradient(g, input.reshape(-1), out, 0).reshape(input.shape)},
   input=lambda g, input: _prod_gradient(g, input.reshape(-1), 0).reshape(input.shape),
   batch=along_rows("prod_dim"))  # fmt: skip
op("prod_dim(input, dim, keepdim=False, *, dtype=None)", loop="prod_out_cpu", widened="unsigned",
   native="prod", autocast="float32", node="ProdBackward1",
   out="exact typed", public=False, shown="prod",
   fused={"input": lambda g, input, out, dim:
          _fused_prod_gradient(keep_dims(g, dim, input.ndim), input, keep_dims(out, dim, input.ndim), dim)},
   input=lambda g, input, dim: _prod_gradient(keep_dims(g, dim, input.ndim), input, dim),
   batch="dim")  # fmt: skip


@composite(forms=(prod_all, prod_dim))
def prod(input, dim=..., keepdim=False, *, dtype=None, out=None):
    """The product of all elements, or along a dimension.

    >>> import adjoint as torch
    >>> torch.tensor([2.0, 3.0, 4.0]).prod()
    tensor(24.)
    """
    if dim is ...:
        only_with_dim("prod", keepdim)
        return prod_all(input, dtype=dtype, out=out)
    return prod_dim(input, dim, keepdim, dtype=dtype, out=out)


# ---- Extremes


def _shared(g, hits, dim):
    """Elements that are the extreme share the gradient evenly."""
    return keep_dims(g, dim, hits.ndim) * hits / sum_dim(hits, dim, True)


def _hits(input, out, dim):
    return input == keep_dims(out, dim, input.ndim)


op("amax(input, dim=(), keepdim=False)", loop="max_values_cpu", native="amax", out="exact", out_words=MATCH_INPUT,
   input=lambda g, input, out, dim: _shared(g, _hits(input, out, dim), dim),
   doc="The greatest element over the given dimensions.",
   batch="dim?")  # fmt: skip
op("amin(input, dim=(), keepdim=False)", loop="min_values_cpu", native="amin", out="exact", out_words=MATCH_INPUT,
   input=lambda g, input, out, dim: _shared(g, _hits(input, out, dim), dim),
   doc="The least element over the given dimensions.",
   batch="dim?")  # fmt: skip

op("aminmax(input, *, dim=None, keepdim=False)", loop="aminmax_cpu",
   native="aminmax", outputs=("min", "max"), out="exact",
   input=lambda g_min, g_max, min, max, input, dim:
       _shared(g_min, _hits(input, min, dim), dim) + _shared(g_max, _hits(input, max, dim), dim),
   doc="The least and the greatest element, of all or along a dimension.",
   batch="dim?")  # fmt: skip

# If there is a nan, it is the extreme.
op("max_all(input)", loop="max_all", native="max_all", node="MaxBackward1", out=True, public=False, shown="max",
   input=lambda g, input, out: _shared(g, (input == out) | isnan(input), None),
   batch=along_rows("amax"))  # fmt: skip
op("min_all(input)", loop="min_all", native="min_all", node="MinBackward1", out=True, public=False, shown="min",
   input=lambda g, input, out: _shared(g, (input == out) | isnan(input), None),
   batch=along_rows("amin"))  # fmt: skip
op("max_dim(input, dim, keepdim=False)", loop="max_cpu",
   native="max_dim", outputs=("values", "indices"), node="MaxBackward0",
   out="exact", whole=("input",), public=False, shown="max",
   input=lambda g_values, indices, input_meta, dim: put_back(g_values, indices, input_meta.shape, dim),
   batch="dim")  # fmt: skip
op("min_dim(input, dim, keepdim=False)", loop="min_cpu",
   native="min_dim", outputs=("values", "indices"), node="MinBackward0",
   out="exact", whole=("input",), public=False, shown="min",
   input=lambda g_values, indices, input_meta, dim: put_back(g_values, indices, input_meta.shape, dim),
   batch="dim")  # fmt: skip

# Picking elements by index along a dimension, which may have been reduced away, and its transpose.
op("put_back(input, indices, size, dim)", native="put_back", node="ScatterAddBackward0", linear="input", public=False,
   input=lambda g, indices, dim: pick(g, indices, dim),
   batch=_put_back_batch)  # fmt: skip
op("pick(input, indices, dim)", stored="all", native="pick", node="GatherBackward0", linear="input", public=False,
   input=lambda g, indices, input_meta, dim: put_back(g, indices, input_meta.shape, dim),
   batch="dim")  # fmt: skip


def _extreme(name, input, dim, keepdim, other, out, forms):
    over_all, along_dim, of_two = forms
    other = dim if isinstance(dim, Tensor) else other
    if other is not None:
        if keepdim is not False:
            raise TypeError(
                f"{name}() received an invalid combination of arguments: keepdim= beside two tensors, which lose no "
                "dimension; leave it out"
            )
        return of_two(input, other, out=out)
    if dim is None:
        only_with_dim(name, keepdim)
        return over_all(input, out=out)
    return along_dim(input, dim, keepdim, out=out)


@composite(forms=(max_all, None))
def max(input, dim=None, keepdim=False, *, other=None, out=None):
    """The greatest element; with `dim` also where it is; with a second tensor the greater of each two elements.

    >>> import adjoint as torch
    >>> torch.tensor([[1.0, 5.0], [7.0, 2.0]]).max(dim=1).indices
    tensor([1, 0])
    """
    return _extreme("max", input, dim, keepdim, other, out, (max_all, max_dim, maximum))


@composite(forms=(min_all, None))
def min(input, dim=None, keepdim=False, *, other=None, out=None):
    """The least element; with `dim` also where it is; with a second tensor the lesser of each two elements.

    >>> import adjoint as torch
    >>> torch.tensor([4.0, 1.0, 3.0]).min()
    tensor(1.)
    """
    return _extreme("min", input, dim, keepdim, other, out, (min_all, min_dim, minimum))


op("argmax(input, dim=None, keepdim=False)", loop="argmax_cpu", native="argmax", out="exact",
   doc="The index of the greatest element, the first of equal ones.",
   batch="dim?")  # fmt: skip
op("argmin(input, dim=None, keepdim=False)", loop="argmin_cpu", native="argmin", out="exact",
   doc="The index of the least element, the first of equal ones.",
   batch="dim?")  # fmt: skip
op("any(input, dim=None, keepdim=False)", widened="all", native="any", out="exact", out_words=bool_only("any"),
   doc="Whether any element is not zero.",
   batch="dim?")  # fmt: skip
op("all(input, dim=None, keepdim=False)", widened="all", native="all", out="exact", out_words=bool_only("all"),
   doc="Whether no element is zero.",
   batch="dim?")  # fmt: skip


# ---- Norms


def norm_gradient(g, input, out, ord, dim, fused=False):
    """d |x|_p = (|x| / |x|_p)^(p - 1) sgn(x), the subgradient 0 where that is not defined."""
    if ord == 0:
        return None
    if ord == 1:
        return keep_dims(g, dim, input.ndim) * sgn(input)
    if ord in (INF, -INF):
        sizes = abs(input)
        if input.is_complex():
            # As this library rounds them, not as the kernel does, or none may be equal.
            out = amax(sizes, dim) if ord > 0 else amin(sizes, dim)
        # Where the norm is nan, it is those of the elements: their signs, and so their gradients, are 0.
        return _shared(g, _hits(sizes, out, dim) | (sizes != sizes), dim) * sgn(input)
    if not fused and ord >= 2:
        return _norm_gradient_with_nans(keep_dims(g, dim, input.ndim), input, keep_dims(out, dim, input.ndim), ord)
    if ord == 2:
        return keep_dims(where(out == 0, 0, g / out), dim, input.ndim) * input
    outer = where(out == 0, 0, g * out ** (1 - ord))
    return keep_dims(outer, dim, input.ndim) * where(input == 0, 0, sgn(input) * abs(input) ** (ord - 1))


def _norm_gradient_with_nans(g, input, out, ord):
    """The same, written so that its own derivative is nan where torch's is: at zeros."""
    if ord == 2:
        return g * where(out == 0, 0, input / out)
    return input * abs(input) ** (ord - 2) * where(out == 0, 0, g / out ** (ord - 1))


def _norm_tangent(input, tangent, out, ord, dim, keepdim):
    """The part of the tangent along the gradient: not by transposing that, which gives nan at 0."""
    slope = norm_gradient(ones_like(out), input, out, ord, dim)
    if slope is None:
        return zeros_like(out)
    along = conj(slope) * tangent
    along = along.real if along.is_complex() else along
    return sum_all(along).reshape(out.shape) if dim is None or dim == () else sum_dim(along, dim, keepdim)


op("vector_norm(input, ord=2, dim=None, keepdim=False, *, dtype=None)", loop="norm_cpu", widened="float8 complex32",
   native="vector_norm", namespace="linalg",
   node="LinalgVectorNormBackward0", out="exact",
   fused={"input": lambda g, input, out, ord, dim: norm_gradient(g, input, out, ord, dim, fused=True)},
   input=lambda g, input, out, ord, dim: norm_gradient(g, input, out, ord, dim),
   doc="The p-norm of the elements over the given dimensions.",
   jvp=lambda input, input_t, out, ord, dim, keepdim: _norm_tangent(input, input_t, out, ord, dim, keepdim),
   batch="dim?")  # fmt: skip


@composite(numpy_names=False, autocast="none, float32")
def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    """The p-norm of all elements, or over the given dimensions.

    >>> import adjoint as torch
    >>> torch.tensor([3.0, 4.0]).norm()
    tensor(5.)
    """
    several = isinstance(dim, tuple | list) and len(dim) > 2
    if isinstance(p, str) and (p != "fro" or several):
        dims = tuple(range(input.ndim)) if dim is None else dim
        return linalg_matrix_norm(input, p, dims, keepdim, dtype=dtype, out=out)
    if p is None or p == "fro":
        p = 2
    return vector_norm(input, p, dim, keepdim, dtype=dtype, out=out)


def _distance(input, other, p):
    tensor("dist", input=input, other=other)
    return vector_norm(input - other, p)


op("dist(input, other, p=2)", autocast="none, float32", forward=_distance,
   fused={
       "input": lambda g, input, other, out, p: norm_gradient(g, input - other, out, p, None, fused=True),
       "other": lambda g, input, other, out, p: norm_gradient(-g, input - other, out, p, None, fused=True),
   },
   input=lambda g, input, other, out, p: norm_gradient(g, input - other, out, p, None),
   other=lambda g, input, other, out, p: norm_gradient(-g, input - other, out, p, None),
   doc="The p-norm of the difference of two tensors.",
   jvp=lambda input, other, input_t, other_t, out, p:
       _norm_tangent(input - other, input_t - other_t, out, p, None, False),
   batch=_distance_batch)  # fmt: skip


op("_logsumexp(input, dim, keepdim=False)", loop="max_values_cpu", widened="unsigned",
   native="logsumexp", node="LogsumexpBackward0", public=False,
   input=lambda g, input, out, dim:
       keep_dims(g, dim, input.ndim) * exp(input - keep_dims(out, dim, input.ndim)),
   batch="dim?")  # fmt: skip


@composite(out=True, out_words="logsumexp(): Expected floating point type for result tensor, but got: {given}")
def logsumexp(input, dim, keepdim=False):
    """The logarithm of the sum of exponentials, without overflow.

    >>> import adjoint as torch
    >>> torch.tensor([1000.0, 1000.0]).logsumexp(0)
    tensor(1000.6932)
    """
    if not input.is_complex():
        return _logsumexp(input, dim, keepdim)
    boolean("logsumexp", keepdim=keepdim)
    dim = integers("logsumexp", "dim", dim) or tuple(range(input.ndim))
    peak = 0
    if input.numel():
        peak = input.real.detach().amax(dim, True)
        peak = where(abs(peak) == INF, 0, peak)
    total = log(sum_dim(exp(input - peak), dim, True)) + peak
    return total if keepdim else squeeze(total, dim)
