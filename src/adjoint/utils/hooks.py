"""Handles of hooks, and hooks that need not be saved with their tensor."""

from ..autograd.graph import RemovableHandle as RemovableHandle
from ..nn.modules.module_hooks import BackwardHook as BackwardHook
from ..serialization.refusal import warn_of_hooks as warn_if_has_hooks

__all__ = ["BackwardHook", "RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]


def unserializable_hook(f):
    """Marks a hook that may be left out when its tensor is saved, without a warning.

    >>> import adjoint as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> handle = x.register_hook(torch.utils.hooks.unserializable_hook(lambda gradient: gradient * 2))
    """
    f.__torch_unserializable__ = True
    return f
