"""Normalising by channels: batch, instance and group norm with fused gradients, and local response norm."""

from math import prod

from .batching import call, each, from_channels, is_tensor, of_some, repeated, to_channels, with_batch
from .checks import boolean
from .language import (
    _batch_norm_eval,
    _batch_norm_eval_gradients,
    _group_norm,
    _plane_norm,
    _plane_norm_gradients,
    _plane_norm_input_grad,
    _plane_norm_weight_grad,
    avg_pool2d,
    avg_pool3d,
    composite,
    op,
    pad,
    rsqrt,
)
from .normalization import check_mixed_types, torch_level

# ---- Batch rules; see batching.py
#
# The batch goes into the channels, and as many times into the number of groups.


@of_some
def _with_channels(op, size, batched, *given):
    """For ops all of whose tensors have channels, or statistics of them or of groups."""
    given = with_batch(size, batched, given)
    result = call(op, *(to_channels(value) if is_tensor(value) else value for value in given))
    return each(lambda one: from_channels(one, size), result)


@of_some
def _gradients_batch(op, size, batched, *given):
    *given, groups = given
    return _with_channels(op, size, batched, *given, groups * size)


@of_some
def _gradient_batch(op, size, batched, *given):
    *given, groups, eps = given
    return _with_channels(op, size, batched, *given, groups * size, eps)


@of_some
def _evaluated_batch(op, size, batched, *given):
    if not any(batched[1:]):
        return call(op, given[0].flatten(0, 1), *given[1:]).unflatten(0, given[0].shape[:2])
    return _with_channels(op, size, batched, *given)


@of_some
def _plane_norm_batch(op, size, batched, input, weight, bias, running_mean, running_var, groups, momentum, eps):
    options = (groups, momentum, eps)
    if not (batched[0] or batched[3] or batched[4]):
        results = call(op, input, None, None, running_mean, running_var, *options)
        out, *statistics = (repeated(one, size) for one in results)
        return _scaled_batch(out, *with_batch(size, batched[1:3], (weight, bias))), *statistics
    moving = [running for running in (running_mean, running_var) if running is not None]
    if moving and not (batched[3] and batched[4]):
        raise RuntimeError(
            "Batch norm got a batched tensor as input while the running_mean or running_var, which will be updated in "
            "place, were not batched.\nIf you are using modules and do not need eval mode, please set "
            "`track_running_stats` to be False; else vmap over the running statistics, too"
        )
    packed = [running.contiguous() for running in moving]
    given = (input, weight, bias, *(packed or (None, None)), groups * size, momentum, eps)
    results = _with_channels(op, size, batched, *given)
    for running, changed in zip(moving, packed, strict=True):
        if changed is not running:
            running.copy_(changed)
    return results


def _scaled_batch(out, weight, bias):
    """Each member of the batch, [sample, channel, ...], by a weight and a bias of its own, or None."""

    def by_channel(value):
        return value.reshape(value.shape[0], 1, -1, *(1,) * (out.dim() - 3))

    scaled = out if weight is None else out * by_channel(weight)
    return (scaled if bias is None else scaled + by_channel(bias)).to(out.dtype)


# `groups` is 0 where the statistics are those of a channel over the batch: see csrc/ops/normalization_planes.h.


# ---- Tangents. The gradient by the input is symmetric as a map: it serves both ways.


def _plane_norm_tangent(input, weight, groups, eps, mean, rstd, input_t, weight_t, bias_t):
    slope = _plane_norm_input_grad(input_t, input, mean.detach(), rstd.detach(), None, groups, eps)
    return _tangent(slope, lambda: _normal(input, groups, eps), weight, weight_t, bias_t)


def _evaluated_tangent(input, weight, mean, var, eps, input_t, weight_t, bias_t):
    rstd = _by_channel(rsqrt(var + eps), input)
    return _tangent(input_t * rstd, lambda: (input - _by_channel(mean, input)) * rstd, weight, weight_t, bias_t)


