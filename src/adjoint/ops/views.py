"""Views: other shapes of the same memory, and the copies that stand in where memory cannot be shared.

Declared here are the views themselves (one node each), what their rules need (zeros with the gradient written where the
view looked), and the shape functions that choose among them.
"""

from .language import (
    alias,
    as_strided_backward,
    composite,
    conj,
    diagonal_backward,
    ones,
    op,
    reshape,
    select_backward,
    slice,
    slice_backward,
    unfold_backward,
    view,
    view_as_complex,
    view_as_real,
    zeros_like,
)

HIDDEN = {"method": False, "function": False}


# ---- Sizes

view("view_sizes(input, size)", kernel="view_sizes", node="ViewBackward0", linear=True, **HIDDEN,
     input=lambda g, input_meta: reshape(g, input_meta.shape))
op("view(input, size=None, dtype=None)", kernel="view", varargs="size", function=False,
   doc="The same memory in other sizes (one may be -1), or read as another dtype.")
op("reshape(input, shape)", kernel="reshape", varargs="shape",
   doc="The elements in other sizes (one may be -1): a view where possible, else a copy.")
op("flatten(input, start_dim=0, end_dim=-1)", kernel="flatten",
   doc="The dimensions from start_dim to end_dim merged into one.")
view("squeeze_all(input)", kernel="squeeze_all", node="SqueezeBackward0", linear=True, **HIDDEN,
     input=lambda g, input_meta: reshape(g, input_meta.shape))
view("squeeze_dim(input, dim)", kernel="squeeze_dims", node="SqueezeBackward1", linear=True, **HIDDEN,
     input=lambda g, input_meta: reshape(g, input_meta.shape))
view("squeeze_dims(input, dim)", kernel="squeeze_dims", node="SqueezeBackward2", linear=True, **HIDDEN,
     input=lambda g, input_meta: reshape(g, input_meta.shape))
op("squeeze(input, dim=None)", kernel="squeeze",
   doc="Without the dimensions of size 1: all, or those among `dim`.")
view("unsqueeze(input, dim)", kernel="unsqueeze", linear=True,
     doc="With a new dimension of size 1 at `dim`.",
     input=lambda g, dim: g.squeeze(dim))
# The engine sums the gradient to the input's shape.
view("expand(input, size)", kernel="expand", varargs="size", function=False, linear=True,
     doc="Dimensions of size 1 repeated to `size` without a copy; -1 keeps a size.",
     input=lambda g: g)

# ---- Order of dimensions

view("transpose(input, dim0, dim1)", kernel="transpose", alias=("swapaxes", "swapdims"), linear=True,
     doc="Two dimensions swapped.",
     input=lambda g, dim0, dim1: g.transpose(dim0, dim1))
view("t(input)", kernel="t", linear=True,
     doc="A matrix transposed; vectors and 0-d tensors as they are.",
     input=lambda g: g.t())


def _inverse(dims):
    order = [0] * len(dims)
    for place, dim in enumerate(dims):
        order[dim] = place
    return order


view("permute(input, dims)", kernel="permute", varargs="dims", linear=True,
     doc="The dimensions in another order.",
     input=lambda g, dims: g.permute(_inverse(dims)))

# ---- Parts

view("select(input, dim, index)", kernel="select", linear=True,
     doc="One slice along a dimension, which goes.",
     input=lambda g, input_meta, dim, index: select_backward(g, input_meta.shape, dim, index))
op("select_backward(input, size, dim, index)", kernel="select_backward", linear=True, **HIDDEN,
   input=lambda g, dim, index: g.select(dim, index))
view("slice(input, dim=0, start=None, end=None, step=1)", kernel="slice", linear=True, **HIDDEN,
     input=lambda g, input_meta, dim, start, end, step: slice_backward(g, input_meta.shape, dim, start, end, step))
op("slice_backward(input, size, dim, start, end, step)", kernel="slice_backward", linear=True, **HIDDEN,
   input=lambda g, dim, start, end, step: slice(g, dim, start, end, step))
op("narrow(input, dim, start, length)", kernel="narrow",
   doc="The `length` slices from `start` on along a dimension.")
