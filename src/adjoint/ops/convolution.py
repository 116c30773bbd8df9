"""Convolutions and transposed convolutions in one to three dimensions."""

import warnings

from .. import _C
from .batching import call, from_channels, of_some, repeated, to_channels
from .checks import integers
from .language import _convolution_weight, _laid_out, composite, conj, constant_pad_nd, convolution, op

Tensor = _C.Tensor


# ---- Batch rules; see batching.py
#
# What is batched goes into dimensions that may be of any size: inputs into that of samples; channels, where each batch
# has weights of its own, with as many more groups.


def _into_groups(value, groups, dim):
    """[batch, ...] with each group of channels, at this dimension, repeated for the batch: the batch comes behind the
    number of the group."""
    channels = value.shape[dim + 1] // groups
    return value.unflatten(dim + 1, (groups, channels)).movedim(0, dim + 1).flatten(dim, dim + 2)


def _from_groups(value, size, groups, dim):
    channels = value.shape[dim] // (size * groups)
    return value.unflatten(dim, (groups, size, channels)).movedim(dim + 1, 0).flatten(dim + 1, dim + 2)


def _channels(weight, is_batched, options):
    """The sizes of a bias."""
    *_, transposed, _, groups = options
    return (weight.shape[is_batched + 1] * groups,) if transposed else (weight.shape[is_batched],)


@of_some
def _convolution_batch(op, size, batched, input, weight, bias, *options):
    with_input, with_weight, with_bias = batched[:3]
    if bias is not None:
        sizes = _channels(weight, with_weight, options)
        if bias.dtype != input.dtype or bias.shape[with_bias:] != sizes:
            return NotImplemented  # which the op refuses
    if with_weight:
        bias = bias if bias is None or with_bias else repeated(bias, size)
        return _by_several_weights(op, size, with_input, input, weight, bias, *options)
    inside = None if with_bias else bias
    if with_input:
        result = call(op, input.flatten(0, 1), weight, inside, *options).unflatten(0, input.shape[:2])
    else:
        result = call(op, input, weight, inside, *options)
    return result + bias.reshape(size, 1, -1, *(1,) * (weight.dim() - 2)) if with_bias else result


def _by_several_weights(op, size, with_input, input, weight, bias, *options):
    *lists, transposed, output_padding, groups = options
    if with_input:
        bias = bias if bias is None else to_channels(bias)
        options = (*lists, transposed, output_padding, size * groups)
        return from_channels(call(op, to_channels(input), weight.flatten(0, 1), bias, *options), size)
    bias = bias if bias is None else _into_groups(bias, groups, 0)
    weight = weight.movedim(0, 1).flatten(1, 2) if transposed else _into_groups(weight, groups, 0)
    return _from_groups(call(op, input, weight, bias, *options), size, groups, 1)


