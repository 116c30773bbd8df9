"""Jacobians and Hessians: products with all unit vectors at once, by vmap."""

import functools

from .. import _C
from ..ops.language import eye, zeros
from ..utils._pytree import tree_flatten, tree_map, tree_unflatten
from .forward import jvp
from .reverse import chosen_arguments, vjp
from .vmap import over


def unit_vectors(tensors):
    """For each tensor, its part of the unit vectors of all of them: (the number of all elements, *its shape)."""
    if len(tensors) == 1:
        (x,) = tensors
        return [eye(x.numel(), dtype=x.dtype, device=x.device).view(x.numel(), *x.shape)]
    total = sum(x.numel() for x in tensors)
    rows, before = [], 0
    for x in tensors:
        rows.append(zeros(total, x.numel(), dtype=x.dtype, device=x.device))
        rows[-1].diagonal(-before).fill_(1)
        before += x.numel()
    return [row.view(total, *x.shape) for row, x in zip(rows, tensors, strict=True)]


def _check_real(values, name, what):
    for i, value in enumerate(values):
        if isinstance(value, _C.Tensor) and value.is_complex():
            raise RuntimeError(
                f"{name}: Expected all {what} to be real but received complex tensor at flattened input idx: {i}; give "
                "the real and the imaginary part as two of them"
            )


def jacrev(func, argnums=0, has_aux=False, *, chunk_size=None, _preallocate_and_copy=False):
    """A function that gives the Jacobian of `func` by reverse mode: one backward pass, over all outputs at once.

    `chunk_size` bounds how many outputs are done at once, and with it the memory.

    - argnums: by which arguments is differentiated, a number or a tuple of them.
    - has_aux: the function returns a pair, of which the second part is handed through.

    >>> import adjoint as torch
    >>> torch.func.jacrev(lambda x: x ** 2)(torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        _check_real(tree_flatten(args)[0], "jacrev", "inputs")
        chosen, replaced = chosen_arguments(argnums, args)
        single = isinstance(argnums, int)
        points = (chosen,) if single else chosen
        aux = None

        def partial(*inputs):
            return func(*replaced(inputs[0] if single else inputs), **kwargs)

        if has_aux:
            output, product, aux = vjp(partial, *points, has_aux=True)
        else:
            output, product = vjp(partial, *points)
        leaves, spec = tree_flatten(output)
        _check_real(leaves, "jacrev", "outputs")
        basis = unit_vectors(leaves)
        rows = over(lambda *weights: product(tree_unflatten(weights, spec)), basis, chunk_size=chunk_size)
        # rows: as the inputs, with one row for each element of all outputs.
        sizes = [leaf.numel() for leaf in leaves]

        def split(row):
            parts = row.split(sizes) if len(sizes) > 1 else (row,)
            return [part.reshape((*leaf.shape, *row.shape[1:])) for part, leaf in zip(parts, leaves, strict=True)]

        flat, in_spec = tree_flatten(rows)
        table = [split(row) for row in flat]  # by input, then by output
        results = []
        for i in range(len(leaves)):
            result = tree_unflatten([column[i] for column in table], in_spec)
            results.append(result[0] if single else result)
        result = tree_unflatten(results, spec)
        return (result, aux) if has_aux else result

    return wrapper


def jacfwd(func, argnums=0, has_aux=False, *, randomness="error", chunk_size=None):
    """A function that gives the Jacobian of `func` by forward mode: one pass, over all inputs at once.

    - argnums: by which arguments is differentiated, a number or a tuple of them.
    - has_aux: the function returns a pair, of which the second part is handed through.
    - randomness: as in vmap().
    - chunk_size: how many columns are computed at a time; all unless said.

    >>> import adjoint as torch
    >>> torch.func.jacfwd(lambda x: x ** 2)(torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        _check_real(tree_flatten(args)[0], "jacfwd", "inputs")
        chosen, replaced = chosen_arguments(argnums, args)
        points, spec = tree_flatten(chosen)
        for point in points:
            if not isinstance(point, _C.Tensor):
                raise RuntimeError(f"jacfwd: Expected all inputs to be Tensors, got {type(point)}")

        def partial(*inputs):
            return func(*replaced(tree_unflatten(inputs, spec)), **kwargs)

        def push(*tangents):
            found = jvp(partial, tuple(points), tangents, has_aux=has_aux)
            _check_real(tree_flatten(found[1])[0], "jacfwd", "outputs")
            return (found[1], found[2]) if has_aux else found[1]

        out_dims = (0, None) if has_aux else 0
        basis = unit_vectors(points)
        columns = over(push, basis, out_dims=out_dims, randomness=randomness, chunk_size=chunk_size)
        aux = None
        if has_aux:
            columns, aux = columns
        sizes = [point.numel() for point in points]

        def split(column):
            parts = column.split(sizes) if len(sizes) > 1 else (column,)
            blocks = [
                part.permute((*range(1, part.ndim), 0)).reshape((*column.shape[1:], *point.shape))
                for part, point in zip(parts, points, strict=True)
            ]
            return tree_unflatten(blocks, spec)

        result = tree_map(split, columns)
        return (result, aux) if has_aux else result

    return wrapper


def hessian(func, argnums=0):
    """A function that gives the Hessian of `func`: forward over reverse mode.

    - argnums: by which arguments is differentiated, a number or a tuple of them.

    >>> import adjoint as torch
    >>> torch.func.hessian(lambda x: (x ** 3).sum())(torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)