view("diagonal(input, offset=0, dim1=0, dim2=1)", kernel="diagonal", linear=True,
     doc="The diagonal of two dimensions, as the last dimension.",
     input=lambda g, input_meta, offset, dim1, dim2: diagonal_backward(g, input_meta.shape, offset, dim1, dim2))
op("diagonal_backward(input, size, offset, dim1, dim2)", kernel="diagonal_backward", linear=True, **HIDDEN,
   input=lambda g, offset, dim1, dim2: g.diagonal(offset, dim1, dim2))
view("unfold(input, dimension, size, step)", kernel="unfold", function=False, linear=True,
     doc="Windows of `size` elements every `step` along a dimension, as a new last dimension.",
     input=lambda g, input_meta, dimension, size, step: unfold_backward(g, input_meta.shape, dimension, size, step))
op("unfold_backward(input, size, dimension, window, step)", kernel="unfold_backward", linear=True, **HIDDEN,
   input=lambda g, dimension, window, step: g.unfold(dimension, window, step))

# Several views with one node; their gradients are joined by stack and cat.
op("unbind(input, dim=0)", kernel="unbind", doc="All slices along a dimension.")
op("split(input, split_size, dim=0)", kernel="split",
   doc="Parts of `split_size` along a dimension (the last may be smaller), or of the sizes in a list.")
op("split_with_sizes(input, split_sizes, dim=0)", kernel="split_with_sizes",
   doc="Parts of the given sizes along a dimension.")
op("chunk(input, chunks, dim=0)", kernel="chunk", doc="At most `chunks` parts of equal size along a dimension.")


def _reach(size, stride):
    """How far the last element of a geometry lies behind the first."""
    return sum((n - 1) * step for n, step in zip(size, stride, strict=True) if n) if 0 not in size else -1


def _as_strided_rule(g, input_meta, size, stride, storage_offset):
    # The gradient is summed in a stretch of memory that both geometries lie in, from where the input's elements take it.
    # Where input elements share a place, each takes its part.
    shape, strides, start = input_meta.shape, input_meta.stride(), input_meta.storage_offset()
    offset = start if storage_offset is None else storage_offset
    first = min(start, offset)
    extent = max(start + _reach(shape, strides), offset + _reach(size, stride)) - first + 1
    memory = as_strided_backward(g, extent, size, stride, offset - first)
    if any(step == 0 and n > 1 for n, step in zip(shape, strides, strict=True)):
        counts = as_strided_backward(ones(shape, dtype=g.dtype), extent, shape, strides, start - first)
        memory = memory / (counts + (counts == 0))
    return memory.as_strided(shape, strides, start - first)


view("as_strided(input, size, stride, storage_offset=None)", kernel="as_strided", linear=True,
     doc="Any sizes and strides within the tensor's storage.",
     input=_as_strided_rule)
op("as_strided_backward(input, extent, size, stride, offset)", kernel="as_strided_backward", linear=True, **HIDDEN,
   input=lambda g, size, stride, offset: g.as_strided(size, stride, g.storage_offset() + offset))

# ---- Complex numbers as pairs

# The gradient is packed first: pairs must lie together, and begin at an even place.
view("view_as_real(input)", kernel="view_as_real", linear=True, method=False,
     doc="A complex tensor as pairs (real, imaginary) in a new last dimension.",
     input=lambda g: view_as_complex(g.clone(memory_format="torch.contiguous_format")))
view("view_as_complex(input)", kernel="view_as_complex", linear=True, method=False,
     doc="Pairs in the last dimension as complex numbers.",
     input=lambda g: view_as_real(g))


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


# ---- Copies

view("alias(input)", kernel="alias_of", linear=True, **HIDDEN,
     input=lambda g: g)
op("detach(input)", kernel="alias_of", doc="The same memory without history.")
op("clone(input, *, memory_format=None)", kernel="clone_as", linear=True, doc="A copy.",
   input=lambda g: g)
op("contiguous(input, *, memory_format=None)", kernel="contiguous_as", function=False,
   doc="The tensor itself when it lies in memory in order, else a copy that does.")
