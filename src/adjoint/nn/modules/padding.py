"""Padding as modules: one base for each way to fill, one class for each number of dimensions."""

from .. import functional as F
from .module import Module
from .utils import _ntuple

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]


class _Pad(Module):
    """Padding of the last `_dims` dimensions: one number for all sides, or two for each dimension, the last first."""

    __constants__ = ["padding"]
    _dims = 0
    _mode = "constant"

    def __init__(self, padding):
        super().__init__()
        self.padding = _ntuple(2 * self._dims)(padding)

    def forward(self, input):
        """The input with its sides padded."""
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self):
        """The padding of every side."""
        return f"{self.padding}"


class _CircularPadNd(_Pad):
    """Padding with what stands at the opposite end."""

    _mode = "circular"

    def forward(self, input):
        """The input, continued periodically."""
        self._check_input_dim(input)
        return super().forward(input)

    def _check_input_dim(self, input):
        expected = (self._dims + 1, self._dims + 2)
        if input.dim() not in expected:
            raise ValueError(f"expected {expected[0]}D or {expected[1]}D input (got {input.dim()}D input)")


class _ConstantPadNd(_Pad):
    """Padding with one value."""

    __constants__ = ["padding", "value"]

    def __init__(self, padding, value):
        super().__init__(padding)
        self.value = value

    def forward(self, input):
        """The input with its sides padded."""
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self):
        """The padding of every side, and the value."""
        return f"padding={self.padding}, value={self.value}"


class _ReflectionPadNd(_Pad):
    """Padding with the mirror image, the outermost element not repeated."""

    _mode = "reflect"


class _ReplicationPadNd(_Pad):
    """Padding with the outermost element."""

    _mode = "replicate"


class _ZeroPad:
    """Constant padding with zeros."""

    def __init__(self, padding):
        super().__init__(padding, 0.0)

    def extra_repr(self):
        """The padding of every side."""
        return f"{self.padding}"


class CircularPad1d(_CircularPadNd):
    """Continues sequences periodically.

    >>> import adjoint as torch
    >>> torch.nn.CircularPad1d(1)(torch.tensor([[1.0, 2.0, 3.0]]))
    tensor([[3., 1., 2., 3., 1.]])
    """

    _dims = 1


class CircularPad2d(_CircularPadNd):
    """Continues images periodically.

    >>> import adjoint as torch
    >>> torch.nn.CircularPad2d((1, 0, 0, 0))(torch.tensor([[[1.0, 2.0]]]))
    tensor([[[2., 1., 2.]]])
    """

    _dims = 2


class CircularPad3d(_CircularPadNd):
    """Continues volumes periodically.

    >>> import adjoint as torch
    >>> torch.nn.CircularPad3d(1)(torch.zeros(1, 2, 2, 2)).shape
    torch.Size([1, 4, 4, 4])
    """

    _dims = 3


class ConstantPad1d(_ConstantPadNd):
    """Pads sequences with a value.

    >>> import adjoint as torch
    >>> torch.nn.ConstantPad1d((1, 2), 9.0)(torch.tensor([[1.0]]))
    tensor([[9., 1., 9., 9.]])
    """

    _dims = 1


class ConstantPad2d(_ConstantPadNd):
    """Pads images with a value.

    >>> import adjoint as torch
    >>> torch.nn.ConstantPad2d((1, 0, 1, 0), 9.0)(torch.tensor([[[1.0]]]))
    tensor([[[9., 9.],
             [9., 1.]]])
    """

    _dims = 2


class ConstantPad3d(_ConstantPadNd):
    """Pads volumes with a value.

    >>> import adjoint as torch
    >>> torch.nn.ConstantPad3d(1, 9.0)(torch.zeros(1, 2, 2, 2)).shape
    torch.Size([1, 4, 4, 4])
    """

    _dims = 3


class ReflectionPad1d(_ReflectionPadNd):
    """Continues sequences by their mirror image.

    >>> import adjoint as torch
    >>> torch.nn.ReflectionPad1d(2)(torch.tensor([[1.0, 2.0, 3.0]]))
    tensor([[3., 2., 1., 2., 3., 2., 1.]])
    """

    _dims = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Continues images by their mirror image.

    >>> import adjoint as torch
    >>> torch.nn.ReflectionPad2d((1, 0, 0, 0))(torch.tensor([[[1.0, 2.0]]]))
    tensor([[[2., 1., 2.]]])
    """

    _dims = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Continues volumes by their mirror image.

    >>> import adjoint as torch
    >>> torch.nn.ReflectionPad3d(1)(torch.zeros(1, 2, 2, 2)).shape
    torch.Size([1, 4, 4, 4])
    """

    _dims = 3


class ReplicationPad1d(_ReplicationPadNd):
    """Continues sequences by their ends.

    >>> import adjoint as torch
    >>> torch.nn.ReplicationPad1d(2)(torch.tensor([[1.0, 2.0]]))
    tensor([[1., 1., 1., 2., 2., 2.]])
    """

    _dims = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Continues images by their borders.

    >>> import adjoint as torch
    >>> torch.nn.ReplicationPad2d((1, 0, 0, 0))(torch.tensor([[[1.0, 2.0]]]))
    tensor([[[1., 1., 2.]]])
    """

    _dims = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Continues volumes by their borders.

    >>> import adjoint as torch
    >>> torch.nn.ReplicationPad3d(1)(torch.zeros(1, 2, 2, 2)).shape
    torch.Size([1, 4, 4, 4])
    """

    _dims = 3


class ZeroPad1d(_ZeroPad, ConstantPad1d):
    """Pads sequences with zeros.

    >>> import adjoint as torch
    >>> torch.nn.ZeroPad1d(1)(torch.tensor([[1.0]]))
    tensor([[0., 1., 0.]])
    """


class ZeroPad2d(_ZeroPad, ConstantPad2d):
    """Pads images with zeros.

    >>> import adjoint as torch
    >>> torch.nn.ZeroPad2d((1, 0, 1, 0))(torch.tensor([[[1.0]]]))
    tensor([[[0., 0.],
             [0., 1.]]])
    """


class ZeroPad3d(_ZeroPad, ConstantPad3d):
    """Pads volumes with zeros.

    >>> import adjoint as torch
    >>> torch.nn.ZeroPad3d(1)(torch.zeros(1, 2, 2, 2)).shape
    torch.Size([1, 4, 4, 4])
    """
