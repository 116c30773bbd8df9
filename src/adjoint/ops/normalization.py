"""Normalising over the last dimensions: layer norm with its fused gradients, rms norm; vectors of length one."""

from .. import _C
from .batching import call, each, lined_up, repeated, with_batch
from .checks import listed
from .language import (
    _layer_norm,
    _layer_norm_gradients,
    _publish,
    _rms_norm,
    _rms_norm_gradients,
    composite,
    div,
    layer_norm_input_grad,
    layer_norm_weight_grad,
    op,
    rsqrt,
)

# ---- Batch rules; see batching.py


def _layer_norm_batch(op, size, batched, input, normalized_shape, weight, bias, eps):
    return _normalized_batch(op, size, batched, input, normalized_shape, (weight, bias), eps)


def _rms_norm_batch(op, size, batched, input, normalized_shape, weight, eps):
    return _normalized_batch(op, size, batched, input, normalized_shape, (weight,), eps)


def _normalized_batch(op, size, batched, input, normalized_shape, parameters, eps):
    if not any(batched[2:]):
        return call(op, input, normalized_shape, *parameters, eps)
    given = [(p, has) for p, has in zip(parameters, batched[2:], strict=False) if p is not None]
    if any(p.shape[has:] != tuple(normalized_shape) or not p.is_floating_point() for p, has in given):
        return NotImplemented  # which the op refuses
    results = call(op, input, normalized_shape, *(None for _ in parameters), eps)
    out, *statistics = results if batched[0] else each(lambda one: repeated(one, size), tuple(results))
    rank = out.dim() - 1
    weight, bias = (*parameters, None)[:2]
    scaled = out if weight is None else out * (lined_up(weight, rank) if batched[2] else weight)
    shifted = scaled if bias is None else scaled + (lined_up(bias, rank) if batched[3] else bias)
    return shifted.to(out.dtype), *statistics


def _input_grad_batch(op, size, batched, grad, input, mean, rstd, weight, normalized_shape, eps):
    grad, input, mean, rstd = with_batch(size, batched[:4], (grad, input, mean, rstd))
    if batched[4]:
        grad, weight = grad * lined_up(weight, grad.dim() - 1), None
    return call(op, grad, input, mean, rstd, weight, normalized_shape, eps)


def _weight_grad_batch(op, size, batched, grad, input, mean, rstd, normalized_shape, eps):
    grad, input = with_batch(size, batched[:2], (grad, input))
    return _over_slices(grad * _normal(input, normalized_shape, eps), normalized_shape)


def _layer_gradients_batch(op, size, batched, grad, input, mean, rstd, weight, normalized_shape):
    grad, input, mean, rstd = with_batch(size, batched[:4], (grad, input, mean, rstd))
    weighted = _times_parameter(grad, weight, batched[4])
    for_input = layer_norm_input_grad(weighted, input, mean, rstd, None, normalized_shape, 0.0)
    return _with_parameters(for_input, grad, (input - mean) * rstd, weight, normalized_shape)


def _rms_gradients_batch(op, size, batched, grad, input, rstd, weight, normalized_shape):
    grad, input, rstd = with_batch(size, batched[:3], (grad, input, rstd))
    normal = input * rstd
    for_input = _rms_slope(_times_parameter(grad, weight, batched[3]), normal, rstd, normalized_shape)
    return _with_parameters(for_input, grad, normal, weight, normalized_shape)[:2]


def _with_parameters(for_input, grad, normal, weight, normalized_shape):
    """The gradients of input, weight and bias."""
    dtype = grad.dtype if weight is None else weight.dtype
    for_weight, for_bias = (_over_slices(value.to(dtype), normalized_shape) for value in (grad * normal, grad))
    return for_input.to(grad.dtype), for_weight, for_bias


def _times_parameter(value, weight, is_batched):
    return _weighted(value, lined_up(weight, value.dim() - 1) if is_batched else weight)


def _over_slices(value, normalized_shape):
    """The sum over all slices of each member of the batch."""
    dims = tuple(range(1, value.dim() - len(normalized_shape)))
    return value.sum(dims) if dims else value


# ---- Tangents. The gradient by the input is symmetric as a map: it serves both ways.


def _layer_norm_tangent(input, normalized_shape, weight, eps, mean, rstd, input_t, weight_t, bias_t):
    slope = layer_norm_input_grad(input_t, input, mean.detach(), rstd.detach(), None, normalized_shape, eps)
    return _tangent(slope, lambda: _normal(input, normalized_shape, eps), weight, weight_t, bias_t)


def _rms_norm_tangent(input, normalized_shape, weight, eps, input_t, weight_t):
    slope = _rms_input_grad(input_t, input, normalized_shape, eps)
    return _tangent(slope, lambda: _rms_normal(input, normalized_shape, eps)[0], weight, weight_t, None)


def _tangent(slope, normal, weight, weight_t, bias_t):
    result = slope if weight is None else slope * weight + normal() * weight_t
    return result if bias_t is None else result + bias_t


