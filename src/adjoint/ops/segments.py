"""Runs of rows along a dimension joined to one row each, with gradients; adjoint._segments has segment_reduce()."""

from .batching import folded
from .language import _segments, _sorted_places, arange, op, where


def segment_of_rows(ends, rows):
    """For each row the segment that it is in: the last that begins at it or before; that after all for those outside.

    `ends` has [lines, count + 1] elements, the result [lines, rows].
    """
    count = ends.shape[1] - 1
    lines = arange(rows, device=ends.device).expand(ends.shape[0], rows).contiguous()
    found = _sorted_places(ends.contiguous(), lines, True, False) - 1
    return where((found >= 0) & (found < count), found, count)


def at_rows(value, ends, rows):
    """What each segment has, at each of its rows; zeros at rows that are in none."""
    places = segment_of_rows(ends, rows)
    inside = (places < value.shape[1]).reshape(*places.shape, *(1,) * (value.dim() - 2))
    if value.shape[1] == 0:
        return value.new_zeros(value.shape[0], rows, *value.shape[2:])
    places = places.clamp(max=value.shape[1] - 1).reshape(inside.shape).expand(*places.shape, *value.shape[2:])
    return where(inside, value.gather(1, places), 0)


def _gradient(g, input, ends, out, reduce):
    rows = input.shape[1]
    if reduce == "sum":
        return at_rows(g, ends, rows)
    if reduce == "prod":
        zero = input == 0
        zeros = at_rows(_segments(zero.to(input.dtype), ends, "sum"), ends, rows)
        others = at_rows(g * _segments(where(zero, 1, input), ends, "prod"), ends, rows)
        return where(zero, where(zeros == 1, others, 0), where(zeros == 0, others / where(zero, 1, input), 0))
    # Those that are the extreme share the gradient evenly; a nan is.
    hits = (input == at_rows(out, ends, rows)) | (input != input)
    counts = _segments(hits.to(input.dtype), ends, "sum").clamp(min=1)
    return at_rows(g / counts, ends, rows) * hits


op("_segments(input, ends, reduce)", native="segments", node="SegmentReduceBackward0", public=False,
   input=lambda g, input, ends, out, reduce: _gradient(g, input, ends, out, reduce),
   batch=folded)  # fmt: skip
