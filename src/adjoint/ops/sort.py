"""Sorting and selection along a dimension. Sorting is always stable."""

from .batching import rows
from .language import (
    composite,
    isnan,
    median_all,
    median_dim,
    nanmedian_all,
    nanmedian_dim,
    op,
    put_back,
    sum_all,
)
from .out_words import MEDIAN

# ---- Batch rules; see batching.py


def _median_batch(along_dim):
    """The rule of a median of all elements, given the one along a dimension."""

    def rule(op, size, batched, input):
        return along_dim(rows(input), 1).values if input.numel() else input.new_full((size,), float("nan"))

    return rule


# ---- Along a dimension

op("sort(input, dim=-1, descending=False, *, stable=False)", loop="sorting_kernel_method_name",
   widened="unsigned ordered",
   native="sort", outputs=("values", "indices"), out="exact",
   whole=("input",),
   input=lambda g_values, indices, input_meta, dim: put_back(g_values, indices, input_meta.shape, dim),
   doc="The elements in order along a dimension, and where they were.",
   batch="dim")  # fmt: skip
op("argsort(input, dim=-1, descending=False, *, stable=False)", loop="sorting_kernel_method_name",
   widened="unsigned ordered", native="argsort",
   doc="The indices that would sort along a dimension.",
   batch="dim")  # fmt: skip
op("topk(input, k, dim=-1, largest=True, sorted=True)", loop="topk_cpu",
   native="topk", outputs=("values", "indices"), out="exact",
   whole=("input",),
   input=lambda g_values, indices, input_meta, dim: put_back(g_values, indices, input_meta.shape, dim),
   doc="The k greatest (or least) elements along a dimension, in order, and where they were.",
   batch="dim")  # fmt: skip


op("kthvalue(input, k, dim=-1, keepdim=False)", loop="kthvalue_cpu",
   native="kthvalue", outputs=("values", "indices"), out="exact",
   out_words=("output values must be of same type as input", "output indices must be of scalar type {expected}"),
   apart=("input",),
   input=lambda g_values, indices, input_meta, dim: put_back(g_values, indices, input_meta.shape, dim),
   doc="The k-th least element along a dimension, counted from 1, and where it is.",
   batch="dim")  # fmt: skip
op("mode(input, dim=-1, keepdim=False)", loop="mode_cpu", native="mode", outputs=("values", "indices"), out="exact",
   out_words="expected scalar type '{expected}' but got '{given}' for values output",
   whole=("input",),
   input=lambda g_values, indices, input_meta, dim: put_back(g_values, indices, input_meta.shape, dim),
   doc="The most frequent element along a dimension, the least of several, and where it is.",
   batch="dim")  # fmt: skip


def _among_equals(g, input, out):
    """The elements that are the median share the gradient evenly; if that is nan, the nans do."""
    hits = (input == out) | (isnan(input) & isnan(out))
    return g * hits / sum_all(hits)


op("median_all(input)", loop="median_cpu", native="median_all", node="MedianBackward0", public=False, shown="median",
   input=lambda g, input, out: _among_equals(g, input, out),
   batch=_median_batch(median_dim))  # fmt: skip
op("nanmedian_all(input)", loop="median_cpu",
   native="nanmedian_all", node="NanmedianBackward0", public=False, shown="nanmedian",
   input=lambda g, input, out: _among_equals(g, input, out),
   batch=_median_batch(nanmedian_dim))  # fmt: skip
op("median_dim(input, dim, keepdim=False)", loop="median_out",
   native="median", outputs=("values", "indices"), node="MedianBackward1",
   out="exact", out_words=MEDIAN, public=False, shown="median",
   input=lambda g_values, indices, input_meta, dim: put_back(g_values, indices, input_meta.shape, dim),
   batch="dim")  # fmt: skip
op("nanmedian_dim(input, dim, keepdim=False)", loop="median_out", native="nanmedian", outputs=("values", "indices"),
   node="NanmedianBackward1", out="exact", out_words=MEDIAN, public=False, shown="nanmedian",
   input=lambda g_values, indices, input_meta, dim: put_back(g_values, indices, input_meta.shape, dim),
   batch="dim")  # fmt: skip


def _median_form(name, input, dim, keepdim, out, over_all, along_dim):
    if dim is not None:
        return along_dim(input, dim, keepdim, out=out)
    if out is not None or keepdim is not False:
        raise TypeError(f'{name}() missing 1 required positional arguments: "dim"')
    return over_all(input)


@composite
def median(input, dim=None, keepdim=False, *, out=None):
    """The middle element, the lower of two; with `dim` also where it is.

    >>> import adjoint as torch
    >>> torch.tensor([4.0, 1.0, 3.0, 2.0]).median()
    tensor(2.)
    """
    return _median_form("median", input, dim, keepdim, out, median_all, median_dim)


@composite
def nanmedian(input, dim=None, keepdim=False, *, out=None):
    """The middle one of the elements that are not nan; with `dim` also where it is.

    >>> import adjoint as torch
    >>> torch.tensor([4.0, float("nan"), 3.0]).nanmedian()
    tensor(3.)
    """
    return _median_form("nanmedian", input, dim, keepdim, out, nanmedian_all, nanmedian_dim)


@composite(out="exact", whole=("input",))
def msort(input):
    """The elements in order along the first dimension.

    >>> import adjoint as torch
    >>> torch.tensor([3.0, 1.0, 2.0]).msort()
    tensor([1., 2., 3.])
    """
    return input.sort(dim=0).values