op("_layer_norm(input, normalized_shape, weight, bias, eps)", loop="LayerNormKernelImpl", native="layer_norm",
   autocast="none, float32",
   outputs=("out", "mean", "rstd"), node="NativeLayerNormBackward0", public=False,
   fused={"input": lambda g, input, mean, rstd, weight, normalized_shape:
          _layer_norm_gradients(g, input, mean, rstd, weight, normalized_shape)},
   input=lambda g, input, normalized_shape, weight, mean, rstd, eps:
       layer_norm_input_grad(g, input, mean.detach(), rstd.detach(), weight, normalized_shape, eps),
   weight=lambda g, input, normalized_shape, mean, rstd, eps:
       layer_norm_weight_grad(g, input, mean.detach(), rstd.detach(), normalized_shape, eps),
   bias=lambda g: g,
   jvp=_layer_norm_tangent,
   batch=_layer_norm_batch)  # fmt: skip

# The gradients of all three, in one pass over the data.
op("_layer_norm_gradients(grad, input, mean, rstd, weight, normalized_shape)", native="layer_norm_gradients",
   gradient=False, public=False,
   batch=_layer_gradients_batch)  # fmt: skip

# mean and rstd are functions of the input: the rules below give the whole derivative with respect to it.
# With n = (x - mean) rstd and b = g weight:  dx = rstd (b - mean(b) - n mean(b n)), which is symmetric as a map of b.
op("layer_norm_input_grad(grad, input, mean, rstd, weight, normalized_shape, eps)", native="layer_norm_input_grad",
   node="NativeLayerNormBackwardBackward0", public=False, linear="grad * weight",
   grad=lambda g, input, mean, rstd, weight, normalized_shape, eps: _weighted(
       layer_norm_input_grad(g, input, mean, rstd, None, normalized_shape, eps), weight),
   input=lambda g, grad, input, weight, normalized_shape, eps:
       _curvature(g, _weighted(grad, weight), input, normalized_shape, eps),
   weight=lambda g, grad, input, mean, rstd, normalized_shape, eps:
       grad * layer_norm_input_grad(g, input, mean, rstd, None, normalized_shape, eps),
   batch=_input_grad_batch)  # fmt: skip
# dw = sum of g n over the leading dimensions.
op("layer_norm_weight_grad(grad, input, mean, rstd, normalized_shape, eps)", native="layer_norm_weight_grad",
   node="NativeLayerNormBackwardBackward0", public=False, linear="grad",
   grad=lambda g, input, normalized_shape, eps: g * _normal(input, normalized_shape, eps),
   input=lambda g, grad, input, mean, rstd, normalized_shape, eps:
       layer_norm_input_grad(g * grad, input, mean, rstd, None, normalized_shape, eps),
   batch=_weight_grad_batch)  # fmt: skip


op("_rms_norm(input, normalized_shape, weight, eps)", loop="rms_norm", native="rms_norm", outputs=("out", "rstd"),
   node="FusedRmsNormBackward0", public=False, linear="weight",
   fused={"input": lambda g, input, rstd, weight, normalized_shape:
          _rms_norm_gradients(g, input, rstd, weight, normalized_shape)},
   input=lambda g, input, normalized_shape, weight, eps:
       _rms_input_grad(_weighted(g, weight), input, normalized_shape, eps),
   weight=lambda g, input, normalized_shape, eps: g * _rms_normal(input, normalized_shape, eps)[0],
   jvp=_rms_norm_tangent,
   batch=_rms_norm_batch)  # fmt: skip
op("_rms_norm_gradients(grad, input, rstd, weight, normalized_shape)", native="rms_norm_gradients", gradient=False,
   public=False,
   batch=_rms_gradients_batch)  # fmt: skip


def _rms_normal(input, normalized_shape, eps):
    """The input over the root of its mean square, and 1 / that root."""
    rstd = rsqrt((input * input).mean(tuple(range(-len(normalized_shape), 0)), keepdim=True) + eps)
    return input * rstd, rstd


def _rms_input_grad(b, input, normalized_shape, eps):
    return _rms_slope(b, *_rms_normal(input, normalized_shape, eps), normalized_shape)


def _rms_slope(b, n, rstd, normalized_shape):
    return rstd * (b - n * (b * n).mean(tuple(range(-len(normalized_shape), 0)), keepdim=True))


def torch_level(name):
    """Publishes a function as torch.<name> where nn.functional has another of that name."""

    def publish(function):
        function.__name__ = function.__qualname__ = name
        target = composite(function, name=f"_torch.{name}", method=False, function_=False)
        _publish(name, target, "", False, True, ())
        return function

    return publish


def _weighted(value, weight):
    return value if weight is None else value * weight


def _normal(input, normalized_shape, eps):
    return _layer_norm(input, normalized_shape, None, None, eps)[0]


