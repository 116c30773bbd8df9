"""Parts of the vmap of torch that packages import: tensors taken into a batch and out of it."""

import functools

from .._C import Tensor as Tensor
from .._native._functorch import _add_batch_dim as _add_batch_dim
from .._native._functorch import _remove_batch_dim as _remove_batch_dim
from ..func.vmap import vmap as vmap
from ..utils._pytree import _broadcast_to_and_flatten as _broadcast_to_and_flatten
from ..utils._pytree import tree_flatten as tree_flatten
from ..utils._pytree import tree_unflatten as tree_unflatten


def _get_name(func):
    """The name of a function, for errors.

    >>> from adjoint._functorch.vmap import _get_name
    >>> _get_name(abs)
    'abs'
    """
    if hasattr(func, "__name__"):
        return func.__name__
    return f"functools.partial({_get_name(func.func)}, ...)" if isinstance(func, functools.partial) else repr(func)


def _maybe_remove_batch_dim(name, batched_output, vmap_level, batch_size, out_dim):
    """The whole batch of a result, along a dimension; with None for it, what was returned as it is.

    >>> import adjoint as torch
    >>> from adjoint._functorch.vmap import _maybe_remove_batch_dim
    >>> _maybe_remove_batch_dim("f", torch.ones(2), 1, 3, None)
    tensor([1., 1.])
    """
    if out_dim is None:
        return batched_output
    if not isinstance(batched_output, Tensor):
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(batched_output)}. Did you mean to "
            "set out_dims= to None for output?"
        )
    return _remove_batch_dim(batched_output, vmap_level, batch_size, out_dim)
