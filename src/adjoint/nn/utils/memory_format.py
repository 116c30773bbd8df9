"""Weights of convolutions laid out anew in memory."""

from ..modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]


def _convert(module, memory_format, kinds):
    for layer in module.modules():
        if isinstance(layer, kinds):
            layer.weight.data = layer.weight.detach().clone(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module, memory_format):
    """Gives the weights of all 2D convolutions in a module a memory format.

    >>> import adjoint as torch
    >>> layer = torch.nn.Conv2d(2, 3, 3)
    >>> torch.nn.utils.convert_conv2d_weight_memory_format(layer, torch.channels_last).weight.stride()
    (18, 1, 6, 2)
    """
    return _convert(module, memory_format, (Conv2d, ConvTranspose2d))


def convert_conv3d_weight_memory_format(module, memory_format):
    """Gives the weights of all 3D convolutions in a module a memory format.

    >>> import adjoint as torch
    >>> layer = torch.nn.Conv3d(2, 3, 1)
    >>> torch.nn.utils.convert_conv3d_weight_memory_format(layer, torch.channels_last_3d).weight.stride()
    (2, 1, 2, 2, 2)
    """
    return _convert(module, memory_format, (Conv3d, ConvTranspose3d))
