"""Views: other shapes of the same memory, and the copies that stand in where memory cannot be shared.

Declared here are the views themselves (one node each) and what their rules need: zeros with the gradient written where
the view looked. The shape functions made of them are in shapes.py.
"""

from .batching import behind, call, formatted, is_tensor, lined_up, repeated, rows, with_batch
from .language import (
    _publish,
    alias,
    as_strided_backward,
    as_strided_within,
    as_strided_within_,
    cat,
    composite,
    contiguous_format,
    diagonal_backward,
    empty_like,
    op,
    reshape,
    select_backward,
    slice,
    slice_backward,
    split,
    squeeze_all_,
    squeeze_dim_,
    squeeze_dims_,
    stack,
    unfold_backward,
    view,
    view_as_complex,
    view_as_real,
    zeros_like,
)

# ---- Batch rules; see batching.py


def _viewed(op, size, batched, input, sizes):
    """A size that is left open is that of an element: in a batch of none, it could be any."""
    sizes = tuple(sizes) if isinstance(sizes, tuple | list) else (sizes,)
    if not size and -1 in sizes:
        sizes = call(op, input.new_empty(input.shape[1:]), sizes).shape
    return call(op, input, (size, *sizes))


_viewed.__dict__["places"] = ((), (1,), False)


def _squeeze_all(op, size, batched, input):
    return input.squeeze(tuple(d for d in range(1, input.dim()) if input.shape[d] == 1))


def _t(op, size, batched, input):
    if input.dim() > 3:
        return NotImplemented  # which the op refuses
    return input.transpose(1, 2) if input.dim() == 3 else alias(input)


def _unbind(op, size, batched, input, dim):
    if input.dim() == 1:
        return NotImplemented  # which the op refuses
    return call(op, input, behind(dim, input.dim() - 1))


_unbind.__dict__["places"] = ((1,), (), False)


def _expand(op, size, batched, input, sizes):
    sizes = tuple(sizes) if isinstance(sizes, tuple | list) else (sizes,)
    if -1 in sizes[: len(sizes) - input.dim() + 1]:
        return NotImplemented  # which the op refuses
    return lined_up(input, len(sizes)).expand(size, *sizes)


def _as_strided(op, size, batched, input, sizes, stride, offset):
    return call(op, input, (size, *sizes), (input.stride(0), *stride), offset)


def _as_strided_back(op, size, batched, input, extent, sizes, stride, offset):
    return call(op, input, size * extent, (size, *sizes), (extent, *stride), offset).view(size, extent)


def _copied(op, size, batched, input, other, non_blocking):
    input, other = with_batch(size, batched[:2], (input, other))
    return lined_up(other, input.dim() - 1).expand(input.shape)


def _in_memory_order(input):
    """Elements whose dimensions may be permuted, in the order in which those of each lie in memory."""
    order = sorted(range(1, input.dim()), key=input.stride, reverse=True)
    ordered = input.permute(0, *order)
    return ordered if input[:1].numel() and ordered[0].is_contiguous() else input


def _resized(op, size, differentiated, batched, input, sizes, memory_format):
    """Each keeps its first elements; it keeps its memory, too, as long as it needs no more."""
    if differentiated[0]:
        raise RuntimeError("cannot resize variables that require grad, or have a tangent; detach() the tensor first")
    if memory_format not in (None, contiguous_format):
        raise RuntimeError(f"{op.__name__}: batching rule only supports None or Contiguous MemoryFormat; permute() it")
    if any(batched[1:]):
        raise TypeError(f"{op.__name__}(): sizes must be ints, the same for all elements of a batch")
    shown = input.new_empty(0).resize_(sizes)
    if shown.shape == input.shape[1:]:
        return input
    held, count = rows(_in_memory_order(input)), shown.numel()
    if count > held.shape[1]:
        larger = input.new_empty(size, count)
        larger.narrow(1, 0, held.shape[1]).copy_(held)
        held = larger
    return held.narrow(1, 0, count).view(size, *shown.shape)


