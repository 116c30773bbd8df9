"""Greatest elements, means and norms of windows, in one to three dimensions."""

from .. import functional as F
from .module import Module
from .utils import _ntuple

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
]


class _MaxPoolNd(Module):
    """Greatest elements of windows; `_function` of a subclass names the function of nn.functional."""

    def __init__(self, kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input):
        """The greatest elements, and with `return_indices` their places."""
        return getattr(F, self._function)(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )

    def extra_repr(self):
        """The windows."""
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    """Greatest elements of windows over sequences.

    >>> import adjoint as torch
    >>> torch.nn.MaxPool1d(2)(torch.tensor([[1.0, 3.0, 2.0, 0.0]]))
    tensor([[3., 2.]])
    """

    _function = "max_pool1d"


class MaxPool2d(_MaxPoolNd):
    """Greatest elements of windows over images.

    >>> import adjoint as torch
    >>> torch.nn.MaxPool2d(2)(torch.zeros(1, 3, 8, 8)).shape
    torch.Size([1, 3, 4, 4])
    """

    _function = "max_pool2d"


class MaxPool3d(_MaxPoolNd):
    """Greatest elements of windows over volumes.

    >>> import adjoint as torch
    >>> torch.nn.MaxPool3d(2)(torch.zeros(3, 4, 4, 4)).shape
    torch.Size([3, 2, 2, 2])
    """

    _function = "max_pool3d"


class _MaxUnpoolNd(Module):
    """Undoes max pooling; `_tuple` and `_function` of a subclass say in how many dimensions."""

    def __init__(self, kernel_size, stride=None, padding=0):
        super().__init__()
        self.kernel_size = self._tuple(kernel_size)
        self.stride = self._tuple(stride if stride is not None else kernel_size)
        self.padding = self._tuple(padding)

    def forward(self, input, indices, output_size=None):
        """Zeros, with the elements of the input where they were before pooling."""
        return getattr(F, self._function)(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self):
        """The windows."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """Undoes MaxPool1d: the greatest elements go back to their places, the others are zero.

    >>> import adjoint as torch
    >>> values, places = torch.nn.MaxPool1d(2, return_indices=True)(torch.tensor([[1.0, 3.0, 2.0, 0.0]]))
    >>> torch.nn.MaxUnpool1d(2)(values, places)
    tensor([[0., 3., 2., 0.]])
    """

    _tuple = staticmethod(_ntuple(1))
    _function = "max_unpool1d"


class MaxUnpool2d(_MaxUnpoolNd):
    """Undoes MaxPool2d: the greatest elements go back to their places, the others are zero.

    >>> import adjoint as torch
    >>> pooled = torch.nn.MaxPool2d(2, return_indices=True)(torch.zeros(1, 5, 5))
    >>> torch.nn.MaxUnpool2d(2)(*pooled, output_size=(5, 5)).shape
    torch.Size([1, 5, 5])
    """

    _tuple = staticmethod(_ntuple(2))
    _function = "max_unpool2d"


class MaxUnpool3d(_MaxUnpoolNd):
    """Undoes MaxPool3d: the greatest elements go back to their places, the others are zero.

    >>> import adjoint as torch
    >>> pooled = torch.nn.MaxPool3d(2, return_indices=True)(torch.zeros(1, 4, 4, 4))
    >>> torch.nn.MaxUnpool3d(2)(*pooled).shape
    torch.Size([1, 4, 4, 4])
    """

    _tuple = staticmethod(_ntuple(3))
    _function = "max_unpool3d"


class _AvgPoolNd(Module):
    """Means of windows; `_function` of a subclass names the function of nn.functional."""

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input):
        """The means."""
        return getattr(F, self._function)(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad
        )

    def extra_repr(self):
        """The windows."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPoolNd):
    """Means of windows over sequences.

    >>> import adjoint as torch
    >>> torch.nn.AvgPool1d(2)(torch.tensor([[1.0, 3.0, 2.0, 0.0]]))
    tensor([[2., 1.]])
    """

    _function = "avg_pool1d"

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
        single = _ntuple(1)
        super().__init__(
            single(kernel_size),
            single(stride if stride is not None else kernel_size),
            single(padding),
            ceil_mode,
            count_include_pad,
        )


class _AvgPoolDivided(_AvgPoolNd):
    """Means of windows that may be divided by another number than the elements they have."""

    def __init__(
        self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
    ):
        super().__init__(kernel_size, stride, padding, ceil_mode, count_include_pad)
        self.divisor_override = divisor_override

    def forward(self, input):
        """The means, or the sums divided by `divisor_override`."""
        return getattr(F, self._function)(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )


class AvgPool2d(_AvgPoolDivided):
    """Means of windows over images.

    >>> import adjoint as torch
    >>> torch.nn.AvgPool2d(2)(torch.ones(1, 3, 8, 8)).shape
    torch.Size([1, 3, 4, 4])
    """

    _function = "avg_pool2d"


class AvgPool3d(_AvgPoolDivided):
    """Means of windows over volumes.

    >>> import adjoint as torch
    >>> torch.nn.AvgPool3d(2)(torch.ones(3, 4, 4, 4)).shape
    torch.Size([3, 2, 2, 2])
    """

    _function = "avg_pool3d"


