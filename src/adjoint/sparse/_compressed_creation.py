"""sparse_csr_tensor() and its like: new compressed tensors, with torch's checks of what they are made of."""

import math

from .. import _C
from ._compressed import BY_LAYOUT, Bsc, Bsr, Csc, Csr
from ._creation import as_values, checks, required, sizes
from ._layouts import NAMES

_OPTIONS = (
    "*, torch.dtype dtype = None, torch.layout layout = None, torch.device device = None, bool pin_memory = False, "
    "bool requires_grad = False, bool check_invariants = None"
)


def _made(name, indices, args, options, layout=None):
    """The tensor of the arguments of the function `name`, whose index tensors are called `indices`."""
    if _C._has_torch_function_variadic(*args, *options.values()):
        from .. import sparse
        from ..overrides import handle_torch_function

        return handle_torch_function(getattr(sparse, name), (*args, *options.values()), *args, **options)
    given = dict(zip((*indices, "values", "size"), args, strict=False))
    options = dict(options)
    for argument in (*indices, "values", "size"):
        if argument in options and argument not in given:
            given[argument] = options.pop(argument)
    known = ("dtype", "layout", "device", "pin_memory", "requires_grad", "check_invariants")
    size = given.get("size")
    if (
        len(args) > 4
        or not given.keys() >= {*indices, "values"}
        or any(option not in known for option in options)
        or not (size is None or isinstance(size, tuple | list))
    ):
        kinds = [*(type(arg).__name__ for arg in args), *(f"{key}={type(options[key]).__name__}" for key in options)]
        parts = ", ".join(f"object {part}" for part in (*indices, "values"))
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got ({', '.join(kinds)}), but expected one of:\n"
            f" * ({parts}, tuple of ints size, {_OPTIONS})\n * ({parts}, {_OPTIONS})"
        )
    kind = _kind(name, options.get("layout"), layout)
    if options.get("pin_memory"):
        raise RuntimeError(f"{name}(): only dense CPU tensors can be pinned; leave pin_memory out")
    values = as_values(given["values"], options.get("dtype"), options.get("device"))
    parts = [_indices(given[part], values.device) for part in indices]
    pattern = _pattern(kind, *parts, values, size)
    if checks(options.get("check_invariants")):
        check_invariants(pattern)
    return required(pattern.pack(values), options.get("requires_grad", False))


def _kind(name, asked, layout):
    if layout is None:
        if asked not in BY_LAYOUT:
            raise RuntimeError(
                f"{name} expected sparse compressed tensor layout but got {'none' if asked is None else NAMES[asked]}"
            )
        return BY_LAYOUT[asked]
    if asked not in (None, layout):
        raise RuntimeError(f"{name}: layout must be {NAMES[layout]} but got {NAMES[asked]}")
    return BY_LAYOUT[layout]


def _indices(indices, device):
    """Indices as they are given, int32 or int64; lists and other types become int64."""
    if not isinstance(indices, _C.Tensor):
        indices = _C.tensor(indices, dtype=_C.int64)
    if indices.layout is not _C.strided:
        raise NotImplementedError(
            f"Cannot access storage of SparseTensorImpl: expected dense indices, got the layout {indices.layout}"
        )
    if indices.dtype not in (_C.int32, _C.int64):
        if indices.is_floating_point() or indices.is_complex() or indices.dtype is _C.bool:
            raise RuntimeError(f"indices of compressed tensors: dtype must be Int or Long, but got {indices.dtype}")
        indices = indices.to(_C.int64)
    return indices.detach().to(device=device)


def _pattern(kind, compressed, plain, values, size):
    """The pattern of parts whose shapes fit."""
    low, high = ("crow_indices", "col_indices") if kind.by_rows else ("ccol_indices", "row_indices")
    if compressed.dim() < 1:
        raise RuntimeError(f"{low} must have dimensionality >= 1 but got {compressed.dim()}")
    if compressed.dim() != plain.dim():
        raise RuntimeError(
            f"{low} and {high} dimensionalities must be equal but got {compressed.dim()} and {plain.dim()}, "
            "respectively"
        )
    count = compressed.dim() - 1
    block_dim = 2 if kind.blocked else 0
    dense_dim = values.dim() - count - 1 - block_dim
    if dense_dim < 0:
        raise RuntimeError(
            f"values must have dimensionality > sum of batch and block dimensionalities (={count} + {block_dim}) but "
            f"got {values.dim()}"
        )
    batch, block = tuple(compressed.shape[:-1]), tuple(values.shape[count + 1 : count + 1 + block_dim])
    dense = tuple(values.shape[count + 1 + block_dim :])
    if size is None:
        size = _least(kind, compressed, plain, batch, block, dense)
    size = _checked_size(size)
    if len(size) != count + 2 + dense_dim:
        raise RuntimeError(
            "tensor dimensionality must be sum of batch, base, and dense dimensionalities "
            f"(={count} + 2 + {dense_dim}) but got {len(size)}"
        )
    _check_sizes(kind, compressed, plain, values, size, (low, high), block)
    return kind(compressed, plain, size, block)


