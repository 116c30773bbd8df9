"""A tensor of a module exchanged for another one, by its name: what packages call functions of modules with."""

from ... import _C
from ..modules.module import Module

_MISSING = object()


def _check(module, name, tensor):
    if not isinstance(module, Module):
        raise TypeError(f"{module} is not an instance of torch.nn.Module")
    if tensor is not _MISSING and tensor is not None and not isinstance(tensor, _C.Tensor):
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    if "." in name:
        raise KeyError('tensor name can\'t contain "."')
    if name == "":
        raise KeyError('tensor name can\'t be empty string ""')


def swap_tensor(module, name, tensor, allow_missing=False):
    """Puts a tensor in the place of a parameter, a buffer or another attribute, and returns what was there.

    It is put there as it is, a plain tensor among the parameters, too.

    >>> import adjoint as torch
    >>> from adjoint.nn.utils._named_member_accessor import swap_tensor
    >>> layer = torch.nn.Linear(1, 1)
    >>> before = swap_tensor(layer, "weight", torch.full((1, 1), 2.0))
    >>> isinstance(before, torch.nn.Parameter), layer.weight
    (True, tensor([[2.]]))
    """
    _check(module, name, tensor)
    for table in (module._parameters, module._buffers):
        if name in table:
            before = table.pop(name) if tensor is _MISSING else table[name]
            if tensor is not _MISSING:
                table[name] = tensor
            return before
    before = getattr(module, name, _MISSING)
    if before is _MISSING and not allow_missing:
        raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
    if before is not _MISSING and not isinstance(before, _C.Tensor):
        raise TypeError(f"attribute `{name}`: {before} is not an instance of torch.Tensor")
    if tensor is not _MISSING:
        setattr(module, name, tensor)
    elif before is not _MISSING:
        delattr(module, name)
    return before


def set_tensor(module, name, tensor):
    """Puts a tensor in the place of a parameter, a buffer or another attribute, or adds it as an attribute."""
    _check(module, name, tensor)
    swap_tensor(module, name, tensor, allow_missing=True)
