"""Parts of the vmap of torch that packages import: tensors taken into a batch and out of it.

Packages also replace some, for containers of tensors that are batched as a whole: vmap then runs with theirs.
"""

import functools

from .._C import Tensor as Tensor
from .._native._functorch import _add_batch_dim as _add_batch_dim
from .._native._functorch import _remove_batch_dim as _remove_batch_dim
from ..func.vmap import _batch_size, _mapped_leaves, _out_dims
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


def _process_batched_inputs(in_dims, args, func):
    """(the size of the batch, the dimension of each leaf of the arguments, the leaves, their structure).

    >>> import adjoint as torch
    >>> from adjoint._functorch.vmap import _process_batched_inputs
    >>> _process_batched_inputs(-1, (torch.ones(2, 3),), abs)[:2]
    (3, [1])
    """
    leaves, dims, spec = _mapped_leaves(func, in_dims, args)
    return _batch_size(leaves, dims), dims, leaves, spec


def _create_batched_inputs(flat_in_dims, flat_args, vmap_level, args_spec):
    """The arguments as one example sees them, inside of the vmap of this level."""
    pairs = zip(flat_in_dims, flat_args, strict=True)
    return tree_unflatten([x if dim is None else _add_batch_dim(x, dim, vmap_level) for dim, x in pairs], args_spec)


def _unwrap_batched(batched_outputs, out_dims, vmap_level, batch_size, func):
    """The whole batch of what one example has returned."""
    leaves, spec = tree_flatten(batched_outputs)
    name = _get_name(func)
    pairs = zip(leaves, _out_dims(func, out_dims, batched_outputs), strict=True)
    return tree_unflatten([_maybe_remove_batch_dim(name, x, vmap_level, batch_size, dim) for x, dim in pairs], spec)


_OWN = _process_batched_inputs, _create_batched_inputs, _unwrap_batched


def replaced():
    """Whether a package has replaced a part of vmap."""
    return (_process_batched_inputs, _create_batched_inputs, _unwrap_batched) != _OWN
