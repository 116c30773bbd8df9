"""Shape functions made of the views: splitting, moving dimensions, broadcasting, grids."""

from itertools import pairwise

from .checks import integer, listed
from .language import Size, Tensor, alias, composite, int64, slice


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
    listed("unflatten", sizes=sizes)
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    dim = _wrap(dim, input.ndim)
    if not input.ndim:
        raise RuntimeError("unflatten got an unexpected error:\nDimension specified as 0 but tensor has no dimensions")
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
        raise IndexError(f"Dimension out of range (expected to be in range of [{-bound}, {bound - 1}], but got {dim})")
    return dim % bound


@composite(alias=("moveaxis",))
def movedim(input, source, destination):
    """Dimensions moved to other places, the rest keeping their order.

    >>> import adjoint as torch
    >>> torch.movedim(torch.zeros(2, 3, 4), 0, -1).shape
    torch.Size([3, 4, 2])
    """
    if isinstance(source, int) != isinstance(destination, int):
        raise TypeError(
            "movedim() received an invalid combination of arguments: source and destination are ints, or both tuples"
        )
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
    return tuple(slice(input, dim, start, end) for start, end in pairwise(edges))


_MOST_PARTS = 1 << 24  # more parts than this would fill the memory with empty tensors


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
    if isinstance(where, Tensor):
        if where.dtype is not int64:
            raise RuntimeError(
                f"tensor_split expected tensor_indices_or_sections to have dtype of long, but got {where.dtype}"
            )
        where = where.tolist()
    elif isinstance(where, tuple | list):
        where = [integer("tensor_split", "indices", place) for place in where]
    else:
        where = integer("tensor_split", "sections", where)
    if isinstance(where, int):
        if where <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {where}")
        if where > _MOST_PARTS:
            raise RuntimeError(f"tensor_split(): at most {_MOST_PARTS} sections are possible, got {where}")
        where = _even_bounds(input.shape[dim], where)
    return _parts(input, where, dim)


def _split_along(name, input, where, dim, needed):
    if input.ndim < needed:
        raise RuntimeError(
            f"torch.{name} requires a tensor with at least {needed} dimension, but got a tensor with "
            f"{input.ndim} dimensions!"
        )
    size = input.shape[dim]
    if not isinstance(where, tuple | list):
        where = integer(name, "sections", where)
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
    for place, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"expected Tensor as element {place} in argument 0, but got {type(tensor).__name__}")
    shape = _common_shape([tensor.shape for tensor in tensors], _refused_tensor)
    return tuple(tensor if tensor.shape == shape else tensor.expand(shape) for tensor in tensors)


@composite(method=False)
def broadcast_shapes(*shapes):
    """The size to which tensors of these sizes broadcast.

    >>> import adjoint as torch
    >>> torch.broadcast_shapes((3,), (2, 1))
    torch.Size([2, 3])
    """
    return _common_shape([(shape,) if isinstance(shape, int) else tuple(shape) for shape in shapes], _refused_shape)


def _common_shape(shapes, refused):
    """The size to which shapes broadcast; `refused` words the error for one that does not fit those before it."""
    common = [1] * max(map(len, shapes), default=0)
    for number, shape in enumerate(shapes):
        for place, size in enumerate(shape, len(common) - len(shape)):
            if size < 0:
                raise ValueError(f"Attempting to broadcast a dimension with negative length! (Got {shape}.)")
            if size != 1 and common[place] not in (1, size):
                raise RuntimeError(refused(number, shape, place, common))
            common[place] = size if size != 1 else common[place]
    return Size(common)


def _refused_shape(number, shape, place, common):
    size = shape[place - len(common)]
    return (
        f"Attempting to broadcast a dimension of length {size} at {place - len(common)}! Mismatching argument at "
        f"index {number} had {shape}; but expected shape should be broadcastable to {common}"
    )


def _refused_tensor(number, shape, place, common):
    return (
        f"The size of tensor a ({common[place]}) must match the size of tensor b ({shape[place - len(common)]}) at "
        f"non-singleton dimension {place}"
    )


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
    if indexing is not None and not isinstance(indexing, str):
        raise TypeError(f"meshgrid(): argument 'indexing' must be str, not {type(indexing).__name__}")
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
