"""Helpers of torch.cuda that programs import."""

from .. import _C


def _get_device_index(device, optional=False, allow_cpu=False):
    """The number of a GPU; of one without a number, if it is `optional`, that of the current one.

    >>> import adjoint as torch
    >>> torch.cuda._utils._get_device_index("cuda:1"), torch.cuda._utils._get_device_index(0)
    (1, 0)
    """
    if isinstance(device, int):
        return device
    if isinstance(device, str):
        device = _C.device(device)
    if isinstance(device, _C.device):
        if device.type == "cpu" and allow_cpu:
            return -1
        if device.type != "cuda":
            raise ValueError(f"Expected a cuda device, but got: {device}")
        if device.index is not None:
            return device.index
    if not optional:
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")
    return None if _C._cuda_why_unavailable() else _C._cuda_current_device()