def _resized_as(op, size, differentiated, batched, input, template, memory_format):
    if not is_tensor(template):
        return call(op, input, template, memory_format)  # which refuses it
    sizes = template.shape[batched[1] :]
    return _resized(op, size, differentiated, (batched[0], False), input, sizes, memory_format)


def _set(op, size, differentiated, batched, input, source, offset, sizes, stride):
    """Elements of the source, in their own places or in those that are said."""
    if any(differentiated):
        raise RuntimeError("derivative for set_ is not implemented; detach() the tensors first")
    if source is None:
        return input.new_empty(size, 0)
    element = source.new_empty(source.shape[batched[1] :]) if is_tensor(source) else source
    shown = call(op, input.new_empty(0), element, offset, sizes, stride)  # or it refuses them
    source = source if batched[1] else repeated(source, size)
    if offset is None:
        return source
    if source.stride()[1:] != element.stride():
        raise RuntimeError("passed in tensor to be used as storage must be contiguous; call contiguous() first")
    return as_strided_within(source, (size, *shown.shape), (source.stride(0), *shown.stride()), offset)


# fmt: off
# ---- Sizes

view("view_sizes(input, size)", native="view_sizes", node="ViewBackward0", linear="input", public=False, shown="view",
     input=lambda g, input_meta: reshape(g, input_meta.shape),
     batch=_viewed)
# What reshape makes of an input that is not contiguous.
view("reshape_alias(input, size)", native="view_sizes", node="ReshapeAliasBackward0", linear="input", public=False,
     input=lambda g, input_meta: reshape(g, input_meta.shape),
     batch=_viewed)
op("view_dtype(input, dtype)", stored="all", native="view_dtype", public=False, shown="view")
op("view(input, size=None, dtype=None)", composed="view", varargs="size", function=False, linear="input",
   doc="The same memory in other sizes (one may be -1), or read as another dtype.")
op("reshape(input, shape)", composed="reshape", varargs="shape", linear="input",
   doc="The elements in other sizes (one may be -1): a view where possible, else a copy.")
op("flatten(input, start_dim=0, end_dim=-1)", composed="flatten", linear="input",
   doc="The dimensions from start_dim to end_dim merged into one.")
view("squeeze_all(input)", native="squeeze_all", node="SqueezeBackward0", inplace_node="SqueezeBackward3",
     inplace=True, linear="input", public=False, shown="squeeze",
     input=lambda g, input_meta: reshape(g, input_meta.shape),
     batch=_squeeze_all)
view("squeeze_dim(input, dim)", native="squeeze_dims", node="SqueezeBackward1", inplace_node="SqueezeBackward4",
     inplace=True, linear="input", public=False, shown="squeeze",
     input=lambda g, input_meta: reshape(g, input_meta.shape),
     batch="dim")
view("squeeze_dims(input, dim)", native="squeeze_dims", node="SqueezeBackward2", inplace_node="SqueezeBackward5",
     inplace=True, linear="input", public=False, shown="squeeze",
     input=lambda g, input_meta: reshape(g, input_meta.shape),
     batch="dim")
op("squeeze(input, dim=None)", composed="squeeze", linear="input",
   doc="Without the dimensions of size 1: all, or those among `dim`.")
view("unsqueeze(input, dim)", native="unsqueeze", inplace=True, inplace_node="UnsqueezeBackward1", linear="input",
     doc="With a new dimension of size 1 at `dim`.",
     input=lambda g, dim: g.squeeze(dim),
     batch=lambda op, size, batched, input, dim: input.unsqueeze(behind(dim, input.dim())))
# The engine sums the gradient to the input's shape.
view("expand(input, size)", native="expand", varargs="size", function=False, linear="input",
     doc="Dimensions of size 1 repeated to `size` without a copy; -1 keeps a size.",
     input=lambda g: g,
     batch=_expand)

# ---- Order of dimensions

