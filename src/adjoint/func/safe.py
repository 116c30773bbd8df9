"""Branches without the NaN of what is not taken: where_safe() for one of them, safe_branches() for all inside."""

import contextlib
from _thread import _local as thread_local  # threading's, without the rest of threading

from .. import _C
from ..ops.batching import call
from ..ops.language import TABLE, keep_dims, where, zeros_like
from .functionalize import written


def where_safe(condition, function, x, otherwise=0.0, *, inside=1.0):
    """function(x) where the condition holds, `otherwise` elsewhere, with gradients that are finite in both places.

    where(c, f(x), y) computes f everywhere, and its backward multiplies a zero by whatever f' is outside: NaN where
    that is infinite. Here f sees `inside`, a point of its domain, in the place of elements that it is not asked for.

    >>> import adjoint as torch
    >>> x = torch.tensor([0.0, 4.0], requires_grad=True)
    >>> torch.func.where_safe(x > 0, torch.sqrt, x).sum().backward()
    >>> x.grad
    tensor([0.0000, 0.2500])
    """
    if not isinstance(condition, _C.Tensor) or condition.dtype != _C.bool:
        raise TypeError("where_safe: expected a condition of bools, such as x > 0")
    return where(condition, function(where(condition, x, inside)), otherwise)


class _Thread(thread_local):
    safe = False


_thread = _Thread()


@contextlib.contextmanager
def safe_branches():
    """A context in which a gradient of exactly zero stays zero, whatever it is multiplied by.

    where(), masked_fill(), maximum() and indexing send zeros into what they have not selected, and an op there whose
    derivative is infinite makes NaN of them: 0 * inf. Ops that are called in this context give zero instead. Other
    gradients are what they are without. Derivatives of higher order have to be taken inside of the context.

    >>> import adjoint as torch
    >>> x = torch.tensor([0.0, 4.0], requires_grad=True)
    >>> with torch.func.safe_branches():
    ...     y = torch.where(x > 0, x.sqrt(), 0.0)
    >>> y.sum().backward()
    >>> x.grad
    tensor([0.0000, 0.2500])
    """
    before = _thread.safe
    level = _C._open_handled(_handle)
    _thread.safe = True
    try:
        yield
    finally:
        _thread.safe = before
        _C._close_level(level)


def made_safe(function):
    """The function in safe_branches() again, for the inside of a vmap, whose tensors have histories of their own."""
    return safe_branches()(function) if _thread.safe else function


class transposing:
    """A context in which a gradient of zero is no gradient, but stands for any: it is differentiated by."""

    def __enter__(self):
        self.before = getattr(_thread, "transposing", False)
        _thread.transposing = True

    def __exit__(self, *error):
        _thread.transposing = self.before


def _handle(op, arguments, in_place):
    """Calls the op, and hangs a gate on the node that it has recorded."""
    if in_place:
        return _change(op, arguments)
    result = call(op, *arguments)
    first = result[0] if isinstance(result, tuple) and result else result
    if not isinstance(first, _C.Tensor) or any(first is value for value in arguments):
        return result
    declaration = TABLE[op.__name__]
    if declaration.kind != "view" and declaration.rules and first.grad_fn is not None:
        first.grad_fn.register_hook(_gate(declaration, arguments))
    return result


def _change(op, arguments):
    """In place: a view has no node of its own, and is written into."""
    if TABLE[op.__name__].kind == "elementwise" and _C.is_grad_enabled() and arguments[0].is_floating_point():
        return written(op, arguments, _handle)
    return _C._call_slots(op, arguments, True)


# Each slice of the result depends on the slice of the input at its place, and on no other.
_BY_SLICES = ("_softmax", "_log_softmax", "_softmax_backward_data", "_log_softmax_backward_data", "cumprod")


def _gate(declaration, arguments):
    """A hook of a node: zeros in the place of gradients that follow from zeros alone."""
    given = dict(zip(declaration.arguments, arguments, strict=False))
    dim = given.get("dim")
    reduced = given["input"].dim() if "keepdim" in given and dim is not None else None

    def follows_from_zeros(gradient):
        zero = gradient == 0
        if declaration.kind == "elementwise" or zero.dim() == 0:
            return zero
        if reduced is not None:
            return keep_dims(zero, dim, reduced)
        return zero.all(dim, keepdim=True) if declaration.name in _BY_SLICES else zero.all()

    def gate(grad_inputs, grad_outputs):
        masks = [follows_from_zeros(g) for g in grad_outputs if g is not None]
        if not masks or getattr(_thread, "transposing", False):
            return None
        mask = masks[0]
        for other in masks[1:]:
            mask = mask & other
        return tuple(where(mask, zeros_like(g), g) if _fits(mask, g) else g for g in grad_inputs)

    return gate


def _fits(mask, gradient):
    """Whether the mask has a place for each element of the gradient, and no more of them."""
    if gradient is None or mask.dim() > gradient.dim():
        return False
    sizes = gradient.shape[gradient.dim() - mask.dim() :]
    return all(size in (1, whole) for size, whole in zip(mask.shape, sizes, strict=True))