def _tangent(slope, normal, weight, weight_t, bias_t):
    result = _weighted(slope, weight)
    if weight is not None:
        result = result + _weighted(normal(), weight_t)
    return result if bias_t is None else result + _by_channel(bias_t, result)


# ---- Rules of derivatives


def _channel_sum(g):
    return g.sum([d for d in range(g.ndim) if d != 1])


def _by_channel(value, like):
    """A vector with an element for each channel, laid along the second dimension."""
    return value.reshape([-1 if d == 1 else 1 for d in range(like.ndim)])


for _name, _node in {
    "_plane_norm": "NativeBatchNormBackward0",
    "_group_norm": "NativeGroupNormBackward0",
}.items():
    op(f"{_name}(input, weight, bias, running_mean, running_var, groups, momentum, eps)", native="plane_norm",
       outputs=("out", "mean", "rstd"), node=_node, public=False,
       running_mean=None, running_var=None,
       fused={"input": lambda g, input, mean, rstd, weight, groups:
              _plane_norm_gradients(g, input, mean, rstd, weight, groups)},
       input=lambda g, input, weight, mean, rstd, groups, eps:
           _plane_norm_input_grad(g, input, mean.detach(), rstd.detach(), weight, groups, eps),
       weight=lambda g, input, mean, rstd, groups, eps:
           _plane_norm_weight_grad(g, input, mean.detach(), rstd.detach(), groups, eps),
       bias=lambda g: _channel_sum(g),
       jvp=_plane_norm_tangent,
       batch=_plane_norm_batch)  # fmt: skip

# The gradients of input, weight and bias, in two passes over the data.
op("_plane_norm_gradients(grad, input, mean, rstd, weight, groups)", native="plane_norm_gradients", gradient=False,
   public=False,
   batch=_gradients_batch)  # fmt: skip
op("_batch_norm_eval_gradients(grad, input, weight, mean, var, eps)", native="plane_norm_fixed_gradients",
   gradient=False, public=False,
   batch=_with_channels)  # fmt: skip

# mean and rstd are functions of the input: the rules below give the whole derivative with respect to it.
# With n = (x - mean) rstd and b = g weight:  dx = rstd (b - mean(b) - n mean(b n)), which is symmetric as a map of b.
op("_plane_norm_input_grad(grad, input, mean, rstd, weight, groups, eps)", native="plane_norm_input_grad",
   node="NativeBatchNormBackwardBackward0", public=False, linear="grad * weight",
   grad=lambda g, input, mean, rstd, weight, groups, eps: _weighted(
       _plane_norm_input_grad(g, input, mean, rstd, None, groups, eps), weight),
   input=lambda g, grad, input, weight, groups, eps: _curvature(g, _weighted(grad, weight), input, groups, eps),
   weight=lambda g, grad, input, mean, rstd, groups, eps: _channel_sum(
       grad * _plane_norm_input_grad(g, input, mean, rstd, None, groups, eps)),
   batch=_gradient_batch)  # fmt: skip
# dw = sum of g n over all but the channels.
op("_plane_norm_weight_grad(grad, input, mean, rstd, groups, eps)", native="plane_norm_weight_grad",
   node="NativeBatchNormBackwardBackward0", public=False, linear="grad",
   grad=lambda g, input, groups, eps: _by_channel(g, input) * _normal(input, groups, eps),
   input=lambda g, grad, input, mean, rstd, groups, eps:
       _plane_norm_input_grad(grad * _by_channel(g, input), input, mean, rstd, None, groups, eps),
   batch=_gradient_batch)  # fmt: skip
op("_batch_norm_eval(input, weight, bias, mean, var, eps)", native="plane_norm_fixed",
   node="NativeBatchNormBackward0", public=False,
   mean=None, var=None,
   fused={"input": lambda g, input, weight, mean, var, eps:
          _batch_norm_eval_gradients(g, input, weight, mean, var, eps)},
   input=lambda g, weight, var, eps: g * _by_channel(_weighted_vector(rsqrt(var + eps), weight), g),
   weight=lambda g, input, mean, var, eps:
       _channel_sum(g * (input - _by_channel(mean, input))) * rsqrt(var + eps),
   bias=lambda g: _channel_sum(g),
   jvp=_evaluated_tangent,
   batch=_evaluated_batch)  # fmt: skip


