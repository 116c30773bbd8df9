"""Choosing elements: by condition or mask, by being nonzero, by counting, by place in a sorted row, by bounds."""

from .. import _C
from .batching import all_values, call, is_tensor, lined_up, one_size, rows, with_batch
from .checks import boolean, demanded, holds
from .language import (
    _publish,
    _sorted_places,
    broadcast_shapes,
    broadcast_tensors,
    can_cast,
    cat,
    clamp_above,
    clamp_above_,
    clamp_below,
    clamp_below_,
    clamp_between,
    clamp_between_,
    composite,
    float32,
    index,
    index_backward,
    int64,
    masked_scatter,
    nonzero,
    ones_like,
    op,
    result_type,
    scalar_tensor,
    stack,
    where,
    zeros,
    zeros_like,
)
from .out_words import FOUND_DTYPE, SEARCHSORTED, same_scalar_type

# ---- Batch rules; see batching.py


def of_one_type(batched, *values):
    """Tensors in the type that their elements meet in: to numbers in a batch, others need not give way."""
    shown = [value.new_empty((0,) * (value.dim() - one)) for value, one in zip(values, batched, strict=True)]
    return [value.to(result_type(*shown)) for value in values]


def _where_batch(op, size, batched, condition, input, other):
    if input is None:
        refuse_growing("where")
    if is_tensor(input) and is_tensor(other) and input.dtype is not other.dtype:
        input, other = of_one_type(batched[1:], input, other)
    given = with_batch(size, batched, (condition, input, other))
    rank = max(value.dim() for value in given if is_tensor(value)) - 1
    return where(*(lined_up(value, rank) if is_tensor(value) else value for value in given))


def refuse_growing(name):
    """Refuses what has results of other sizes for each element."""
    raise RuntimeError(
        "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over "
        f"{name}(), whose result has as many elements as the values say, and would have others for each of the batch"
    )


def growing(op, *_):
    """The rule of ops that refuse; see refuse_growing()."""
    refuse_growing(op.__name__)


def _masked_fill_batch(op, size, batched, input, mask, value):
    rank = max(input.dim() - batched[0], mask.dim() - batched[1])
    input, mask = (lined_up(given, rank) for given in with_batch(size, batched[:2], (input, mask)))
    if batched[2]:
        if value.dim() != 1 or not can_cast(value.dtype, input.dtype):
            return NotImplemented  # which the op may refuse
        return where(mask, lined_up(value, rank).to(input.dtype), input)
    return call(op, input, mask, value)


def _masked_select_batch(op, size, batched, input, mask):
    if batched[1]:
        raise RuntimeError(
            "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support this because for "
            "each batch this would return a differently shaped Tensor: use torch.where() or masked_fill()"
        )
    if mask.dtype != _C.bool:
        return NotImplemented  # which the op refuses
    sizes = broadcast_shapes(input.shape[1:], mask.shape)
    shown = lined_up(input, len(sizes)).expand(size, *sizes)
    return index(rows(shown), (None, mask.expand(sizes).reshape(-1)))


def _masked_select_back(op, size, batched, grad, sizes, mask):
    sizes = broadcast_shapes(sizes, mask.shape)
    mask = mask.expand(sizes).reshape(-1)
    return index_backward(grad, (size, mask.numel()), (None, mask)).reshape(size, *sizes)


def _places_in_source(mask):
    """Which element of its source masked_scatter() writes at each place under the mask."""
    return (rows(mask).cumsum(1) - 1).clamp(min=0)


def _masked_scatter_batch(op, size, batched, input, mask, source):
    if mask.dtype != _C.bool or input.dtype != source.dtype:
        return NotImplemented  # which the op refuses
    input, mask, source = with_batch(size, batched, (input, mask, source))
    rank = max(input.dim(), mask.dim()) - 1
    input, mask = broadcast_tensors(lined_up(input, rank), lined_up(mask, rank))
    if source.numel() == 0:
        return input.clone()
    return where(mask, rows(source).gather(1, _places_in_source(mask)).reshape(input.shape), input)


def _masked_scatter_back(op, size, batched, grad, sizes, mask):
    grad, _, mask = with_batch(size, batched, (grad, sizes, mask))
    mask = lined_up(mask, grad.dim() - 1).expand(grad.shape)
    found = rows(grad.new_zeros(size, *sizes))
    if found.numel() == 0:
        return found.reshape(size, *sizes)
    return found.scatter_add(1, _places_in_source(mask), rows(where(mask, grad, 0))).reshape(size, *sizes)


