"""Channels turned into pixels and back: PixelShuffle and PixelUnshuffle."""

from .. import functional as F
from .settings import Settings

__all__ = ["PixelShuffle", "PixelUnshuffle"]


class PixelShuffle(Settings):
    """(*, C * r * r, H, W) to (*, C, H * r, W * r).

    >>> import adjoint as torch
    >>> torch.nn.PixelShuffle(2)(torch.zeros(1, 8, 3, 3)).shape
    torch.Size([1, 2, 6, 6])
    """

    __constants__ = ["upscale_factor"]

    def __init__(self, upscale_factor):
        super().__init__(upscale_factor=upscale_factor)

    def forward(self, input):
        """The larger image of fewer channels."""
        return F.pixel_shuffle(input, self.upscale_factor)


class PixelUnshuffle(Settings):
    """(*, C, H * r, W * r) to (*, C * r * r, H, W).

    >>> import adjoint as torch
    >>> torch.nn.PixelUnshuffle(2)(torch.zeros(1, 2, 6, 6)).shape
    torch.Size([1, 8, 3, 3])
    """

    __constants__ = ["downscale_factor"]

    def __init__(self, downscale_factor):
        super().__init__(downscale_factor=downscale_factor)

    def forward(self, input):
        """The smaller image of more channels."""
        return F.pixel_unshuffle(input, self.downscale_factor)