@of_some
def _weight_batch(op, size, batched, grad, input, *options):
    *lists, groups = options
    if batched[0] and batched[1]:
        result = call(op, to_channels(grad), to_channels(input), *lists, size * groups)
        return result.unflatten(0, (size, grad.shape[2]))
    if batched[0]:
        return _from_groups(call(op, _into_groups(grad, groups, 1), input, *options), size, groups, 0)
    result = call(op, grad, _into_groups(input, groups, 1), *options)
    return result.unflatten(1, (size, input.shape[2] // groups)).movedim(1, 0)


# ---- Rules of derivatives


def _cut(value, meta):
    """To the size that went into a transposed convolution: output_padding may have added a window behind it."""
    for dim in range(2, value.ndim):
        if value.shape[dim] != meta.shape[dim]:
            value = value.narrow(dim, 0, meta.shape[dim])
    return value


def _channels_last(input, weight):
    """Whether the gradients have their channels last: as the result has them, but for complex numbers."""
    dtype = input.dtype
    known = dtype in (_C.float32, _C.bfloat16) if input.ndim == 5 else not dtype.is_complex
    return known and _C._channels_last(input, weight)


def _conv_input(g, input_meta, weight, stride, padding, dilation, transposed, groups):
    """The gradient of a convolution's input is a transposed convolution, and the other way round."""
    if not g.numel():
        return g.new_zeros(input_meta.shape)
    last = _channels_last(input_meta, weight)
    if not last:
        g = g.contiguous()
    if transposed:
        result = convolution(g, conj(weight), None, stride, padding, dilation, False, 0, groups)
        return _laid_out(_cut(result, input_meta), last)
    sizes = zip(input_meta.shape[2:], g.shape[2:], weight.shape[2:], stride, padding, dilation, strict=True)
    left_over = [n - ((m - 1) * s - 2 * p + d * (k - 1) + 1) for n, m, k, s, p, d in sizes]
    result = convolution(g, conj(weight), None, stride, padding, dilation, True, left_over, groups)
    return _laid_out(result, last)


def _conv_weight(g, input, weight_meta, stride, padding, dilation, transposed, groups):
    if not g.numel():
        return g.new_zeros(weight_meta.shape)
    narrow, wide = (conj(input), g) if transposed else (g, conj(input))
    result = _convolution_weight(narrow, wide, weight_meta.shape[2:], stride, padding, dilation, groups)
    return _laid_out(result, _channels_last(input, weight_meta))


def _conv_bias(g, bias_meta):
    if not g.numel():  # without input channels the result has none either, whatever the bias
        return g.new_zeros(bias_meta.shape)
    return g.sum((0, *range(2, g.ndim)))


op("convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)",
   loop="slow_conv2d_cpu",
   widened="complex32",
   native="convolution", autocast="lower", method=False, linear="input * weight + bias",
   input=_conv_input,
   weight=_conv_weight,
   bias=_conv_bias,
   doc="A convolution or a transposed convolution; the lists have a number for each dimension.",
   batch=_convolution_batch)  # fmt: skip
# w[o, i, k] = sum of grad[n, o, q] x[n, i, q stride + k dilation - padding], which is a convolution of x by grad.
op("_convolution_weight(grad, input, kernel, stride, padding, dilation, groups)", widened="complex32",
   native="convolution_weight",
   node="ConvolutionBackwardBackward0", public=False, linear="grad * input",
   grad=lambda g, input, grad_meta, stride, padding, dilation, groups:
       _cut(convolution(conj(input), g, None, stride, padding, dilation, False, 0, groups), grad_meta),
   input=lambda g, grad, input_meta, stride, padding, dilation, groups:
       _conv_input(conj(grad), input_meta, conj(g), stride, padding, dilation, False, groups),
   batch=_weight_batch)  # fmt: skip


def _listed(name, argument, value, dims):
    """An int, or a list of one, for each dimension."""
    if type(value) is tuple and len(value) == dims:
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return (value,) * dims
    value = integers(name, argument, value)
    return value * dims if len(value) == 1 else value


def _missing_dims(ndim, dims):
    """What an input of a convolution lacks."""
    wanted = ["batch", "channels", "depth", "height", "width"]
    del wanted[2 : 5 - dims]
    text = f"its dimensions are [{', '.join(wanted)}]"
    return f"{text}: unsqueeze(0) adds one of channels" if ndim == dims else text


def _batched(name, input, weight, bias, dims):
    """The input with a dimension of images in front, and whether that is new; other types than tensors are refused."""
    if not (isinstance(input, Tensor) and isinstance(weight, Tensor) and (bias is None or isinstance(bias, Tensor))):
        for argument, value in (("input", input), ("weight", weight), ("bias", bias)):
            if not isinstance(value, Tensor):
                raise TypeError(f"{name}(): argument '{argument}' must be Tensor, not {type(value).__name__}")
    ndim = input.ndim
    if ndim == dims + 2:
        return input, False
    if ndim != dims + 1:
        raise RuntimeError(
            f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {name}, but got input of size: "
            f"{list(input.shape)}; {_missing_dims(ndim, dims)}"
        )
    return input.unsqueeze(0), True


def _pad_by_name(input, weight, stride, padding, dilation):
    """padding="same" or "valid" as numbers, after padding one side more where "same" needs it."""
    dims = len(stride)
    if padding == "valid":
        return input, (0,) * dims
    if padding != "same":
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    if any(s != 1 for s in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    total = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:], strict=True)]
    if any(t % 2 for t in total):
        warnings.warn(
            "Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy of the "
            "input be created",
            UserWarning,
            stacklevel=4,
        )
        input = constant_pad_nd(input, [p for t in reversed(total) for p in (0, t % 2)])
    return input, tuple(t // 2 for t in total)


def _convolve(name, input, weight, bias, stride, padding, dilation, groups, dims):
    input, alone = _batched(name, input, weight, bias, dims)
    stride, dilation = _listed(name, "stride", stride, dims), _listed(name, "dilation", dilation, dims)
    if isinstance(padding, str):
        input, padding = _pad_by_name(input, weight, stride, padding, dilation)
    else:
        padding = _listed(name, "padding", padding, dims)
    result = convolution(input, weight, bias, stride, padding, dilation, False, (0,) * dims, groups)
    return result.squeeze(0) if alone else result


def _convolve_transposed(name, input, weight, bias, stride, padding, output_padding, groups, dilation, dims):
    input, alone = _batched(name, input, weight, bias, dims)
    result = convolution(
        input,
        weight,
        bias,
        _listed(name, "stride", stride, dims),
        _listed(name, "padding", padding, dims),
        _listed(name, "dilation", dilation, dims),
        True,
        _listed(name, "output_padding", output_padding, dims),
        groups,
    )
    return result.squeeze(0) if alone else result


def _publish_functions(dims):
    """conv{dims}d and conv_transpose{dims}d, in both places that torch has them."""

    def conv(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        return _convolve(forward, input, weight, bias, stride, padding, dilation, groups, dims)

    def transposed(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        return _convolve_transposed(
            backward, input, weight, bias, stride, padding, output_padding, groups, dilation, dims
        )

    forward, backward = f"conv{dims}d", f"conv_transpose{dims}d"
    conv.__doc__ = f"Sums over windows of `input` in {dims} dimensions, weighted by `weight`, plus `bias`."
    transposed.__doc__ = f"The transpose of conv{dims}d, which spreads each element over a window."
    for name, function in ((forward, conv), (backward, transposed)):
        function.__name__ = function.__qualname__ = name
        for namespace in ("", "nn.functional"):
            composite(function, namespace=namespace, method=False)


for _dims in (1, 2, 3):
    _publish_functions(_dims)


def conv_tbc(input, weight, bias, pad=0):
    """A convolution over time of [time, batch, channels] by a weight [width, in channels, out channels].

    >>> import adjoint as torch
    >>> torch.conv_tbc(torch.ones(4, 1, 2), torch.ones(3, 2, 1), torch.zeros(1)).flatten()
    tensor([6., 6.])
    """
    if input.ndim != 3:
        raise RuntimeError("Input must have 3 dims: time, batch, in_channel")
    if weight.ndim != 3:
        raise RuntimeError("Weight tensor must have 3 dims: kernel_width, in_channels, out_channels.")
    if bias.ndim != 1:
        raise RuntimeError("Bias must be 1-D")
    if input.shape[2] != weight.shape[1]:
        raise RuntimeError("Input dim 2 (input channels) is not == dim 1 in the weight tensor.")
    if weight.shape[2] != bias.shape[0]:
        raise RuntimeError("Bias size must equal dim 2 in the weight tensor (output channels).")
    result = convolution(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, (1,), (pad,), (1,), False, (0,), 1)
    return result.permute(2, 0, 1)


for _namespace in ("", "nn.functional"):
    composite(conv_tbc, namespace=_namespace, method=False)
