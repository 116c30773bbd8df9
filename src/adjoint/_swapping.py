"""Two tensors that change places: each object becomes what the other one is."""

import gc
import weakref

from . import _C


def swap_tensors(t1, t2):
    """Exchanges two tensors: values, type, history, gradient and attributes; whoever holds one sees the other.

    Refused for tensors that others refer to in another way, by weak references or as the base of a view. A graph that
    was recorded with one of them as a leaf cannot run backward any more.

    >>> import adjoint as torch
    >>> a, b = torch.zeros(1), torch.ones(2)
    >>> torch.utils.swap_tensors(a, b)
    >>> a, b
    (tensor([1., 1.]), tensor([0.]))
    """
    for name, tensor in (("t1", t1), ("t2", t2)):
        if not isinstance(tensor, _C.Tensor):
            raise TypeError(f"swap_tensors(): {name} must be a Tensor, not {type(tensor).__name__}")
    for name, tensor in (("t1", t1), ("t2", t2)):
        if weakref.getweakrefs(tensor):
            raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
    if t1 is t2:
        return
    for name, tensor in (("t1", t1), ("t2", t2)):
        _refuse_bases(name, tensor)
    _C._swap_tensor_impl(t1, t2)


def _refuse_bases(name, tensor):
    """Refuses a tensor with views: they would be views of another one."""
    if not _C._shares_storage(tensor):  # the usual case, without a look at all objects
        return
    views = sum(isinstance(each, _C.Tensor) and each._base is tensor for each in gc.get_referrers(tensor))
    if views:
        raise RuntimeError(
            f"Expected use_count of {name} to be 1 or 2 with an AccumulateGrad node but got {2 + views} make sure you "
            "are not holding references to the tensor in other places: views of it would be views of another tensor"
        )
