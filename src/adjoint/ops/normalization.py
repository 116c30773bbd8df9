"""Normalising: layer norm with its fused gradients, vectors of length one, angles between vectors."""

from .language import composite, layer_norm_input_grad, layer_norm_weight_grad, native_layer_norm, op, sum

_INTERNAL = {"function": False, "method": False}

op("native_layer_norm(input, normalized_shape, weight, bias, eps)", kernel="layer_norm",
   outputs=("out", "mean", "rstd"), method=False,
   input=lambda g, input, normalized_shape, weight, mean, rstd, eps:
       layer_norm_input_grad(g, input, mean.detach(), rstd.detach(), weight, normalized_shape, eps),
   weight=lambda g, input, normalized_shape, mean, rstd, eps:
       layer_norm_weight_grad(g, input, mean.detach(), rstd.detach(), normalized_shape, eps),
   bias=lambda g: g,
   doc="(x - mean) / sqrt(var + eps) * weight + bias over the last dimensions, and the statistics.")  # fmt: skip

# mean and rstd are functions of the input: the rules below give the whole derivative with respect to it.
# With n = (x - mean) rstd and b = g weight:  dx = rstd (b - mean(b) - n mean(b n)), which is symmetric as a map of b.
op("layer_norm_input_grad(grad, input, mean, rstd, weight, normalized_shape, eps)", kernel="layer_norm_input_grad",
   node="NativeLayerNormBackwardBackward0", **_INTERNAL,
   grad=lambda g, input, mean, rstd, weight, normalized_shape, eps: _weighted(
       layer_norm_input_grad(g, input, mean, rstd, None, normalized_shape, eps), weight),
   input=lambda g, grad, input, weight, normalized_shape, eps:
       _curvature(g, _weighted(grad, weight), input, normalized_shape, eps),
   weight=lambda g, grad, input, mean, rstd, normalized_shape, eps:
       grad * layer_norm_input_grad(g, input, mean, rstd, None, normalized_shape, eps))  # fmt: skip
# dw = sum of g n over the leading dimensions.
op("layer_norm_weight_grad(grad, input, mean, rstd, normalized_shape, eps)", kernel="layer_norm_weight_grad",
   node="NativeLayerNormBackwardBackward0", **_INTERNAL,
   grad=lambda g, input, normalized_shape, eps: g * _normal(input, normalized_shape, eps),
   input=lambda g, grad, input, mean, rstd, normalized_shape, eps:
       layer_norm_input_grad(g * grad, input, mean, rstd, None, normalized_shape, eps))  # fmt: skip


def _weighted(value, weight):
    return value if weight is None else value * weight


def _normal(input, normalized_shape, eps):
    return native_layer_norm(input, normalized_shape, None, None, eps)[0]


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
    return -bend / (input.var(dims, correction=0, keepdim=True) + eps)


@composite(namespace="nn.functional")
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    """Shifts and scales each slice over the last dimensions to mean 0 and variance 1, then by weight and bias.

    >>> import adjoint as torch
    >>> torch.nn.functional.layer_norm(torch.tensor([[1.0, 3.0]]), (2,))
    tensor([[-1.0000,  1.0000]])
    """
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    return native_layer_norm(input, shape, weight, bias, eps)[0]


@composite(namespace="nn.functional")
def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    """The tensor divided by its norm along a dimension.

    >>> import adjoint as torch
    >>> torch.nn.functional.normalize(torch.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    """
    result = input / input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    return result if out is None else out.copy_(result)


def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    """The cosine of the angle between vectors along a dimension.

    >>> import adjoint as torch
    >>> torch.cosine_similarity(torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 1.0]]))
    tensor([0.7071])
    """

    def unit(x):
        return x / x.norm(2, dim, keepdim=True).clamp_min(eps)

    if not (x1 + x2).is_floating_point():
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {(x1 + x2).dtype}")
    return sum(unit(x1) * unit(x2), dim)


for _namespace in ("", "nn.functional"):
    composite(cosine_similarity, namespace=_namespace, method=False)
