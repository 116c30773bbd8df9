"""New sparse tensors: sparse_coo_tensor() with its checks, and zeros() and its like of a sparse layout."""

import contextlib

from .. import _C
from ._calls import handles
from ._patterns import Coo

_FORMS = (
    "(object indices, object values, *, dtype=None, device=None, requires_grad=False, check_invariants=None), "
    "(object indices, object values, size, *, dtype=None, device=None, requires_grad=False, check_invariants=None, "
    "is_coalesced=None) or (size, *, dtype=None, device=None, requires_grad=False, check_invariants=None)"
)


class check_sparse_tensor_invariants(contextlib.ContextDecorator):
    """Whether new sparse tensors are checked: that indices are within the sizes, in order where they must be, ...

    `enable()` and `disable()` set it for all that follows, an object of the class in a `with` statement for its block,
    or for a function that it decorates.

    >>> import adjoint as torch
    >>> with torch.sparse.check_sparse_tensor_invariants():
    ...     torch.sparse_coo_tensor([[0, 5]], [1.0, 2.0], (3,))
    Traceback (most recent call last):
    RuntimeError: size is inconsistent with indices: for dim 0, size is 3 but found index 5
    """

    _enabled = False

    def __init__(self, enable=True):
        self.state, self.saved_state = enable, None

    @staticmethod
    def is_enabled():
        """Whether it is on."""
        return check_sparse_tensor_invariants._enabled

    @staticmethod
    def enable():
        """Checks all new sparse tensors from now on."""
        check_sparse_tensor_invariants._enabled = True

    @staticmethod
    def disable():
        """Checks none from now on, but those that ask for it."""
        check_sparse_tensor_invariants._enabled = False

    def __enter__(self):
        if self.saved_state is not None:
            raise RuntimeError(
                "This context manager instance is already activated. Use a different context manager instance for "
                "context nesting."
            )
        self.saved_state = self.is_enabled()
        check_sparse_tensor_invariants._enabled = self.state

    def __exit__(self, *error):
        check_sparse_tensor_invariants._enabled, self.saved_state = self.saved_state, None

    def __call__(self, function):
        import functools

        @functools.wraps(function)
        def checked(*args, **kwargs):
            with type(self)(self.state):
                return function(*args, **kwargs)

        return checked


def checks(asked):
    """Whether a new tensor is checked, by its own argument or for all."""
    return check_sparse_tensor_invariants.is_enabled() if asked is None else asked


# ---- sparse_coo_tensor()


def sparse_coo_tensor(*args, **options):
    """A sparse tensor of `values` at `indices`, whose columns are the places of the entries.

    sparse_coo_tensor(indices, values, size=None, *, dtype=None, device=None, requires_grad=False,
    check_invariants=None, is_coalesced=None). Entries of one place add up. Without a size, it is the least that holds
    all of them; sparse_coo_tensor(size) has none.

    >>> import adjoint as torch
    >>> torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3))
    tensor(indices=tensor([[0, 1, 1],
                           [2, 0, 2]]),
           values=tensor([3., 4., 5.]),
           size=(2, 3), nnz=3, layout=torch.sparse_coo)
    """
    if _C._has_torch_function_variadic(*args, *options.values()):
        from ..overrides import handle_torch_function

        return handle_torch_function(sparse_coo_tensor, (*args, *options.values()), *args, **options)
    indices, values, size, options = _bound(args, options)
    if indices is None and values is None:
        return _empty(size, options)
    return _from_parts(indices, values, size, **options)


def _bound(args, options):
    """(indices, values, size, options) of one of the three forms."""
    if args and "indices" not in options and "values" not in options and len(args) == 1 and "size" not in options:
        return None, None, args[0], _options(options)
    names = ("indices", "values", "size")
    given = dict(zip(names, args, strict=False))
    options = dict(options)
    for name in names:
        if name in options and name not in given:
            given[name] = options.pop(name)
    if len(args) > 3 or not (given.keys() >= {"indices", "values"} or given.keys() == {"size"}):
        kinds = ", ".join([*(type(arg).__name__ for arg in args), *(f"{name}=" for name in options)])
        raise TypeError(
            f"sparse_coo_tensor() received an invalid combination of arguments - got ({kinds}), but expected one of: "
            f"{_FORMS}"
        )
    return given.get("indices"), given.get("values"), given.get("size"), _options(options)


