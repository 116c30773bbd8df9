"""What optimizers that work on lists of tensors ask for: which devices have such ops, and lists sorted by type."""

import collections

# Where torch has kernels for whole lists, and for whole steps. Here the ops run one by one, on every device.
_FOREACH = ("cuda", "xpu", "mtia", "privateuseone")
_FUSED = ("mps", "cuda", "xpu", "hpu", "cpu", "mtia", "privateuseone")


def _get_foreach_kernels_supported_devices():
    """The devices whose lists of tensors torch changes at once.

    >>> import adjoint as torch
    >>> "cuda" in torch.utils._foreach_utils._get_foreach_kernels_supported_devices()
    True
    """
    return list(_FOREACH)


def _get_fused_kernels_supported_devices():
    """The devices on which torch takes a step of an optimizer at once.

    >>> import adjoint as torch
    >>> "cpu" in torch.utils._foreach_utils._get_fused_kernels_supported_devices()
    True
    """
    return list(_FUSED)


def _device_has_foreach_support(device):
    """Whether lists of tensors on a device can be given to `torch._foreach_add` and its like.

    >>> import adjoint as torch
    >>> torch.utils._foreach_utils._device_has_foreach_support(torch.device("cpu"))
    True
    """
    return device.type in (*_FOREACH, "cpu")


def _has_foreach_support(tensors, device):
    """The same, for these tensors: None and tensors of other classes have none.

    >>> import adjoint as torch
    >>> torch.utils._foreach_utils._has_foreach_support([torch.ones(2)], torch.device("cpu"))
    True
    """
    from .. import Tensor
    from ..nn import Parameter

    return _device_has_foreach_support(device) and all(
        tensor is None or type(tensor) in (Tensor, Parameter) for tensor in tensors
    )


def _group_tensors_by_device_and_dtype(tensorlistlist, with_indices=False):
    """Lists of tensors that belong together, sorted by the device and type of those of the first list.

    >>> import adjoint as torch
    >>> lists = [[torch.ones(2), torch.ones(1).double()], [None, None]]
    >>> groups = torch.utils._foreach_utils._group_tensors_by_device_and_dtype(lists, with_indices=True)
    >>> groups[torch.device("cpu"), torch.float64]
    ([[tensor([1.], dtype=torch.float64)], [None]], [1])
    """
    groups = collections.defaultdict(list)
    for place, tensor in enumerate(tensorlistlist[0]):
        groups[tensor.device, tensor.dtype].append(place)
    return {
        key: ([[items[place] for place in places] for items in tensorlistlist], places if with_indices else [])
        for key, places in groups.items()
    }
