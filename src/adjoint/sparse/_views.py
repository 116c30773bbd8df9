"""Sparse tensors with their dimensions in another order, parts of them, and several joined; copies and other types."""

from .. import _C
from ..ops import language as _ops
from ._calls import CHANGES, RULED, handles
from ._compressed import is_compressed
from ._compressed_ops import copied as compressed_copy
from ._compressed_ops import select as compressed_select
from ._compressed_ops import transposed
from ._parts import entries
from ._patterns import Coo


def _pattern(tensor):
    return _C._sparse_pattern(tensor)


def _dim(tensor, dim, extra=0):
    count = tensor.dim() + extra
    if not -count <= dim < max(count, 1):
        raise IndexError(f"Dimension out of range (expected to be in range of [{-count}, {count - 1}], but got {dim})")
    return dim % max(count, 1)


# ---- Copies and types


@handles("clone", table=RULED)
def _clone(input, memory_format):
    if memory_format not in (None, _C.preserve_format):
        raise RuntimeError(f"unsupported memory format option {memory_format}; sparse tensors have none")
    return _pattern(input).copied().tensor(_C._sparse_values(input).clone())


@handles("contiguous")
def _contiguous(input, memory_format):
    raise RuntimeError("unsupported memory format option Contiguous; sparse tensors have none")


@handles("to_dtype", table=RULED)
def _to_dtype(input, dtype, copy, memory_format):
    return _pattern(input).tensor(_ops.to_dtype(_C._sparse_values(input), dtype, copy))


@handles("to_device")
def _to_device(input, device, dtype, memory_format, non_blocking):
    values = _ops.to_device(entries(input), device, dtype, None, non_blocking)
    return _pattern(input).moved(values.device).pack(values)


@handles("copy", table=CHANGES)
def _copy(shown, input, other, non_blocking):
    if is_compressed(input) or is_compressed(other):
        return compressed_copy(shown, input, other)
    if input.layout is not other.layout:
        raise RuntimeError(
            "copy_() between dense and sparse Tensors is not implemented! Found self type = "
            f"{input.type()} and src type = {other.type()}"
        )
    if input.shape != other.shape:
        raise RuntimeError(
            f"copy_: expected sparse tensors of one size; got {list(input.shape)} and {list(other.shape)}"
        )
    _C._sparse_assign(input, other.to(input.dtype).clone(), shown)


@handles("zero", table=CHANGES)
def _zero(shown, input):
    _C._sparse_assign(input, _C.zeros_like(input), shown)


@handles("resize_as_")
def _resize_as(input, the_template, memory_format):
    if input.layout is _C.strided or (is_compressed(input) and not _pattern(input).blocked):
        return input.resize_(tuple(the_template.shape))
    if the_template.layout is not input.layout:
        return NotImplemented
    pattern = _pattern(the_template)
    return input.sparse_resize_(tuple(the_template.shape), pattern.sparse_dim, len(pattern.dense_size))


# ---- Orders of dimensions


@handles("permute", table=RULED)
def permute(input, dims):
    """The dimensions in another order; sparse and dense ones stay apart."""
    if input.layout is not _C.sparse_coo:
        return NotImplemented
    if len(dims) == 1 and isinstance(dims[0], tuple | list):
        dims = dims[0]
    if len(dims) != input.dim():
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {input.dim()} is not equal to len(dims) = {len(dims)}"
        )
    dims = [_dim(input, d) for d in dims]
    if len(set(dims)) < len(dims):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    pattern, values = _pattern(input), _C._sparse_values(input)
    count = pattern.sparse_dim
    if any((d < count) != (place < count) for place, d in enumerate(dims)):
        raise RuntimeError("transpositions between sparse and dense dimensions are not allowed.Got " + str(dims))
    if dims == sorted(dims):
        return pattern.tensor(values)
    places = _ops.stack([pattern.indices[d] for d in dims[:count]]) if count else pattern.indices
    inner = [0, *(d - count + 1 for d in dims[count:])]
    settled = pattern.coalesced and dims[:count] == sorted(dims[:count])
    other = Coo(places.contiguous(), [input.shape[d] for d in dims], settled or pattern.nnz < 2)
    return other.tensor(values.permute(inner))