def _options(options):
    known = ("dtype", "layout", "device", "pin_memory", "requires_grad", "check_invariants", "is_coalesced")
    for name in options:
        if name not in known:
            raise TypeError(f"sparse_coo_tensor() got an unexpected keyword argument '{name}'; expected {_FORMS}")
    if options.get("layout") not in (None, _C.sparse_coo):
        raise RuntimeError(f"sparse_coo_tensor(): expected the layout torch.sparse_coo; got {options['layout']}")
    if options.get("pin_memory"):
        raise RuntimeError("sparse_coo_tensor(): only dense CPU tensors can be pinned; leave pin_memory out")
    return {name: value for name, value in options.items() if name not in ("layout", "pin_memory")}


def sizes(name, size):
    """A size as a tuple of ints."""
    if isinstance(size, int):
        size = (size,)
    if not isinstance(size, tuple | list):
        raise TypeError(f"{name}(): argument 'size' must be tuple of ints, not {type(size).__name__}")
    for i, item in enumerate(size):
        if not hasattr(item, "__index__"):
            raise TypeError(
                f"{name}(): argument 'size' (position 1) must be tuple of ints, but found element of type "
                f"{type(item).__name__} at pos {i}"
            )
    size = tuple(item.__index__() for item in size)
    if any(item < 0 for item in size):
        raise RuntimeError(f"{name}(): Trying to create tensor with negative dimension {min(size)}: {list(size)}")
    return size


def _empty(size, options):
    size = sizes("sparse_coo_tensor", size)
    result = no_entries(size, options.get("dtype"), options.get("device"))
    return required(result, options.get("requires_grad", False))


def no_entries(size, dtype=None, device=None, sparse_dim=None):
    """A sparse tensor of zeros."""
    sparse_dim = len(size) if sparse_dim is None else sparse_dim
    values = _C.empty((0, *size[sparse_dim:]), dtype=dtype, device=device)
    return Coo(_C.empty((sparse_dim, 0), dtype=_C.int64, device=values.device), size, True).tensor(values)


def required(tensor, requires_grad):
    """The tensor, which requires grad where that is asked for and it does not yet."""
    if requires_grad and not tensor.requires_grad:
        tensor.requires_grad_()
    return tensor


def as_indices(indices, device=None):
    """Indices as int64, as they are given: a tensor, or what becomes one."""
    if indices is None:
        raise TypeError("'NoneType' object cannot be interpreted as an integer: expected the indices of the entries")
    if not isinstance(indices, _C.Tensor):
        indices = _C.tensor(indices, dtype=_C.int64)
    if indices.layout is not _C.strided:
        raise RuntimeError(f"expected indices to be a dense tensor, but got indices of layout {_layout(indices)}")
    return indices.detach().to(dtype=_C.int64, device=device)


def as_values(values, dtype=None, device=None):
    """Values as a tensor, with their history."""
    if not isinstance(values, _C.Tensor):
        return _C.tensor(values, dtype=dtype, device=device)
    if values.layout is not _C.strided:
        raise RuntimeError(f"expected values to be a dense tensor, but got values of layout {_layout(values)}")
    return values if dtype is None and device is None else values.to(dtype=dtype or values.dtype, device=device)


def _layout(tensor):
    from ._parts import _LAYOUTS

    return _LAYOUTS[str(tensor.layout)]


def _from_parts(indices, values, size, dtype=None, device=None, requires_grad=False, check_invariants=None,
                is_coalesced=None):  # fmt: skip
    values = as_values(values, dtype, device)
    indices = as_indices(indices, values.device)
    if values.dim() == 0:
        values = values.reshape(1)
    if indices.dim() == 1 and size is not None and indices.numel() == 0:
        indices = indices.reshape(len(sizes("sparse_coo_tensor", size)), 0)
    if size is None:
        size = _least_size(indices, values)
    else:
        size = sizes("sparse_coo_tensor", size)
        _check_shapes(indices, values, size)
    _check_numel(size)
    if checks(check_invariants):
        check_places(indices, size)
        if is_coalesced and indices.shape[1] > 1 and not _in_order(Coo(indices, size, False)):
            raise RuntimeError("cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor")
    pattern = Coo(indices, size, is_coalesced if is_coalesced is not None else indices.shape[1] < 2)
    return required(pattern.pack(values), requires_grad)


def _check_numel(size):
    numel = 1
    for item in size:
        numel *= item
    if numel >= 2**62:
        raise RuntimeError(f"numel: integer multiplication overflow; the sizes {list(size)} hold too many elements")


def _check_matrix(indices):
    if indices.dim() != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}")


