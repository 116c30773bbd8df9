"""What views show in memory of its own (permute_copy...), copies with a view's part replaced (select_scatter...), and
matrices made around their diagonals.
"""

from . import language, views  # noqa: F401  (views declares what is copied here)
from .batching import behind, call, each, lined_up, with_batch
from .language import (
    TABLE,
    alias_copy,
    as_strided_within_copy,
    cat,
    composite,
    constant_pad_nd,
    diag_embed,
    diagonal,
    diagonal_copy,
    diagonal_scatter,
    meshgrid,
    op,
    select_scatter,
    slice,
    slice_backward,
    slice_scatter,
    squeeze_all_copy,
    squeeze_dim_copy,
    squeeze_dims_copy,
    stack,
    view_sizes_copy,
)

# ---- Batch rules; see batching.py


def _block_batch(op, size, batched, tensors):
    if any(x.dim() > 3 for x in tensors):
        return NotImplemented  # which the op refuses
    blocks = [lined_up(x, 2) for x in tensors]
    total, left, rows = sum(block.shape[2] for block in blocks), 0, []
    for block in blocks:
        width = block.shape[2]
        rows.append(constant_pad_nd(block, (left, total - left - width)))
        left += width
    return cat(rows, 1)


def _copied_batch(name):
    """What the rule of a view shows, copied."""
    view = getattr(language, name)
    return lambda op, *given: each(alias_copy, TABLE[name].batch_rule(view, *given))


def _narrow_batch(op, size, batched, input, dim, start, length):
    if batched[2]:
        raise RuntimeError(
            "vmap: narrow_copy() cannot take a start that differs from element to element: use index_select()"
        )
    return call(op, input, behind(dim, input.dim() - 1), start, length)


def _as_strided_scatter_batch(op, size, batched, input, src, sizes, stride, offset):
    input, src = with_batch(size, batched[:2], (input, src))
    input = input.contiguous()
    return call(op, input, src, (size, *sizes), (input.stride(0), *stride), offset or 0)


def _diag_embed_batch(op, size, batched, input, offset, dim1, dim2):
    return call(op, input, offset, behind(dim1, input.dim()), behind(dim2, input.dim()))


# ---- Copies


def _copy(name, **options):
    """Declares name_copy: the view's arguments and rule, and a copy of what it shows."""
    view = TABLE[name]
    op(view.signature.replace("(", "_copy(", 1), native=f"copy_of<ops::{view.native}>", node=f"{view.node}_copy",
       stored="all", linear="input", method=False, out="exact", doc=f"What {name}() shows, in memory of its own.",
       **view.rules, batch=_copied_batch(name), **options)  # fmt: skip


for _name in ("alias", "diagonal", "expand", "permute", "select", "slice", "split_with_sizes", "t", "transpose",
              "unbind", "unfold", "unsqueeze", "view_as_real", "view_as_complex"):  # fmt: skip
    _copy(_name)
for _name in ("as_strided_within", "squeeze_all", "squeeze_dim", "squeeze_dims", "view_sizes"):
    _copy(_name, function=False)


@composite(method=False, out="exact")
def as_strided_copy(input, size, stride, storage_offset=None):
    """What as_strided() shows, in memory of its own.

    >>> import adjoint as torch
    >>> torch.as_strided_copy(torch.arange(4), (2, 2), (1, 1))
    tensor([[0, 1],
            [1, 2]])
    """
    offset = 0 if storage_offset is None else storage_offset - input.storage_offset()
    return as_strided_within_copy(input, size, stride, offset)


@composite(method=False, out="exact")
def squeeze_copy(input, dim=None):
    """What squeeze() shows, in memory of its own.

    >>> import adjoint as torch
    >>> torch.squeeze_copy(torch.zeros(1, 2))
    tensor([0., 0.])
    """
    if dim is None:
        return squeeze_all_copy(input)
    return squeeze_dims_copy(input, dim) if isinstance(dim, tuple | list) else squeeze_dim_copy(input, dim)


