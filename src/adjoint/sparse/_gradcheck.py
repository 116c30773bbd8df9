"""gradcheck() for functions of sparse tensors."""

import functools

from .. import _C


def is_sparse(value):
    return isinstance(value, _C.Tensor) and value.layout is not _C.strided


def of_values(function, inputs, masked):
    """A function of sparse tensors as one of dense ones, and its inputs: the values of those that require grad.

    Where it is not `masked`, all elements count, also those that have no entry.
    """
    plain, patterns = [], []
    for value in inputs:
        if not is_sparse(value) or not value.requires_grad:
            plain.append(value)
            patterns.append(None)
            continue
        value = value.detach()
        value = value.coalesce() if value.layout is _C.sparse_coo else value
        value = value if masked else _full(value)
        plain.append(value.values().detach().clone().requires_grad_())
        patterns.append(_C._sparse_pattern(value))

    def dense_function(*values):
        pairs = zip(values, patterns, strict=True)
        return _dense(function(*(value if pattern is None else pattern.pack(value) for value, pattern in pairs)))

    return dense_function, tuple(plain)


def _full(tensor):
    """The tensor with an entry for every element."""
    pattern = _C._sparse_pattern(tensor)
    ones = _C.ones(tuple(tensor.shape), dtype=_C.bool, device=tensor.device)
    block = getattr(pattern, "block", ()) or None
    mask = ones.to_sparse(layout=tensor.layout, blocksize=block, dense_dim=len(pattern.dense_size))
    return tensor.to_dense().sparse_mask(mask)


def _dense(results):
    if isinstance(results, _C.Tensor):
        return results.to_dense() if is_sparse(results) else results
    return tuple(_dense(result) for result in results)


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
        inputs = inputs if isinstance(inputs, list | tuple) else (inputs,)
        function, inputs = of_values(function, inputs, options.get("masked", False))
        return gradcheck(function, inputs, **options)

    return checked