op("copy(input, src, non_blocking=False)", kernel="copy_source", node="CopyBackwards", inplace=True, function=False,
   doc="`src` broadcast and converted to the shape and type of the tensor; copy_() writes it there.",
   input=lambda g: zeros_like(g),
   src=lambda g: g)

# ---- Transposes by attribute (x.T, x.mT, x.H, x.mH)

composite(op("reverse_dims(input)", kernel="numpy_T", **HIDDEN), name="numpy_T", method=False, function_=False)
composite(op("matrix_transpose(input)", kernel="mT", **HIDDEN), name="mT", method=False, function_=False)


@composite
def adjoint(input):
    """The matrices in the last two dimensions, transposed and conjugated.

    >>> import adjoint as torch
    >>> torch.adjoint(torch.tensor([[1 + 2j, 3]]))
    tensor([[1.-2.j],
            [3.-0.j]])
    """
    if input.ndim < 2:
        raise RuntimeError(
            f"tensor.adjoint() is only supported on matrices or batches of matrices. Got {input.ndim}-D tensor."
        )
    return conj(input.transpose(-2, -1))


@composite(method=False, function_=False)
def mH(input):  # noqa: N802
    """x.mH: the adjoint of the matrices in the last two dimensions."""
    if input.ndim < 2:
        raise RuntimeError(
            f"tensor.mH is only supported on matrices or batches of matrices. Got {input.ndim}-D tensor."
        )
    return adjoint(input)


@composite(method=False, function_=False)
def H(input):  # noqa: N802
    """x.H: the adjoint of one matrix."""
    if input.ndim not in (0, 2):
        hint = " For batches of matrices, consider using tensor.mH" if input.ndim > 2 else ""
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {input.ndim}-D tensor.{hint}")
    return adjoint(input) if input.ndim else conj(input)


# ---- Shape functions made of the above


@composite(function_=False)
def view_as(input, other):
    """A view in the sizes of another tensor.

    >>> import adjoint as torch
    >>> torch.arange(4).view_as(torch.zeros(2, 2)).shape
    torch.Size([2, 2])
    """
    return input.view(other.shape)


@composite(function_=False)
def reshape_as(input, other):
    """The elements in the sizes of another tensor.

    >>> import adjoint as torch
    >>> torch.arange(4).reshape_as(torch.zeros(2, 2)).shape
    torch.Size([2, 2])
    """
    return input.reshape(other.shape)


@composite(function_=False)
def expand_as(input, other):
    """Repeated, without a copy, to the size of another tensor.

    >>> import adjoint as torch
    >>> torch.arange(2).expand_as(torch.zeros(3, 2)).shape
    torch.Size([3, 2])
    """
    return input.expand(other.shape)


@composite
def broadcast_to(input, *size):
    """Repeated, without a copy, to a size.

    >>> import adjoint as torch
    >>> torch.broadcast_to(torch.arange(2), (3, 2)).shape
    torch.Size([3, 2])
    """
    return input.expand(*size)


@composite
def ravel(input):
    """All elements in one dimension.

    >>> import adjoint as torch
    >>> torch.ravel(torch.zeros(2, 3)).shape
    torch.Size([6])
    """
    return input.contiguous().view(-1)


@composite
def unflatten(input, dim, sizes):
    """A dimension split into several.

    >>> import adjoint as torch
    >>> torch.unflatten(torch.zeros(2, 6), 1, (3, -1)).shape
    torch.Size([2, 3, 2])
    """
    if not isinstance(sizes, tuple | list):
        raise TypeError(f"unflatten(): argument 'sizes' must be tuple of ints, not {type(sizes).__name__}")
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    dim = _wrap(dim, input.ndim)
    size, product = input.shape[dim], 1
    for part in sizes:
        product *= part if part != -1 else 1
    if list(sizes).count(-1) == 1 and product and size % product == 0:
        sizes = [size // product if part == -1 else part for part in sizes]
    elif product != size or -1 in sizes:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} ({size}) "
            "in the input tensor"
        )
    return input.view(*input.shape[:dim], *sizes, *input.shape[dim + 1 :])