@handles("transpose", table=RULED)
def _transpose(input, dim0, dim1):
    if is_compressed(input):
        return transposed(input, _dim(input, dim0), _dim(input, dim1))
    order = list(range(input.dim()))
    if order:
        dim0, dim1 = _dim(input, dim0), _dim(input, dim1)
        order[dim0], order[dim1] = order[dim1], order[dim0]
    return permute(input, order)


@handles("t", table=RULED)
def _t(input):
    if is_compressed(input) and input.dim() == 2:
        return transposed(input, 0, 1)
    pattern = _pattern(input)
    if input.layout is _C.sparse_coo and (pattern.sparse_dim > 2 or pattern.dense_size):
        raise RuntimeError(
            f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got {pattern.sparse_dim} sparse and "
            f"{len(pattern.dense_size)} dense dimensions"
        )
    return permute(input, list(range(input.dim()))[::-1])


@handles("reverse_dims")
def _reverse_dims(input):
    return input.permute(list(range(input.dim()))[::-1])


@handles("matrix_transpose")
def _matrix_transpose(input):
    if input.dim() < 2:
        raise RuntimeError(
            f"tensor.mT is only supported on matrices or batches of matrices. Got {input.dim()}-D tensor."
        )
    return input.transpose(-2, -1)


@handles("flatten")
def _flatten(input, *dims):
    return input if input.dim() == 1 else _reshape(input)


@handles("reshape")
def _reshape(input, *size):
    raise RuntimeError("reshape is not implemented for sparse tensors; make them dense with to_dense() first")


@handles("unsqueeze", table=RULED)
def _unsqueeze(input, dim):
    if input.layout is not _C.sparse_coo:
        return NotImplemented
    pattern, values = _pattern(input), _C._sparse_values(input)
    dim = _dim(input, dim, 1)
    size = (*input.shape[:dim], 1, *input.shape[dim:])
    if dim > pattern.sparse_dim:
        return Coo(pattern.indices, size, pattern.coalesced).tensor(values.unsqueeze(dim - pattern.sparse_dim + 1))
    zeros = pattern.indices.new_zeros((1, pattern.nnz))
    places = _ops.cat((pattern.indices[:dim], zeros, pattern.indices[dim:]))
    return Coo(places, size, pattern.nnz < 2).tensor(values)


@handles("expand", table=RULED)
def _expand(input, size):
    """The tensor along new dimensions, and along those of size 1: each entry as often as there are places for it."""
    if input.layout is not _C.sparse_coo:
        return NotImplemented
    size = tuple(size[0] if len(size) == 1 and isinstance(size[0], tuple | list) else size)
    extra = len(size) - input.dim()
    if extra < 0:
        raise RuntimeError(
            f"expand: the number of sizes provided ({len(size)}) must be greater or equal to the number of dimensions "
            f"in the tensor ({input.dim()})"
        )
    size = tuple(input.shape[d - extra] if n == -1 and d >= extra else n for d, n in enumerate(size))
    pattern, values = _pattern(input), _C._sparse_values(input)
    count = pattern.sparse_dim + extra
    places = _ops.cat((pattern.indices.new_zeros((extra, pattern.nnz)), pattern.indices))
    coalesced = pattern.coalesced
    for d in range(count):
        before = 1 if d < extra else input.shape[d - extra]
        if before == size[d]:
            continue
        if before != 1:
            raise RuntimeError(
                f"The expanded size of the tensor ({size[d]}) must match the existing size ({before}) at non-singleton "
                f"dimension {d}."
            )
        number = _C.arange(size[d], device=places.device).repeat_interleave(places.shape[1])
        places, values = places.repeat(1, size[d]), values.repeat(size[d], *(1,) * (values.dim() - 1))
        places[d] = number
        coalesced = coalesced and d < extra and d == 0
    values = values.expand(values.shape[0], *size[count:])
    return Coo(places, size, coalesced or places.shape[1] < 2).tensor(values)