def _nonzero_static_batch(op, size, batched, input, count, fill_value):
    flags, sizes = rows(input != 0), input.shape[1:]
    # Sorting is stable: those that are not zero come first, in their order.
    places = (~flags).argsort(1).narrow(1, 0, min(count, flags.shape[1]))
    found = stack(unravel_index(places, sizes), -1) if sizes else places.unsqueeze(-1).narrow(-1, 0, 0)
    found = where(flags.gather(1, places).unsqueeze(-1), found, fill_value)
    missing = count - places.shape[1]
    return cat([found, found.new_full((size, missing, len(sizes)), fill_value)], 1) if missing > 0 else found


def _places_batch(op, size, batched, sorted, values, right, narrow):
    if not batched[0] and sorted.dim() == 1:
        return call(op, sorted, values, right, narrow)
    sorted, values = with_batch(size, batched[:2], (sorted, values))
    if sorted.dim() > 2:
        return call(op, sorted, values, right, narrow)
    return call(op, sorted, rows(values), right, narrow).reshape(values.shape)


def _bincount_batch(op, size, batched, input, weights, minlength):
    input, weights = with_batch(size, batched[:2], (input, weights))
    values = all_values(input)
    fits = input.dim() == 2 and minlength >= 0 and (weights is None or weights.shape == input.shape)
    if not fits or input.is_floating_point() or input.dtype is _C.bool or (values.numel() and int(values.min()) < 0):
        return NotImplemented  # which the op will say
    length = one_size(op, values.amax(-1) + 1 if values.numel() else values.new_zeros(1), minlength)
    if weights is None:
        weights = ones_like(input, dtype=int64)
    elif weights.dtype is not float32:
        weights = weights.double()
    return zeros(size, length, dtype=weights.dtype, device=input.device).scatter_add(1, input.long(), weights)


# ---- Conditions and masks

op("where(condition, input=None, other=None)", stored="all", native="where", method=False, out="exact",
   out_words="Expected out type to be {expected} but got {given}",
   whole=("condition", "input", "other"), linear="input + other",
   input=lambda g, condition: where(condition, g, 0),
   other=lambda g, condition: where(condition, 0, g),
   doc="Elements of `input` where the condition holds, of `other` elsewhere.",
   batch=_where_batch)  # fmt: skip


def where_method(input, condition, other):
    """The tensor where the condition holds, `other` elsewhere.

    >>> import adjoint as torch
    >>> x = torch.tensor([1.0, -2.0])
    >>> x.where(x > 0, 0.0)
    tensor([1., 0.])
    """
    return where(condition, input, other)


# The method's arguments come in another order than the function's.
_publish("where", where_method, "", True, False, ())

op("masked_fill(input, mask, value)", stored="all", native="masked_fill", inplace=True, node="MaskedFillBackward1",
   whole=("mask",),
   number_nodes={"value": "MaskedFillBackward0"}, linear="input + value",
   input=lambda g, mask: g.masked_fill(mask, 0),
   value=lambda g, mask: where(mask, g, 0),
   doc="Fills the elements under the mask.",
   batch=_masked_fill_batch)  # fmt: skip
op("masked_select(input, mask)", stored="all", native="masked_select", linear="input", out="exact",
   out_words=same_scalar_type("masked_select"), apart=("input", "mask"),
   input=lambda g, input_meta, mask: _masked_select_backward(g, input_meta.shape, mask),
   doc="The elements under the mask, in one row.",
   batch=_masked_select_batch)  # fmt: skip
_masked_select_backward = op(
    "_masked_select_backward(grad, size, mask)", native="masked_select_backward", linear="grad", public=False,
    grad=lambda g, mask: g.masked_select(mask),
    doc="Zeros with the gradient of masked_select() under the mask.",
    batch=_masked_select_back)  # fmt: skip
op("masked_scatter(input, mask, source)", stored="all", native="masked_scatter", inplace=True, linear="input + source",
   input=lambda g, mask: g.masked_fill(mask, 0),
   source=lambda g, mask, source_meta: _masked_scatter_backward(g, source_meta.shape, mask),
   doc="Replaces the elements under the mask by the first ones of `source`.",
   batch=_masked_scatter_batch)  # fmt: skip
