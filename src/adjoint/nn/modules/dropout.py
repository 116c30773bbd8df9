"""Dropout as modules: elements or channels are zeroed while training, from torch's random stream."""

from ...ops.dropout import per_cent
from .. import functional as F
from .settings import Settings

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _DropoutNd(Settings):
    """A dropout with its probability."""

    __constants__ = ["p", "inplace"]

    def __init__(self, p=0.5, inplace=False):
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}{per_cent(p)}")
        super().__init__(p=p, inplace=inplace)

    def extra_repr(self):
        """The probability, and whether it works in place."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Zeroes elements with probability p and scales the others by 1 / (1 - p), while training.

    >>> import adjoint as torch
    >>> torch.nn.Dropout(0.5).eval()(torch.ones(2)), torch.nn.Dropout(1.0)(torch.ones(2))
    (tensor([1., 1.]), tensor([0., 0.]))
    """

    def forward(self, input):
        """The input with elements dropped."""
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """Zeroes whole channels of sequences, (N, C, L) or (C, L), while training.

    >>> import adjoint as torch
    >>> torch.nn.Dropout1d()(torch.ones(2, 3, 4)).shape
    torch.Size([2, 3, 4])
    """

    def forward(self, input):
        """The input with channels dropped."""
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """Zeroes whole channels of images, (N, C, H, W), while training.

    >>> import adjoint as torch
    >>> torch.nn.Dropout2d()(torch.ones(2, 3, 4, 4)).shape
    torch.Size([2, 3, 4, 4])
    """

    def forward(self, input):
        """The input with channels dropped."""
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    """Zeroes whole channels of volumes, (N, C, D, H, W), while training.

    >>> import adjoint as torch
    >>> torch.nn.Dropout3d()(torch.ones(2, 3, 4, 4, 4)).shape
    torch.Size([2, 3, 4, 4, 4])
    """

    def forward(self, input):
        """The input with channels dropped."""
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    """Dropout for SELU networks: mean and variance are kept, dropped elements take its negative limit.

    >>> import adjoint as torch
    >>> torch.nn.AlphaDropout(0.5).eval()(torch.ones(2))
    tensor([1., 1.])
    """

    def forward(self, input):
        """The input with elements dropped."""
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """AlphaDropout of whole channels.

    >>> import adjoint as torch
    >>> torch.nn.FeatureAlphaDropout(0.5).eval()(torch.ones(2, 2))
    tensor([[1., 1.],
            [1., 1.]])
    """

    def forward(self, input):
        """The input with channels dropped."""
        return F.feature_alpha_dropout(input, self.p, self.training)
