"""Gradients kept small: the norm of all of them together, or every element."""

import types
import warnings

from ... import _C, linalg
from ..._foreach import each
from ...autograd.grad_mode import no_grad

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]


def _listed(parameters):
    """A single tensor or an iterable of them as a list."""
    if parameters is None:
        raise TypeError("expected a Tensor, or an iterable of Tensors; got None")
    return [parameters] if isinstance(parameters, _C.Tensor) else list(parameters)


def _gradients(parameters):
    return [parameter.grad for parameter in _listed(parameters) if parameter.grad is not None]


def get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The norm of all elements of some tensors together; `foreach` makes no difference here.

    - norm_type: the p of the norm.
    - error_if_nonfinite: raises where the norm is nan or infinite.

    >>> import adjoint as torch
    >>> torch.nn.utils.get_total_norm([torch.tensor([3.0]), torch.tensor([4.0])])
    tensor(5.)
    """
    norm_type = float(norm_type)
    tensors = _listed(tensors)
    if not tensors:
        return _C.tensor(0.0)
    norm = linalg.vector_norm
    with no_grad():
        norms = _C._norms(tensors, norm_type) if tensors[0].is_cuda else None  # of all in one launch
        if norms is None:
            place = tensors[0].device
            norms = _C.op_object("stack")([norm(tensor, norm_type).to(place) for tensor in tensors])
        total = norm(norms, norm_type)
    if error_if_nonfinite and not bool(total.isfinite()):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be "
            "clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`"
        )
    return total


def clip_grads_with_norm_(parameters, max_norm, total_norm, foreach=None):
    """Scales the gradients of parameters in place so that `total_norm`, their norm, would become `max_norm` at most.

    >>> import adjoint as torch
    >>> p = torch.zeros(1)
    >>> p.grad = torch.tensor([8.0])
    >>> torch.nn.utils.clip_grads_with_norm_(p, 2.0, torch.tensor(8.0))
    >>> p.grad
    tensor([2.0000])
    """
    max_norm = float(max_norm)
    with no_grad():
        # Multiplied even when it is 1: a test would have to wait for the number.
        factor = _C.op_object("clamp")(max_norm / (total_norm + 1e-6), max=1.0)
        by_device: dict = {}
        for grad in _gradients(parameters):
            by_device.setdefault(grad.device, []).append(grad)
        for device, gradients in by_device.items():
            here = factor.to(device)
            if device.type == "cuda" and all(grad.layout is _C.strided for grad in gradients):
                each("mul", True, gradients, here)
            else:
                for grad in gradients:
                    grad.mul_(here)


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scales the gradients of parameters in place so that their norm is `max_norm` at most; returns the norm before.

    - norm_type: the p of the norm.
    - error_if_nonfinite: raises where the norm is nan or infinite.
    - foreach: accepted, as in torch; all tensors are taken together anyway.

    >>> import adjoint as torch
    >>> p = torch.zeros(2)
    >>> p.grad = torch.tensor([3.0, 4.0])
    >>> torch.nn.utils.clip_grad_norm_([p], 1.0), p.grad
    (tensor(5.), tensor([0.6000, 0.8000]))
    """
    generator = isinstance(parameters, types.GeneratorType)
    parameters = _listed(parameters)
    if generator and not parameters:
        warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=2)
    total_norm = get_total_norm(_gradients(parameters), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(parameters, max_norm, total_norm)
    return total_norm


def clip_grad_norm(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scales gradients down so that their norm is at most `max_norm`; deprecated: use clip_grad_norm_.

    >>> import adjoint as torch
    >>> x = torch.zeros(2, requires_grad=True)
    >>> x.grad = torch.tensor([3.0, 4.0])
    >>> torch.nn.utils.clip_grad_norm_(x, 1.0)  # the name to use
    tensor(5.)
    """
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite)


def clip_grad_value_(parameters, clip_value, foreach=None):
    """Limits every element of the gradients of parameters, in place, to within `clip_value` of zero.

    - foreach: accepted, as in torch; all tensors are taken together anyway.

    >>> import adjoint as torch
    >>> p = torch.zeros(2)
    >>> p.grad = torch.tensor([3.0, -0.5])
    >>> torch.nn.utils.clip_grad_value_([p], 1.0)
    >>> p.grad
    tensor([ 1.0000, -0.5000])
    """
    clip_value = float(clip_value)
    with no_grad():
        for grad in _gradients(parameters):
            grad.clamp_(-clip_value, clip_value)