def _by_group(value, groups):
    """(samples, groups, elements); `groups` is 0 for one of each channel."""
    samples, channels = value.shape[:2]
    count = groups or channels
    return value.reshape(samples, count, channels // max(1, count) * prod(value.shape[2:]))


def _weighted(value, weight):
    return value if weight is None else value * _by_channel(weight, value)


def _weighted_vector(value, weight):
    return value if weight is None else value * weight


def _normal(input, groups, eps):
    return _plane_norm(input, None, None, None, None, groups, 0.0, eps)[0]


def _curvature(a, b, input, groups, eps):
    """The derivative of <a, dx(b)> with respect to x; see _curvature in normalization.py."""

    dims = (2,) if groups else (0, 2)

    def mean(value):
        return value.mean(dims, keepdim=True)

    x, a, b, n = (_by_group(value, groups) for value in (input, a, b, _normal(input, groups, eps)))
    an, bn = mean(a * n), mean(b * n)
    bend = n * (mean(a * b) - mean(a) * mean(b) - 3 * an * bn) + bn * (a - mean(a)) + an * (b - mean(b))
    deviation = x - mean(x)
    return (-bend / (mean(deviation * deviation) + eps)).reshape(input.shape)


# ---- Batch norm


def _check_batch(input, weight, bias, running_mean, running_var, training):
    channels, dtype = input.shape[1] if input.ndim > 1 else 0, input.dtype
    for value in (weight, bias, running_mean, running_var):
        if value is not None and (value.dtype is not dtype or value.numel() != channels):
            break
    else:
        if running_mean is None or running_var is None:
            if training and running_mean is running_var:
                return
        elif not (running_mean.requires_grad or running_var.requires_grad):
            return
    _refuse_batch(input, weight, bias, running_mean, running_var, training, channels)


def _refuse_batch(input, weight, bias, running_mean, running_var, training, channels):
    """Torch's errors for arguments that do not fit."""
    if not training:
        for name, value in (("running_mean", running_mean), ("running_var", running_var)):
            if value is None:
                raise RuntimeError(f"{name} must be defined in evaluation mode")
    if (running_mean is None) != (running_var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")
    named = (
        ("running_mean", running_mean),
        ("running_var", running_var),
        ("weight", weight),
        ("bias", bias),
    )
    for name, value in named:
        if value is None:
            continue
        if value.numel() != channels:
            raise RuntimeError(
                f"{name} should contain {channels} elements not {value.numel()}; the input has {channels} channels "
                f"(its dimension 1), and the layer was made for {value.numel()}"
            )
        if name.startswith("running") and value.requires_grad:
            raise RuntimeError(
                f"The function 'native_batch_norm' is not differentiable with respect to argument '{name}'. "
                "This input cannot have requires_grad True."
            )
    if input.is_floating_point():
        check_mixed_types(input, running_mean, running_var, weight, bias)


def _trained(input, weight, bias, running_mean, running_var, momentum, eps):
    """Batch norm by the statistics of the batch; the running ones follow them."""
    _check_batch(input, weight, bias, running_mean, running_var, True)
    return _plane_norm(input, weight, bias, running_mean, running_var, 0, momentum, eps)


def _evaluated(input, weight, bias, running_mean, running_var, eps):
    _check_batch(input, weight, bias, running_mean, running_var, False)
    return _batch_norm_eval(input, weight, bias, running_mean, running_var, eps)


def _batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps):
    if not input.numel():
        # Nothing to learn from: the statistics stay, nothing is checked, and gradients are zero.
        result = input.clone() if weight is None else input * weight[0]
        return result if bias is None else result + bias[0]
    input.size(1)
    if training:
        return _trained(input, weight, bias, running_mean, running_var, momentum or 0.0, eps)[0]
    return _evaluated(input, weight, bias, running_mean, running_var, eps)


@composite(namespace="nn.functional")
def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    """Shifts and scales each channel to mean 0 and variance 1 over the batch, then by weight and bias.

    >>> import adjoint as torch
    >>> torch.nn.functional.batch_norm(torch.tensor([[1.0], [3.0]]), None, None, training=True)
    tensor([[-1.0000],
            [ 1.0000]])
    """
    boolean("batch_norm", training=training)
    if eps < 0 or (training and eps == 0):
        raise ValueError(
            f"batch_norm eps must be {'positive during training' if training else 'non-negative'}, but got {eps}"
        )
    if training:
        _check_several(input, "per channel", input.shape[:1] + input.shape[2:])
    return _batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)


