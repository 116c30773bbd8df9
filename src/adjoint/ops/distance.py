"""Distances and angles between pairs of vectors."""

from .checks import integer, tensor
from .language import broadcast_tensors, composite, promote_types


@composite(method=False, numpy_names=True)
def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    """The p-norm of the differences of vectors along the last dimension; `eps` is added to each difference.

    >>> import adjoint as torch
    >>> torch.nn.functional.pairwise_distance(torch.tensor([[3.0, 0.0]]), torch.tensor([[0.0, 4.0]]))
    tensor([5.])
    """
    tensor("pairwise_distance", x1=x1, x2=x2)
    return (x1 - x2 + float(eps)).norm(float(p), -1 if x1.ndim or x2.ndim else None, keepdim)


composite(pairwise_distance, namespace="nn.functional", method=False)


def _unit(x, dim, eps):
    """Vectors over their lengths, or over `eps` if that is more; gradients are those of the length in either case."""
    length = x.norm(2, dim, keepdim=True)
    return x / (length + (length.detach().clamp_min(eps) - length.detach()))


def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    """The cosine of the angle between vectors along a dimension.

    >>> import adjoint as torch
    >>> torch.cosine_similarity(torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 1.0]]))
    tensor([0.7071])
    """
    tensor("cosine_similarity", x1=x1, x2=x2)
    dim = integer("cosine_similarity", "dim", dim)
    if eps < 0:
        raise RuntimeError(f"eps must be non-negative, got: {eps}")
    dtype = promote_types(x1.dtype, x2.dtype)
    if not dtype.is_floating_point:
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {dtype}")
    x1, x2 = broadcast_tensors(x1.to(dtype), x2.to(dtype))
    return (_unit(x1, dim, eps) * _unit(x2, dim, eps)).sum(dim)


for _namespace in ("", "nn.functional"):
    composite(cosine_similarity, namespace=_namespace, method=False, numpy_names=True)
