"""Tensors made from sizes, from ranges, or after another tensor."""

from .batching import call, formatted, is_tensor, lined_up
from .language import arange, float64, op, where

# ---- Batch rules; see batching.py


def _strided_batch(op, size, batched, input, sizes, stride, *options):
    extent = sum((n - 1) * step for n, step in zip(sizes, stride, strict=True)) + 1 if 0 not in sizes else 0
    return call(op, input, (size, *sizes), (extent, *stride), *options)


def _numbers_needed(op, size, batched, *given):
    raise RuntimeError(
        "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a "
        f"Tensor, please try to rewrite what you're doing with other operations: {op.__name__}() takes numbers, which "
        "differ from element to element of the batch"
    )


def _filled(tensor, size, value):
    """As many tensors like one as the batch has elements, each filled with a number of its own."""
    return lined_up(value, tensor.dim()).expand(size, *tensor.shape).to(tensor.dtype).clone()


def _full_batch(op, size, batched, sizes, value, dtype, *options):
    if batched[0]:
        return _numbers_needed(op, size, batched)
    return _filled(call(op, sizes, 0, value.dtype if dtype is None else dtype, *options), size, value)


def _full_like_batch(op, size, batched, input, value, *options):
    like = formatted(op, size, batched, input, 0 if batched[1] else value, *options)
    if not batched[1]:
        return like
    return _filled(like[0] if batched[0] else like, size, value)


def _new_full_batch(op, size, batched, input, sizes, value, *options):
    if not batched[2]:
        return call(op, input, (size, *sizes), value, *options)
    return _filled(call(op, input, sizes, 0, *options), size, value)


def _scalar_batch(op, size, batched, value, *options):
    return _filled(call(op, 0, *options), size, value)


def _spaced(op, size, batched, start, end, steps, options):
    """Evenly spaced numbers, each half from its own end; and a tensor of the type that they go into."""
    if batched[2]:
        return _numbers_needed(op, size, batched)
    ranks = [value.dim() - has if is_tensor(value) else 0 for value, has in zip((start, end), batched, strict=False)]
    if any(ranks):
        raise RuntimeError(
            f"{op.__name__} only supports 0-dimensional start and end tensors, but got start with {ranks[0]} "
            f"dimension(s) and end with {ranks[1]} dimension(s)."
        )
    like = call(op, 0, 0, steps, *options)
    if not (like.is_floating_point() or like.is_complex()):
        start, end = (value.to(like.dtype) if is_tensor(value) else int(value) for value in (start, end))
    start, end = (value.to(float64).unsqueeze(-1) if is_tensor(value) else value for value in (start, end))
    step, place = (end - start) / max(steps - 1, 1), arange(steps, device=like.device)
    return where(place < max(steps // 2, 1), start + step * place, end - step * (steps - 1 - place)), like


def _linspace_batch(op, size, batched, start, end, steps, *options):
    values, like = _spaced(op, size, batched, start, end, steps, options)
    return values.to(like.dtype)


def _logspace_batch(op, size, batched, start, end, steps, base, *options):
    if batched[3]:
        return _numbers_needed(op, size, batched)
    values, like = _spaced(op, size, batched, start, end, steps, (base, *options))
    return (base**values).to(like.dtype)


# fmt: off

# Functions, all of which take out=, and relatives of a tensor that do not.
MADE = {"creates": True, "gradient": False, "method": False, "out": "typed", "batch": _numbers_needed}
LIKE = {"creates": True, "gradient": False, "method": False, "batch": formatted}
NEW = {"creates": True, "gradient": False, "function": False, "batch": "+size"}

op("zeros(size)", native="create_zeros", varargs="size", **MADE, doc="A tensor of zeros.")
op("ones(size)", native="create_ones", varargs="size", **MADE, doc="A tensor of ones.")
op("empty(size, *, memory_format=None)", native="create_empty", varargs="size", **MADE,
   doc="A tensor of whatever its memory held.")
op("full(size, fill_value)", native="create_full", **(MADE | {"batch": _full_batch}), doc="A tensor of one value.")
op("eye(n, m=None)", native="create_eye", **MADE, doc="Ones on the diagonal, zeros elsewhere.")
op("scalar_tensor(s)", native="create_scalar", **(LIKE | {"batch": _scalar_batch}),
   doc="A number as a tensor of no dimension.")
op("empty_strided(size, stride)", native="create_strided", **LIKE, doc="New memory with these strides.")
op("empty_permuted(size, physical_layout)", native="create_permuted", **LIKE,
   doc="New memory with the dimensions in this order.")

op("zeros_like(input, *, memory_format=None)", native="zeros_like", **LIKE,
   doc="Zeros of the input's shape and type.")
op("ones_like(input, *, memory_format=None)", native="ones_like", **LIKE, doc="Ones of the input's shape and type.")
op("empty_like(input, *, memory_format=None)", native="empty_like", **LIKE,
   doc="New memory of the input's shape and type.")
op("full_like(input, fill_value, *, memory_format=None)", native="full_like", **(LIKE | {"batch": _full_like_batch}),
   doc="One value in the input's shape and type.")

op("new_zeros(input, size)", native="new_zeros", varargs="size", **NEW, doc="Zeros in this tensor's type.")
op("new_ones(input, size)", native="new_ones", varargs="size", **NEW, doc="Ones in this tensor's type.")
op("new_empty(input, size)", native="new_empty", varargs="size", **NEW, doc="New memory in this tensor's type.")
op("new_full(input, size, fill_value)", native="new_full", **(NEW | {"batch": _new_full_batch}),
   doc="One value in this tensor's type.")
op("new_empty_strided(input, size, stride)", native="new_strided", **(NEW | {"batch": _strided_batch}),
   doc="New memory with these strides.")

op("arange(start=0, end=None, step=1)", native="arange", short="end", **MADE, doc="start, start + step, ... below end.")
op("linspace(start, end, steps)", native="linspace", **(MADE | {"batch": _linspace_batch}),
   doc="Evenly spaced numbers, both ends included.")
op("logspace(start, end, steps, base=10.0)", native="logspace", **(MADE | {"batch": _logspace_batch}),
   doc="Powers of base with evenly spaced exponents.")
