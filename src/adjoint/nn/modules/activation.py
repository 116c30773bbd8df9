"""Activations as modules."""

import warnings

from ... import _C
from .. import functional as F
from .. import init as _init
from ..parameter import Parameter
from .attention import MultiheadAttention as MultiheadAttention
from .module import Module
from .settings import Settings

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "SELU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]

# As functions: what stands for a tensor may have no such methods.
_tanh, _sigmoid = _C.op_object("tanh"), _C.op_object("sigmoid")


class _InPlace(Settings):
    """A function without other settings than whether it works in place."""

    __constants__ = ["inplace"]

    def __init__(self, inplace=False):
        super().__init__(inplace=inplace)


class Threshold(Settings):
    """x where it is above a threshold, else a value.

    >>> import adjoint as torch
    >>> torch.nn.Threshold(1.0, 9.0)(torch.tensor([0.5, 2.0]))
    tensor([9., 2.])
    """

    __constants__ = ["threshold", "value", "inplace"]

    def __init__(self, threshold, value, inplace=False):
        super().__init__(threshold=threshold, value=value, inplace=inplace)

    def forward(self, input):
        """x where it is above the threshold, else the value."""
        return F.threshold(input, self.threshold, self.value, self.inplace)


class ReLU(_InPlace):
    """The positive part of each element, max(x, 0).

    >>> import adjoint as torch
    >>> torch.nn.ReLU()(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    def forward(self, input):
        """max(x, 0)."""
        return F.relu(input, inplace=self.inplace)


class RReLU(Settings):
    """A leaky rectifier whose slope is drawn for each element while training, and is the mean one otherwise.

    >>> import adjoint as torch
    >>> torch.nn.RReLU(0.25, 0.75).eval()(torch.tensor([-1.0, 2.0]))
    tensor([-0.5000,  2.0000])
    """

    __constants__ = ["lower", "upper", "inplace"]

    def __init__(self, lower=1.0 / 8, upper=1.0 / 3, inplace=False):
        super().__init__(lower=lower, upper=upper, inplace=inplace)

    def forward(self, input):
        """x, with a drawn slope where it is negative."""
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


class Hardtanh(Settings):
    """x, limited to an interval.

    >>> import adjoint as torch
    >>> torch.nn.Hardtanh(-1, 2)(torch.tensor([-3.0, 0.5, 3.0]))
    tensor([-1.0000,  0.5000,  2.0000])
    """

    __constants__ = ["min_val", "max_val", "inplace"]

    def __init__(self, min_val=-1.0, max_val=1.0, inplace=False, min_value=None, max_value=None):
        if min_value is not None:
            min_val = self._renamed("min_value", "min_val", min_value)
        if max_value is not None:
            max_val = self._renamed("max_value", "max_val", max_value)
        super().__init__(min_val=min_val, max_val=max_val, inplace=inplace)
        if not self.max_val > self.min_val:
            raise AssertionError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")

    @staticmethod
    def _renamed(old, new, value):
        warnings.warn(f"keyword argument `{old}` is deprecated and renamed to `{new}`", FutureWarning, stacklevel=3)
        return value

    def forward(self, input):
        """x, limited to the interval."""
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)


class ReLU6(Hardtanh):
    """min(max(x, 0), 6).

    >>> import adjoint as torch
    >>> torch.nn.ReLU6()(torch.tensor([-1.0, 7.0]))
    tensor([0., 6.])
    """

    def __init__(self, inplace=False):
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self):
        """Only whether it works in place: the interval is always the same."""
        return "inplace=True" if self.inplace else ""


class Sigmoid(Module):
    """1 / (1 + exp(-x)).

    >>> import adjoint as torch
    >>> torch.nn.Sigmoid()(torch.tensor([0.0]))
    tensor([0.5000])
    """

    def forward(self, input):
        """1 / (1 + exp(-x))."""
        return _sigmoid(input)


class Hardsigmoid(_InPlace):
    """The sigmoid in three straight pieces: x / 6 + 1 / 2 between -3 and 3.

    >>> import adjoint as torch
    >>> torch.nn.Hardsigmoid()(torch.tensor([-3.0, 0.0, 3.0]))
    tensor([0.0000, 0.5000, 1.0000])
    """

    def forward(self, input):
        """x / 6 + 1 / 2, limited to [0, 1]."""
        return F.hardsigmoid(input, self.inplace)

    def extra_repr(self):
        """Nothing, as in torch."""
        return ""


class Tanh(Module):
    """The hyperbolic tangent.

    >>> import adjoint as torch
    >>> torch.nn.Tanh()(torch.tensor([0.0]))
    tensor([0.])
    """

    def forward(self, input):
        """tanh(x)."""
        return _tanh(input)


class SiLU(_InPlace):
    """x * sigmoid(x), also known as swish.

    >>> import adjoint as torch
    >>> torch.nn.SiLU()(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7311])
    """

    def forward(self, input):
        """x * sigmoid(x)."""
        return F.silu(input, inplace=self.inplace)


class Mish(_InPlace):
    """x * tanh(softplus(x)).

    >>> import adjoint as torch
    >>> torch.nn.Mish()(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8651])
    """

    def forward(self, input):
        """x * tanh(softplus(x))."""
        return F.mish(input, inplace=self.inplace)


class Hardswish(_InPlace):
    """x * hardsigmoid(x).

    >>> import adjoint as torch
    >>> torch.nn.Hardswish()(torch.tensor([-4.0, 3.0]))
    tensor([-0., 3.])
    """

    def forward(self, input):
        """x * hardsigmoid(x)."""
        return F.hardswish(input, self.inplace)

    def extra_repr(self):
        """Nothing, as in torch."""
        return ""


class ELU(Settings):
    """x where it is positive, else alpha * (exp(x) - 1).

    >>> import adjoint as torch
    >>> torch.nn.ELU()(torch.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """

    __constants__ = ["alpha", "inplace"]

    def __init__(self, alpha=1.0, inplace=False):
        super().__init__(alpha=alpha, inplace=inplace)

    def forward(self, input):
        """x where it is positive, else alpha * (exp(x) - 1)."""
        return F.elu(input, self.alpha, self.inplace)


class CELU(Settings):
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1)).

    >>> import adjoint as torch
    >>> torch.nn.CELU(2.0)(torch.tensor([-1.0, 2.0]))
    tensor([-0.7869,  2.0000])
    """

    __constants__ = ["alpha", "inplace"]

    def __init__(self, alpha=1.0, inplace=False):
        super().__init__(alpha=alpha, inplace=inplace)

    def forward(self, input):
        """max(0, x) + min(0, alpha * (exp(x / alpha) - 1))."""
        return F.celu(input, self.alpha, self.inplace)


class SELU(_InPlace):
    """ELU with the two factors that keep mean 0 and variance 1 from layer to layer.

    >>> import adjoint as torch
    >>> torch.nn.SELU()(torch.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])
    """

    def forward(self, input):
        """The scaled ELU of x."""
        return F.selu(input, self.inplace)


class GLU(Settings):
    """a * sigmoid(b), where a and b are the halves of x along `dim`.

    >>> import adjoint as torch
    >>> torch.nn.GLU()(torch.tensor([4.0, 0.0]))
    tensor([2.])
    """

    __constants__ = ["dim"]

    def __init__(self, dim=-1):
        super().__init__(dim=dim)

    def forward(self, input):
        """One half of x, gated by the other."""
        return F.glu(input, self.dim)


class GELU(Settings):
    """x * Phi(x) with the distribution function of the normal distribution, or its approximation by "tanh".

    >>> import adjoint as torch
    >>> torch.nn.GELU()(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8413])
    """

    __constants__ = ["approximate"]

    def __init__(self, approximate="none"):
        super().__init__(approximate=approximate)

    def forward(self, input):
        """x * Phi(x)."""
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self):
        """The approximation, in quotes."""
        return f"approximate={self.approximate!r}"