@handles("squeeze", "squeeze_dim", "squeeze_dims", "squeeze_all")
def _squeeze(input, dim=None):
    if input.layout is not _C.sparse_coo:
        return NotImplemented
    dims = range(input.dim()) if dim is None else (dim,) if isinstance(dim, int) else dim
    gone = {d for d in (_dim(input, d) for d in dims) if input.dim() and input.shape[d] == 1}
    if not gone:
        return input
    pattern, values = _pattern(input), entries(input)
    count = pattern.sparse_dim
    for d in sorted((d for d in gone if d >= count), reverse=True):
        values = values.squeeze(d - count + 1)
    kept = [d for d in range(count) if d not in gone]
    size = [n for d, n in enumerate(input.shape) if d not in gone]
    return Coo(pattern.indices[kept], size, pattern.coalesced).pack(values)


# ---- Parts


def _index(tensor, dim, index):
    size = tensor.shape[dim]
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of bounds for dimension {dim} with size {size}")
    return index % size


@handles("select")
def select(input, dim, index):
    """The entries at an index of a dimension; dense, if it was the last sparse one."""
    if input.dim() == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = _dim(input, dim)
    index = _index(input, dim, index)
    if is_compressed(input):
        return compressed_select(input, dim, index)
    pattern, values = _pattern(input), entries(input)
    size = (*input.shape[:dim], *input.shape[dim + 1 :])
    if dim >= pattern.sparse_dim:
        return Coo(pattern.indices, size, pattern.coalesced).pack(values.select(dim - pattern.sparse_dim + 1, index))
    chosen = (pattern.indices[dim] == index).nonzero().reshape(-1)
    values = values.index_select(0, chosen)
    if pattern.sparse_dim == 1:
        return values.sum(0)
    places = pattern.indices.index_select(1, chosen)
    kept = [d for d in range(pattern.sparse_dim) if d != dim]
    return Coo(places[kept], size, chosen.shape[0] < 2).pack(values)


@handles("unbind")
def _unbind(input, dim):
    return tuple(select(input, dim, index) for index in range(input.shape[_dim(input, dim)]))


@handles("index_select")
def _index_select(input, dim, index):
    if not isinstance(input, _C.Tensor) or input.layout is not _C.sparse_coo or index.layout is not _C.strided:
        return NotImplemented
    if input.dim() == 0:
        raise IndexError("index_select() cannot be applied to a 0-dim tensor.")
    dim = _dim(input, dim)
    if index.dim() > 1:
        raise IndexError(f"index_select() argument index must be 1-D long-tensor; got {index.dim()} dimensions")
    if index.dtype not in (_C.int64, _C.int32):
        raise IndexError("index_select() argument index must be of type long or int")
    index = index.reshape(-1).to(_C.int64)
    pattern, values = _pattern(input), entries(input)
    size = (*input.shape[:dim], index.shape[0], *input.shape[dim + 1 :])
    if dim >= pattern.sparse_dim:
        return Coo(pattern.indices, size, pattern.coalesced).pack(
            values.index_select(dim - pattern.sparse_dim + 1, index)
        )
    if index.numel() and (int(index.min()) < -input.shape[dim] or int(index.max()) >= input.shape[dim]):
        raise IndexError(
            f"index_select(): index contains {int(index.max())} that is out of range for tensor of size "
            f"{list(input.shape)} at dimension {dim}"
        )
    index = _ops.where(index < 0, index + input.shape[dim], index)
    # Each entry goes to all places of the index that name its own.
    order, _, _ = _ops._sparse_group(pattern.indices[dim].contiguous(), max(input.shape[dim], 1))
    owner = pattern.indices[dim].index_select(0, order)
    begin = _ops.searchsorted(owner, index)
    counts = _ops.searchsorted(owner, index, right=True) - begin
    target = _ops.repeat_interleave(_C.arange(index.shape[0], device=counts.device), counts)
    before = counts.cumsum(0) - counts
    places = _C.arange(target.shape[0], device=target.device) + (begin - before).index_select(0, target)
    chosen = order.index_select(0, places)
    places = pattern.indices.index_select(1, chosen)
    places[dim] = target
    return Coo(places, size, target.shape[0] < 2).pack(values.index_select(0, chosen))


@handles("slice")
def _slice(input, dim, start, end, step):
    if input.layout is not _C.sparse_coo:
        return NotImplemented
    dim = _dim(input, dim)
    start, end, step = slice(start, end, step).indices(input.shape[dim])
    count = len(range(start, end, step))
    size = (*input.shape[:dim], count, *input.shape[dim + 1 :])
    pattern, values = _pattern(input), entries(input)
    if dim >= pattern.sparse_dim:
        inner = [slice(None)] * (dim - pattern.sparse_dim + 1) + [slice(start, end, step)]
        return Coo(pattern.indices, size, pattern.coalesced).pack(values[tuple(inner)])
    place = pattern.indices[dim]
    chosen = ((place >= start) & (place < end) & ((place - start) % step == 0)).nonzero().reshape(-1)
    places = pattern.indices.index_select(1, chosen)
    places[dim] = (places[dim] - start) // step
    return Coo(places, size, pattern.coalesced).pack(values.index_select(0, chosen))


@handles("narrow", "narrow_copy")
def _narrow(input, dim, start, length):
    dim = _dim(input, dim)
    start = int(start)
    start = start + input.shape[dim] if start < 0 else start
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not 0 <= start <= input.shape[dim] - length:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({input.shape[dim]}).")
    return _slice(input, dim, start, start + length, 1)


# ---- Joined


@handles("cat")
def _cat(tensors, dim):
    tensors = list(tensors)
    layouts = {tensor.layout for tensor in tensors}
    if layouts != {_C.sparse_coo}:
        if len(layouts) > 1:
            at = next(i for i, tensor in enumerate(tensors) if tensor.layout is _C.strided)
            raise RuntimeError(f"Concatenating sparse tensors, but a dense tensor was found at position {at}.")
        return NotImplemented
    first = tensors[0]
    dim = _dim(first, dim)
    count = _pattern(first).sparse_dim
    for i, tensor in enumerate(tensors):
        pattern = _pattern(tensor)
        if (pattern.sparse_dim, len(pattern.dense_size)) != (count, len(_pattern(first).dense_size)):
            raise RuntimeError(
                "All tensors must have the same number of sparse and dense dimensions; "
                f"tensor {i} has {pattern.sparse_dim} and {len(pattern.dense_size)}"
            )
        if any(a != b for d, (a, b) in enumerate(zip(tensor.shape, first.shape, strict=True)) if d != dim):
            raise RuntimeError(
                f"Sizes of tensors must match except in dimension {dim}. Expected size {list(first.shape)} but got "
                f"size {list(tensor.shape)} for tensor number {i} in the list."
            )
    size = list(first.shape)
    size[dim] = sum(tensor.shape[dim] for tensor in tensors)
    places, values, before = [], [], 0
    for tensor in tensors:
        mine, its = _pattern(tensor).indices, entries(tensor)
        if dim < count:
            mine = mine.clone()
            mine[dim] += before
        else:
            inner = [*its.shape]
            inner[dim - count + 1] = size[dim]
            its = _padded(its, dim - count + 1, before, size[dim])
        places.append(mine)
        values.append(its)
        before += tensor.shape[dim]
    joined = _ops.cat(values)
    return Coo(_ops.cat(places, 1), size, joined.shape[0] < 2).pack(joined)


def _padded(values, dim, before, length):
    """Zeros before and behind the values, along a dimension."""
    shape = list(values.shape)
    shape[dim] = before
    left = values.new_zeros(shape)
    shape[dim] = length - before - values.shape[dim]
    return _ops.cat((left, values, values.new_zeros(shape)), dim)


@handles("stack")
def _stack(tensors, dim):
    tensors = list(tensors)
    if any(tensor.shape != tensors[0].shape for tensor in tensors):
        raise RuntimeError("stack expects each tensor to be equal size")
    dim = _dim(tensors[0], dim, 1)
    return _ops.cat([tensor.unsqueeze(dim) for tensor in tensors], dim)