class _FractionalMaxPool(Module):
    """Greatest elements of windows at random steps; `_tuple` and `_function` of a subclass say how many dimensions."""

    def __init__(self, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
        super().__init__()
        self.kernel_size = self._tuple(kernel_size)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = self._tuple(output_size) if output_size is not None else None
        self.output_ratio = self._tuple(output_ratio) if output_ratio is not None else None
        if output_size is None and output_ratio is None:
            raise ValueError(f"{type(self).__name__} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input):
        """The greatest elements, and with `return_indices` their places."""
        return getattr(F, self._function)(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            _random_samples=self._random_samples,
        )


class FractionalMaxPool2d(_FractionalMaxPool):
    """Greatest elements of windows over images, at random steps that make up the size asked for.

    >>> import adjoint as torch
    >>> torch.nn.FractionalMaxPool2d(3, output_ratio=0.5)(torch.zeros(1, 3, 8, 8)).shape
    torch.Size([1, 3, 4, 4])
    """

    _tuple = staticmethod(_ntuple(2))
    _function = "fractional_max_pool2d"


class FractionalMaxPool3d(_FractionalMaxPool):
    """Greatest elements of windows over volumes, at random steps that make up the size asked for.

    >>> import adjoint as torch
    >>> torch.nn.FractionalMaxPool3d(2, output_size=3)(torch.zeros(1, 8, 8, 8)).shape
    torch.Size([1, 3, 3, 3])
    """

    _tuple = staticmethod(_ntuple(3))
    _function = "fractional_max_pool3d"


class _LPPoolNd(Module):
    """Norms of windows; `_function` of a subclass names the function of nn.functional."""

    def __init__(self, norm_type, kernel_size, stride=None, ceil_mode=False):
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input):
        """The norms."""
        return getattr(F, self._function)(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self):
        """The norm and the windows."""
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPoolNd):
    """Norms of windows over sequences: (sum of x^p)^(1/p).

    >>> import adjoint as torch
    >>> torch.nn.LPPool1d(2, 2)(torch.tensor([[3.0, 4.0]]))
    tensor([[5.]])
    """

    _function = "lp_pool1d"


class LPPool2d(_LPPoolNd):
    """Norms of windows over images: (sum of x^p)^(1/p).

    >>> import adjoint as torch
    >>> torch.nn.LPPool2d(2, 2)(torch.ones(1, 2, 2))
    tensor([[[2.]]])
    """

    _function = "lp_pool2d"


class LPPool3d(_LPPoolNd):
    """Norms of windows over volumes: (sum of x^p)^(1/p).

    >>> import adjoint as torch
    >>> torch.nn.LPPool3d(1, 2)(torch.ones(1, 2, 2, 2))
    tensor([[[[8.]]]])
    """

    _function = "lp_pool3d"


class _AdaptiveAvgPoolNd(Module):
    """Means of as many windows as asked for; `_function` of a subclass names the function of nn.functional."""

    def __init__(self, output_size):
        super().__init__()
        self.output_size = output_size

    def forward(self, input):
        """The means."""
        return getattr(F, self._function)(input, self.output_size)

    def extra_repr(self):
        """The size of the output."""
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Means of windows over sequences, as many as `output_size` says.

    >>> import adjoint as torch
    >>> torch.nn.AdaptiveAvgPool1d(2)(torch.tensor([[1.0, 3.0, 2.0, 0.0]]))
    tensor([[2., 1.]])
    """

    _function = "adaptive_avg_pool1d"


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Means of windows over images, as many as `output_size` says; None keeps a size.

    >>> import adjoint as torch
    >>> torch.nn.AdaptiveAvgPool2d((1, None))(torch.zeros(3, 8, 7)).shape
    torch.Size([3, 1, 7])
    """

    _function = "adaptive_avg_pool2d"


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Means of windows over volumes, as many as `output_size` says; None keeps a size.

    >>> import adjoint as torch
    >>> torch.nn.AdaptiveAvgPool3d(1)(torch.zeros(3, 8, 7, 6)).shape
    torch.Size([3, 1, 1, 1])
    """

    _function = "adaptive_avg_pool3d"


class _AdaptiveMaxPoolNd(Module):
    """Greatest elements of as many windows as asked for; `_function` of a subclass names the function."""

    def __init__(self, output_size, return_indices=False):
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, input):
        """The greatest elements, and with `return_indices` their places."""
        return getattr(F, self._function)(input, self.output_size, self.return_indices)

    def extra_repr(self):
        """The size of the output."""
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """Greatest elements of windows over sequences, as many as `output_size` says.

    >>> import adjoint as torch
    >>> torch.nn.AdaptiveMaxPool1d(2)(torch.tensor([[1.0, 3.0, 2.0, 0.0]]))
    tensor([[3., 2.]])
    """

    _function = "adaptive_max_pool1d"


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """Greatest elements of windows over images, as many as `output_size` says; None keeps a size.

    >>> import adjoint as torch
    >>> torch.nn.AdaptiveMaxPool2d((1, None))(torch.zeros(3, 8, 7)).shape
    torch.Size([3, 1, 7])
    """

    _function = "adaptive_max_pool2d"


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """Greatest elements of windows over volumes, as many as `output_size` says; None keeps a size.

    >>> import adjoint as torch
    >>> torch.nn.AdaptiveMaxPool3d(1)(torch.zeros(3, 8, 7, 6)).shape
    torch.Size([3, 1, 1, 1])
    """

    _function = "adaptive_max_pool3d"
