"""Tensors made from sizes, from ranges, or after another tensor."""

from .batching import call, formatted
from .language import op

# ---- Batch rules; see batching.py


def _strided_batch(op, size, batched, input, sizes, stride, *options):
    extent = sum((n - 1) * step for n, step in zip(sizes, stride, strict=True)) + 1 if 0 not in sizes else 0
    return call(op, input, (size, *sizes), (extent, *stride), *options)


# fmt: off

# Functions, all of which take out=, and relatives of a tensor that do not.
MADE = {"creates": True, "gradient": False, "method": False, "out": "typed"}
LIKE = {"creates": True, "gradient": False, "method": False, "batch": formatted}
NEW = {"creates": True, "gradient": False, "function": False, "batch": "+size"}

op("zeros(size)", native="create_zeros", varargs="size", **MADE, doc="A tensor of zeros.")
op("ones(size)", native="create_ones", varargs="size", **MADE, doc="A tensor of ones.")
op("empty(size, *, memory_format=None)", native="create_empty", varargs="size", **MADE,
   doc="A tensor of whatever its memory held.")
op("full(size, fill_value)", native="create_full", **MADE, doc="A tensor of one value.")
op("eye(n, m=None)", native="create_eye", **MADE, doc="Ones on the diagonal, zeros elsewhere.")
op("scalar_tensor(s)", native="create_scalar", **LIKE, doc="A number as a tensor of no dimension.")
op("empty_strided(size, stride)", native="create_strided", **LIKE, doc="New memory with these strides.")
op("empty_permuted(size, physical_layout)", native="create_permuted", **LIKE,
   doc="New memory with the dimensions in this order.")

op("zeros_like(input, *, memory_format=None)", native="zeros_like", **LIKE,
   doc="Zeros of the input's shape and type.")
op("ones_like(input, *, memory_format=None)", native="ones_like", **LIKE, doc="Ones of the input's shape and type.")
op("empty_like(input, *, memory_format=None)", native="empty_like", **LIKE,
   doc="New memory of the input's shape and type.")
op("full_like(input, fill_value, *, memory_format=None)", native="full_like", **LIKE,
   doc="One value in the input's shape and type.")

op("new_zeros(input, size)", native="new_zeros", varargs="size", **NEW, doc="Zeros in this tensor's type.")
op("new_ones(input, size)", native="new_ones", varargs="size", **NEW, doc="Ones in this tensor's type.")
op("new_empty(input, size)", native="new_empty", varargs="size", **NEW, doc="New memory in this tensor's type.")
op("new_full(input, size, fill_value)", native="new_full", **NEW, doc="One value in this tensor's type.")
op("new_empty_strided(input, size, stride)", native="new_strided", **(NEW | {"batch": _strided_batch}),
   doc="New memory with these strides.")

op("arange(start=0, end=None, step=1)", native="arange", short="end", **MADE, doc="start, start + step, ... below end.")
op("linspace(start, end, steps)", native="linspace", **MADE, doc="Evenly spaced numbers, both ends included.")
op("logspace(start, end, steps, base=10.0)", native="logspace", **MADE,
   doc="Powers of base with evenly spaced exponents.")