view("transpose(input, dim0, dim1)", native="transpose", alias=("swapaxes", "swapdims"), linear="input",
     inplace=True, inplace_node="TransposeBackward1",
     doc="Two dimensions swapped.",
     input=lambda g, dim0, dim1: g.transpose(dim0, dim1),
     batch="dim0 dim1")
view("t(input)", native="t", inplace=True, inplace_node="TBackward1", linear="input",
     doc="A matrix transposed; vectors and 0-d tensors as they are.",
     input=lambda g: g.t(),
     batch=_t)

# fmt: on


def _inverse(dims):
    order = [0] * len(dims)
    for place, dim in enumerate(dims):
        order[dim] = place
    return order


# fmt: off
view("permute(input, dims)", native="permute", varargs="dims", linear="input",
     doc="The dimensions in another order.",
     input=lambda g, dims: g.permute(_inverse(dims)),
     batch=lambda op, size, batched, input, dims: input.permute(0, *behind(dims, input.dim() - 1)))

# ---- Parts

view("select(input, dim, index)", native="select", linear="input",
     doc="One slice along a dimension, which goes.",
     input=lambda g, input_meta, dim, index: select_backward(g, input_meta.shape, dim, index),
     batch="dim")
op("select_backward(input, size, dim, index)", stored="all", native="select_backward", linear="input", public=False,
   input=lambda g, dim, index: g.select(dim, index),
   batch="+size dim@size")
view("slice(input, dim=0, start=None, end=None, step=1)", native="slice", linear="input", public=False,
     input=lambda g, input_meta, dim, start, end, step: slice_backward(g, input_meta.shape, dim, start, end, step),
     batch="dim")
op("slice_backward(input, size, dim, start, end, step)", stored="all",
   native="slice_backward", linear="input", public=False,
   input=lambda g, dim, start, end, step: slice(g, dim, start, end, step),
   batch="+size dim@size")
op("narrow(input, dim, start, length)", composed="narrow", linear="input",
   doc="The `length` slices from `start` on along a dimension.")
view("diagonal(input, offset=0, dim1=0, dim2=1)", native="diagonal", linear="input",
     doc="The diagonal of two dimensions, as the last dimension.",
     input=lambda g, input_meta, offset, dim1, dim2: diagonal_backward(g, input_meta.shape, offset, dim1, dim2),
     batch="dim1 dim2")
op("diagonal_backward(input, size, offset, dim1, dim2)", stored="all",
   native="diagonal_backward", linear="input", public=False,
   input=lambda g, offset, dim1, dim2: g.diagonal(offset, dim1, dim2),
   batch="+size dim1@size dim2@size")
view("unfold(input, dimension, size, step)", native="unfold", function=False, linear="input",
     doc="Windows of `size` elements every `step` along a dimension, as a new last dimension.",
     input=lambda g, input_meta, dimension, size, step: unfold_backward(g, input_meta.shape, dimension, size, step),
     batch="dimension")
op("unfold_backward(input, size, dimension, window, step)", stored="all",
   native="unfold_backward", linear="input", public=False,
   input=lambda g, dimension, window, step: g.unfold(dimension, window, step),
   batch="+size dimension@size")

# Several views with one node, which together show the whole: their gradients are joined again.
view("unbind(input, dim=0)", native="unbind", linear="input",
     doc="All slices along a dimension.",
     input=lambda gs, dim: stack(gs, dim),
     batch=_unbind)
view("split_evenly(input, split_size, dim=0)", native="split_evenly", node="SplitBackward0", linear="input",
     public=False, shown="split",
     input=lambda gs, dim: cat(gs, dim),
     batch="dim")
view("split_with_sizes(input, split_sizes, dim=0)", native="split_with_sizes", linear="input",
     doc="Parts of the given sizes along a dimension.",
     input=lambda gs, dim: cat(gs, dim),
     batch="dim")
op("split(input, split_size, dim=0)", composed="split", function=False, linear="input",
   doc="Parts of `split_size` along a dimension (the last may be smaller), or of the sizes in a list.")
