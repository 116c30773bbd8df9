"""Floating-point operations of an event, as torch's profiler estimates them: of products, of conv2d, of add and mul."""

import math


def flops_of(name, shapes, outputs):
    """A count, or 0 for what is not estimated."""
    count = _COUNTS.get(name)
    return count(shapes, outputs) if count is not None else 0


def _product(first):
    """Of a product whose left factor is argument `first`: two for each of its elements and columns of the other."""

    def count(shapes, outputs):
        left, right = shapes[first : first + 2]
        return 2 * math.prod(left) * right[-1] if left and right else 0

    return count


def _convolution(shapes, outputs):
    return 2 * math.prod(outputs[0][1]) * math.prod(shapes[1][1:]) if outputs else 0


def _elementwise(shapes, outputs):
    return math.prod(shapes[0]) if shapes and shapes[0] else 0


_COUNTS = {
    "aten::mm": _product(0),
    "aten::addmm": _product(1),
    "aten::bmm": _product(0),
    "aten::baddbmm": _product(1),
    "aten::conv2d": _convolution,
    "aten::add": _elementwise,
    "aten::mul": _elementwise,
}
