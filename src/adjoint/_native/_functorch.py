"""torch._C._functorch: tensors inside of vmap, as packages take them apart."""

from .. import _C
from ..ops.language import movedim


def is_batchedtensor(tensor):
    """Whether a tensor stands for one example of a batch, inside of vmap.

    >>> import adjoint as torch
    >>> _ = torch.vmap(lambda x: print(torch._C._functorch.is_batchedtensor(x)) or x)(torch.ones(2))
    True
    """
    return isinstance(tensor, _C.Tensor) and _C._batch_level(tensor) is not None


def is_legacy_batchedtensor(tensor):
    """Whether a tensor is one of torch's first vmap: no."""
    return False


def is_gradtrackingtensor(tensor):
    """Whether a tensor is wrapped by a derivative of torch.func: no, they need no wrapping here."""
    return False


is_functorch_wrapped_tensor = is_batchedtensor


def get_unwrapped(tensor):
    """The whole batch of which a tensor is one example; its batch is the first dimension."""
    return _C._batch_level(tensor)[1] if is_batchedtensor(tensor) else tensor


def maybe_get_level(tensor):
    """The number of the vmap that a tensor is inside of; -1 outside of any."""
    return _C._batch_level(tensor)[0] if is_batchedtensor(tensor) else -1


def maybe_get_bdim(tensor):
    """The dimension of the batch in get_unwrapped(tensor); -1 of a plain tensor."""
    return 0 if is_batchedtensor(tensor) else -1


def _add_batch_dim(tensor, batch_dim, level):
    """One example of a batch that lies along a dimension, inside of the vmap of this level."""
    return _C._batch(movedim(tensor, batch_dim, 0), level)


def _remove_batch_dim(tensor, level, batch_size, out_dim):
    """The whole batch, along a dimension, of one example inside of the vmap of this level."""
    return movedim(_C._unbatch(tensor, level), 0, out_dim)


def maybe_current_level():
    """The number of the innermost transform that runs; None outside of any."""
    levels = _C._open_levels()
    return levels[-1][0] if levels else None


def peek_interpreter_stack():
    """The innermost transform that runs; None outside of any."""
    levels = _C._open_levels()
    return levels[-1] if levels else None
