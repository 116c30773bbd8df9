"""Parameters as one vector, and back."""

from ... import _C

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters):
    """All elements of the parameters, one after the other.

    >>> import adjoint as torch
    >>> torch.nn.utils.parameters_to_vector([torch.ones(2, 2), torch.zeros(1)])
    tensor([1., 1., 1., 1., 0.])
    """
    return _C.op_object("cat")([parameter.reshape(-1) for parameter in parameters])


def vector_to_parameters(vec, parameters):
    """Makes the parameters views of parts of the vector, in order.

    >>> import adjoint as torch
    >>> p = torch.zeros(2, 2)
    >>> torch.nn.utils.vector_to_parameters(torch.arange(4.0), [p])
    >>> p
    tensor([[0., 1.],
            [2., 3.]])
    """
    if not isinstance(vec, _C.Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    if parameters is None:
        raise TypeError("expected an iterable of Tensors, but got: NoneType")
    start = 0
    for parameter in parameters:
        size = parameter.numel()
        parameter.data = vec[start : start + size].view_as(parameter).data
        start += size
