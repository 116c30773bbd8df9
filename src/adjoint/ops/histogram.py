"""Histograms: how many elements, or how much weight, fall into each bin."""

import math

from .. import _C
from .batching import rows, with_batch
from .checks import boolean, holds, integer, tensor
from .declaration import return_type
from .language import composite, float32, float64, histogram_cells, int64, linspace, op, searchsorted, where, zeros
from .out_words import HISTOGRAM

Tensor = _C.Tensor

# ---- Batch rules; see batching.py


def _histc_batch(op, size, batched, input, bins, low, high):
    values = rows(input)
    if not values.is_floating_point() or not bins > 0 or low > high:
        return NotImplemented  # which the op will say
    if not values.numel():
        return values.new_zeros(size, bins)
    values = values.float() if values.itemsize < 4 else values
    if low == high:
        low, high = values.aminmax(dim=1, keepdim=True)
        if not holds(low.isfinite() & high.isfinite()):
            return NotImplemented
        low, high = low - (low == high).to(low.dtype), high + (low == high).to(low.dtype)
    elif not (math.isfinite(low) and math.isfinite(high)):
        return NotImplemented
    place = (values - low) * bins / (high - low)
    bin = where(place > 0, place, 0).clamp(max=bins - 1).long()
    inside = (values >= low) & (values <= high)
    return zeros(size, bins, dtype=int64, device=values.device).scatter_add(1, bin, inside.long()).to(input.dtype)


def _cells_batch(op, size, batched, points, edges, even, weight):
    if points.dtype not in (float32, float64):
        return NotImplemented  # which the op refuses
    points, weight = with_batch(size, (batched[0], batched[3]), (points, weight))
    cell, inside = zeros(points.shape[:-1], dtype=int64, device=points.device), True
    for dim, each in enumerate(edges):
        values, count = points.select(-1, dim), each.shape[-1] - 1
        inside = (values >= each[..., :1]) & (values <= each[..., -1:]) & inside
        bin = searchsorted(each, values, right=True) - 1
        cell = cell * count + bin.clamp(0, count - 1)
    amounts = inside.double() if weight is None else where(inside, weight, 0).double()
    counts = [each.shape[-1] - 1 for each in edges]
    sums = zeros(size, math.prod(counts), dtype=float64, device=points.device).scatter_add(1, cell, amounts)
    return sums.to(points.dtype).reshape(size, *counts)


op("histc(input, bins=100, min=0, max=0)", native="histc", out="exact", out_words=HISTOGRAM, gradient=False,
   batch=_histc_batch,
   doc="How many elements lie in each of equal parts of a range.")  # fmt: skip
op("histogram_cells(input, edges, even, weight)", native="histogram_cells", gradient=False,
   public=False, batch=_cells_batch,
   doc="How many points, or how much weight, lie in each cell of a grid.")  # fmt: skip


def _word(tensor):
    """The type as C++ calls it."""
    name = str(tensor.dtype).removeprefix("torch.")
    return {"float32": "float", "float64": "double"}.get(name, name)


def _check_points(points, bins, weight):
    """Checks the points (..., n), n bin counts or tensors of edges, and the weights of the points."""
    if points.ndim < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    if len(bins) != points.shape[-1]:
        raise RuntimeError(
            "histogramdd: The size of bins must be equal to the innermost dimension of the input; got "
            f"{len(bins)} bins for {points.shape[-1]}"
        )
    for dim, edges in enumerate(bins):
        if isinstance(edges, Tensor) != isinstance(bins[0], Tensor):
            wanted, given = (type(each).__name__ for each in (bins[0], edges))
            raise TypeError(f"expected {wanted} as element {dim} in argument 1, but got {given}")
        if not isinstance(edges, Tensor):
            if edges <= 0:
                raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {edges} for dimension {dim}")
            continue
        if edges.dtype is not points.dtype:
            raise RuntimeError(
                "torch.histogramdd: input tensor and bins tensors should have the same dtype, but got input with dtype "
                f"{_word(points)} and bins for dimension {dim} with dtype {_word(edges)}"
            )
        if edges.ndim != 1:
            raise RuntimeError(
                f"torch.histogramdd: bins tensor should have one dimension, but got {edges.ndim} dimensions in the "
                f"bins tensor for dimension {dim}"
            )
        if edges.numel() == 0:
            raise RuntimeError(
                "torch.histogramdd: bins tensor should have at least 1 element, but got 0 elements in the bins tensor "
                f"for dimension {dim}"
            )
        if edges.numel() == 1:
            raise RuntimeError(f"torch.histogram(): bins must be > 0, but got 0 for dimension {dim}")
    if weight is None:
        return
    if weight.shape != points.shape[:-1]:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor "
            f"excluding its innermost dimension, but got input with shape {list(points.shape)} and weight with shape "
            f"{list(weight.shape)}"
        )
    if weight.dtype is not points.dtype:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have the same "
            f"dtype, but got input({_word(points)}), and weight({_word(weight)})"
        )


