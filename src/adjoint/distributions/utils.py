"""What distributions share: parameters broadcast together, probabilities and logits, lazy properties."""

import functools

from .. import _C, _type_info
from ..autograd.grad_mode import enable_grad
from ..ops.language import arange, broadcast_tensors, log, log1p, randn, sigmoid, softmax

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

Tensor = _C.Tensor
Size = _C.Size
euler_constant = 0.57721566490153286060
# The least normal number and the distance of 1 to the next, by type.
TINY = {}
EPS = {}
for _dtype in (_C.float16, _C.bfloat16, _C.float32, _C.float64):
    _info = _type_info.finfo(_dtype)
    TINY[_dtype], EPS[_dtype] = _info.tiny, _info.eps


def is_number(value):
    """Whether a parameter is a number, NumPy's among them."""
    return isinstance(value, (int, float)) or (hasattr(value, "__float__") and not isinstance(value, Tensor))


def broadcast_all(*values):
    """Tensors of one shape, of tensors and numbers; numbers get the type and the device of the first tensor.

    >>> import adjoint as torch
    >>> from adjoint.distributions.utils import broadcast_all
    >>> broadcast_all(torch.tensor([1.0, 2.0]), 3)
    (tensor([1., 2.]), tensor([3., 3.]))
    """
    first = values[0]
    if isinstance(first, Tensor):
        shape = first.shape
        for value in values:
            if not isinstance(value, Tensor) or value.shape != shape:
                break
        else:
            return values
    return _broadcast(values)


def _broadcast(values):
    tensors = []
    for value in values:
        if isinstance(value, Tensor):
            tensors.append(value)
        elif not is_number(value):
            raise ValueError(
                "Input arguments must all be instances of Number, torch.Tensor or objects implementing "
                f"__torch_function__.; got {type(value).__name__}; pass tensors or numbers"
            )
    if not tensors:
        dtype = _C.get_default_dtype()
        return tuple([_C.tensor(value, dtype=dtype) for value in values])
    first, *others = tensors
    if others:
        first, *others = broadcast_tensors(first, *others)
    shape, tensors = first.shape, iter((first, *others))
    return tuple(
        [
            next(tensors)
            if isinstance(v, Tensor)
            else _C.tensor(v, dtype=first.dtype, device=first.device).expand(shape)
            for v in values
        ]
    )


def kind_of(tensor):
    """The type and device of a tensor, as keywords."""
    return {"dtype": tensor.dtype, "device": tensor.device}


def _standard_normal(shape, dtype, device):
    return randn(shape, dtype=dtype, device=device)


def _sum_rightmost(value, dim):
    """The sum over the last `dim` dimensions."""
    if dim == 0:
        return value
    return value.reshape(value.shape[:-dim] + (-1,)).sum(-1)


def logits_to_probs(logits, is_binary=False):
    """The probabilities that logits mean: sigmoid() of each, or softmax() along the last dimension.

    >>> import adjoint as torch
    >>> from adjoint.distributions.utils import logits_to_probs
    >>> logits_to_probs(torch.zeros(2))
    tensor([0.5000, 0.5000])
    """
    return sigmoid(logits) if is_binary else softmax(logits, -1)


def clamp_probs(probs):
    """Probabilities kept off 0 and 1 by the precision of their type.

    >>> import adjoint as torch
    >>> from adjoint.distributions.utils import clamp_probs
    >>> clamp_probs(torch.tensor([0.0, 0.5])) > 0
    tensor([True, True])
    """
    eps = EPS[probs.dtype]
    return probs.clamp(eps, 1 - eps)


def probs_to_logits(probs, is_binary=False):
    """The logits of probabilities: log(p / (1 - p)) of each, or log(p) of those that sum to 1.

    >>> import adjoint as torch
    >>> from adjoint.distributions.utils import probs_to_logits
    >>> probs_to_logits(torch.tensor([0.5]), is_binary=True)
    tensor([0.])
    """
    clamped = clamp_probs(probs)
    return log(clamped) - log1p(-clamped) if is_binary else log(clamped)


class lazy_property:
    """A property that is computed when it is first asked for, and kept.

    >>> from adjoint.distributions.utils import lazy_property
    >>> class Square:
    ...     side = 3
    ...     @lazy_property
    ...     def area(self):
    ...         return self.side**2
    >>> Square().area
    9
    """

    def __init__(self, wrapped):
        self.wrapped = wrapped
        functools.update_wrapper(self, wrapped)

    def __get__(self, instance, obj_type=None):
        if instance is None:
            return _lazy_property_and_property(self.wrapped)
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class _lazy_property_and_property(lazy_property, property):
    """What a lazy property is to one who asks the class: a property, for tools that write documentation."""

    def __init__(self, wrapped):
        property.__init__(self, wrapped)


def tril_matrix_to_vec(mat, diag=0):
    """The elements of a lower triangular matrix on and below a diagonal, row by row.

    >>> import adjoint as torch
    >>> from adjoint.distributions.utils import tril_matrix_to_vec
    >>> tril_matrix_to_vec(torch.tensor([[1.0, 0.0], [2.0, 3.0]]))
    tensor([1., 2., 3.])
    """
    n = mat.shape[-1]
    if diag < -n or diag >= n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    place = arange(n, device=mat.device)
    return mat[..., place < place.view(n, 1) + (diag + 1)]


def vec_to_tril_matrix(vec, diag=0):
    """The lower triangular matrix with these elements on and below a diagonal, row by row.

    >>> import adjoint as torch
    >>> from adjoint.distributions.utils import vec_to_tril_matrix
    >>> vec_to_tril_matrix(torch.tensor([1.0, 2.0, 3.0]))
    tensor([[1., 0.],
            [2., 3.]])
    """
    count = vec.shape[-1]
    # n (n + 1) / 2 elements and those of the diagonals between, solved for n.
    n = round((-(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * count + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2)
    place = arange(n, device=vec.device)
    mask = place < place.view(n, 1) + (diag + 1)
    if mask.sum() != count:
        raise ValueError(
            f"The size of last dimension is {count} which cannot be expressed as the lower triangular part of a "
            "square D x D matrix."
        )
    matrix = vec.new_zeros(vec.shape[:-1] + (n, n))
    matrix[..., mask] = vec
    return matrix
