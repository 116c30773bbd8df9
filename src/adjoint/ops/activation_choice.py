"""Activation functions of nn.functional that choose among ops: in place or not, by their arguments, at random."""

from .. import _C
from .._type_info import finfo
from .batching import draws_differ
from .checks import boolean, tensor
from .comparison import legacy_name
from .language import (
    _publish,
    cat,
    celu,
    celu_,
    composite,
    elementwise,
    elu,
    elu_,
    empty,
    empty_like,
    gate_slope,
    gated,
    gelu,
    gelu_tanh,
    hardshrink,
    hardsigmoid,
    hardsigmoid_,
    hardswish,
    hardswish_,
    hardtanh,
    hardtanh_,
    leaky_relu,
    leaky_relu_,
    mish,
    mish_,
    op,
    prelu_kernel,
    rand,
    rand_like,
    relu,
    relu6,
    relu6_,
    relu_,
    rrelu_with_noise,
    rrelu_with_noise_,
    selu,
    selu_,
    sigmoid,
    silu,
    silu_,
    softshrink,
    tanh,
    threshold_at,
    threshold_at_,
)

# ---- In place or not. Each is published over the op of its name, which has no argument `inplace`.


def functional(op=None):
    """Publishes a function in nn.functional only; rules and methods go on calling the op of its name.

    That op stands for it where the first argument is all that is given.
    """

    def publish(function):
        name = function.__name__.removesuffix("_function")
        function.__name__ = function.__qualname__ = name
        _publish(name, function, "nn.functional", False, True, (), (op, 1) if op else None)
        return function

    return publish


