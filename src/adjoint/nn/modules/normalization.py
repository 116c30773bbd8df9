"""Layer, RMS and group norm, and norms over neighbouring channels."""

from ... import _C
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module
from .utils import _ntuple

__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


class _Affine(Module):
    """A module that ends with a weight, and maybe a bias, for each feature."""

    def _make_parameters(self, shape, weight, bias, device, dtype):
        for name, present in (("weight", weight), ("bias", bias)):
            value = Parameter(_C.empty(shape, device=device, dtype=dtype)) if present else None
            self.register_parameter(name, value)
        self.reset_parameters()

    def reset_parameters(self):
        """Weights of one and biases of zero."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self._parameters.get("bias") is not None:
            init.zeros_(self.bias)


class LayerNorm(_Affine):
    """Shifts and scales the last dimensions to mean 0 and variance 1, then by weight and bias.

    >>> import adjoint as torch
    >>> torch.nn.LayerNorm(2)(torch.tensor([[1.0, 3.0]])).detach()
    tensor([[-1.0000,  1.0000]])
    """

    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True, device=None, dtype=None):
        super().__init__()
        self.normalized_shape = _ntuple(1)(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self._make_parameters(self.normalized_shape, elementwise_affine, elementwise_affine and bias, device, dtype)

    def forward(self, input):
        """The input, normalised."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self):
        """The shape and how it is normalised."""
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class GroupNorm(_Affine):
    """Shifts and scales each group of channels of each sample to mean 0 and variance 1, then by weight and bias.

    >>> import adjoint as torch
    >>> torch.nn.GroupNorm(2, 4)(torch.tensor([[1.0, 3.0, 5.0, 9.0]])).detach()
    tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """

    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True, device=None, dtype=None, *, bias=True):
        super().__init__()
        if num_groups == 0:
            raise ZeroDivisionError("integer modulo by zero: GroupNorm expects at least one group; got num_groups=0")
        if num_channels % num_groups != 0:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        self._make_parameters(num_channels, affine, affine and bias, device, dtype)

    def forward(self, input):
        """The input, normalised."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self):
        """The groups and how they are normalised."""
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(_Affine):
    """Scales the last dimensions to a root mean square of 1, then by the weight.

    >>> import adjoint as torch
    >>> torch.nn.RMSNorm(2)(torch.tensor([[1.0, -1.0]])).detach()
    tensor([[ 1., -1.]])
    """

    def __init__(self, normalized_shape, eps=None, elementwise_affine=True, device=None, dtype=None):
        super().__init__()
        self.normalized_shape = _ntuple(1)(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        weight = Parameter(_C.empty(self.normalized_shape, device=device, dtype=dtype)) if elementwise_affine else None
        self.register_parameter("weight", weight)
        self.reset_parameters()

    def forward(self, x):
        """The input, normalised."""
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self):
        """The shape and how it is normalised."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class _ResponseNorm(Module):
    """Divides each element by a power of the squares of its neighbours in other channels."""

    def __init__(self, size, alpha=1e-4, beta=0.75, k=1.0):
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def extra_repr(self):
        """The number of neighbours and the constants of the formula."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class LocalResponseNorm(_ResponseNorm):
    """x / (k + alpha * mean of the squares of `size` neighbouring channels) ** beta.

    >>> import adjoint as torch
    >>> torch.nn.LocalResponseNorm(2, alpha=1.0, beta=1.0)(torch.ones(1, 2, 1)).flatten()
    tensor([0.6667, 0.5000])
    """

    def forward(self, input):
        """The input, normalised."""
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)


class CrossMapLRN2d(_ResponseNorm):
    """LocalResponseNorm of images as Lua Torch had it: windows of even size are not the same.

    >>> import adjoint as torch
    >>> torch.nn.CrossMapLRN2d(3, alpha=3.0, beta=1.0)(torch.ones(1, 2, 1, 1)).flatten()
    tensor([0.3333, 0.3333])
    """

    def __init__(self, size, alpha=1e-4, beta=0.75, k=1):
        super().__init__(size, alpha, beta, k)

    def forward(self, input):
        """The input, normalised."""
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        if not self.size:
            raise ZeroDivisionError("float division by zero: CrossMapLRN2d expects a size of at least 1; got 0")
        squares = input * input
        channels, reach = input.shape[1], int((self.size - 1) / 2 + 1)
        window = squares[:, :reach].sum(1)
        sums = [window]
        for channel in range(1, channels):
            if channel + reach - 1 < channels:
                window = window + squares[:, channel + reach - 1]
            if channel > reach:
                window = window - squares[:, channel - reach]
            sums.append(window)
        scale = self.k + _C.op_object("stack")(sums, 1) * (self.alpha / self.size)
        return input * scale ** (-self.beta)
