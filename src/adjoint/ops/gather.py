"""Reading and writing at places that an index tensor names: gather, scatter, slices by index, take, embeddings."""

from .. import _C
from . import checks
from .batching import behind, call, is_tensor, lined_up, repeated, rows, with_batch
from .language import (
    _embedding_backward,
    _gather_backward,
    _publish,
    _scatter_src,
    _scatter_src_,
    _scatter_value,
    _scatter_value_,
    arange,
    composite,
    conj,
    embedding,
    full,
    gather,
    index_copy,
    index_select,
    ones_like,
    op,
    scatter_reduce,
    scatter_reduce_,
    take,
    where,
    zeros_like,
)
from .out_words import same_scalar_type
from .sparse import embedded_rows, gathered_places

# What may share memory with the target.
_SCATTERED = {"apart": ("index", "src"), "whole": ("input",)}
_INDEXED = {"apart": ("index", "source"), "whole": ("input",)}

# ---- Batch rules; see batching.py


def _vector(tensor):
    """A batch of tensors, those of no dimension as vectors of one element."""
    return tensor.unsqueeze(1) if tensor.dim() == 1 else tensor


def _as_shown(result, shown):
    """The result in the shape of a batch that may be one of numbers."""
    return result.squeeze(1) if shown.dim() == 1 else result


def _gather_batch(op, size, batched, input, dim, index, sparse_grad):
    if not batched[0] and input.dim():
        return _gather_shared(input, dim % input.dim(), index)
    input, index = with_batch(size, (batched[0], batched[2]), (input, index))
    place = behind(dim, input.dim() - 1)
    return _as_shown(gather(_vector(input), place, _vector(index), sparse_grad=sparse_grad), index)


def _gather_shared(input, dim, index):
    """From a tensor that all share: their indices follow each other along the dimension."""
    parts = _vector(index).movedim(0, dim)
    found = gather(input, dim, parts.flatten(dim, dim + 1)).unflatten(dim, parts.shape[dim : dim + 2])
    return _as_shown(found.movedim(dim, 0), index)


def _gather_back(op, size, batched, grad, sizes, dim, index):
    grad, index = map(_vector, with_batch(size, (batched[0], batched[3]), (grad, index)))
    return call(op, grad, (size, *(sizes or (1,))), behind(dim, len(sizes)), index).reshape(size, *sizes)


def _scatter_batch(op, size, batched, input, dim, index, src, *rest):
    """The forms of scatter, with a tensor or a number to write."""
    input, _, index, src = with_batch(size, batched[:4], (input, dim, index, src))
    src = _vector(src) if is_tensor(src) else src
    return _as_shown(call(op, _vector(input), behind(dim, input.dim() - 1), _vector(index), src, *rest), input)


def _scatter_value_batch(op, size, batched, input, dim, index, value):
    if not is_tensor(value):
        return _scatter_batch(op, size, batched, input, dim, index, value)
    index, value = with_batch(size, batched[2:], (index, value))
    value = lined_up(value, index.dim() - 1).expand(index.shape).to(input.dtype)
    return _scatter_batch(_scatter_src, size, (batched[0], False, True, True), input, dim, index, value)


def _is_index(index, is_batched, *types):
    """Whether it is a vector of numbers, or one, of these types; if not, the op refuses it."""
    return index.dim() - is_batched <= 1 and index.dtype in types


def _select_batch(op, size, batched, input, dim, index):
    if not _is_index(index, batched[2], _C.int64, _C.int32):
        return NotImplemented
    rank = input.dim() - batched[0]
    place = behind(dim, rank)
    if batched[0]:
        values = _vector(input)
        found = gather(values, place, _lines(index, place, values)) if batched[2] else call(op, values, place, index)
        return _as_shown(found, input)
    values, place = (input, place - 1) if rank else (input.unsqueeze(0), 0)
    found = call(op, values, place, index.reshape(-1)).unflatten(place, (size, _vector(index).shape[1]))
    return found.movedim(place, 0) if rank else found.squeeze(1)