@functional(relu)
def relu_function(input, inplace=False):
    """The elements above zero, and zero for the others.

    >>> import adjoint as torch
    >>> torch.nn.functional.relu(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return relu_(input) if inplace else relu(input)


@functional(relu6)
def relu6_function(input, inplace=False):
    """The elements cut to the range from 0 to 6.

    >>> import adjoint as torch
    >>> torch.nn.functional.relu6(torch.tensor([-1.0, 2.0, 8.0]))
    tensor([0., 2., 6.])
    """
    return relu6_(input) if inplace else relu6(input)


@functional(elu)
def elu_function(input, alpha=1.0, inplace=False):
    """x above zero, alpha (exp(x) - 1) below.

    >>> import adjoint as torch
    >>> torch.nn.functional.elu(torch.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """
    return elu_(input, alpha) if inplace else elu(input, alpha)


@functional(selu)
def selu_function(input, inplace=False):
    """elu() with the constants that keep the mean and variance of deep networks.

    >>> import adjoint as torch
    >>> torch.nn.functional.selu(torch.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])
    """
    return selu_(input) if inplace else selu(input)


@functional(celu)
def celu_function(input, alpha=1.0, inplace=False):
    """x above zero, alpha (exp(x / alpha) - 1) below.

    >>> import adjoint as torch
    >>> torch.nn.functional.celu(torch.tensor([-1.0, 2.0]), alpha=2.0)
    tensor([-0.7869,  2.0000])
    """
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return celu_(input, alpha) if inplace else celu(input, alpha)


@functional(leaky_relu)
def leaky_relu_function(input, negative_slope=0.01, inplace=False):
    """x above zero, negative_slope * x below.

    >>> import adjoint as torch
    >>> torch.nn.functional.leaky_relu(torch.tensor([-1.0, 2.0]), 0.5)
    tensor([-0.5000,  2.0000])
    """
    return leaky_relu_(input, negative_slope) if inplace else leaky_relu(input, negative_slope)


@composite(method=False)
def threshold(input, threshold, value, *, out=None):
    """The elements above the threshold, and `value` for the others.

    >>> import adjoint as torch
    >>> torch.threshold(torch.tensor([-1.0, 2.0]), 0.5, 9.0)
    tensor([9., 2.])
    """
    return threshold_at(input, threshold, value, out=out)


@composite(method=False, name="threshold_")
def threshold_(input, threshold, value):
    """In-place version of threshold()."""
    return threshold_at_(input, threshold, value)


@functional()
def threshold_function(input, threshold, value, inplace=False):
    """The elements above `threshold`, and `value` for the others; in place if asked for.

    >>> import adjoint as torch
    >>> torch.nn.functional.threshold(torch.tensor([-1.0, 2.0]), 0.5, 9.0)
    tensor([9., 2.])
    """
    return (threshold_at_ if inplace else threshold_at)(input, threshold, value)


@functional(hardtanh)
def hardtanh_function(input, min_val=-1.0, max_val=1.0, inplace=False):
    """The elements cut to the range from `min_val` to `max_val`.

    >>> import adjoint as torch
    >>> torch.nn.functional.hardtanh(torch.tensor([-3.0, 0.5]))
    tensor([-1.0000,  0.5000])
    """
    tensor("hardtanh", input=input)
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    if input.dtype == _C.uint8 and (min_val < 0 or max_val < 0):
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    return hardtanh_(input, min_val, max_val) if inplace else hardtanh(input, min_val, max_val)


@functional(hardsigmoid)
def hardsigmoid_function(input, inplace=False):
    """x / 6 + 1/2, cut to the range from 0 to 1.

    >>> import adjoint as torch
    >>> torch.nn.functional.hardsigmoid(torch.tensor([-4.0, 0.0]))
    tensor([0.0000, 0.5000])
    """
    return hardsigmoid_(input) if inplace else hardsigmoid(input)


@functional(hardswish)
def hardswish_function(input, inplace=False):
    """Each element times its hardsigmoid().

    >>> import adjoint as torch
    >>> torch.nn.functional.hardswish(torch.tensor([-4.0, 3.0]))
    tensor([-0., 3.])
    """
    return hardswish_(input) if inplace else hardswish(input)


@functional(silu)
def silu_function(input, inplace=False):
    """Each element times its logistic function, x / (1 + e^-x).

    >>> import adjoint as torch
    >>> torch.nn.functional.silu(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7311])
    """
    return silu_(input) if inplace else silu(input)


@functional(mish)
def mish_function(input, inplace=False):
    """Each element times tanh(softplus(x)).

    >>> import adjoint as torch
    >>> torch.nn.functional.mish(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8651])
    """
    return mish_(input) if inplace else mish(input)


# ---- Checked


@functional(softshrink)
def softshrink_function(input, lambd=0.5, *, out=None):
    """The elements moved towards zero by `lambd`.

    >>> import adjoint as torch
    >>> torch.nn.functional.softshrink(torch.tensor([-2.0, 0.3]))
    tensor([-1.5000,  0.0000])
    """
    tensor("softshrink", input=input)
    if not (0 <= lambd < INF) or (input.is_floating_point() and lambd > finfo(input.dtype).max):
        raise RuntimeError(
            f"lambda must be in range [0, {finfo(input.dtype).max:g}] for input dtype {legacy_name(input)}, "
            f"but found {lambd:g}"
        )
    return softshrink(input, lambd, out=out)


@composite(autocast="lower")
def prelu(input, weight):
    """x above zero, weight * x below, with one weight, or one for each channel.

    >>> import adjoint as torch
    >>> torch.prelu(torch.tensor([-2.0, 3.0]), torch.tensor([0.5]))
    tensor([-1.,  3.])
    """
    if input.dtype != weight.dtype:
        raise RuntimeError(f"prelu: Type promoting not supported. Got {input.dtype} and {weight.dtype}")
    if weight.ndim > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}")
    count = weight.numel()
    if count != 1:
        if input.ndim == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = input.shape[1] if input.ndim > 1 else 1
        if channels != count:
            raise RuntimeError(
                "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                f"{count} and channel size = {channels}."
            )
        weight = weight.view(1, count, *(1,) * (input.ndim - 2))
    elif weight.ndim:
        weight = weight.view((1,) * input.ndim)
    return prelu_kernel(input, weight)


_publish("prelu", prelu, "nn.functional", False, True, ())

# ---- At random


INF = float("inf")


def _rrelu_noise(input, lower, upper, training):
    """The slope of each element: below zero drawn between the bounds in training, their mean otherwise."""
    for name, bound in (("lower", lower), ("upper", upper)):
        if not -INF < bound < INF:
            raise RuntimeError(f"rrelu: {name} bound must be finite, got {bound}")
    boolean("rrelu", training=training)
    tensor("rrelu", input=input)
    if lower > upper:
        raise RuntimeError(f"Lower bound should be less than or equal to the upper bound; got {lower} and {upper}")
    values = input.detach()
    if not training:
        return values.new_full((), (lower + upper) / 2)
    if values.device.type == "meta":
        return values.new_ones(values.shape)
    if values.is_cuda:  # what is not used is drawn, too: to count would be to wait
        if draws_differ():
            return lower + (upper - lower) * rand_like(values)
        return empty_like(values).uniform_(lower, upper)
    below = values <= 0
    # As torch does, only what is used is drawn; under vmap elements may need different counts, and get all.
    count = int(below.sum()) if _C._batch_level(below) is None else below.numel()
    slopes = values.new_ones(values.shape)
    if draws_differ():
        drawn = lower + (upper - lower) * rand(count, dtype=_C.float64, device=values.device)
        return slopes.masked_scatter(below, drawn.to(values.dtype))
    drawn = empty(count, dtype=_C.float64, device=values.device).uniform_(lower, upper)
    return slopes.masked_scatter_(below, drawn.to(values.dtype))


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False):
    """x above zero; below, x times a number drawn between the bounds in training, times their mean otherwise.

    >>> import adjoint as torch
    >>> torch.rrelu(torch.tensor([-1.0, 2.0]), 0.25, 0.75)
    tensor([-0.5000,  2.0000])
    """
    return rrelu_with_noise(input, _rrelu_noise(input, lower, upper, training))


def rrelu_(input, lower=1.0 / 8, upper=1.0 / 3, training=False):
    """In-place version of rrelu()."""
    return rrelu_with_noise_(input, _rrelu_noise(input, lower, upper, training))


composite(rrelu, method=False)
composite(rrelu_, name="rrelu_", method=False)
_publish("rrelu_", rrelu_, "nn.functional", False, True, ())


@functional()
def rrelu_function(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    """leaky_relu() with a slope drawn between `lower` and `upper`, or their mean outside of training.

    >>> import adjoint as torch
    >>> torch.nn.functional.rrelu(torch.tensor([-1.0, 2.0]), 0.25, 0.75)
    tensor([-0.5000,  2.0000])
    """
    return (rrelu_ if inplace else rrelu)(input, lower, upper, training)


# ---- Gates


def _halves(input, dim):
    if input.ndim == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    size = input.size(dim)
    if size % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim % input.ndim} is size {size}")
    return input.narrow(dim, 0, size // 2), input.narrow(dim, size // 2, size // 2)


_GATE = {"public": False, "inplace": False, "out": False}


def _gate_slope(gate):
    return sigmoid(gate) * (1 - sigmoid(gate))


elementwise("gated(input, gate)", lambda input, gate: input * sigmoid(gate),
            **_GATE, linear="input",
            input=lambda g, gate: g * sigmoid(gate),
            gate=lambda g, input, gate: g * input * _gate_slope(gate))  # fmt: skip
elementwise("gate_slope(scale, input, gate)", lambda scale, input, gate: scale * input * _gate_slope(gate),
            **_GATE, linear="scale * input")  # fmt: skip


def _glu_backward(g, input, dim):
    values, gates = _halves(input, dim)
    return cat((gated(g, gates), gate_slope(g, values, gates)), dim)


op("glu(input, dim=-1)", loop="glu_cpu",
   forward=lambda input, dim: gated(*_halves(input, dim)), namespace="nn.functional",
   input=_glu_backward,
   doc="The first half of the elements along a dimension times sigmoid() of the second.",
   batch="dim")  # fmt: skip

# ---- Under both names

for _name, _target in {
    "celu_": celu_,
    "hardshrink": hardshrink,
    "relu_": relu_,
    "selu_": selu_,
    "sigmoid": sigmoid,
    "tanh": tanh,
    "threshold_": threshold_,
}.items():
    _publish(_name, _target, "nn.functional", False, True, ())


def gelu_function(input, *, approximate="none", out=None):
    """x times the probability that a normal number is below x; `approximate="tanh"` for the faster formula.

    >>> import adjoint as torch
    >>> torch.nn.functional.gelu(torch.tensor([1.0]))
    tensor([0.8413])
    """
    if not isinstance(approximate, str):
        raise TypeError(f"gelu(): argument 'approximate' must be str, not {type(approximate).__name__}")
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    if approximate == "none":
        return gelu(input, out=out)
    return gelu_tanh(input, out=out)


# The public name takes one argument more than the op.
_publish("gelu", gelu_function, "nn.functional", False, True, (), (gelu, 1))