def _edges(rows, bins, range, dim):
    """The edges of equal bins in a column between two bounds, by default its least and its greatest element."""
    if range is not None:
        low, high = map(float, range[2 * dim : 2 * dim + 2])
    elif rows.numel() == 0:
        low, high = 0.0, 1.0
    else:
        low, high = rows.select(1, dim).aminmax()
        if _C._batch_level(low) is not None:
            margin = 0.5 * (low == high)
            return linspace(low - margin, high + margin, bins + 1, dtype=rows.dtype, device=rows.device)
        low, high = float(low), float(high)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"torch.histogramdd: dimension {dim}'s range [{low:g}, {high:g}] is not finite")
    if low > high:
        raise RuntimeError(
            f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} for dimension {dim}"
        )
    if low == high:
        low, high = low - 0.5, high + 0.5
    return linspace(low, high, bins + 1, dtype=rows.dtype, device=rows.device)


def _histogram(points, bins, range, weight, density):
    """The histogram and the edges in every dimension."""
    _check_points(points, bins, weight)
    if range is not None and len(range) != 2 * len(bins):
        raise RuntimeError(
            f"torch.histogramdd: for a {len(bins)}-dimensional histogram range should have {2 * len(bins)} elements, "
            f"but got {len(range)}"
        )
    if not bins:
        return zeros((), dtype=points.dtype, device=points.device), ()
    rows = points.detach().reshape(-1, points.shape[-1])
    even = not isinstance(bins[0], Tensor)
    edges = [each if isinstance(each, Tensor) else _edges(rows, each, range, dim) for dim, each in enumerate(bins)]
    hist = histogram_cells(rows, edges, even, None if weight is None else weight.reshape(-1))
    if density:
        hist = hist / hist.sum()
        for dim, each in enumerate(edges):
            hist = hist / each.diff().reshape((-1, *(1,) * (len(edges) - 1 - dim)))
    return hist, tuple(edges)


@composite(
    out="exact",
    out_words=(
        HISTOGRAM,
        "torch.histogram: input tensor and bin_edges tensor should have the same dtype, "
        "but got input {expected_c} and bin_edges {given_c} for dimension 0",
    ),
)
def histogram(input, bins, *, range=None, weight=None, density=False):
    """How many elements, or how much weight, lie in each bin: `bins` is their number, or a tensor of their edges.

    >>> import adjoint as torch
    >>> torch.histogram(torch.tensor([1.0, 2.0, 1.0]), bins=4, range=(0.0, 3.0)).hist
    tensor([0., 2., 1., 0.])
    """
    weight = None if weight is None else weight.reshape(-1)
    boolean("histogram", density=density)
    tensor("histogram", input=input)
    bins = bins if isinstance(bins, Tensor) and bins.ndim else integer("histogram", "bins", bins)
    hist, edges = _histogram(input.reshape(-1, 1), (bins,), range, weight, density)
    return return_type("histogram")((hist, edges[0]))


@composite(method=False)
def histogramdd(input, bins, range=None, weight=None, density=False):
    """The histogram of points in several dimensions, the last dimension of the input being their coordinates.

    >>> import adjoint as torch
    >>> torch.histogramdd(torch.tensor([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [2.0, 2.0]]), bins=[3, 3]).hist
    tensor([[0., 1., 0.],
            [1., 0., 0.],
            [0., 1., 1.]])
    """
    bins = (bins,) * input.shape[-1] if isinstance(bins, int) and input.ndim else bins
    return return_type("histogramdd")(_histogram(input, bins, range, weight, density))