def _lines(index, dim, like):
    """An index of slices, one for each element of the batch, as one of the elements of tensors of this shape."""
    index = _vector(index).long()
    size, length = index.shape
    narrow = index.reshape(size, *(1,) * (dim - 1), length, *(1,) * (like.dim() - 1 - dim))
    return narrow.expand(*like.shape[:dim], length, *like.shape[dim + 1 :])


def _slices_batch(of_elements):
    """The rule of an op that writes slices of `source`, given the one that writes elements."""

    def rule(op, size, batched, input, dim, index, source, *rest):
        input, source = with_batch(size, (batched[0], batched[3]), (input, source))
        values, source, place = _vector(input), _vector(source), behind(dim, input.dim() - 1)
        if batched[2]:
            fits = _is_index(index, True, _C.int64, *(() if op is index_copy else (_C.int32,)))
            if not fits or source.dtype != input.dtype or _vector(index).shape[1] != source.shape[place]:
                return NotImplemented  # which the op refuses
            return _as_shown(of_elements(values, place, _lines(index, place, values), source, *rest), input)
        return _as_shown(call(op, values, place, index, source, *rest), input)

    return rule


def _add_elements(input, dim, index, source, alpha):
    return input.scatter_add(dim, index, source if alpha == 1 else (source * alpha).to(input.dtype))


def _reduce_elements(input, dim, index, source, reduce, include_self):
    return scatter_reduce(input, dim, index, source, reduce, include_self=include_self)


def _fill_slices_batch(op, size, batched, input, dim, index, value):
    input = input if batched[0] else repeated(input, size)
    values, place = _vector(input), behind(dim, input.dim() - 1)
    if not batched[2] and not batched[3]:
        return _as_shown(call(op, values, place, index, value), input)
    if not _is_index(index, batched[2], _C.int64):
        return NotImplemented  # which the op refuses
    length = values.shape[place]
    index = _vector(index if batched[2] else repeated(index, size)).long()
    chosen = zeros_like(values.new_empty(size, length), dtype=_C.bool).scatter(1, _from_front(index, length), True)
    shape = [length if d == place else 1 for d in range(1, values.dim())]
    value = lined_up(value, values.dim() - 1).to(input.dtype) if batched[3] else value
    return _as_shown(where(chosen.reshape(size, *shape), value, values).to(input.dtype), input)


def _from_front(index, length):
    """Places that may be counted from behind, all counted from the front."""
    return where(index < 0, index + length, index)


def _take_batch(op, size, batched, input, index):
    if not batched[0]:
        return take(input, index)
    if index.dtype != _C.int64:
        return NotImplemented  # which the op refuses
    values = rows(input)
    places = _from_front(index, values.shape[1])
    if not batched[1]:
        return index_select(values, 1, places.reshape(-1)).reshape(size, *index.shape)
    return gather(values, 1, rows(places)).reshape(index.shape)


def _put_batch(op, size, batched, input, index, source, accumulate):
    input, index, source = with_batch(size, batched[:3], (input, index, source))
    if index.numel() != source.numel() or index.dtype != _C.int64 or input.dtype != source.dtype:
        return NotImplemented  # which the op refuses
    values = rows(input)
    write = values.scatter_add if accumulate else values.scatter
    return write(1, _from_front(rows(index), values.shape[1]), rows(source)).reshape(input.shape)


def _embedding_batch(op, size, batched, weight, indices, padding_idx, by_frequency, sparse):
    if not batched[0] and not by_frequency:
        return call(op, weight, indices, padding_idx, by_frequency, sparse)
    weight = weight if batched[0] else repeated(weight, size)
    if not batched[1]:
        found = call(op, _side_by_side(weight, 1), indices, padding_idx, by_frequency, sparse)
        return found.unflatten(-1, (size, weight.shape[2])).movedim(-2, 0)
    found = call(op, weight.flatten(0, 1), _stacked_rows(indices, weight.shape[1]), -1, by_frequency, sparse)
    return found if padding_idx < 0 else where((indices == padding_idx).unsqueeze(-1), found.detach(), found)