class _Shrink(Settings):
    """A shrinkage, whose repr is its bound without a name."""

    __constants__ = ["lambd"]

    def __init__(self, lambd=0.5):
        super().__init__(lambd=lambd)

    def extra_repr(self):
        """The bound."""
        return str(self.lambd)


class Hardshrink(_Shrink):
    """x where it is farther than `lambd` from zero, else 0.

    >>> import adjoint as torch
    >>> torch.nn.Hardshrink()(torch.tensor([0.25, 2.0]))
    tensor([0., 2.])
    """

    def forward(self, input):
        """x, with small values as zeros."""
        return F.hardshrink(input, self.lambd)


class Softshrink(_Shrink):
    """x, moved by `lambd` towards zero and not beyond.

    >>> import adjoint as torch
    >>> torch.nn.Softshrink()(torch.tensor([0.25, 2.0]))
    tensor([0.0000, 1.5000])
    """

    def forward(self, input):
        """x, moved towards zero."""
        return F.softshrink(input, self.lambd)


class LeakyReLU(Settings):
    """x where it is positive, else x times a small slope.

    >>> import adjoint as torch
    >>> torch.nn.LeakyReLU(0.5)(torch.tensor([-1.0, 2.0]))
    tensor([-0.5000,  2.0000])
    """

    __constants__ = ["inplace", "negative_slope"]

    def __init__(self, negative_slope=1e-2, inplace=False):
        super().__init__(negative_slope=negative_slope, inplace=inplace)

    def forward(self, input):
        """x where it is positive, else x times the slope."""
        return F.leaky_relu(input, self.negative_slope, self.inplace)


