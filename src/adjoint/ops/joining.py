"""Ops that rearrange elements into new memory: joining, repeating, reversing, shifting, triangles."""

from .batching import all_values, behind, lined_up, matrices, one_size, rows
from .checks import integer, tensor
from .language import (
    Tensor,
    arange,
    atleast_1d,
    atleast_2d,
    atleast_3d,
    cat,
    composite,
    flip,
    index_select,
    interleaved_index,
    op,
    roll,
    rot90,
    searchsorted,
    stack,
    tril,
    triu,
)
from .out_words import CAT

# ---- Batch rules; see batching.py


def _cat_batch(op, size, batched, tensors, dim):
    if not all(isinstance(x, Tensor) for x in tensors):
        return NotImplemented  # which the op refuses
    rank = max(x.dim() for x in tensors)
    tensors = [x for x in tensors if x.dim() == rank or x.shape[1:] != (0,)]
    return cat(tensors, behind(dim, rank - 1))


def _roll_batch(op, size, batched, input, shifts, dims):
    if dims is None or dims == ():
        return roll(rows(input), shifts, 1).reshape(input.shape)
    return roll(input, shifts, behind(dims, input.dim() - 1))


def _repeat_batch(op, size, batched, input, repeats):
    repeats = tuple(repeats) if isinstance(repeats, tuple | list) else (repeats,)
    return lined_up(input, len(repeats)).repeat(1, *repeats)


def _interleaved_batch(op, size, batched, repeats, output_size):
    values = all_values(repeats)
    sums = values.sum(-1)
    if repeats.dim() != 2 or values.numel() == 0 or int(values.min()) < 0 or repeats.is_floating_point():
        return NotImplemented  # which the op will say, or is the same for all
    if output_size is not None and bool((sums != output_size).any()):
        return NotImplemented
    length = one_size(op, sums)
    places = arange(length, device=repeats.device).expand(size, length)
    return searchsorted(repeats.cumsum(-1), places, right=True)


# ---- Joining


def _cat_rule(g, tensors_meta, dim):
    """Each tensor's stretch of the gradient; tensors of size [0] gave nothing."""
    parts, start = [], 0
    for meta in tensors_meta:
        if meta.shape == (0,) and g.ndim != 1:
            parts.append(g.new_zeros(0))
            continue
        length = meta.shape[dim]
        parts.append(g.narrow(dim, start, length))
        start += length
    return parts


# fmt: off
op("cat(tensors, dim=0)", stored="all",
   native="cat", autocast="promote", method=False, out=True, out_words=CAT, apart=("tensors",),
   linear="tensors", alias=("concat", "concatenate"),
   doc="Tensors one after the other along a dimension that they have.",
   tensors=_cat_rule,
   batch=_cat_batch)
op("stack(tensors, dim=0)", stored="all", native="stack", autocast="promote", method=False, out=True,
   out_words=CAT, apart=("tensors",),
   linear="tensors",
   doc="Tensors of equal size side by side along a new dimension.",
   tensors=lambda g, dim: g.unbind(dim),
   batch=lambda op, size, batched, tensors, dim: stack(tensors, behind(dim, tensors[0].dim())))

# fmt: on


def _several(name, tensors):
    if not isinstance(tensors, tuple | list):
        raise TypeError(f"{name}(): argument 'tensors' must be tuple of Tensors, not {type(tensors).__name__}")
    if not tensors:
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    return tensors


@composite(method=False, out=True, out_words=CAT, apart=("tensors",))
def hstack(tensors):
    """Tensors side by side: along the second dimension (vectors: the first).

    >>> import adjoint as torch
    >>> torch.hstack([torch.zeros(2, 1), torch.ones(2, 1)])
    tensor([[0., 1.],
            [0., 1.]])
    """
    tensors = atleast_1d(_several("hstack", tensors))
    return cat(tensors, 0 if tensors[0].ndim == 1 else 1)


@composite(method=False, out=True, out_words=CAT, apart=("tensors",), alias=("row_stack",))
def vstack(tensors):
    """Tensors one below the other; vectors count as rows.

    >>> import adjoint as torch
    >>> torch.vstack([torch.zeros(2), torch.ones(2)])
    tensor([[0., 0.],
            [1., 1.]])
    """
    return cat(atleast_2d(_several("vstack", tensors)), 0)


@composite(method=False, out=True, out_words=CAT, apart=("tensors",))
def dstack(tensors):
    """Tensors one behind the other, along the third dimension.

    >>> import adjoint as torch
    >>> torch.dstack([torch.zeros(2), torch.ones(2)]).shape
    torch.Size([1, 2, 2])
    """
    return cat(atleast_3d(_several("dstack", tensors)), 2)


@composite(method=False, out=True, out_words=CAT, apart=("tensors",))
def column_stack(tensors):
    """Tensors side by side, vectors as columns.

    >>> import adjoint as torch
    >>> torch.column_stack([torch.zeros(2), torch.ones(2)])
    tensor([[0., 1.],
            [0., 1.]])
    """
    columns = [x if x.ndim > 1 else x.reshape(x.numel(), 1) for x in _several("column_stack", tensors)]
    return cat(columns, 1)


# fmt: off
# ---- Reversing, shifting, turning

