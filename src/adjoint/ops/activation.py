"""Elementwise activation functions of neural networks."""

from .language import (
    abs,
    clamp_max,
    composite,
    elementwise,
    erf,
    exp,
    expm1,
    log1p,
    maximum,
    minimum,
    sigmoid,
    softplus,
    tanh,
    where,
    whole_sigmoid,
    zeros_like,
)
from .out_words import EXPECTED_SCALAR_TYPE, FOUND_DTYPE

# fmt: off

SQRT_HALF = 0.7071067811865476
SQRT_TWO_OVER_PI = 0.7978845608028654
GELU_CUBIC = 0.044715
SELU_ALPHA = 1.6732632423543772
SELU_SCALE = 1.0507009873554805

elementwise("relu(input)", lambda input: maximum(input, 0),
            types="integer", loop="clamp_min_scalar_cpu",
            refuse={"bool": "Boolean inputs not supported for relu; convert them first",
                    "complex": NotImplementedError(
                        "clamp is not supported for complex types: they have no order (relu)")},
            # 0 as a multiple of the result: the gradient requires grad again, as in torch.
            input=lambda g, out: where(out <= 0, out * 0, g))
# The gradient of relu() by its result, for ops that end with it.
elementwise("_relu_gradient(grad, values)", lambda grad, values: where(values <= 0, values * 0, grad),
            numbers="", inplace=False, out=False, public=False, node="ThresholdBackwardBackward0", linear="grad",
            grad=lambda g, values: where(values <= 0, 0, g),
            values=lambda g: zeros_like(g))
elementwise("relu6(input)", lambda input: minimum(maximum(input, 0), 6),
            types="integer", loop="clamp_scalar_cpu", namespace="nn.functional", node="HardtanhBackward0", method=False,
            input=lambda g, input: where((input > 0) & (input < 6), g, 0))
elementwise("leaky_relu(input, negative_slope=0.01)",
            lambda input, negative_slope: where(input > 0, input, input * negative_slope),
            namespace="nn.functional", method=False,
            input=lambda g, input, negative_slope: where(input > 0, g, g * negative_slope))
elementwise("hardtanh(input, min_val=-1.0, max_val=1.0)",
            lambda input, min_val, max_val: minimum(maximum(input, min_val), max_val),
            types="integer", loop="clamp_scalar_cpu", namespace="nn.functional", method=False,
            input=lambda g, input, min_val, max_val: where((input <= min_val) | (input >= max_val), 0, g))
# threshold() itself, whose numbers have no defaults, is in activation_choice.py.
elementwise("threshold_at(input, threshold=0.0, value=0.0)",
            lambda input, threshold, value: where(input <= threshold, value, input),
            types="integer", loop="threshold_cpu", node="ThresholdBackward0", public=False,
            input=lambda g, input, threshold: where(input <= threshold, 0, g))

# Below zero the exponent is clamped so that gradients of the gradient never meet inf * 0.
elementwise("elu(input, alpha=1.0)",
            lambda input, alpha: where(input > 0, input, alpha * expm1(input)),
            namespace="nn.functional", method=False,
            loop="elu_cpu", input=lambda g, input, alpha: where(input > 0, g, g * alpha * exp(clamp_max(input, 0))))
elementwise("selu(input)",
            lambda input: SELU_SCALE * where(input > 0, input, SELU_ALPHA * expm1(input)),
            loop="elu_cpu", node="EluBackward0", method=False,
            input=lambda g, input: SELU_SCALE * where(input > 0, g, g * SELU_ALPHA * exp(clamp_max(input, 0))))
elementwise("celu(input, alpha=1.0)",
            lambda input, alpha: where(input > 0, input, alpha * expm1(input / alpha)),
            method=False,
            loop="elu_cpu", input=lambda g, input, alpha: where(input > 0, g, g * exp(clamp_max(input, 0) / alpha)))


# sigmoid() with its subnormal numbers, which 1 / (1 + exp(-input)) ends in 1 / inf; as torch computes these slopes.
elementwise("whole_sigmoid(input)", lambda input: where(input < 0, exp(-abs(input)), 1) / (1 + exp(-abs(input))),
            public=False, inplace=False,
            input=lambda g, out: g * (out * (1 - out)))