def _check_several(input, what, shape):
    if prod(shape) == 1:
        raise ValueError(
            f"Expected more than 1 value {what} when training, got input size {input.shape}; one value has no "
            "variance: give a larger batch (drop_last=True in a DataLoader), or call eval() on the module"
        )


@torch_level("batch_norm")
def torch_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled=False):
    """nn.functional.batch_norm() with its arguments in another order, weight and bias first."""
    boolean("batch_norm", training=training, cudnn_enabled=cudnn_enabled)
    return _batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)


@composite(method=False)
def native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, *, out=None):
    """Batch norm, and the mean and 1 / standard deviation of each channel where they were computed.

    >>> import adjoint as torch
    >>> torch.native_batch_norm(torch.tensor([[1.0], [3.0]]), None, None, None, None, True, 0.1, 0.0)[1:]
    (tensor([2.]), tensor([1.]))
    """
    if training:
        if not input.numel():
            raise RuntimeError(
                f"input tensor must have at least one element, but got input_sizes = {list(input.shape)}"
            )
        results = _trained(input, weight, bias, running_mean, running_var, momentum, eps)
        narrow = all(value is None or value.dtype == input.dtype for value in (weight, bias, running_mean, running_var))
        if input.dtype.itemsize == 2 and narrow:
            results = results[0], results[1].to(input.dtype), results[2].to(input.dtype)
    else:
        none = input.new_empty(0)
        results = _evaluated(input, weight, bias, running_mean, running_var, eps), none, none.clone()
    results = (results[0], results[1].detach(), results[2].detach())
    if out is None:
        return results
    for target, result in zip(out, results, strict=True):
        target.resize_(result.shape).copy_(result)
    return tuple(out)


# ---- Groups


def _check_groups(input, weight, bias, num_groups):
    if input.ndim < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.ndim}")
    channels = input.shape[1]
    if num_groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    if channels % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(input.shape)} and num_groups={num_groups}"
        )
    for name, value in (("weight", weight), ("bias", bias)):
        if value is not None and tuple(value.shape) != (channels,):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of "
                f"shape {list(value.shape)} and input of shape {list(input.shape)}"
            )


@composite(namespace="nn.functional")
def functional_group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    """Shifts and scales each group of channels of each sample to mean 0 and variance 1, then by weight and bias.

    >>> import adjoint as torch
    >>> torch.nn.functional.group_norm(torch.tensor([[1.0, 3.0, 5.0, 9.0]]), 2)
    tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """
    if input.ndim < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.ndim}")
    groups = (input.shape[0] * input.shape[1] // num_groups, *input.shape[2:])
    if prod(groups) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {list(input.shape)}")
    return group_norm(input, num_groups, weight, bias, eps)


@composite(method=False)
def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5, cudnn_enabled=True):
    """nn.functional.group_norm(), for single values too."""
    _check_groups(input, weight, bias, num_groups)
    check_mixed_types(input, weight, bias)
    return _group_norm(input, weight, bias, None, None, num_groups, 0.0, eps)[0]


