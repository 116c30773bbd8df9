"""Reductions of segments: of runs of rows along a dimension, whose lengths or ends are given."""

from . import _C
from .ops.batching import all_values
from .ops.checks import tensor

_op = _C.op_object
# What an empty segment gives.
_EMPTY = {"sum": 0.0, "mean": float("nan"), "max": -float("inf"), "min": float("inf"), "prod": 1.0}


def segment_reduce(
    data, reduce, *, lengths=None, indices=None, offsets=None, axis=0, unsafe=False, initial=None, out=None
):
    """Reduces runs of rows along a dimension to one each: "sum", "mean", "max", "min" or "prod".

    `lengths` says how many rows each takes, or `offsets` where each begins, and the last ends. Before the dimension
    they have the sizes of the data: each row may be cut in its own way. `initial` is where each begins; it is what an
    empty one gives.

    >>> import adjoint as torch
    >>> torch.segment_reduce(torch.tensor([1.0, 2.0, 3.0, 4.0]), "sum", lengths=torch.tensor([3, 0, 1]))
    tensor([6., 0., 4.])
    """
    if out is not None:
        given = {"lengths": lengths, "indices": indices, "offsets": offsets, "axis": axis, "unsafe": unsafe}
        call = (data, reduce), {**given, "initial": initial}
        return _C._call_out("segment_reduce", segment_reduce, *call, out, "exact", None, (), ())
    if not isinstance(data, _C.Tensor):
        raise TypeError(f"segment_reduce(): argument 'data' (position 1) must be Tensor, not {type(data).__name__}")
    if reduce not in _EMPTY:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if not -data.ndim <= axis < max(data.ndim, 1):
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-data.ndim}, {data.ndim - 1}], but got {axis})"
        )
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet; use scatter_reduce()")
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    if not data.is_floating_point():
        raise NotImplementedError(
            f"\"_segment_reduce_cpu\" not implemented for '{data.type()[6:].removesuffix('Tensor')}'; "
            "convert it with .float()"
        )
    axis = axis % max(data.ndim, 1)
    ends = _ends(data, lengths, offsets, axis, unsafe)
    return _reduced(data, reduce, ends, axis, initial)


def _ends(data, lengths, offsets, axis, unsafe):
    """Where segments begin, and the last ends, along the last dimension."""
    given = lengths if offsets is None else offsets
    tensor("segment_reduce", **{"lengths" if offsets is None else "offsets": given})
    if data.ndim < given.ndim:
        raise RuntimeError(
            f"Expected data.dim() >= lengths_value.dim() to be true, but got {data.ndim} and {given.ndim} dimensions"
        )
    if axis != given.ndim - 1:
        raise RuntimeError(f"segment_reduce(): Expected axis to be the last dimension of lengths but got {axis}.")
    if given.shape[:axis] != data.shape[:axis]:
        raise RuntimeError(
            f"segment_reduce(): expected lengths or offsets for each row of the data, of sizes "
            f"{list(data.shape[:axis])}; got {list(given.shape[:axis])}"
        )
    if given.dtype not in (_C.int64, _C.int32):
        raise NotImplementedError(
            f"\"_segment_reduce_lengths_cpu_kernel1\" not implemented for '{given.type()[6:].removesuffix('Tensor')}'; "
            "give lengths and offsets of int64 or int32"
        )
    given = given.detach().to(_C.int64)
    values = all_values(given)
    known = values.device.type != "meta" and values.numel() > 0
    if offsets is not None:
        if given.shape[-1] == 0:
            raise RuntimeError("segment_reduce(): expected offsets with one more element than there are segments")
        steps = values[..., 1:] - values[..., :-1]
        if known and steps.numel() and int(steps.min()) < 0:
            raise RuntimeError("Expected segment_length >= 0 to be true, but got false: offsets must not decrease")
        if known and (int(values.min()) < 0 or int(values.max()) > data.shape[axis]):
            raise RuntimeError(
                f"segment_reduce(): offsets must lie between 0 and {data.shape[axis]}, the number of rows"
            )
        return given
    if known and int(values.min()) < 0:
        raise RuntimeError("lengths contains negative value!")
    sums = values.sum(-1)
    if known and not unsafe and not bool((sums == data.shape[axis]).all()):
        raise RuntimeError(
            "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when "
            f"!unsafe. There are {data.shape[axis]} rows"
        )
    if known and int(sums.max()) > data.shape[axis]:
        raise RuntimeError(f"segment_reduce(): the lengths take more than the {data.shape[axis]} rows that there are")
    return _op("cat")([given.new_zeros(*given.shape[:-1], 1), given.cumsum(-1)], -1)


def _reduced(data, reduce, ends, axis, initial):
    outer, count = data.shape[:axis], ends.shape[-1] - 1
    size, inner = data.shape[axis], data.shape[axis + 1 :]
    lines = outer.numel()
    ends = ends.reshape(lines, count + 1)
    found = _op("_segments")(data.reshape(lines, size, *inner), ends, "sum" if reduce == "mean" else reduce)
    counts = None
    if reduce == "mean":
        counts = (ends[:, 1:] - ends[:, :-1]).reshape(lines, count, *(1,) * len(inner))
    return _begun(found, reduce, counts, initial).reshape(*outer, count, *inner)


def _begun(found, reduce, counts, initial):
    """Segments that begin with a number."""
    if reduce == "sum":
        return found if initial is None else found + initial
    if reduce == "mean":
        found = found if initial is None else found + initial
        empty = _EMPTY["mean"] if initial is None else initial
        return _op("where")(counts == 0, empty, found / counts.clamp(min=1))
    if initial is None:
        return found
    if reduce == "prod":
        return found * initial
    # Elements that equal the number keep their gradient.
    return _op("where")(found < initial if reduce == "max" else found > initial, float(initial), found)


_segment_reduce = segment_reduce
