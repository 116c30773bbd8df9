"""Products with second derivatives, none of which forms a Hessian: hvp and hessian_diag."""

from .. import _C
from ..ops.language import eye
from .forward import jvp
from .jet import jet
from .reverse import grad
from .vmap import vmap


def hvp(func, primals, tangents):
    """(the gradient of `func` at `primals`, the product of its Hessian with `tangents`): forward over reverse mode.

    Costs about two gradients, whatever the number of variables. `primals` and `tangents` are tensors, or tuples of
    tensors for a function of several; so are the results.

    >>> import adjoint as torch
    >>> torch.func.hvp(lambda x: (x ** 3).sum(), torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.0]))
    (tensor([ 3., 12.]), tensor([6., 0.]))
    """
    single = isinstance(primals, _C.Tensor)
    points, along = ((primals,), (tangents,)) if single else (tuple(primals), tuple(tangents))
    numbers = 0 if single else tuple(range(len(points)))
    return jvp(grad(func, numbers), points, along)


def directions(x):
    """The unit vectors of the elements of a tensor."""
    return eye(x.numel(), dtype=x.dtype, device=x.device).reshape(x.numel(), *x.shape)


def hessian_diag(func, x, *, chunk_size=None):
    """The diagonal of the Hessian of `func`, which gives a tensor without dimensions, in the shape of x.

    As many passes as x has elements, at once or `chunk_size` of them.

    >>> import adjoint as torch
    >>> torch.func.hessian_diag(lambda x: (x ** 3).sum(), torch.tensor([1.0, 2.0]))
    tensor([ 6., 12.])
    """

    def entry(direction):
        value = jet(func, x, 2, direction=direction)[2]
        if value.dim():
            raise RuntimeError(
                f"hessian_diag: expected func(x) without dimensions, got shape {tuple(value.shape)}; sum it, or use "
                "laplacian or hessian"
            )
        return value

    return vmap(entry, chunk_size=chunk_size)(directions(x)).reshape(x.shape)