def _side_by_side(tensor, dim):
    """A batch of tensors next to each other in their last dimension, the batch having gone to `dim` before it."""
    return tensor.movedim(0, dim).flatten(dim, dim + 1)


def _stacked_rows(indices, rows):
    """Numbers of rows in a batch of tables as those in one table of all; what is out of range stays so."""
    size = indices.shape[0]
    first = (arange(size, device=indices.device) * rows).to(indices.dtype).reshape(size, *(1,) * (indices.dim() - 1))
    return where((indices >= 0) & (indices < rows), indices + first, size * rows)


def _embedding_back(op, size, batched, grad, indices, rows, padding_idx):
    if not batched[1]:
        found = call(op, _side_by_side(grad, grad.dim() - 2), indices, rows, padding_idx)
        return found.unflatten(1, (size, grad.shape[-1])).movedim(1, 0)
    grad = grad if batched[0] else repeated(grad, size)
    grad = where((indices == padding_idx).unsqueeze(-1), 0, grad)
    return call(op, grad, _stacked_rows(indices, rows), size * rows, -1).unflatten(0, (size, rows))


# ---- Elements along a dimension

op("gather(input, dim, index, *, sparse_grad=False)", stored="all", native="gather", linear="input", out="exact",
   apart=("input",), whole=("index",),
   input=lambda g, input_meta, dim, index, sparse_grad:
       gathered_places(g, input_meta, dim, index) if sparse_grad
       else _gather_backward(g, input_meta.shape, dim, index),
   doc="The elements that `index` names along a dimension.",
   batch=_gather_batch)  # fmt: skip
op("_gather_backward(grad, size, dim, index)", widened="float8 complex32",
   native="gather_backward", linear="grad", public=False,
   grad=lambda g, dim, index: g.gather(dim, index),
   doc="Zeros with the gradient of gather() added where it read.",
   batch=_gather_back)  # fmt: skip

op("_scatter_src(input, dim, index, src)", stored="all",
   native="changed_copy<ops::scatter_src_>", node="ScatterBackward0",
   inplace=True, inplace_native="scatter_src_", out="exact",
   **_SCATTERED, public=False, shown="scatter", linear="input + src",
   input=lambda g, dim, index: g.scatter(dim, index, 0),
   src=lambda g, dim, index: g.gather(dim, index),
   batch=_scatter_batch)  # fmt: skip
op("_scatter_value(input, dim, index, value)", stored="all",
   native="changed_copy<ops::scatter_value_>", node="ScatterBackward1",
   inplace=True, inplace_native="scatter_value_", out="exact", apart=("index",), whole=("input",), public=False,
   shown="scatter", linear="input + value",
   input=lambda g, dim, index: g.scatter(dim, index, 0),
   batch=_scatter_value_batch)  # fmt: skip
op("scatter_add(input, dim, index, src)", autocast="none, promote", loop="scatter_gather_tensor_cpu",
   native="changed_copy<ops::scatter_add_>", linear="input + src",
   inplace=True, inplace_native="scatter_add_", out="exact",
   **_SCATTERED,
   input=lambda g: g,
   src=lambda g, dim, index: g.gather(dim, index),
   doc="Adds the elements of `src` at the places that `index` names along a dimension.",
   batch=_scatter_batch)  # fmt: skip
op("scatter_reduce(input, dim, index, src, reduce, *, include_self=True)", loop="scatter_gather_tensor_cpu",
   native="changed_copy<ops::scatter_reduce_>",
   inplace=True, inplace_native="scatter_reduce_", out="exact", **_SCATTERED,
   input=lambda g, input, dim, index, src, reduce, include_self, out:
       _REDUCED[reduce](g, input, dim, index, src, include_self, out)[0],
   src=lambda g, input, dim, index, src, reduce, include_self, out:
       _REDUCED[reduce](g, input, dim, index, src, include_self, out)[1],
   doc="Joins the elements of `src` with those at the places that `index` names.",
   batch=_scatter_batch)  # fmt: skip