@composite(method=False, out="exact")
def view_copy(input, size=None, *, dtype=None):
    """What view() shows, in memory of its own.

    >>> import adjoint as torch
    >>> torch.view_copy(torch.arange(4), (2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
    if isinstance(size, tuple | list):
        return view_sizes_copy(input, size)
    if size is None and dtype is None:
        raise TypeError("view_copy() received an invalid combination of arguments: expected sizes or a dtype")
    return input.detach().view(size if dtype is None else dtype).clone()


def _narrow_rule(g, input_meta, dim, start, length):
    start = int(start)
    start += input_meta.shape[dim] if start < 0 else 0
    return slice_backward(g, input_meta.shape, dim, start, start + length, 1)


op("narrow_copy(input, dim, start, length)", stored="all", linear="input", out="exact",
   out_words="Expected self.dtype() == output.dtype() to be true, but got false.",
   forward=lambda input, dim, start, length: alias_copy(input.narrow(dim, start, length)),
   doc="What narrow() shows, in memory of its own.",
   input=_narrow_rule,
   batch=_narrow_batch)  # fmt: skip


def _within(g):
    """A gradient that begins, as what it is of, where its storage does."""
    g = g.contiguous()
    return g.clone() if g.storage_offset() else g


# fmt: off
op("split_copy(input, split_size, dim=0)", stored="all",
   native="copy_of<ops::split_evenly>", node="SplitBackward0_copy",
   method=False, out="exact", linear="input",
   doc="What split() shows, in memory of its own.",
   input=lambda gs, dim: cat(gs, dim),
   batch="dim")

# The same memory, but nobody watches over changes of it.
op("unsafe_split(input, split_size, dim=0)", stored="all", native="unsafe_split", linear="input",
   doc="split() for parts that are changed in place one by one, and not looked at through the input again.",
   input=lambda gs, dim: cat(gs, dim),
   batch="dim")
op("unsafe_split_with_sizes(input, split_sizes, dim=0)", stored="all", native="unsafe_split_with_sizes", linear="input",
   doc="split_with_sizes() for parts that are changed in place, and not looked at through the input again.",
   input=lambda gs, dim: cat(gs, dim),
   batch="dim")
op("unsafe_chunk(input, chunks, dim=0)", stored="all", composed="unsafe_chunk", linear="input",
   doc="chunk() for parts that are changed in place, and not looked at through the input again.")

# ---- Copies with the part that a view shows replaced

op("select_scatter(input, src, dim, index)", stored="all", native="scatter_into<ops::select>",
   doc="A copy with one slice along a dimension replaced by `src`.", linear="input + src",
   input=lambda g, src_meta, dim, index: select_scatter(g, g.new_zeros(src_meta.shape), dim, index),
   src=lambda g, dim, index: g.select(dim, index),
   batch="dim")
op("slice_scatter(input, src, dim=0, start=None, end=None, step=1)", stored="all",
   native="scatter_into<ops::slice>", out="exact",
   doc="A copy with the slices from `start` to `end` along a dimension replaced by `src`.", linear="input + src",
   input=lambda g, src_meta, dim, start, end, step:
       slice_scatter(g, g.new_zeros(src_meta.shape), dim, start, end, step),
   src=lambda g, dim, start, end, step: slice(g, dim, start, end, step),
   batch="dim")
op("diagonal_scatter(input, src, offset=0, dim1=0, dim2=1)", stored="all", native="scatter_into<ops::diagonal>",
   doc="A copy with the diagonal of two dimensions replaced by `src`.", linear="input + src",
   input=lambda g, src_meta, offset, dim1, dim2:
       diagonal_scatter(g, g.new_zeros(src_meta.shape), offset, dim1, dim2),
   src=lambda g, offset, dim1, dim2: diagonal(g, offset, dim1, dim2),
   batch="dim1 dim2")
op("as_strided_scatter(input, src, size, stride, storage_offset=None)", stored="all", native="as_strided_scatter",
   doc="A copy with the elements that as_strided() shows replaced by `src`.", linear="input + src",
   input=lambda g, src_meta, size, stride, storage_offset:
       _within(g).as_strided_scatter(g.new_zeros(src_meta.shape), size, stride, storage_offset),
   src=lambda g, size, stride, storage_offset: _within(g).as_strided(size, stride, storage_offset),
   batch=_as_strided_scatter_batch)

# ---- Around the diagonal

op("diag_embed(input, offset=0, dim1=-2, dim2=-1)", stored="all", native="diag_embed", linear="input",
   doc="The last dimension laid along the diagonal of two new ones, zeros elsewhere.",
   input=lambda g, offset, dim1, dim2: diagonal(g, offset, dim1, dim2),
   batch=_diag_embed_batch)
# fmt: on


@composite(out="exact")
def diag(input, diagonal=0):
    """The matrix with a vector as its diagonal, or the diagonal of a matrix.

    >>> import adjoint as torch
    >>> torch.diag(torch.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    if input.ndim not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")
    return diag_embed(input, diagonal) if input.ndim == 1 else diagonal_copy(input, diagonal)


@composite
def diagflat(input, offset=0):
    """The matrix with all elements as its diagonal.

    >>> import adjoint as torch
    >>> torch.diagflat(torch.tensor([[1], [2]]))
    tensor([[1, 0],
            [0, 2]])
    """
    return diag_embed(input.contiguous().view(-1), offset)


def _block_rule(g, tensors_meta):
    """Each tensor's block of the gradient."""
    parts, row, column = [], 0, 0
    for meta in tensors_meta:
        height, width = (1, 1, *meta.shape)[-2:]
        block = g.narrow(0, row, height).narrow(1, column, width)
        parts.append(block.reshape(meta.shape))
        row, column = row + height, column + width
    return parts


op("block_diag(tensors=())", stored="all", native="block_diag", varargs="tensors", method=False, linear="tensors",
   doc="Matrices along the diagonal of one matrix; vectors and numbers count as rows.",
   tensors=_block_rule,
   batch=_block_batch)  # fmt: skip


@composite(method=False)
def cartesian_prod(*tensors):
    """All tuples of one element of each vector, as rows.

    >>> import adjoint as torch
    >>> torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([3, 4]))
    tensor([[1, 3],
            [1, 4],
            [2, 3],
            [2, 4]])
    """
    for tensor in tensors:
        if tensor.ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(tensor.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return stack([grid.reshape(-1) for grid in meshgrid(*tensors, indexing="ij")], dim=1)
