"""Tensors on a GPU as pickles and copies."""


def _rebuilt(tensor, device, requires_grad):
    return tensor.to(device).detach().requires_grad_(requires_grad)


def reduced(tensor):
    """What pickle keeps of a tensor on a GPU: its values, and the device to which they go again."""
    return _rebuilt, (tensor.detach().cpu(), str(tensor.device), tensor.requires_grad)