op("flip(input, dims)", stored="all", native="flip", varargs="dims", linear="input",
   doc="The order of the elements reversed along dimensions.",
   input=lambda g, dims: flip(g, dims),
   batch="dims")
op("roll(input, shifts, dims=None)", stored="all", native="roll", linear="input",
   doc="Elements moved along dimensions, those that leave at one end coming back at the other.",
   input=lambda g, shifts, dims: roll(g, _negated(shifts), dims),
   batch=_roll_batch)
op("rot90(input, k=1, dims=(0, 1))", stored="all", native="rot90", linear="input",
   doc="The plane of two dimensions turned by k quarters.",
   input=lambda g, k, dims: rot90(g, -k, dims),
   batch="dims")

# fmt: on


def _negated(shifts):
    return -shifts if isinstance(shifts, int) else [-shift for shift in shifts]


@composite
def fliplr(input):
    """The order of columns reversed.

    >>> import adjoint as torch
    >>> torch.fliplr(torch.tensor([[1, 2]]))
    tensor([[2, 1]])
    """
    if input.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return flip(input, (1,))


@composite
def flipud(input):
    """The order of rows reversed.

    >>> import adjoint as torch
    >>> torch.flipud(torch.tensor([1, 2]))
    tensor([2, 1])
    """
    if input.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return flip(input, (0,))


# fmt: off
op("tril(input, diagonal=0)", stored="all", native="tril", inplace=True, out="exact", linear="input",
   doc="The lower triangle of matrices, zero elsewhere.",
   input=lambda g, diagonal: tril(g, diagonal),
   batch=matrices)
op("triu(input, diagonal=0)", stored="all", native="triu", inplace=True, out="exact", linear="input",
   doc="The upper triangle of matrices, zero elsewhere.",
   input=lambda g, diagonal: triu(g, diagonal),
   batch=matrices)

# ---- Repeating
# fmt: on


def _repeat_rule(g, input_meta, repeats):
    """The gradient summed over the repetitions, each of which is a dimension of its own in a finer shape."""
    shape = (1,) * (len(repeats) - input_meta.ndim) + tuple(input_meta.shape)
    finer = [size for pair in zip(repeats, shape, strict=True) for size in pair]
    return g.reshape(finer).sum(tuple(range(0, len(finer), 2))) if finer else g


# fmt: off
op("repeat(input, repeats)", stored="all", native="repeat", varargs="repeats", function=False, linear="input",
   doc="The tensor repeated along each dimension; further repeats make new dimensions in front.",
   input=_repeat_rule,
   batch=_repeat_batch)
# fmt: on


@composite
def tile(input, *repeats, dims=None):
    """The tensor repeated; missing repeats are 1.

    >>> import adjoint as torch
    >>> torch.tile(torch.tensor([1, 2]), (2,))
    tensor([1, 2, 1, 2])
    """
    tensor("tile", input=input)
    if dims is not None:
        repeats = (dims,)
    repeats = tuple(repeats[0]) if len(repeats) == 1 and isinstance(repeats[0], tuple | list) else repeats
    return input.repeat((1,) * (input.ndim - len(repeats)) + repeats)


op("interleaved_index(repeats, output_size=None)", native="interleaved_index", public=False,
   batch=_interleaved_batch)  # fmt: skip


@composite
def repeat_interleave(input, repeats=None, dim=None, *, output_size=None):
    """Each element (or slice along `dim`) repeated in its place.

    >>> import adjoint as torch
    >>> torch.repeat_interleave(torch.tensor([1, 2]), 2)
    tensor([1, 1, 2, 2])
    >>> torch.repeat_interleave(torch.tensor([1, 2]), torch.tensor([0, 3]))
    tensor([2, 2, 2])
    """
    if repeats is None:
        return interleaved_index(input, output_size)
    if dim is None:
        input, dim = input.reshape(-1), 0
    elif input.ndim == 0:
        raise IndexError(f"Dimension out of range: a tensor without dimensions has no dimension {dim} to repeat along")
    else:
        dim = integer("repeat_interleave", "dim", dim)
    if not -input.ndim <= dim < input.ndim:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-input.ndim}, {input.ndim - 1}], but got {dim})"
        )
    if not isinstance(repeats, Tensor):
        return _repeat_evenly(input, integer("repeat_interleave", "repeats", repeats), dim)
    size = input.shape[dim]
    if repeats.ndim == 0 or repeats.numel() == 1:
        repeats = repeats.reshape(1).expand(size)
    elif repeats.shape[0] != size:
        raise RuntimeError(
            f"repeats must have the same size as input along dim, but got repeats.size(0) = {repeats.shape[0]} and "
            f"input.size({dim}) = {size}"
        )
    return index_select(input, dim, interleaved_index(repeats, output_size))


def _repeat_evenly(input, repeats, dim):
    if repeats < 0:
        raise RuntimeError("Repeats must be non-negative")
    size = list(input.shape)
    dim %= input.ndim
    length = size[dim]
    spread = input.unsqueeze(dim + 1).expand(*size[: dim + 1], repeats, *size[dim + 1 :])
    return spread.contiguous().view(*size[:dim], length * repeats, *size[dim + 1 :])