def _checked_size(size):
    size = tuple(size)
    for place, item in enumerate(size):
        if not hasattr(item, "__index__"):
            raise TypeError(
                f"sparse_csr_tensor(): argument 'size' failed to unpack the object at pos {place + 1} with error "
                f'"type must be tuple of ints,but got {type(item).__name__}"'
            )
    size = tuple(item.__index__() for item in size)
    if any(item < 0 for item in size) or math.prod(size) >= 2**63:
        raise RuntimeError(
            f"numel: integer multiplication overflow; the sizes {list(size)} cannot be those of a tensor"
        )
    return sizes("sparse_compressed_tensor", size)


def _least(kind, compressed, plain, batch, block, dense):
    """The least size that holds all entries."""
    places = 0
    if plain.numel():
        if int(plain.min()) < 0:
            raise RuntimeError(f"`0 <= {'col' if kind.by_rows else 'row'}_indices` is not satisfied.")
        places = int(plain.max()) + 1
    rows, columns = (compressed.shape[-1] - 1, places) if kind.by_rows else (places, compressed.shape[-1] - 1)
    high, wide = block or (1, 1)
    return (*batch, max(rows, 0) * high, max(columns, 0) * wide, *dense)


def _check_sizes(kind, compressed, plain, values, size, names, block):
    """Refuses parts whose shapes do not fit one another, or the size."""
    count = compressed.dim() - 1
    low, high = names
    batches = [list(part) for part in (compressed.shape[:-1], plain.shape[:-1], values.shape[:count], size[:count])]
    if any(batch != batches[0] for batch in batches):
        raise RuntimeError(
            f"all batch dimensions of {low} (={batches[0]}), {high} (={batches[1]}), and values (={batches[2]}) must "
            f"be equal to tensor batch dimensions (={batches[3]})"
        )
    for dim, b in enumerate(block):
        n = size[count + dim]
        if b < 1 or n % b:
            raise RuntimeError(
                f"tensor shape[{count + dim}] (={n}) must be divisible with blocksize[{dim}] (={b}) as defined by "
                "values shape"
            )
    tall, wide = (n // b for n, b in zip(size[count : count + 2], block or (1, 1), strict=True))
    lines, what = (tall, "row") if kind.by_rows else (wide, "column")
    if compressed.shape[-1] != lines + 1:
        what += " blocks" if kind.blocked else "s"
        raise RuntimeError(
            f"{low}.shape[-1] must be equal to the number of {what} + 1 (={lines + 1}), but got {compressed.shape[-1]}"
        )
    if plain.shape[-1] != values.shape[count]:
        raise RuntimeError(
            f"{high}.shape[-1] must be equal to nnz (={values.shape[count]}) as defined by values.shape[{count}], but "
            f"got {plain.shape[-1]}"
        )
    if tuple(values.shape[count + 1 + len(block) :]) != size[count + 2 :]:
        raise RuntimeError(
            f"values have the dense sizes {list(values.shape[count + 1 + len(block) :])}, but the size says "
            f"{list(size[count + 2 :])}"
        )


# ---- Invariants


def check_invariants(pattern):
    """Refuses indices that are not those of a compressed tensor, in torch's words."""
    low, high = pattern.names()
    width = pattern.grid[1]
    what, count = ("ncols", "nrows") if pattern.by_rows else ("nrows", "ncols")
    if pattern.compressed.dtype != pattern.plain.dtype:
        raise RuntimeError(
            f"{low} and {high} must have the same dtype, bot got {_type(pattern.compressed)} and "
            f"{_type(pattern.plain)}, respectively"
        )
    starts, plain = pattern.compressed.to(_C.int64), pattern.plain.to(_C.int64)
    if bool((starts[..., 0] != 0).any()):
        raise RuntimeError(f"`{low}[..., 0] == 0` is not satisfied.")
    if bool((starts[..., -1] != pattern.nnz).any()):
        raise RuntimeError(f"`{low}[..., -1] == nnz` is not satisfied.")
    counts = starts.diff(dim=-1)
    if bool(((counts < 0) | (counts > width)).any()):
        raise RuntimeError(f"`0 <= {low}[..., 1:] - {low}[..., :-1] <= {what}` is not satisfied.")
    if bool(((plain < 0) | (plain >= width)).any()):
        raise RuntimeError(f"`0 <= {high} < {what}` is not satisfied.")
    keys = pattern.keys()[0]
    if not bool((keys[1:] > keys[:-1]).all()):
        raise RuntimeError(
            f"`{high}[..., {low}[..., i - 1]:{low}[..., i]] for all i = 1, ..., {count} are sorted and distinct along "
            "the last dimension values` is not satisfied."
        )


def _type(tensor):
    return {"torch.int32": "Int", "torch.int64": "Long"}.get(str(tensor.dtype), str(tensor.dtype))


def checked_pattern(kind, compressed, plain, values, size):
    """The pattern of parts that are all looked at."""
    pattern = _pattern(kind, _indices(compressed, None), _indices(plain, None), as_values(values), size)
    check_invariants(pattern)
    return pattern


def _validate_sparse_compressed_tensor_args(
    compressed_indices, plain_indices, values, size, layout, check_pinning=None
):
    """Refuses parts of which no compressed tensor of the layout could be made."""
    checked_pattern(
        _kind("_validate_sparse_compressed_tensor_args", layout, None), compressed_indices, plain_indices, values, size
    )


def _validate_sparse_csr_tensor_args(crow_indices, col_indices, values, size, check_pinning=None):
    """The same of CSR."""
    checked_pattern(Csr, crow_indices, col_indices, values, size)


def _validate_sparse_csc_tensor_args(ccol_indices, row_indices, values, size, check_pinning=None):
    """The same of CSC."""
    checked_pattern(Csc, ccol_indices, row_indices, values, size)


def _validate_sparse_bsr_tensor_args(crow_indices, col_indices, values, size, check_pinning=None):
    """The same of BSR."""
    checked_pattern(Bsr, crow_indices, col_indices, values, size)


def _validate_sparse_bsc_tensor_args(ccol_indices, row_indices, values, size, check_pinning=None):
    """The same of BSC."""
    checked_pattern(Bsc, ccol_indices, row_indices, values, size)


# ---- The functions


def sparse_compressed_tensor(*args, **options):
    """A sparse tensor of compressed rows or columns, as `layout` says.

    sparse_compressed_tensor(compressed_indices, plain_indices, values, size=None, *, dtype=None, layout=None,
    device=None, requires_grad=False, check_invariants=None).

    >>> import adjoint as torch
    >>> torch.sparse_compressed_tensor([0, 1, 2], [1, 0], [3.0, 4.0], layout=torch.sparse_csr).to_dense()
    tensor([[0., 3.],
            [4., 0.]])
    """
    return _made("sparse_compressed_tensor", ("compressed_indices", "plain_indices"), args, options)


def sparse_csr_tensor(*args, **options):
    """A sparse tensor of compressed rows: those of row i are entries crow_indices[i] up to crow_indices[i + 1].

    sparse_csr_tensor(crow_indices, col_indices, values, size=None, *, dtype=None, device=None, requires_grad=False,
    check_invariants=None). Dimensions before the last of the indices are those of a batch; those of the values behind
    the entries are dense. Without a size, it is the least that holds all entries.

    >>> import adjoint as torch
    >>> torch.sparse_csr_tensor([0, 1, 3], [2, 0, 2], [3.0, 4.0, 5.0], (2, 3))
    tensor(crow_indices=tensor([0, 1, 3]),
           col_indices=tensor([2, 0, 2]),
           values=tensor([3., 4., 5.]), size=(2, 3), nnz=3,
           layout=torch.sparse_csr)
    """
    return _made("sparse_csr_tensor", ("crow_indices", "col_indices"), args, options, _C.sparse_csr)


def sparse_csc_tensor(*args, **options):
    """A sparse tensor of compressed columns; see sparse_csr_tensor().

    >>> import adjoint as torch
    >>> torch.sparse_csc_tensor([0, 1, 2], [1, 0], [3.0, 4.0]).to_dense()
    tensor([[0., 4.],
            [3., 0.]])
    """
    return _made("sparse_csc_tensor", ("ccol_indices", "row_indices"), args, options, _C.sparse_csc)


def sparse_bsr_tensor(*args, **options):
    """A sparse tensor of compressed rows of blocks, which the values are; see sparse_csr_tensor().

    >>> import adjoint as torch
    >>> torch.sparse_bsr_tensor([0, 1], [1], [[[1.0, 2.0], [3.0, 4.0]]]).to_dense()
    tensor([[0., 0., 1., 2.],
            [0., 0., 3., 4.]])
    """
    return _made("sparse_bsr_tensor", ("crow_indices", "col_indices"), args, options, _C.sparse_bsr)


def sparse_bsc_tensor(*args, **options):
    """A sparse tensor of compressed columns of blocks, which the values are; see sparse_csr_tensor().

    >>> import adjoint as torch
    >>> torch.sparse_bsc_tensor([0, 1], [1], [[[1.0, 2.0], [3.0, 4.0]]]).to_dense()
    tensor([[0., 0.],
            [0., 0.],
            [1., 2.],
            [3., 4.]])
    """
    return _made("sparse_bsc_tensor", ("ccol_indices", "row_indices"), args, options, _C.sparse_bsc)
