"""gradcheck() for functions of sparse tensors."""

import functools

from .. import _C


def as_sparse_gradcheck(gradcheck):
    """A gradcheck() for functions of sparse inputs: they are checked as functions of the values.

    With masked=True the gradient is that of the entries; else all elements count, also those that are zero.

    >>> import adjoint as torch
    >>> gradcheck = torch.sparse.as_sparse_gradcheck(torch.autograd.gradcheck)
    >>> x = torch.eye(3, dtype=torch.float64).to_sparse().requires_grad_()
    >>> gradcheck(lambda x: x.to_dense() ** 2, x, masked=True)
    True
    """

    @functools.wraps(gradcheck)
    def checked(function, inputs, **options):
        masked = options.get("masked", False)
        inputs = inputs if isinstance(inputs, list | tuple) else (inputs,)
        plain, remake = [], []
        for value in inputs:
            sparse = isinstance(value, _C.Tensor) and value.layout is not _C.strided
            if not sparse or not value.requires_grad:
                plain.append(value)
                remake.append(None)
                continue
            value = value.detach()
            value = value.coalesce() if value.layout is _C.sparse_coo else value
            if not masked:
                value = _full(value)
            plain.append(value.values().detach().clone().requires_grad_())
            remake.append(_C._sparse_pattern(value))

        def dense_function(*values):
            pairs = zip(values, remake, strict=True)
            results = function(*(value if pattern is None else pattern.pack(value) for value, pattern in pairs))
            return _dense(results)

        return gradcheck(dense_function, tuple(plain), **options)

    return checked


def _full(tensor):
    """The tensor with an entry for every element."""
    pattern = _C._sparse_pattern(tensor)
    ones = _C.ones(tuple(tensor.shape), dtype=_C.bool).to_sparse(
        layout=tensor.layout, dense_dim=len(pattern.dense_size)
    )
    return tensor.to_dense().sparse_mask(ones)


def _dense(results):
    if isinstance(results, _C.Tensor):
        return results if results.layout is _C.strided else results.to_dense()
    return tuple(_dense(result) for result in results)