_masked_scatter_backward = op(
    "_masked_scatter_backward(grad, size, mask)", native="masked_scatter_backward", linear="grad", public=False,
    grad=lambda g, grad_meta, mask: masked_scatter(g.new_zeros(grad_meta.shape), mask, g),
    doc="The gradient of what masked_scatter() took from its source.",
    batch=_masked_scatter_back)  # fmt: skip

# ---- Nonzero elements, counts, places

op("nonzero(input, *, as_tuple=False)", widened="all", native="nonzero", out="exact",
   out_words="nonzero: Expected out tensor to have scalar type {expected} but got scalar type{given}",
   apart=("input",),
   doc="The coordinates of the elements that are not zero.",
   batch=growing)  # fmt: skip
op("nonzero_static(input, *, size, fill_value=-1)", widened="all", native="nonzero_static", out=True,
   doc="The coordinates of the first `size` elements that are not zero, then `fill_value`.",
   batch=_nonzero_static_batch)  # fmt: skip


@composite
def argwhere(input):
    """The coordinates of the elements that are not zero, one row each.

    >>> import adjoint as torch
    >>> torch.argwhere(torch.tensor([0, 3, 0, 4]))
    tensor([[1],
            [3]])
    """
    return nonzero(input)


@composite(method=False)
def unravel_index(indices, shape):
    """The coordinates, in a tensor of this shape, of places counted over its flattened elements.

    >>> import adjoint as torch
    >>> torch.unravel_index(torch.tensor([4, 5]), (2, 3))
    (tensor([1, 1]), tensor([1, 2]))
    """
    if indices.is_floating_point() or indices.is_complex() or indices.dtype == _C.bool:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if not isinstance(shape, int | tuple | list | str):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    for size in sizes:
        if not isinstance(size, int):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(size)}")
    if any(size < 0 for size in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {sizes}")
    coordinates, step = [], 1
    for size in reversed(sizes):
        coordinates.append((indices.long() // max(step, 1)) % size if indices.numel() else indices.long())
        step *= size
    return tuple(reversed(coordinates))


op("bincount(input, weights=None, minlength=0)", loop="bincount_cpu",
   native="bincount", weights=None, batch=_bincount_batch,
   doc="How often each value occurs, or the sums of the weights of its occurrences.")  # fmt: skip
op("_sorted_places(sorted, values, right, narrow)", loop="searchsorted_out_cpu", native="sorted_places", out="exact",
   out_words=SEARCHSORTED, public=False,
   doc="Where values would be inserted in sorted rows.",
   batch=_places_batch)  # fmt: skip


def _places(sorted_sequence, input, right, out_int32, out):
    """The insertion places, in the type that both meet in."""
    common = result_type(sorted_sequence, input)
    if not isinstance(input, _C.Tensor):
        input = scalar_tensor(input, dtype=common, device=sorted_sequence.device)
    return _sorted_places(sorted_sequence.detach().to(common), input.detach().to(common), right, out_int32, out=out)


@composite(method=False)
def searchsorted(sorted_sequence, input, *, out_int32=False, right=False, side=None, sorter=None, out=None):
    """Where to insert values so that a sorted sequence stays sorted: before equal elements, or after (`right`).

    >>> import adjoint as torch
    >>> torch.searchsorted(torch.tensor([1.0, 3.0, 5.0]), torch.tensor([3.0, 6.0]))
    tensor([1, 3])
    """
    boolean("searchsorted", out_int32=out_int32, right=right)
    if side is not None:
        if side not in ("left", "right"):
            raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
        if right and side == "left":
            raise RuntimeError(
                "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True"
            )
        right = side == "right"
    if sorted_sequence.ndim == 0:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 dimension"
        )
    if sorted_sequence.ndim > 1 and not (isinstance(input, _C.Tensor) and input.ndim):
        raise RuntimeError(
            "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, "
            f"but we got boundaries tensor dim({sorted_sequence.ndim}) and input value's dim(0) numel(1)"
        )
    if sorter is not None:
        if sorter.shape != sorted_sequence.shape:
            raise RuntimeError(
                "torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor "
                f"{list(sorted_sequence.shape)} and got sorter tensor {list(sorter.shape)}"
            )
        if sorter.dtype != _C.int64:
            raise RuntimeError(
                f"torch.searchsorted(): sorter must be a tensor of long dtype but got dtype {sorter.dtype}"
            )
        wrong = "torch.searchsorted(): sorter index out of range"
        if sorter.numel() and not demanded((sorter >= 0) & (sorter < sorter.shape[-1]), wrong):
            raise RuntimeError(wrong)
        sorted_sequence = sorted_sequence.gather(-1, sorter)
    return _places(sorted_sequence, input, right, out_int32, out)


@composite(method=False)
def bucketize(input, boundaries, *, out_int32=False, right=False, out=None):
    """The number of the interval between sorted boundaries that each element lies in.

    >>> import adjoint as torch
    >>> torch.bucketize(torch.tensor([[0.5, 2.0], [9.0, 3.0]]), torch.tensor([1.0, 3.0]))
    tensor([[0, 1],
            [2, 1]])
    """
    if boundaries.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    return _places(boundaries, input, right, out_int32, out)


@composite(namespace="nn.functional")
def one_hot(input, num_classes=-1):
    """A row of zeros with a one at the class, for each class index.

    >>> import adjoint as torch
    >>> torch.nn.functional.one_hot(torch.tensor([0, 2]), num_classes=3)
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    if input.dtype != _C.int64:
        raise RuntimeError(
            f"one_hot is only applicable to index tensor of type LongTensor; got {input.dtype}: convert it with .long()"
        )
    if input.numel() == 0:
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
    elif num_classes == -1 or not input.is_cuda:  # else scatter() finds what is no class, and nothing is waited for
        if not holds(input >= 0):
            raise RuntimeError(f"Class values must be non-negative; got {input.min().item()}")
        if num_classes == -1:
            if _C._batch_level(input) is not None:
                raise RuntimeError(
                    "When vmap-ing torch.nn.functional.one_hot, please provide an explicit positive num_classes "
                    "argument."
                )
            num_classes = int(input.max()) + 1
        elif not holds(input < num_classes):
            raise RuntimeError(
                f"Class values must be smaller than num_classes; got {input.max().item()} with "
                f"num_classes={num_classes}"
            )
    rows = input.unsqueeze(-1)
    return zeros_like(rows).expand((*input.shape, num_classes)).scatter(-1, rows, 1)


# ---- Bounds


def _clamp_form(input, min, max, between, above, below, **out):
    """Calls the op that the bounds mean."""
    if min is None:
        if max is None:
            raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
        return below(input, max, **out)
    if max is None:
        return above(input, min, **out)
    if isinstance(min, _C.Tensor) != isinstance(max, _C.Tensor):
        if any(isinstance(bound, _C.Tensor) and (bound.ndim or bound.requires_grad) for bound in (min, max)):
            raise TypeError(
                "clamp() received an invalid combination of arguments: both bounds must be tensors, or both numbers"
            )
        min, max = (bound.item() if isinstance(bound, _C.Tensor) else bound for bound in (min, max))
    return between(input, min, max, **out)


@composite(alias=("clip",))
def clamp(input, min=None, max=None, *, out=None):
    """The elements cut to the range from `min` to `max`; either may be missing, a number or a tensor.

    >>> import adjoint as torch
    >>> torch.tensor([-2.0, 0.5, 3.0]).clamp(0, 1)
    tensor([0.0000, 0.5000, 1.0000])
    """
    if out is not None and not isinstance(min, _C.Tensor) and not isinstance(max, _C.Tensor):
        # Cut to numbers, the result goes into its own type alone.
        return _C._call_out("clamp", clamp, (input, min, max), {}, out, "exact", FOUND_DTYPE, (), (input,))
    return _clamp_form(input, min, max, clamp_between, clamp_above, clamp_below, out=out)


def clamp_(input, min=None, max=None):
    """Cuts the elements to the range from `min` to `max`, in place.

    >>> import adjoint as torch
    >>> torch.tensor([-2.0, 3.0]).clamp_(max=1)
    tensor([-2.,  1.])
    """
    return _clamp_form(input, min, max, clamp_between_, clamp_above_, clamp_below_)


composite(clamp_, name="clamp_", alias=("clip_",))