op("chunk(input, chunks, dim=0)", composed="chunk", linear="input",
   doc="At most `chunks` parts of equal size along a dimension.")

# fmt: on


def _reach(size, stride):
    """How far the last element of a geometry lies behind the first."""
    return sum((n - 1) * step for n, step in zip(size, stride, strict=True) if n) if 0 not in size else -1


def _may_overlap(size, stride):
    """False when every element of a geometry surely has its own place."""
    reach = 0
    for step, n in sorted(zip(stride, size, strict=True)):
        if n > 1 and step <= reach:
            return True
        reach += step * (n - 1)
    return False


def _as_strided_rule(g, input_meta, size, stride, offset):
    # The gradient is summed in a stretch of memory that both geometries lie in, then taken by the input's elements;
    # where these share a place, each takes its part.
    shape, strides, start = input_meta.shape, input_meta.stride(), max(0, -offset)
    extent = start + max(_reach(shape, strides), offset + _reach(size, stride)) + 1
    memory = as_strided_backward(g, extent, size, stride, start + offset)
    if _may_overlap(shape, strides):
        counts = as_strided_backward(g.new_ones(shape), extent, shape, strides, start)
        memory = memory / (counts + (counts == 0))
    return as_strided_within(memory, shape, strides, start)


# fmt: off
# What rules can tell is the place in the input, not in its storage.
view("as_strided_within(input, size, stride, offset)", native="as_strided_within", node="AsStridedBackward0",
     inplace=True, inplace_node="AsStridedBackward1", linear="input", public=False,
     input=_as_strided_rule,
     batch=_as_strided)
# For tensors that begin at the start of their storage.
composite(op("as_strided_in_storage(input, size, stride, storage_offset=None)", composed="as_strided_in_storage",
             linear="input", doc="Any sizes and strides within the tensor's storage.", public=False),
          name="as_strided")
op("as_strided_backward(input, extent, size, stride, offset)", stored="all",
   native="as_strided_backward", linear="input",
   public=False, input=lambda g, size, stride, offset: as_strided_within(g.contiguous(), size, stride, offset),
   batch=_as_strided_back)

# ---- Complex numbers as pairs

# The gradient is packed first: pairs must lie together, and begin at an even place.
view("view_as_real(input)", native="view_as_real", linear="input", method=False,
     doc="A complex tensor as pairs (real, imaginary) in a new last dimension.",
     input=lambda g: view_as_complex(g.clone(memory_format=contiguous_format)),
     batch="...")
view("view_as_complex(input)", native="view_as_complex", autocast="float32", linear="input", method=False,
     doc="Pairs in the last dimension as complex numbers.",
     input=lambda g: view_as_real(g),
     batch="...")

# fmt: on


@composite(method=False)
def real(input):
    """The real part: a view of a complex tensor, a real tensor itself.

    >>> import adjoint as torch
    >>> torch.real(torch.tensor([1 + 2j]))
    tensor([1.])
    """
    return view_as_real(input).select(-1, 0) if input.is_complex() else input


@composite(method=False)
def imag(input):
    """The imaginary part of a complex tensor, a view.

    >>> import adjoint as torch
    >>> torch.imag(torch.tensor([1 + 2j]))
    tensor([2.])
    """
    if not input.is_complex():
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return view_as_real(input).select(-1, 1)


# fmt: off
# ---- Copies

view("alias(input)", native="alias_of", linear="input", public=False,
     input=lambda g: g,
     batch="...")
op("detach(input)", stored="all", native="detached", sparse=True, doc="The same memory without history.",
   batch="...")
op("clone(input, *, memory_format=None)", stored="all", native="clone_as", linear="input",
   doc="A copy of the tensor, through which gradients flow.",
   input=lambda g: g,
   batch=formatted)
op("contiguous(input, *, memory_format=None)", composed="contiguous", function=False, linear="input",
   doc="The tensor itself when it lies in memory in order, else a copy that does.")