def _kept(g, dim, index, include_self):
    """The gradient of what scatter_reduce started from: nothing where it was replaced."""
    return g if include_self else g.scatter(dim, index, 0)


def _added(input, dim, index, src, include_self):
    """How much of `src` arrived at each place, on top of `input` where that took part."""
    return _kept(input, dim, index, include_self).scatter_add(dim, index, src)


def _sum_gradients(g, input, dim, index, src, include_self, out):
    return _kept(g, dim, index, include_self), g.gather(dim, index)


def _mean_gradients(g, input, dim, index, src, include_self, out):
    shared = g / _added(ones_like(input), dim, index, ones_like(src), include_self)
    return _kept(shared, dim, index, include_self), shared.gather(dim, index)


def _extreme_gradients(g, input, dim, index, src, include_self, out):
    """All elements that attain the extreme share the gradient."""
    first, second = (input == out).to(g.dtype), (src == out.gather(dim, index)).to(g.dtype)
    shared = g / _added(first, dim, index, second, True)
    return _kept(first * shared, dim, index, include_self), second * shared.gather(dim, index)


def _product_gradients(g, input, dim, index, src, include_self, out):
    """The product of all the others: by division, or where a factor is zero without that factor.

    Of several zeros of `src` in one place each has gradient zero, of any order.
    """

    def at(reduced):
        return reduced.gather(dim, index)

    def product(input, src):
        return scatter_reduce(input, dim, index, src, "prod", include_self=include_self)

    first, second = input == 0, src == 0
    alone = second & (at(zeros_like(input).scatter_add(dim, index, second.to(input.dtype))) == 1)
    by_input = where(first, product(input.masked_fill(first, 1), src), out / input.masked_fill(first, 1))
    by_src = where(second, at(product(input, src.masked_fill(alone, 1))), at(out) / src.masked_fill(second, 1))
    return _kept(g * conj(by_input), dim, index, include_self), at(g) * conj(by_src)


_REDUCED = {
    "sum": _sum_gradients,
    "mean": _mean_gradients,
    "prod": _product_gradients,
    "amax": _extreme_gradients,
    "amin": _extreme_gradients,
}


def _scatter_form(input, dim, index, src, value, reduce, forms, **out):
    """Calls the form of scatter that the arguments mean: `forms` are those for a tensor, a number and a reduction."""
    of_tensor, of_number, of_reduction = forms
    if (src is None) == (value is None):
        raise TypeError("scatter() received an invalid combination of arguments: give either src or value")
    if value is None and not isinstance(src, _C.Tensor):
        src, value = None, src
    if reduce is None:
        return of_number(input, dim, index, value, **out) if src is None else of_tensor(input, dim, index, src, **out)
    if reduce not in ("add", "multiply"):
        raise RuntimeError(f"reduce argument must be either add or multiply. Got {reduce!r}.")
    if src is None:
        src = full(index.shape, value, dtype=input.dtype, device=input.device)
    return of_reduction(input, dim, index, src, "sum" if reduce == "add" else "prod", **out)


@composite
def scatter(input, dim, index, src=None, value=None, *, reduce=None, out=None):
    """A copy with the elements of `src` (or a number) written at the places that `index` names along a dimension.

    >>> import adjoint as torch
    >>> torch.zeros(3).scatter(0, torch.tensor([0, 2]), torch.tensor([5.0, 6.0]))
    tensor([5., 0., 6.])
    """
    forms = (_scatter_src, _scatter_value, scatter_reduce)
    return _scatter_form(input, dim, index, src, value, reduce, forms, out=out)


def scatter_(input, dim, index, src=None, value=None, *, reduce=None):
    """Writes the elements of `src` (or a number) at the places that `index` names along a dimension.

    >>> import adjoint as torch
    >>> torch.zeros(2, 3).scatter_(1, torch.tensor([[1], [2]]), 1.0)
    tensor([[0., 1., 0.],
            [0., 0., 1.]])
    """
    return _scatter_form(input, dim, index, src, value, reduce, (_scatter_src_, _scatter_value_, scatter_reduce_))


