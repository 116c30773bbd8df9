"""A batch norm in evaluation mode folded into the layer before it."""

import copy

from ... import _C
from ..parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def _fused(weight, bias, mean, var, eps, scale, shift, channels):
    """weight and bias followed by (x - mean) / sqrt(var + eps) * scale + shift; `channels` shapes a factor."""
    factor = scale * (var + eps).rsqrt()
    offset = 0 if bias is None else bias
    new_weight = (weight * factor.reshape(channels)).to(weight.dtype)
    new_bias = ((offset - mean) * factor + shift).to((weight if bias is None else bias).dtype)
    return (
        Parameter(new_weight, weight.requires_grad),
        Parameter(new_bias, bias is not None and bias.requires_grad),
    )


def fuse_conv_bn_weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, transpose=False):
    """(weight, bias) of a convolution that does what convolution and batch norm did.

    >>> import adjoint as torch
    >>> one = torch.ones(1)
    >>> weight, bias = torch.nn.utils.fuse_conv_bn_weights(torch.ones(1, 1, 1, 1), None, one, one, 0.0, 2 * one, one)
    >>> weight.item(), bias.item()
    (2.0, -1.0)
    """
    scale = _C.ones_like(bn_rm) if bn_w is None else bn_w
    shift = _C.zeros_like(bn_rm) if bn_b is None else bn_b
    channels = [1] * conv_w.dim()
    channels[1 if transpose else 0] = -1
    return _fused(conv_w, conv_b, bn_rm, bn_rv, bn_eps, scale, shift, channels)


def fuse_linear_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b):
    """(weight, bias) of a linear layer that does what linear layer and batch norm did.

    >>> import adjoint as torch
    >>> one = torch.ones(1)
    >>> weight, bias = torch.nn.utils.fuse_linear_bn_weights(torch.ones(1, 1), None, one, one, 0.0, 2 * one, one)
    >>> weight.item(), bias.item()
    (2.0, -1.0)
    """
    return _fused(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, (-1, 1))


def _check(layer, bn):
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")


def fuse_conv_bn_eval(conv, bn, transpose=False):
    """A convolution that does what a convolution and a batch norm after it did; both in evaluation mode.

    >>> import adjoint as torch
    >>> conv, norm = torch.nn.Conv2d(1, 2, 1).eval(), torch.nn.BatchNorm2d(2).eval()
    >>> x = torch.ones(1, 1, 2, 2)
    >>> torch.allclose(torch.nn.utils.fuse_conv_bn_eval(conv, norm)(x), norm(conv(x)), atol=1e-6)
    True
    """
    _check(conv, bn)
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_linear_bn_eval(linear, bn):
    """A linear layer that does what a linear layer and a batch norm after it did; both in evaluation mode.

    >>> import adjoint as torch
    >>> linear, norm = torch.nn.Linear(3, 2).eval(), torch.nn.BatchNorm1d(2).eval()
    >>> x = torch.ones(4, 3)
    >>> torch.allclose(torch.nn.utils.fuse_linear_bn_eval(linear, norm)(x), norm(linear(x)), atol=1e-6)
    True
    """
    _check(linear, bn)
    if bn.num_features not in (1, linear.out_features):
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}"
        )
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused
