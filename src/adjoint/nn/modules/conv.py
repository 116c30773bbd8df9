"""Convolutions and transposed convolutions in one to three dimensions."""

import math

from ... import _C
from .. import functional as F
from .. import init
from ..parameter import Parameter, UninitializedParameter
from .lazy import LazyModuleMixin
from .module import Module
from .utils import _ntuple, _reverse_repeat_tuple

__all__ = [
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
]

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """What all convolutions share: sizes, weight and bias."""

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride,
        padding,
        dilation,
        transposed,
        output_padding,
        groups,
        bias,
        padding_mode,
        device=None,
        dtype=None,
    ):
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups != 0:
            raise ValueError(f"in_channels must be divisible by groups; got {in_channels} and groups={groups}")
        if out_channels % groups != 0:
            raise ValueError(f"out_channels must be divisible by groups; got {out_channels} and groups={groups}")
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}")
            if padding == "same" and any(s != 1 for s in stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in _PADDING_MODES:
            raise ValueError(
                f"padding_mode must be one of {{{str(_PADDING_MODES)[1:-1]}}}, but got padding_mode={padding_mode!r}"
            )
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = self._edges()
        channels = (in_channels, out_channels // groups) if transposed else (out_channels, in_channels // groups)
        self.weight = Parameter(_C.empty((*channels, *kernel_size), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(_C.empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _edges(self):
        """How much F.pad adds before and after each dimension, the last dimension first."""
        if not isinstance(self.padding, str):
            return _reverse_repeat_tuple(self.padding, 2)
        edges = []
        for dilation, size in zip(reversed(self.dilation), reversed(self.kernel_size), strict=False):
            total = dilation * (size - 1) if self.padding == "same" else 0
            edges += [total // 2, total - total // 2]
        return edges

    def reset_parameters(self):
        """Draws weight and bias uniformly from within 1 / sqrt(inputs of one output) of zero."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None and self.weight.numel():
            init.uniform_fan_in_(self.bias, self.weight)

    def extra_repr(self):
        """Channels and sizes; what has its default is left out."""
        parts = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"]
        zeros, ones = (0,) * len(self.padding), (1,) * len(self.dilation)
        usual = {"padding": zeros, "dilation": ones, "output_padding": (0,) * len(self.output_padding), "groups": 1}
        parts += [f"{name}={getattr(self, name)}" for name in usual if getattr(self, name) != usual[name]]
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)


class _Convolution(_ConvNd):
    """A convolution; `_tuple` and `_function` of a subclass say in how many dimensions."""

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        dilation=1,
        groups=1,
        bias=True,
        padding_mode="zeros",
        device=None,
        dtype=None,
    ):
        each = self._tuple
        super().__init__(
            in_channels,
            out_channels,
            each(kernel_size),
            each(stride),
            padding if isinstance(padding, str) else each(padding),
            each(dilation),
            False,
            each(0),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _conv_forward(self, input, weight, bias):
        """The convolution of an input by a weight that may be another than the module's own."""
        if self.padding_mode == "zeros":
            return getattr(F, self._function)(
                input, weight, bias, self.stride, self.padding, self.dilation, self.groups
            )
        input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
        return getattr(F, self._function)(input, weight, bias, self.stride, 0, self.dilation, self.groups)

    def forward(self, input):
        """The sums over windows of the input, weighted, plus the bias."""
        return self._conv_forward(input, self.weight, self.bias)


class _ConvTransposeNd(_ConvNd):
    """A transposed convolution; `_tuple` and `_function` of a subclass say in how many dimensions."""

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        output_padding=0,
        groups=1,
        bias=True,
        dilation=1,
        padding_mode="zeros",
        device=None,
        dtype=None,
    ):
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        each = self._tuple
        super().__init__(
            in_channels,
            out_channels,
            each(kernel_size),
            each(stride),
            each(padding),
            each(dilation),
            True,
            each(output_padding),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _output_padding(self, input, output_size, stride, padding, kernel_size, num_spatial_dims, dilation=None):
        """How much to add to the smallest size of the output so that it becomes `output_size`."""
        if output_size is None:
            return self.output_padding
        batched = input.dim() == num_spatial_dims + 2
        others = 2 if batched else 1
        if len(output_size) == num_spatial_dims + others:
            output_size = output_size[others:]
        if len(output_size) != num_spatial_dims:
            raise ValueError(
                f"ConvTranspose{num_spatial_dims}D: for {input.dim()}D input, output_size must have "
                f"{num_spatial_dims} or {num_spatial_dims + others} elements (got {len(output_size)})"
            )
        given = input.shape[others:]
        dilation = dilation or (1,) * num_spatial_dims
        sizes = zip(given, stride, padding, kernel_size, dilation, strict=True)
        least = [(n - 1) * s - 2 * p + d * (k - 1) + 1 for n, s, p, k, d in sizes]
        most = [n + s - 1 for n, s in zip(least, stride, strict=True)]
        if not all(low <= size <= high for low, size, high in zip(least, output_size, most, strict=True)):
            raise ValueError(
                f"requested an output size of {output_size}, but valid sizes range from {least} to {most} "
                f"(for an input of {given})"
            )
        return [size - low for size, low in zip(output_size, least, strict=True)]

    def forward(self, input, output_size=None):
        """Each element spread over a window, plus the bias; `output_size` chooses among the sizes that fit."""
        output_padding = self.output_padding
        if output_size is not None:
            sizes = (self.stride, self.padding, self.kernel_size, len(self.kernel_size), self.dilation)
            output_padding = self._output_padding(input, output_size, *sizes)
        return getattr(F, self._function)(
            input, self.weight, self.bias, self.stride, self.padding, output_padding, self.groups, self.dilation
        )


class Conv1d(_Convolution):
    """A convolution over sequences: [batch, channels, length], the batch optional.

    >>> import adjoint as torch
    >>> torch.nn.Conv1d(4, 8, 3, padding="same")(torch.zeros(2, 4, 10)).shape
    torch.Size([2, 8, 10])
    """

    _tuple = staticmethod(_ntuple(1))
    _function = "conv1d"


class Conv2d(_Convolution):
    """A convolution over images: [batch, channels, height, width], the batch optional.

    >>> import adjoint as torch
    >>> torch.nn.Conv2d(3, 8, 3, stride=2, padding=1)(torch.zeros(2, 3, 10, 10)).shape
    torch.Size([2, 8, 5, 5])
    """

    _tuple = staticmethod(_ntuple(2))
    _function = "conv2d"


class Conv3d(_Convolution):
    """A convolution over volumes: [batch, channels, depth, height, width], the batch optional.

    >>> import adjoint as torch
    >>> torch.nn.Conv3d(1, 2, 3)(torch.zeros(1, 5, 5, 5)).shape
    torch.Size([2, 3, 3, 3])
    """

    _tuple = staticmethod(_ntuple(3))
    _function = "conv3d"


class ConvTranspose1d(_ConvTransposeNd):
    """The transpose of Conv1d, which lengthens sequences.

    >>> import adjoint as torch
    >>> torch.nn.ConvTranspose1d(4, 8, 3, stride=2)(torch.zeros(2, 4, 10)).shape
    torch.Size([2, 8, 21])
    """

    _tuple = staticmethod(_ntuple(1))
    _function = "conv_transpose1d"


class ConvTranspose2d(_ConvTransposeNd):
    """The transpose of Conv2d, which enlarges images.

    >>> import adjoint as torch
    >>> up = torch.nn.ConvTranspose2d(3, 1, 3, stride=2)
    >>> up(torch.zeros(3, 5, 5)).shape, up(torch.zeros(3, 5, 5), output_size=(12, 12)).shape
    (torch.Size([1, 11, 11]), torch.Size([1, 12, 12]))
    """

    _tuple = staticmethod(_ntuple(2))
    _function = "conv_transpose2d"


class ConvTranspose3d(_ConvTransposeNd):
    """The transpose of Conv3d, which enlarges volumes.

    >>> import adjoint as torch
    >>> torch.nn.ConvTranspose3d(1, 2, 2, stride=2)(torch.zeros(1, 3, 3, 3)).shape
    torch.Size([2, 6, 6, 6])
    """

    _tuple = staticmethod(_ntuple(3))
    _function = "conv_transpose3d"


# ---- Lazy forms


class _LazyConvXdMixin(LazyModuleMixin):
    """Takes in_channels from the first input."""

    def _make_lazy(self, out_channels, bias, device, dtype):
        self.out_channels = out_channels
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self):
        """Draws weight and bias anew, once they have shapes."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()

    def initialize_parameters(self, input, *args, **kwargs):
        """Gives weight and bias the shapes that fit the input, and their first values."""
        if not self.has_uninitialized_params():
            return
        self.in_channels = self._get_in_channels(input)
        if self.in_channels % self.groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        per_group = (self.in_channels, self.out_channels // self.groups)
        if not self.transposed:
            per_group = (self.out_channels, self.in_channels // self.groups)
        self.weight.materialize((*per_group, *self.kernel_size))
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()

    def _get_in_channels(self, input):
        dims = self._get_num_spatial_dims()
        if input.dim() not in (dims + 1, dims + 2):
            raise RuntimeError(
                f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {type(self).__name__}, but got "
                f"input of size: {input.shape}"
            )
        return input.shape[-dims - 1]

    def _get_num_spatial_dims(self):
        return len(self.kernel_size)


class _LazyConvolution(_LazyConvXdMixin):
    """The constructor of the lazy convolutions."""

    def __init__(
        self,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        dilation=1,
        groups=1,
        bias=True,
        padding_mode="zeros",
        device=None,
        dtype=None,
    ):
        super().__init__(
            0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device=device, dtype=dtype
        )
        self._make_lazy(out_channels, bias, device, dtype)


class _LazyConvTranspose(_LazyConvXdMixin):
    """The constructor of the lazy transposed convolutions."""

    def __init__(
        self,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        output_padding=0,
        groups=1,
        bias=True,
        dilation=1,
        padding_mode="zeros",
        device=None,
        dtype=None,
    ):
        super().__init__(
            0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode, device, dtype
        )
        self._make_lazy(out_channels, bias, device, dtype)


class LazyConv1d(_LazyConvolution, Conv1d):
    """Conv1d that takes in_channels from its first input.

    >>> import adjoint as torch
    >>> torch.nn.LazyConv1d(2, 3)(torch.zeros(4, 5)).shape
    torch.Size([2, 3])
    """

    cls_to_become = Conv1d


class LazyConv2d(_LazyConvolution, Conv2d):
    """Conv2d that takes in_channels from its first input.

    >>> import adjoint as torch
    >>> torch.nn.LazyConv2d(2, 3)(torch.zeros(4, 5, 5)).shape
    torch.Size([2, 3, 3])
    """

    cls_to_become = Conv2d


class LazyConv3d(_LazyConvolution, Conv3d):
    """Conv3d that takes in_channels from its first input.

    >>> import adjoint as torch
    >>> torch.nn.LazyConv3d(2, 3)(torch.zeros(4, 5, 5, 5)).shape
    torch.Size([2, 3, 3, 3])
    """

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d):
    """ConvTranspose1d that takes in_channels from its first input.

    >>> import adjoint as torch
    >>> torch.nn.LazyConvTranspose1d(2, 3)(torch.zeros(4, 5)).shape
    torch.Size([2, 7])
    """

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d):
    """ConvTranspose2d that takes in_channels from its first input.

    >>> import adjoint as torch
    >>> torch.nn.LazyConvTranspose2d(2, 3)(torch.zeros(4, 5, 5)).shape
    torch.Size([2, 7, 7])
    """

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d):
    """ConvTranspose3d that takes in_channels from its first input.

    >>> import adjoint as torch
    >>> torch.nn.LazyConvTranspose3d(2, 3)(torch.zeros(4, 5, 5, 5)).shape
    torch.Size([2, 7, 7, 7])
    """

    cls_to_become = ConvTranspose3d