@composite(method=False)
def native_group_norm(input, weight, bias, N, C, HxW, group, eps):
    """Group norm of N samples of C channels of HxW elements, and the mean and 1 / standard deviation of the groups.

    >>> import adjoint as torch
    >>> torch.native_group_norm(torch.tensor([[1.0, 3.0]]), None, None, 1, 2, 1, 1, 0.0)[1:]
    (tensor([[2.]]), tensor([[1.]]))
    """
    if input.numel() != N * C * HxW:
        raise RuntimeError(f"Expected the input to have {N} x {C} x {HxW} elements; got shape {list(input.shape)}")
    _check_groups(input.reshape(N, C, HxW), weight, bias, group)
    values = input.reshape(N, C, HxW)
    result = _group_norm(values, weight, bias, None, None, group, 0.0, eps)[0]
    # Torch differentiates these two as well; few use them, so they are worked out apart.
    grouped = values.reshape(N, group, C // group * HxW)
    mean = grouped.mean(2)
    deviation = grouped - mean.unsqueeze(2)
    rstd = rsqrt((deviation * deviation).mean(2) + eps)
    if input.dtype.itemsize == 2 and (weight is None or weight.dtype == input.dtype):
        mean, rstd = mean.to(input.dtype), rstd.to(input.dtype)
    return result.reshape(input.shape), mean, rstd


# ---- Instances


@composite(namespace="nn.functional")
def instance_norm(
    input,
    running_mean=None,
    running_var=None,
    weight=None,
    bias=None,
    use_input_stats=True,
    momentum=0.1,
    eps=1e-5,
):
    """Shifts and scales each channel of each sample to mean 0 and variance 1, then by weight and bias.

    >>> import adjoint as torch
    >>> torch.nn.functional.instance_norm(torch.tensor([[[1.0, 3.0]]]))
    tensor([[[-1.0000,  1.0000]]])
    """
    if use_input_stats and prod(input.shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.shape}")
    return torch_instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps)


@torch_level("instance_norm")
def torch_instance_norm(
    input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled=False
):
    """nn.functional.instance_norm() with its arguments in another order, weight and bias first."""
    boolean("instance_norm", use_input_stats=use_input_stats, cudnn_enabled=cudnn_enabled)
    if (running_mean is None) != (running_var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")
    if running_mean is None and not use_input_stats:
        raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
    samples, channels = input.shape[:2]

    def repeated(value):
        return None if value is None else value.repeat(samples)

    mean, var = repeated(running_mean), repeated(running_var)
    values = input.reshape(1, samples * channels, *input.shape[2:])
    result = _batch_norm(values, repeated(weight), repeated(bias), mean, var, use_input_stats, momentum, eps)
    if running_mean is not None and use_input_stats:
        running_mean.copy_(mean.view(samples, channels).mean(0))
        running_var.copy_(var.view(samples, channels).mean(0))
    return result.reshape(input.shape)


@composite(namespace="nn.functional")
def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    """The input over (k + alpha m)^beta, where m is the mean of the squares of `size` neighbouring channels.

    >>> import adjoint as torch
    >>> torch.nn.functional.local_response_norm(torch.ones(1, 1, 1), 1, alpha=3.0, beta=1.0)
    tensor([[[0.2500]]])
    """
    if input.ndim < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality                          input (got {input.ndim} dimensions)"
        )
    if not input.numel():
        return input
    squares = input.mul(input)
    ends = (size // 2, (size - 1) // 2)
    if input.ndim == 3:
        means = avg_pool2d(pad(squares.unsqueeze(1), (0, 0, *ends)), (size, 1), stride=1).squeeze(1)
    else:
        samples, channels, height, *_ = input.shape
        planes = pad(squares.reshape(samples, 1, channels, height, -1), (0, 0, 0, 0, *ends))
        means = avg_pool3d(planes, (size, 1, 1), stride=1).squeeze(1).reshape(input.shape)
    return input / means.mul(alpha).add(k).pow(beta)