class LogSigmoid(Module):
    """The logarithm of the logistic function, -log(1 + e^-x).

    >>> import adjoint as torch
    >>> torch.nn.LogSigmoid()(torch.tensor([0.0]))
    tensor([-0.6931])
    """

    def forward(self, input):
        """log(sigmoid(x))."""
        return F.logsigmoid(input)


class Softplus(Settings):
    """log(1 + exp(beta * x)) / beta; x itself where beta * x is above a threshold.

    >>> import adjoint as torch
    >>> torch.nn.Softplus()(torch.tensor([0.0, 30.0]))
    tensor([ 0.6931, 30.0000])
    """

    __constants__ = ["beta", "threshold"]

    def __init__(self, beta=1.0, threshold=20.0):
        super().__init__(beta=beta, threshold=threshold)

    def forward(self, input):
        """log(1 + exp(beta * x)) / beta."""
        return F.softplus(input, self.beta, self.threshold)


class PReLU(Module):
    """x where it is positive, else x times a slope that is learned, one for all channels or one for each.

    >>> import adjoint as torch
    >>> torch.nn.PReLU()(torch.tensor([-1.0, 2.0]))
    tensor([-0.2500,  2.0000], grad_fn=<PreluKernelBackward0>)
    """

    __constants__ = ["num_parameters"]

    def __init__(self, num_parameters=1, init=0.25, device=None, dtype=None):
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(_C.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self):
        """Sets all slopes to the first value."""
        _init.constant_(self.weight, self.init)

    def forward(self, input):
        """x where it is positive, else x times the learned slope."""
        return F.prelu(input, self.weight)

    def extra_repr(self):
        """The number of slopes."""
        return f"num_parameters={self.num_parameters}"


class Softsign(Module):
    """x / (1 + |x|).

    >>> import adjoint as torch
    >>> torch.nn.Softsign()(torch.tensor([1.0]))
    tensor([0.5000])
    """

    def forward(self, input):
        """x / (1 + |x|)."""
        return F.softsign(input)


class Tanhshrink(Module):
    """x - tanh(x).

    >>> import adjoint as torch
    >>> torch.nn.Tanhshrink()(torch.tensor([1.0]))
    tensor([0.2384])
    """

    def forward(self, input):
        """x - tanh(x)."""
        return F.tanhshrink(input)


class _AlongDim(Settings):
    """A function along a dimension."""

    __constants__ = ["dim"]

    def __init__(self, dim=None):
        super().__init__(dim=dim)


class Softmin(_AlongDim):
    """softmax(-x) along a dimension.

    >>> import adjoint as torch
    >>> torch.nn.Softmin(dim=0)(torch.tensor([0.0, 0.0]))
    tensor([0.5000, 0.5000])
    """

    def forward(self, input):
        """softmax(-x)."""
        return F.softmin(input, self.dim)


class Softmax(_AlongDim):
    """exp(x), scaled to sum 1 along a dimension.

    >>> import adjoint as torch
    >>> torch.nn.Softmax(dim=0)(torch.tensor([0.0, 0.0]))
    tensor([0.5000, 0.5000])
    """

    def forward(self, input):
        """exp(x), scaled to sum 1."""
        return F.softmax(input, self.dim)


class Softmax2d(Module):
    """softmax over the channels at each place of an image, (N, C, H, W) or (C, H, W).

    >>> import adjoint as torch
    >>> torch.nn.Softmax2d()(torch.zeros(2, 1, 1)).flatten()
    tensor([0.5000, 0.5000])
    """

    def forward(self, input):
        """softmax over the channels."""
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3)


class LogSoftmax(_AlongDim):
    """log(softmax(x)) along a dimension.

    >>> import adjoint as torch
    >>> torch.nn.LogSoftmax(dim=0)(torch.tensor([0.0, 0.0]))
    tensor([-0.6931, -0.6931])
    """

    def forward(self, input):
        """log(softmax(x))."""
        return F.log_softmax(input, self.dim)