def _wrap(dim, ndim):
    """A dimension counted from the front; torch's IndexError when there is no such one."""
    bound = ndim or 1
    if not -bound <= dim < bound:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-bound}, {bound - 1}], but got {dim})"
        )
    return dim % bound


@composite(alias=("moveaxis",))
def movedim(input, source, destination):
    """Dimensions moved to other places, the rest keeping their order.

    >>> import adjoint as torch
    >>> torch.movedim(torch.zeros(2, 3, 4), 0, -1).shape
    torch.Size([3, 4, 2])
    """
    sources = [source] if isinstance(source, int) else list(source)
    destinations = [destination] if isinstance(destination, int) else list(destination)
    if len(sources) != len(destinations):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({sources} dims) should contain the same number of "
            f"dims as destination ({destinations} dims)"
        )
    moved = {}
    for name, dims in (("source", sources), ("destination", destinations)):
        moved[name] = [_wrap(dim, input.ndim) for dim in dims]
        if len(set(moved[name])) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({dims})")
    if not input.ndim:
        return alias(input)
    order = [dim for dim in range(input.ndim) if dim not in moved["source"]]
    for place, dim in sorted(zip(moved["destination"], moved["source"], strict=True)):
        order.insert(place, dim)
    return input.permute(order)


def _parts(input, bounds, dim):
    """Slices between neighbouring bounds, which are clipped as Python clips them."""
    edges = [0, *bounds, input.shape[dim]]
    return tuple(slice(input, dim, start, end) for start, end in zip(edges[:-1], edges[1:], strict=True))


def _even_bounds(size, sections):
    """Where the first of `sections` parts end whose sizes differ by 1 at most, the greater ones first."""
    length, longer = divmod(size, sections)
    return [length * i + min(i, longer) for i in range(1, sections)]


@composite
def tensor_split(input, indices_or_sections=None, dim=0, *, sections=None, indices=None):
    """Parts along a dimension: a number of them, or cut at the given places.

    >>> import adjoint as torch
    >>> [part.tolist() for part in torch.tensor_split(torch.arange(5), 2)]
    [[0, 1, 2], [3, 4]]
    """
    where = next((given for given in (indices_or_sections, sections, indices) if given is not None), None)
    if where is None:
        raise TypeError("tensor_split(): expected a number of sections or a tuple of indices")
    if not input.ndim:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    dim = _wrap(dim, input.ndim)
    if hasattr(where, "tolist"):
        where = where.tolist()
    if isinstance(where, int):
        if where <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {where}")
        where = _even_bounds(input.shape[dim], where)
    return _parts(input, where, dim)


def _split_along(name, input, where, dim, needed):
    if input.ndim < needed:
        raise RuntimeError(
            f"torch.{name} requires a tensor with at least {needed} dimension, but got a tensor with "
            f"{input.ndim} dimensions!"
        )
    size = input.shape[dim]
    if isinstance(where, int) and (where <= 0 or size % where):
        raise RuntimeError(
            f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension {size} is not "
            f"divisible by the split_size {where}!"
        )
    return tensor_split(input, where, dim)


@composite
def hsplit(input, indices_or_sections):
    """Parts along the second dimension (of vectors: the first).

    >>> import adjoint as torch
    >>> len(torch.hsplit(torch.zeros(2, 4), 2))
    2
    """
    return _split_along("hsplit", input, indices_or_sections, 0 if input.ndim == 1 else 1, 1)


@composite
def vsplit(input, indices_or_sections):
    """Parts along the first dimension.

    >>> import adjoint as torch
    >>> len(torch.vsplit(torch.zeros(2, 4), 2))
    2
    """
    return _split_along("vsplit", input, indices_or_sections, 0, 2)


@composite
def dsplit(input, indices_or_sections):
    """Parts along the third dimension.

    >>> import adjoint as torch
    >>> len(torch.dsplit(torch.zeros(2, 3, 4), 2))
    2
    """
    return _split_along("dsplit", input, indices_or_sections, 2, 3)


def _tensors(tensors):
    """The tensors of a call that takes them one by one or in one sequence."""
    return tensors[0] if len(tensors) == 1 and isinstance(tensors[0], tuple | list) else tensors