composite(scatter_, name="scatter_", function_=False)


@composite
def take_along_dim(input, indices, dim=None, *, out=None):
    """The elements that `indices` names along a dimension, with the other dimensions broadcast.

    >>> import adjoint as torch
    >>> x = torch.tensor([[3.0, 1.0], [2.0, 4.0]])
    >>> x.take_along_dim(x.argsort(dim=1), dim=1)
    tensor([[1., 3.],
            [2., 4.]])
    """
    if dim is None:
        return gather(input.reshape(-1), 0, indices.reshape(-1), out=out)
    if indices.dtype != _C.int64:
        raise RuntimeError(f"torch.take_along_dim(): dtype of indices should be Long but got {indices.dtype}")
    if input.ndim != indices.ndim:
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, "
            f"but got {input.ndim} dimensions for input, and {indices.ndim} dimensions for indices"
        )
    if not -input.ndim <= dim < input.ndim:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-input.ndim}, {input.ndim - 1}], but got {dim})"
        )
    dim %= input.ndim
    if input.shape[dim]:
        indices = indices.remainder(input.shape[dim])
    common = [max(a, b) if min(a, b) else 0 for a, b in zip(input.shape, indices.shape, strict=True)]
    input = input.expand([input.shape[d] if d == dim else size for d, size in enumerate(common)])
    indices = indices.expand([indices.shape[d] if d == dim else size for d, size in enumerate(common)])
    return gather(input, dim, indices, out=out)


# ---- Slices along a dimension

op("index_select(input, dim, index)", stored="all", native="index_select", linear="input", out="exact",
   out_words=same_scalar_type("index_select"),
   apart=("input", "index"),
   input=lambda g, input_meta, dim, index: g.new_zeros(input_meta.shape).index_add(dim, index, g),
   doc="The slices that a vector of indices names along a dimension.",
   batch=_select_batch)  # fmt: skip
op("index_add(input, dim, index, source, *, alpha=1)", loop="index_add_",
   widened="complex32", native="changed_copy<ops::index_add_>",
   inplace=True, inplace_native="index_add_", out="exact",
   **_INDEXED, linear="input + source",
   input=lambda g: g,
   source=lambda g, dim, index, alpha: g.index_select(dim, index) * conj(alpha),
   doc="Adds the slices of `source` to those that a vector of indices names.",
   batch=_slices_batch(_add_elements))  # fmt: skip
op("index_copy(input, dim, index, source)", stored="all", native="changed_copy<ops::index_copy_>",
   autocast="promote, none",
   inplace=True, inplace_native="index_copy_", out="exact",
   **_INDEXED, linear="input + source",
   input=lambda g, dim, index: g.index_fill(dim, index, 0),
   source=lambda g, dim, index: g.index_select(dim, index),
   doc="Replaces the slices that a vector of indices names by those of `source`.",
   batch=_slices_batch(_scatter_src))  # fmt: skip
op("index_fill(input, dim, index, value)", stored="all", native="index_fill", inplace=True, node="IndexFillBackward1",
   apart=("index",),
   number_nodes={"value": "IndexFillBackward0"}, linear="input + value",
   input=lambda g, dim, index: g.index_fill(dim, index, 0),
   value=lambda g, dim, index: where(zeros_like(g, dtype=_C.bool).index_fill(dim, index, True), g, 0),
   doc="Fills the slices that a vector of indices names.",
   batch=_fill_slices_batch)  # fmt: skip


def _as_elements(index, dim, source):
    """The index of slices as one of their elements, for scatter_reduce's rules."""
    shape = [-1 if d == dim % source.ndim else 1 for d in range(source.ndim)]
    return index.long().reshape(shape).expand(source.shape)