def _check_shapes(indices, values, size):
    """Whether indices, values and a size fit; their numbers are not looked at."""
    if indices.dim() not in (1, 2):
        _check_matrix(indices)
    sparse_dim, dense_dim = indices.shape[0], values.dim() - 1
    if sparse_dim + dense_dim != len(size):
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, sparse_dim = "
            f"{sparse_dim}, dense_dim = {dense_dim}"
        )
    _check_matrix(indices)
    _check_counts(indices, values)
    expected = (indices.shape[1], *size[sparse_dim:])
    if tuple(values.shape) != expected:
        raise RuntimeError(f"values has incorrect size, expected {list(expected)}, got {list(values.shape)}")


def _check_counts(indices, values):
    if values.dim() == 0 or indices.shape[1] != values.shape[0]:
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {indices.shape[1]}, nnz from values: "
            f"{values.shape[0] if values.dim() else 0}"
        )


def _least_size(indices, values):
    """The least size that holds all entries."""
    _check_matrix(indices)
    _check_counts(indices, values)
    if indices.shape[1] == 0:
        return (*(0,) * indices.shape[0], *values.shape[1:])
    if indices.shape[0] == 0:
        return tuple(values.shape[1:])
    check_negative(indices)
    return (*(index + 1 for index in indices.amax(1).tolist()), *values.shape[1:])


def check_negative(indices):
    """Refuses indices below zero."""
    for dim, least in enumerate(indices.amin(1).tolist() if indices.numel() else ()):
        if least < 0:
            raise RuntimeError(f"found negative index {least} for dim {dim}")


def check_places(indices, size):
    """Refuses indices that are not within the sizes."""
    check_negative(indices)
    for dim, greatest in enumerate(indices.amax(1).tolist() if indices.numel() else ()):
        if greatest >= size[dim]:
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {dim}, size is {size[dim]} but found index {greatest}"
            )


def _in_order(pattern):
    places = pattern.places()[0]
    return bool((places[1:] > places[:-1]).all())


def _validate_sparse_coo_tensor_args(indices, values, size, is_coalesced=None, check_pinning=None):
    """Refuses indices, values and sizes of which no sparse tensor could be made."""
    size = sizes("_validate_sparse_coo_tensor_args", size)
    _check_shapes(indices, values, size)
    check_places(indices, size)
    if is_coalesced and not _in_order(Coo(indices, size, False)):
        raise RuntimeError("cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor")


# ---- zeros() and its like


@handles("zeros", "empty")
def _zeros(size, *options):
    """zeros(size, layout=torch.sparse_coo). The names of the options are in ops/declaration.py."""
    dtype, layout, device, _, requires_grad = options[-6:-1]
    return required(_of_layout(size, layout, dtype, device), requires_grad)


def _of_layout(size, layout, dtype, device):
    size = (size,) if isinstance(size, int) else size
    if len(size) == 1 and isinstance(size[0], tuple | list):
        size = size[0]
    if layout is _C.sparse_coo:
        return no_entries(sizes("zeros", size), dtype, device)
    from ._layouts import no_entries as compressed

    return compressed(sizes("zeros", size), layout, dtype, device)


@handles("empty_like")
def _empty_like(input, *options):
    from ._compressed_ops import filled_like

    return filled_like(input, 0, options) if is_compressed_like(input, options) else _zeros_like(input, *options)


def is_compressed_like(input, options):
    """Whether what is made like a compressed tensor is to be one, with its entries."""
    return str(input.layout) not in ("torch.strided", "torch.sparse_coo") and options[-4] in (None, input.layout)


@handles("zeros_like")
def _zeros_like(input, *options):
    dtype, layout, device, _, requires_grad = options[-5:]
    layout = input.layout if layout is None else layout
    dtype, device = dtype or input.dtype, device or input.device
    if layout is _C.strided:
        return _C.zeros(input.shape, dtype=dtype, device=device, requires_grad=requires_grad)
    if layout is _C.sparse_coo and input.layout is _C.sparse_coo:
        result = no_entries(tuple(input.shape), dtype, device, _C._sparse_pattern(input).sparse_dim)
    elif layout is _C.sparse_coo:
        result = no_entries(tuple(input.shape), dtype, device)
    else:
        from ._layouts import no_entries as compressed

        result = compressed(tuple(input.shape), layout, dtype, device, input)
    return required(result, requires_grad)


@handles("new_zeros", "new_empty")
def _new_zeros(input, size, *options):
    dtype, layout, device, _, requires_grad = options[-5:]
    result = _of_layout(size, layout or input.layout, dtype or input.dtype, device or input.device)
    return required(result, requires_grad)


@handles("full", "ones")
def _full(*args):
    if not any(isinstance(arg, _C.layout) for arg in args):
        return NotImplemented
    raise RuntimeError("full(...) is not implemented for sparse layout; make the tensor dense")