@composite(method=False)
def broadcast_tensors(*tensors):
    """All tensors repeated, without a copy, to their common size.

    >>> import adjoint as torch
    >>> a, b = torch.broadcast_tensors(torch.zeros(3), torch.zeros(2, 1))
    >>> a.shape, b.shape
    (torch.Size([2, 3]), torch.Size([2, 3]))
    """
    tensors = _tensors(tensors)
    shape = broadcast_shapes(*(tensor.shape for tensor in tensors))
    return tuple(tensor if tensor.shape == shape else tensor.expand(shape) for tensor in tensors)


@composite(method=False)
def broadcast_shapes(*shapes):
    """The size to which tensors of these sizes broadcast.

    >>> import adjoint as torch
    >>> torch.broadcast_shapes((3,), (2, 1))
    torch.Size([2, 3])
    """
    shapes = [(shape,) if isinstance(shape, int) else tuple(shape) for shape in shapes]
    common = [1] * max(map(len, shapes), default=0)
    for shape in shapes:
        for place, size in enumerate(shape, len(common) - len(shape)):
            if size < 0:
                raise RuntimeError(f"Trying to create tensor with negative dimension ({size}): ({size})")
            if size != 1 and common[place] not in (1, size):
                raise RuntimeError(
                    f"The size of tensor a ({common[place]}) must match the size of tensor b ({size}) at "
                    f"non-singleton dimension {place}"
                )
            common[place] = size if size != 1 else common[place]
    return _size(common)


def _size(sizes):
    from .. import _C

    return _C.Size(sizes)


def _for_each(function, tensors):
    """Applies an atleast_nd to one tensor, or to each of several."""
    if len(tensors) == 1 and not isinstance(tensors[0], tuple | list):
        return function(tensors[0])
    return tuple(function(tensor) for tensor in _tensors(tensors))


@composite(method=False)
def atleast_1d(*tensors):
    """Tensors with at least one dimension.

    >>> import adjoint as torch
    >>> torch.atleast_1d(torch.tensor(2.0))
    tensor([2.])
    """
    return _for_each(lambda x: x if x.ndim else x.reshape(1), tensors)


@composite(method=False)
def atleast_2d(*tensors):
    """Tensors with at least two dimensions, new ones in front.

    >>> import adjoint as torch
    >>> torch.atleast_2d(torch.zeros(3)).shape
    torch.Size([1, 3])
    """
    return _for_each(lambda x: x if x.ndim > 1 else x.unsqueeze(0) if x.ndim else x.reshape(1, 1), tensors)


@composite(method=False)
def atleast_3d(*tensors):
    """Tensors with at least three dimensions: a vector in the middle, a matrix in front.

    >>> import adjoint as torch
    >>> torch.atleast_3d(torch.zeros(3)).shape
    torch.Size([1, 3, 1])
    """

    def raised(x):
        if x.ndim > 2:
            return x
        if x.ndim == 2:
            return x.unsqueeze(-1)
        return x.unsqueeze(0).unsqueeze(-1) if x.ndim else x.reshape(1, 1, 1)

    return _for_each(raised, tensors)


@composite(method=False)
def meshgrid(*tensors, indexing=None):
    """The coordinates of a grid: each vector repeated along the dimensions of the others.

    >>> import adjoint as torch
    >>> x, y = torch.meshgrid(torch.arange(2), torch.arange(3), indexing="ij")
    >>> x.tolist()
    [[0, 0, 0], [1, 1, 1]]
    """
    tensors = list(_tensors(tensors))
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    for tensor in tensors:
        if tensor.ndim > 1:
            raise RuntimeError(
                f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {list(tensor.shape)}"
            )
        if tensor.dtype != tensors[0].dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    # "xy": the first vector runs along the second dimension, the second along the first.
    places = list(range(len(tensors)))
    if indexing == "xy":
        places[:2] = reversed(places[:2])
    shape = [tensors[place].numel() for place in places]
    return tuple(
        tensor.view(*(-1 if dim == place else 1 for dim in range(len(tensors)))).expand(shape)
        for tensor, place in zip(tensors, places, strict=True)
    )
