"""The words in which update rules are written, at run time: on tensors and Python numbers.

Where code is generated from them, adjoint.codegen puts a symbolic twin in this module's place, as for the op table.
"""

from .. import _C
from ..ops import language as _ops
from .declaration import Rule as rule  # noqa: F401 - a word of the language

abs, maximum, clamp_min, clamp_max = _ops.abs, _ops.maximum, _ops.clamp_min, _ops.clamp_max
sign, sqrt, lerp = _ops.sign, _ops.sqrt, _ops.lerp


def item(value):
    """The number in a 0-d state."""
    return value.item()


def tracked_item(value):
    """The number in a 0-d state; the state itself in a differentiable step that takes its derivative."""
    return value if value.requires_grad and _C.is_grad_enabled() else value.item()


def where(condition, a, b):
    """Elements of `a` where the condition holds, of `b` elsewhere; a condition on numbers chooses one of them."""
    return _ops.where(condition, a, b) if isinstance(condition, _C.Tensor) else a if condition else b


def add(input, other, *, alpha=1):
    """input + alpha * other, rounded once; `alpha` may be a tensor, as a learning rate that requires grad is."""
    if isinstance(alpha, _C.Tensor):
        return input + alpha * other
    return _ops.add(input, other, alpha=alpha)


def addcmul(input, tensor1, tensor2, *, value=1):
    """input + value * tensor1 * tensor2, rounded once."""
    if isinstance(value, _C.Tensor):
        return input + value * tensor1 * tensor2
    return _ops.addcmul(input, tensor1, tensor2, value=value)


def addcdiv(input, tensor1, tensor2, *, value=1):
    """input + value * tensor1 / tensor2, rounded once."""
    if isinstance(value, _C.Tensor):
        return input + value * tensor1 / tensor2
    return _ops.addcdiv(input, tensor1, tensor2, value=value)