op("_laid_out(input, channels_last)", composed="laid_out", linear="input", public=False)
op("copy(input, other, non_blocking=False)", stored="all", inplace="only", inplace_native="copy_", node="CopyBackwards",
   forward=lambda input, other, non_blocking: empty_like(input).copy_(other),
   whole=("other",), linear="input + other", crosses=True,
   doc="`other` broadcast to the shape of the tensor: what copy_() writes there, in the tensor's type.",
   input=lambda g: zeros_like(g),
   other=lambda g: g,
   batch=_copied)

# ---- In place: other sizes, or other memory

op("set_(input, source=None, storage_offset=None, size=None, stride=None)", composed="set_", function=False,
   doc="Gives the tensor the memory of another one, and its geometry or the one that is said.",
   batch=_set)
op("resize_(input, size, *, memory_format=None)", composed="resize_", varargs="size", function=False,
   doc="Gives the tensor other sizes; its elements stay in memory where they are.",
   batch=_resized)
op("resize_as_(input, the_template, *, memory_format=None)", composed="resize_as_",
   doc="Gives the tensor the sizes of another one.",
   batch=_resized_as)

# fmt: on


@composite(function_=False, name="squeeze_")
def squeeze_(input, dim=None):
    """In-place version of squeeze().

    >>> import adjoint as torch
    >>> torch.zeros(1, 2).squeeze_()
    tensor([0., 0.])
    """
    if dim is None:
        return squeeze_all_(input)
    return squeeze_dims_(input, dim) if isinstance(dim, tuple | list) else squeeze_dim_(input, dim)


@composite(name="as_strided_")
def as_strided_(input, size, stride, storage_offset=None):
    """In-place version of as_strided().

    >>> import adjoint as torch
    >>> torch.arange(4).as_strided_((2, 2), (1, 1))
    tensor([[0, 1],
            [1, 2]])
    """
    offset = 0 if storage_offset is None else storage_offset - input.storage_offset()
    return as_strided_within_(input, size, stride, offset)


# fmt: off

# ---- Transposes by attribute (x.T, x.mT, x.H, x.mH)

composite(op("reverse_dims(input)", composed="numpy_T", linear="input", public=False),
          name="numpy_T", method=False, function_=False)
composite(op("matrix_transpose(input)", composed="mT", linear="input", public=False),
          name="mT", method=False, function_=False)

# fmt: on


def _split(tensor, split_size_or_sections, dim=0):
    """Parts of a size along a dimension (the last may be smaller), or of the sizes in a list.

    >>> import adjoint as torch
    >>> torch.split(torch.arange(3), 2)
    (tensor([0, 1]), tensor([2]))
    """
    return split(tensor, split_size_or_sections, dim)


# As a function its arguments have other names than as a method.
_split.__name__ = _split.__qualname__ = "split"
_publish("split", _split, "", False, True, ())


@composite
def adjoint(input):
    """The matrices in the last two dimensions, transposed and conjugated.

    >>> import adjoint as torch
    >>> torch.adjoint(torch.tensor([[1 + 2j, 3]]))
    tensor([[1.-2.j],
            [3.-0.j]])
    """
    if input.ndim == 0:
        return input.conj()
    if input.ndim < 2:
        raise RuntimeError(
            f"tensor.adjoint() is only supported on matrices or batches of matrices. Got {input.ndim}-D tensor."
        )
    return input.transpose(-2, -1).conj()


@composite(method=False, function_=False)
def mH(input):
    """x.mH: the adjoint of the matrices in the last two dimensions."""
    if input.ndim == 1:
        raise RuntimeError(
            f"tensor.mH is only supported on matrices or batches of matrices. Got {input.ndim}-D tensor."
        )
    return adjoint(input)


@composite(method=False, function_=False)
def H(input):
    """x.H: the adjoint of one matrix."""
    if input.ndim not in (0, 2):
        hint = " For batches of matrices, consider using tensor.mH" if input.ndim > 2 else ""
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {input.ndim}-D tensor.{hint}")
    return adjoint(input)