op("index_reduce(input, dim, index, source, reduce, *, include_self=True)", loop="index_func_",
   native="changed_copy<ops::index_reduce_>",
   inplace=True, inplace_native="index_reduce_", out="exact", **_INDEXED,
   input=lambda g, input, dim, index, source, reduce, include_self, out:
       _REDUCED[reduce](g, input, dim, _as_elements(index, dim, source), source, include_self, out)[0],
   source=lambda g, input, dim, index, source, reduce, include_self, out:
       _REDUCED[reduce](g, input, dim, _as_elements(index, dim, source), source, include_self, out)[1],
   doc="Joins the slices of `source` with those that a vector of indices names.",
   batch=_slices_batch(_reduce_elements))  # fmt: skip

# ---- Elements of the flattened tensor

op("take(input, index)", stored="all", native="take", linear="input", out="exact",
   out_words="take(): self and out expected to have the same dtype, but got self.dtype = {expected} "
             "and out.dtype = {given}",
   apart=("input", "index"),
   input=lambda g, input_meta, index: g.new_zeros(input_meta.shape).put(index, g, True),
   doc="The elements at these places of the flattened tensor.",
   batch=_take_batch)  # fmt: skip
op("put(input, index, source, accumulate=False)", stored="all", native="put", inplace=True,
   apart=("index", "source"), linear="input + source",
   input=lambda g, index, source_meta, accumulate:
       g if accumulate else g.put(index, g.new_zeros(source_meta.shape)),
   source=lambda g, index, source_meta: g.take(index).reshape(source_meta.shape),
   doc="Writes (or adds) the elements of `source` at these places of the flattened tensor.",
   batch=_put_batch)  # fmt: skip

# ---- Embeddings

op("embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False)", stored="all",
   native="embedding",
   method=False, linear="weight",
   weight=lambda g, weight_meta, indices, padding_idx, scale_grad_by_freq, sparse: embedded_rows(
       g, weight_meta, indices, padding_idx, scale_grad_by_freq) if sparse else _embedding_backward(
       _by_frequency(g, indices, weight_meta.shape[0]) if scale_grad_by_freq else g, indices, weight_meta.shape[0],
       padding_idx),
   doc="The rows of `weight` that the indices name.",
   batch=_embedding_batch)  # fmt: skip
op("_embedding_backward(grad, indices, rows, padding_idx)", widened="float8 complex32",
   native="embedding_backward", linear="grad", public=False,
   grad=lambda g, indices, padding_idx: where((indices == padding_idx).unsqueeze(-1), 0, embedding(g, indices)),
   doc="Zeros with the gradient of embedding() added to the rows it read, but for the padding.",
   batch=_embedding_back)  # fmt: skip


def _by_frequency(g, indices, rows):
    """The gradient of each row divided by how often the row was read."""
    read = indices.reshape(-1)
    counts = g.new_zeros(rows).index_add(0, read, g.new_ones(read.shape))
    return g / embedding(counts.unsqueeze(-1), indices)


def functional_embedding(
    input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False
):
    """The rows of `weight` that the indices name; the row `padding_idx` gets no gradient.

    >>> import adjoint as torch
    >>> weight = torch.tensor([[0.0, 0.0], [1.0, 2.0]])
    >>> torch.nn.functional.embedding(torch.tensor([1, 0, 1]), weight)
    tensor([[1., 2.],
            [0., 0.],
            [1., 2.]])
    """
    if padding_idx is None:
        padding_idx = -1
    else:
        checks.tensor("embedding", weight=weight)
        padding_idx, rows = checks.integer("embedding", "padding_idx", padding_idx), weight.size(0)
        if not -rows <= padding_idx < rows:
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx %= rows
    if max_norm is not None:
        _renormalise(weight, input, max_norm, norm_type)
    return embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)


def _renormalise(weight, indices, max_norm, norm_type):
    """Scales the rows that the indices name down to `max_norm`, in place and unrecorded, as torch does."""
    weight = weight.detach()
    used = zeros_like(weight[:, 0], dtype=_C.bool).index_fill(0, indices.reshape(-1).long(), True)
    norms = weight.norm(norm_type, dim=1)
    scale = where(used & (norms > max_norm), max_norm / (norms + 1e-7), 1)
    weight.mul_(scale.unsqueeze(1))


_publish("embedding", functional_embedding, "nn.functional", False, True, ())