def _curvature(a, b, input, normalized_shape, eps):
    """The derivative of <a, dx(b)> with respect to x, written in differentiable ops so that every order is right.

    -rstd^2 (n (mean(ab) - mean(a) mean(b) - 3 mean(an) mean(bn)) + mean(bn) (a - mean(a)) + mean(an) (b - mean(b)))
    """
    dims = tuple(range(-len(normalized_shape), 0))

    def mean(value):
        return value.mean(dims, keepdim=True)

    n = _normal(input, normalized_shape, eps)
    an, bn = mean(a * n), mean(b * n)
    bend = n * (mean(a * b) - mean(a) * mean(b) - 3 * an * bn) + bn * (a - mean(a)) + an * (b - mean(b))
    deviation = input - mean(input)
    return -bend / (mean(deviation * deviation) + eps)


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    """Shifts and scales each slice over the last dimensions to mean 0 and variance 1, then by weight and bias.

    >>> import adjoint as torch
    >>> torch.nn.functional.layer_norm(torch.tensor([[1.0, 3.0]]), (2,))
    tensor([[-1.0000,  1.0000]])
    """
    check_mixed_types(input, weight, bias)
    return _layer_norm(input, _sizes("layer_norm", normalized_shape), weight, bias, eps)[0]


def check_mixed_types(input, *parameters):
    """Parameters have the type of the input, or are float32 where that has 16 bits."""
    for value in parameters:
        if value is not None and value.dtype is not input.dtype:
            if value.dtype != _C.float32:
                raise RuntimeError(
                    "mixed dtype (CPU): expect parameter to have scalar type of Float, or of the input; "
                    f"got {value.dtype} for an input of {input.dtype}"
                )
            if input.dtype.itemsize != 2:
                raise RuntimeError(
                    f"mixed dtype (CPU): all inputs must share same datatype. Got {value.dtype} for an input of "
                    f"{input.dtype}; convert one with .to(dtype)"
                )


def _sizes(name, normalized_shape):
    listed(name, normalized_shape=normalized_shape)
    return tuple(normalized_shape)


composite(layer_norm, namespace="nn.functional")


@torch_level("layer_norm")
def torch_layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True):
    """nn.functional.layer_norm() by another name: rows brought to mean 0 and variance 1."""
    return layer_norm(input, normalized_shape, weight, bias, eps)


@composite(method=False)
def native_layer_norm(input, normalized_shape, weight, bias, eps):
    """Layer norm, and the mean and 1 / standard deviation of each slice.

    >>> import adjoint as torch
    >>> torch.native_layer_norm(torch.tensor([[1.0, 3.0]]), (2,), None, None, 0.0)[1:]
    (tensor([[2.]]), tensor([[1.]]))
    """
    result, mean, rstd = _layer_norm(input, _sizes("layer_norm", normalized_shape), weight, bias, eps)
    if input.dtype.itemsize == 2 and (weight is None or weight.dtype == input.dtype):
        mean, rstd = mean.to(input.dtype), rstd.to(input.dtype)
    return result, mean.detach(), rstd.detach()


@composite(method=False)
def rms_norm(input, normalized_shape, weight=None, eps=None):
    """Divides each slice over the last dimensions by the root of its mean square, then multiplies by weight.

    >>> import adjoint as torch
    >>> torch.nn.functional.rms_norm(torch.tensor([[1.0, 7.0]]), (2,))
    tensor([[0.2000, 1.4000]])
    """
    shape = _sizes("rms_norm", normalized_shape)
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            "normalized_shape = []"
        )
    if weight is not None and tuple(weight.shape) != shape:
        raise RuntimeError(
            "Expected weight to be of same shape as normalized_shape, but got weight of shape "
            f"{list(weight.shape)} and normalized_shape = {list(shape)}"
        )
    if tuple(input.shape[-len(shape) :]) != shape:
        sizes = ", ".join(map(str, shape))
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [*{sizes}], but got input of "
            f"size{list(input.shape)}"
        )
    if eps is None:
        eps = 2.0**-52 if input.dtype in (_C.float64, _C.complex128) else 2.0**-23
    if input.is_floating_point() and (weight is None or weight.dtype == input.dtype):
        return _rms_norm(input, shape, weight, eps)[0]
    result = _rms_normal(input, shape, eps)[0]
    return result if weight is None else (result * weight).to(result.dtype)


composite(rms_norm, namespace="nn.functional")


@composite(namespace="nn.functional", autocast="none, float32")
def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    """The tensor divided by its norm along a dimension.

    >>> import adjoint as torch
    >>> torch.nn.functional.normalize(torch.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    """
    return div(input, input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input), out=out)


@composite(method=False)
def norm_except_dim(v, pow=2, dim=0):
    """The norms of the slices along one dimension, laid along it; of everything where `dim` is -1.

    >>> import adjoint as torch
    >>> torch.norm_except_dim(torch.tensor([[3.0, 4.0], [6.0, 8.0]]))
    tensor([[ 5.],
            [10.]])
    """
    if dim == -1:
        return v.norm(pow)
    if dim == 0:
        return v.contiguous().view(v.shape[0], -1).norm(pow, 1).view(v.shape[0], *[1] * (v.ndim - 1))
    if dim == v.ndim - 1:
        return v.contiguous().view(-1, v.shape[-1]).norm(pow, 0).view(*[1] * dim, v.shape[-1])
    return norm_except_dim(v.transpose(0, dim), pow, 0).transpose(0, dim)
