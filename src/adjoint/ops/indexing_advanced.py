"""Indexing by tensors: x[mask], x[[0, 2]], x[i, :, j], and assignment to them. (Basic indexing: views.py.)"""

from .batching import call, is_tensor, lined_up, repeated, with_batch
from .language import arange, bool, index, index_backward, index_put, op, uint8

# ---- Batch rules; see batching.py


def _is_mask(index):
    return index.dtype in (bool, uint8)


def _result_dims(indices):
    """(the first, how many): the dimensions of a result that come of the indices, in front if these are apart."""
    places = [place for place, index in enumerate(indices) if index is not None]
    neighbours = places[-1] - places[0] == len(places) - 1
    rank = max(1 if _is_mask(indices[place]) else indices[place].dim() for place in places)
    return (places[0] if neighbours else None), rank


def _elementwise_indices(size, indices):
    """(those of a whole batch, the first dimension of an element's result that they make, how many they make)."""
    if any(index is not None and _is_mask(index) for index in indices):
        raise RuntimeError(
            "vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over "
            "indexing with a boolean mask: use torch.where() or masked_fill(), whose results have one shape"
        )
    first, rank = _result_dims(indices)
    rank -= 1
    device = next(index.device for index in indices if index is not None)
    indices = [None if index is None else lined_up(index, rank) for index in indices]
    return [arange(size, device=device).reshape(size, *(1,) * rank), *indices], first or 0, rank


def _moved(tensor, first, rank):
    """Dimensions 1 to `rank` moved behind `first` others."""
    return tensor.movedim(tuple(range(1, rank + 1)), tuple(range(first + 1, first + rank + 1)))


def _moved_back(tensor, first, rank):
    return tensor.movedim(tuple(range(first + 1, first + rank + 1)), tuple(range(1, rank + 1)))


def _index_batch(op, size, batched, input, indices):
    if not batched[1]:
        first, rank = _result_dims(indices)
        return index(input, (None, *indices)).movedim(0 if first is not None else rank, 0)
    indices, first, rank = _elementwise_indices(size, indices)
    if not batched[0]:
        return index(input, indices[1:]).movedim(first, 0)
    return _moved(index(input, indices), first, rank)


def _with_places(size, indices, given, is_batched):
    """(what has the shape of a result, the indices), both for the whole batch."""
    if not is_batched:
        first, rank = _result_dims(indices)
        return given.movedim(0, 0 if first is not None else rank), (None, *indices)
    indices, first, rank = _elementwise_indices(size, indices)
    return _moved_back(given, first, rank), indices


def _index_back(op, size, batched, input, sizes, indices):
    input = input if batched[0] else repeated(input, size)
    input, indices = _with_places(size, indices, input, batched[2])
    return index_backward(input, (size, *sizes), indices)


def _index_put_batch(op, size, batched, input, indices, values, accumulate):
    if not isinstance(indices, tuple | list) or not any(map(is_tensor, indices)):
        return NotImplemented  # which the op refuses
    _, rank = _result_dims(indices)
    covered = sum(1 if not _is_mask(each) else each.dim() for each in indices if each is not None)
    input, values = with_batch(size, (batched[0], batched[2]), (input, values))
    values = lined_up(values, input.dim() - 1 - covered + rank - batched[1])
    values, indices = _with_places(size, indices, values, batched[1])
    return call(op, input, indices, values, accumulate)


# fmt: off
op("index(input, indices)", stored="all", native="index", linear="input", public=False, crosses=True,
   input=lambda g, input_meta, indices: index_backward(g, input_meta.shape, indices),
   batch=_index_batch)
op("index_backward(input, size, indices)", widened="float8 complex32",
   native="index_backward", linear="input", public=False, crosses=True,
   input=lambda g, indices: index(g, indices),
   batch=_index_back)

# What was overwritten has no gradient; what was added to keeps it.
op("index_put(input, indices, values, accumulate=False)", stored="all", native="index_put", linear="input + values",
   autocast="none, promote",
   inplace=True, inplace_native="index_put_", crosses=True,
   doc="A copy with values written, or added, at the places that index tensors name.",
   input=lambda g, indices, accumulate: g if accumulate else index_put(g, indices, g.new_zeros(())),
   values=lambda g, indices: index(g, indices),
   batch=_index_put_batch)
