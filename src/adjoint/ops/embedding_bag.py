"""Bags of rows of a table: sums, means and greatest elements, without the rows themselves."""

from .. import _C
from .batching import call, is_tensor, of_some, repeated, with_batch
from .ctc import no_second
from .gather import _renormalise
from .language import (
    _embedding_bag,
    _embedding_bag_sample_grad,
    _embedding_bag_weight_grad,
    arange,
    composite,
    gather,
    ones_like,
    op,
    promote_types,
    where,
)
from .sparse import bagged_rows

# ---- Batch rules; see batching.py. The bags of all elements are those of one call, one after the other, and their
# tables one table, where they differ.


def _counted_on(tensor, step):
    """Numbers that count on from element to element of a batch, in one row; less than zero, they stay."""
    size = tensor.shape[0]
    before = (arange(size, device=tensor.device) * step).reshape(size, *(1,) * (tensor.dim() - 1))
    return where(tensor < 0, tensor, tensor + before).flatten(0, 1)


def _counted_back(tensor, size, step):
    tensor = tensor.unflatten(0, (size, tensor.shape[0] // size))
    before = (arange(size, device=tensor.device) * step).reshape(size, *(1,) * (tensor.dim() - 1))
    return where(tensor < 0, tensor, tensor - before)


def _in_one_table(indices, rows, padding_idx):
    """Numbers of rows in a table of all tables; those of the padding are the number that it has in the first one."""
    known = (indices >= 0) & (indices < rows)
    counted = _counted_on(where(known, indices, -1), rows)
    return counted if padding_idx < 0 else where((indices == padding_idx).flatten(), padding_idx, counted)


def _flat(tensor):
    return tensor.flatten(0, 1) if is_tensor(tensor) else tensor


@of_some
def _bags_batch(op, size, batched, weight, indices, offsets, mode, factors, include_last, padding_idx, by_frequency,
                sparse):  # fmt: skip
    apart = batched[0] or by_frequency
    weight, indices, offsets, _, factors = with_batch(size, batched[:5], (weight, indices, offsets, mode, factors))
    rows, length, starts = weight.shape[1], indices.shape[1], offsets.shape[1]
    table = weight.flatten(0, 1) if apart else weight[0]
    places = _in_one_table(indices, rows, padding_idx) if apart else indices.flatten()
    results = call(op, table, places, _counted_on(offsets, length), mode, _flat(factors), False, padding_idx,
                   by_frequency, sparse)  # fmt: skip
    out, bags = results[0].unflatten(0, (size, starts)), _counted_back(results[1], size, starts)
    details = results[2].unflatten(0, (size, starts))
    if mode == "max" and apart:
        details = _counted_back(results[2], size, rows).clamp(min=0)
    if not include_last:
        return out, bags, details
    # What lies behind the last offset is in no bag.
    count = starts - 1
    return out.narrow(1, 0, count), where(bags == count, -1, bags), details.narrow(1, 0, count)


@of_some
def _bags_table_batch(op, size, batched, grad, rows, indices, mode, factors, bags, details, padding_idx, by_frequency):
    given = (grad, rows, indices, mode, factors, bags, details)
    grad, _, indices, _, factors, bags, details = with_batch(size, batched[:7], given)
    details = _counted_on(details, rows) if mode == "max" else details.flatten()
    places = _in_one_table(indices, rows, padding_idx)
    found = call(op, grad.flatten(0, 1), size * rows, places, mode, _flat(factors), _counted_on(bags, grad.shape[1]),
                 details, padding_idx, by_frequency)  # fmt: skip
    return found.unflatten(0, (size, rows))


@of_some
def _bags_factors_batch(op, size, batched, grad, weight, indices, bags, padding_idx):
    weight = weight if batched[1] else repeated(weight, size)
    grad, indices, bags = with_batch(size, (batched[0], *batched[2:4]), (grad, indices, bags))
    places = _in_one_table(indices, weight.shape[1], padding_idx)
    found = call(op, grad.flatten(0, 1), weight.flatten(0, 1), places, _counted_on(bags, grad.shape[1]), padding_idx)
    return found.reshape(indices.shape)


# ---- Bags


def _bags_tangent(weight, weight_t, indices, offsets, mode, per_sample_weights, per_sample_weights_t,
                  include_last_offset, padding_idx, scale_grad_by_freq, details):  # fmt: skip
    def bags(table, mode, factors):
        options = (include_last_offset, padding_idx, scale_grad_by_freq)
        return _embedding_bag(table, indices, offsets, mode, factors, *options)[0]

    if mode == "max":
        used = bags(ones_like(weight), "sum", None) > 0
        return where(used, gather(weight_t, 0, where(used, details, 0)), 0), None, None
    tangent = bags(weight_t, mode, per_sample_weights)
    if per_sample_weights is not None:
        tangent = tangent + bags(weight, mode, per_sample_weights_t)
    return tangent, None, None


op("_embedding_bag(weight, indices, offsets, mode, per_sample_weights, include_last_offset, padding_idx, "
   "scale_grad_by_freq, sparse=False)", native="embedding_bag", outputs=("out", "bags", "details"),
   node="EmbeddingBagBackward0", public=False, linear="per_sample_weights",
   weight=lambda g, weight_meta, indices, mode, per_sample_weights, bags, details, padding_idx, scale_grad_by_freq,
                 sparse:
       bagged_rows(g, weight_meta, indices, mode, per_sample_weights, bags, details, padding_idx, scale_grad_by_freq)
       if sparse else
       _embedding_bag_weight_grad(g, weight_meta.shape[0], indices, mode, per_sample_weights, bags, details,
                                  padding_idx, scale_grad_by_freq),
   per_sample_weights=lambda g, weight, indices, bags, padding_idx:
       _embedding_bag_sample_grad(g, weight, indices, bags, padding_idx),
   jvp=_bags_tangent,
   batch=_bags_batch)  # fmt: skip
op("_embedding_bag_weight_grad(grad, rows, indices, mode, per_sample_weights, bags, details, padding_idx, "
   "scale_grad_by_freq)", native="embedding_bag_weight_grad", node="NotImplemented", public=False,
   linear="grad * per_sample_weights",
   per_sample_weights=lambda g: no_second("_embedding_bag_dense_backward"),
   grad=lambda g: no_second("_embedding_bag_dense_backward"),
   batch=_bags_table_batch)  # fmt: skip
op("_embedding_bag_sample_grad(grad, weight, indices, bags, padding_idx)", native="embedding_bag_sample_grad",
   node="NotImplemented", public=False, linear="grad * weight",
   weight=lambda g: no_second("_embedding_bag_per_sample_weights_backward"),
   grad=lambda g: no_second("_embedding_bag_per_sample_weights_backward"),
   batch=_bags_factors_batch)  # fmt: skip


def _padding(weight, padding_idx):
    """The row of the padding, counted from the front; -1 for none."""
    if padding_idx is None:
        return -1
    rows = weight.shape[0]
    if not -rows <= padding_idx < rows:
        raise RuntimeError(
            f"padding_idx must be within the number of embeddings, {-rows} through {rows - 1}, but got {padding_idx}"
        )
    return padding_idx % rows


def _flat_bags(input, offsets, weight):
    """Indices and offsets as vectors: rows of indices are bags of one size."""
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
                f"sequences. However, found offsets of type {type(offsets)}"
            )
        count, size = input.shape
        if size == 0:
            return input.reshape(-1), input.new_zeros(count, dtype=_C.int64)
        return input.reshape(-1), arange(0, count * size, size, device=input.device)
    if input.ndim != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}")
    if offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if offsets.ndim != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    if input.dtype is not offsets.dtype:
        dtype = promote_types(input.dtype, offsets.dtype)
        return input.to(dtype), offsets.to(dtype)
    return input, offsets


