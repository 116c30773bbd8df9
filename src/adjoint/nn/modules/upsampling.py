"""Images made larger: Upsample and its two forms of old."""

from .. import functional as F
from .module import Module

__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]


class Upsample(Module):
    """Scales sequences, images or volumes to a size, or by a factor.

    >>> import adjoint as torch
    >>> torch.nn.Upsample(scale_factor=2)(torch.tensor([[[1.0, 2.0]]]))
    tensor([[[1., 1., 2., 2.]]])
    """

    __constants__ = ["size", "scale_factor", "mode", "align_corners", "name", "recompute_scale_factor"]

    def __init__(self, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None):
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        if isinstance(scale_factor, tuple):
            self.scale_factor = tuple(float(factor) for factor in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input):
        """The larger image."""
        return F.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )

    def extra_repr(self):
        """The factor or the size, and the mode."""
        which = "size" if self.scale_factor is None else "scale_factor"
        return f"{which}={getattr(self, which)!r}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Scales images by the nearest pixel.

    >>> import adjoint as torch
    >>> torch.nn.UpsamplingNearest2d(scale_factor=2)(torch.zeros(1, 1, 2, 3)).shape
    torch.Size([1, 1, 4, 6])
    """

    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Scales images linearly in both directions, corner pixels on corner pixels.

    >>> import adjoint as torch
    >>> torch.nn.UpsamplingBilinear2d(3)(torch.tensor([[[[0.0, 2.0], [4.0, 6.0]]]]))
    tensor([[[[0., 1., 2.],
              [2., 3., 4.],
              [4., 5., 6.]]]])
    """

    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
