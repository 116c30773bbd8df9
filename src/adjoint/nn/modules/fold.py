"""Sliding windows taken from images, and added up into images: Unfold and Fold."""

from .. import functional as F
from .settings import Settings

__all__ = ["Fold", "Unfold"]


class Fold(Settings):
    """Adds up windows, (N, C * size of a window, number of windows), at their places in an image.

    >>> import adjoint as torch
    >>> torch.nn.Fold((3, 3), 2)(torch.ones(1, 4, 4))
    tensor([[[[1., 2., 1.],
              [2., 4., 2.],
              [1., 2., 1.]]]])
    """

    __constants__ = ["output_size", "kernel_size", "dilation", "padding", "stride"]

    def __init__(self, output_size, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__(
            output_size=output_size, kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride
        )

    def forward(self, input):
        """The image in which the windows are added up."""
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)


class Unfold(Settings):
    """The windows of an image as columns, (N, C * size of a window, number of windows).

    >>> import adjoint as torch
    >>> torch.nn.Unfold(2)(torch.zeros(1, 3, 4, 4)).shape
    torch.Size([1, 12, 9])
    """

    __constants__ = ["kernel_size", "dilation", "padding", "stride"]

    def __init__(self, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__(kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride)

    def forward(self, input):
        """The windows of the image."""
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)