elementwise("logsigmoid(input)", lambda input: minimum(input, 0) - log1p(exp(-abs(input))),
            namespace="nn.functional", node="LogSigmoidBackward0", method=False, out="exact", loop="log_sigmoid_cpu",
            out_words=EXPECTED_SCALAR_TYPE,
            input=lambda g, input: g * whole_sigmoid(-input))
elementwise("softplus(input, beta=1.0, threshold=20.0)",
            lambda input, beta, threshold: where(input * beta > threshold, input, log1p(exp(input * beta)) / beta),
            autocast="none, float32",
            namespace="nn.functional", method=False, out="exact", out_words=FOUND_DTYPE,
            input=lambda g, input, beta, threshold: where(input * beta > threshold, g, g * whole_sigmoid(input * beta)))
elementwise("silu(input)", lambda input: input / (1 + exp(-input)),
            types="complex", namespace="nn.functional", method=False,
            input=lambda g, input: g * (sigmoid(input) * (1 + input * (1 - sigmoid(input)))).conj())


elementwise("prelu_kernel(input, weight)", lambda input, weight: where(input > 0, input, weight * input),
            loop="prelu_cpu", numbers="", inplace=False, out=False, public=False,
            input=lambda g, input, weight: where(input > 0, g, weight * g),
            weight=lambda g, input: where(input > 0, 0, input * g))
# Noise is the slope below zero, one for each element.
elementwise("rrelu_with_noise(input, noise)", lambda input, noise: where(input > 0, input, input * noise),
            numbers="", out=False, public=False,
            input=lambda g, input, noise: where(input > 0, g, g * noise),
            noise=None)


def mish_slope(input):
    bend = tanh(softplus(input))
    return bend + input * sigmoid(input) * (1 - bend * bend)


elementwise("mish(input)", lambda input: input * tanh(softplus(input)),
            namespace="nn.functional", method=False,
            input=lambda g, input: g * mish_slope(input))
elementwise("gelu(input)", lambda input: 0.5 * input * (1 + erf(input * SQRT_HALF)),
            namespace="nn.functional", method=False, out="exact", loop="GeluKernelImpl", out_words=FOUND_DTYPE)
elementwise("gelu_tanh(input)",
            lambda input: 0.5 * input * (
                1 + tanh(SQRT_TWO_OVER_PI * (input + GELU_CUBIC * (input * input * input)))),
            namespace="nn.functional", node="GeluBackward0", public=False, inplace=False, out="exact",
            loop="GeluKernelImpl",
            out_words=FOUND_DTYPE)

elementwise("hardsigmoid(input)", lambda input: minimum(maximum(input + 3, 0), 6) / 6,
            namespace="nn.functional", method=False,
            input=lambda g, input: where((input > -3) & (input < 3), g / 6, 0))
elementwise("hardswish(input)", lambda input: input * minimum(maximum(input + 3, 0), 6) / 6,
            namespace="nn.functional", method=False,
            input=lambda g, input: where(input <= -3, 0, where(input >= 3, g, g * (input / 3 + 0.5))))
elementwise("hardshrink(input, lambd=0.5)",
            lambda input, lambd: where((input >= -lambd) & (input <= lambd), 0, input), rounded="lambd", out="exact",
            out_words=FOUND_DTYPE,
            input=lambda g, input, lambd: where((input >= -lambd) & (input <= lambd), 0, g))
elementwise("softshrink(input, lambd=0.5)",
            lambda input, lambd: where(
                input > lambd, input - lambd, where(input < -lambd, input + lambd, input * 0)),
            namespace="nn.functional", method=False, out="exact", out_words=FOUND_DTYPE,
            input=lambda g, input, lambd: where((input >= -lambd) & (input <= lambd), 0, g))


@composite(namespace="nn.functional")
def softsign(input):
    """x / (1 + |x|).

    >>> import adjoint as torch
    >>> torch.nn.functional.softsign(torch.tensor([1.0, -3.0]))
    tensor([ 0.5000, -0.7500])
    """
    return input / (abs(input) + 1)


@composite(namespace="nn.functional")
def tanhshrink(input):
    """x - tanh(x).

    >>> import adjoint as torch
    >>> torch.nn.functional.tanhshrink(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.2384])
    """
    return input - tanh(input)