@composite(namespace="nn.functional")
def functional_embedding_bag(
    input,
    weight,
    offsets=None,
    max_norm=None,
    norm_type=2,
    scale_grad_by_freq=False,
    mode="mean",
    sparse=False,
    per_sample_weights=None,
    include_last_offset=False,
    padding_idx=None,
):
    """The sum, mean or greatest elements of the rows of `weight` in each bag of indices.

    >>> import adjoint as torch
    >>> weight = torch.tensor([[1.0], [2.0], [4.0]])
    >>> torch.nn.functional.embedding_bag(torch.tensor([0, 1, 2]), weight, torch.tensor([0, 1]), mode="sum")
    tensor([[1.],
            [6.]])
    """
    if weight.dtype == _C.int64 and input.is_floating_point():
        input, weight = weight, input
    if per_sample_weights is not None and input.shape != per_sample_weights.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must have the "
            f"same shape as the input ({input.shape})"
        )
    if weight.ndim != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.ndim}")
    include_last_offset = bool(include_last_offset) and input.ndim == 1
    input, offsets = _flat_bags(input, offsets, weight)
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    if per_sample_weights is not None:
        if mode != "sum":
            raise NotImplementedError(
                "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' "
                f"(got mode='{mode}')."
            )
        per_sample_weights = per_sample_weights.reshape(-1)
    padding = _padding(weight, padding_idx)
    if max_norm is not None:
        _renormalise(weight, input, max_norm, norm_type)
    return _embedding_bag(
        weight, input, offsets, mode, per_sample_weights, include_last_offset, padding, scale_grad_by_freq, sparse
    )[0]


@composite(name="embedding_renorm_", method=False)
def embedding_renorm_(weight, indices, max_norm, norm_type):
    """Scales the rows that the indices name down to a norm of `max_norm`, in place.

    >>> import adjoint as torch
    >>> torch.embedding_renorm_(torch.tensor([[3.0, 4.0], [6.0, 8.0]]), torch.tensor([1]), 5.0, 2.0)
    tensor([[3., 4.],
            [3., 4.]])
    """
    _renormalise(weight, indices, max_norm, norm_type)
    return weight


@composite(method=False)
def embedding_bag(
    weight,
    indices,
    offsets,
    scale_grad_by_freq=False,
    mode=0,
    sparse=False,
    per_sample_weights=None,
    include_last_offset=False,
    padding_idx=None,
):
    """nn.functional.embedding_bag() with a number for the mode; also the bag of each index, sizes, and rows of maxima.

    >>> import adjoint as torch
    >>> weight = torch.tensor([[1.0], [2.0], [4.0]])
    >>> torch.embedding_bag(weight, torch.tensor([0, 1, 2]), torch.tensor([0, 1]))[0]
    tensor([[1.],
            [6.]])
    """
    word = ("sum", "mean", "max")[mode]
    padding = _padding(weight, padding_idx)
    result, bags, details = _embedding_bag(
        weight, indices, offsets, word, per_sample_weights, include_last_offset, padding, scale_grad_by_freq, sparse
    )
    sizes = bags.new_zeros(result.shape[0]).index_add(0, bags, (indices != padding).long())
    return result, bags, sizes, details if word == "max" else bags.new_zeros(result.shape[0])
