"""What all functions of torch.accelerator ask first."""

from .. import _C


def need():
    """Raises where there is no accelerator."""
    if _C._cuda_why_unavailable():
        raise RuntimeError(
            "Cannot access accelerator device when none is available. Ask torch.accelerator.is_available() first."
        )


def index_of(device):
    """The number of an accelerator that a number, a name or a device means; None means the current one."""
    need()
    if device is None:
        return _C._cuda_current_device()
    if isinstance(device, int) and not isinstance(device, bool):
        if device < 0:
            raise ValueError(f"torch.accelerator: expected the number of a device, from 0; got {device}")
        return device
    device = _C.device(device)
    if device.type != "cuda":
        raise ValueError(
            f"{device.type} doesn't match the current accelerator cuda; name a device of the accelerator, or none"
        )
    return _C._cuda_current_device() if device.index is None else device.index
