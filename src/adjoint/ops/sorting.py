"""Sorting and selection along a dimension. Sorting is always stable."""

from .language import composite, op, put_back

op("sort(input, dim=-1, descending=False, *, stable=False)", kernel="sort", outputs=("values", "indices"), out=True,
   input=lambda g_values, indices, input_meta, dim: put_back(g_values, indices, input_meta.shape, dim),
   doc="The elements in order along a dimension, and where they were.")  # fmt: skip
op("argsort(input, dim=-1, descending=False, *, stable=False)", kernel="argsort",
   doc="The indices that would sort along a dimension.")  # fmt: skip
op("topk(input, k, dim=-1, largest=True, sorted=True)", kernel="topk", outputs=("values", "indices"), out=True,
   input=lambda g_values, indices, input_meta, dim: put_back(g_values, indices, input_meta.shape, dim),
   doc="The k greatest (or least) elements along a dimension, in order, and where they were.")  # fmt: skip


@composite
def msort(input):
    """The elements in order along the first dimension.

    >>> import adjoint as torch
    >>> torch.tensor([3.0, 1.0, 2.0]).msort()
    tensor([1., 2., 3.])
    """
    return input.sort(dim=0).values
