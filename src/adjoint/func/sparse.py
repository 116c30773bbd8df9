"""Jacobians and Hessians that are mostly zeros: a few products with vectors, each of which finds many columns at once.

Columns that have no row in common can be told apart in the sum of all of them. So the pattern is found by running the
function once (_sparse/tracing.py), its columns or rows are colored (_sparse/coloring.py), and one product for each
color has all entries: three for a tridiagonal matrix, whatever its size.
"""

import numpy as np

from .. import _C
from ._sparse.patterns import Sparsity, check_input, check_mode, check_result, given_pattern, scipy_sparse
from .forward import jvp
from .reverse import grad, vjp
from .vmap import vmap


def sparsity(func, x):
    """Which elements of func(x) depend on which of x: a `Sparsity`, found once for many calls of sparse_jacobian.

    The function runs once, and each op says what its results depend on; elements count in row-major order. Entries may
    be zero at a point, or everywhere, but none is missed, as long as the function takes the same way with other values:
    both branches of `where` count, but of an `if` only the one that is taken. The pattern of a Hessian is that of the
    gradient: sparsity(grad(func), x). Needs SciPy.

    >>> import adjoint as torch
    >>> pattern = torch.func.sparsity(lambda x: x[1:] * x[:-1], torch.ones(1000))
    >>> pattern
    Sparsity(shape=(999, 1000), entries=1998)
    >>> pattern.coloring.passes
    2
    """
    scipy_sparse("sparsity")
    check_input(x, "sparsity")
    from ._sparse.tracing import traced

    return Sparsity(traced(func, x))


def sparse_jacobian(func, x, pattern=None, *, mode=None, check=False, chunk_size=32):
    """The Jacobian of `func` at x as a `scipy.sparse.csr_array`, in as many products as its pattern has colors.

    A tridiagonal Jacobian takes three, whatever its size. Its rows are the elements of func(x) and its columns those of
    x, in row-major order; it has the type of func(x), an entry for each of the pattern, zeros too, and no history.

    `pattern` is what sparsity(func, x) gives, which is called without one; or a matrix of SciPy, a matrix of bools, or
    (rows, columns) of the entries. With `check`, a product with a random vector must agree, or a ValueError says that
    the pattern lacks entries. Products run by vmap, `chunk_size` of them at once, in forward or reverse mode, whichever
    takes fewer of them; `mode` says which, for a function that has only one. Needs SciPy.

    >>> import adjoint as torch
    >>> jacobian = torch.func.sparse_jacobian(lambda x: x[1:] * x[:-1], torch.tensor([1.0, 2.0, 3.0]))
    >>> jacobian.toarray().tolist()
    [[2.0, 1.0, 0.0], [0.0, 3.0, 2.0]]
    """
    name = "sparse_jacobian"
    scipy_sparse(name)
    check_input(x, name)
    check_mode(mode, name)
    x = x.detach()
    pattern = sparsity(func, x) if pattern is None else given_pattern(func, x, pattern, name)
    coloring = pattern.colored(mode) if mode else pattern.coloring
    products = _products(func, x, pattern, coloring, chunk_size, name)
    if coloring.mode == "forward":
        values = products[coloring.colors[pattern.columns], pattern.rows]
    else:
        values = products[coloring.colors[pattern.rows], pattern.columns]
    result = pattern.matrix(values)
    if check:
        _check_product(func, x, result, coloring.mode, 0.0, name)
    return result


def sparse_hessian(func, x, pattern=None, *, mode=None, check=False, chunk_size=32):
    """The Hessian of `func`, which gives a tensor without dimensions, as a `scipy.sparse.csr_array`.

    As sparse_jacobian of grad(func), but in fewer passes: of two entries that mirror each other, one is enough. The
    pattern is what sparsity(grad(func), x) gives, or any that sparse_jacobian takes, one triangle of it at the least.
    Products are those of forward over reverse mode; mode="reverse" is for a function without forward mode.

    >>> import adjoint as torch
    >>> hessian = torch.func.sparse_hessian(lambda x: (x[1:] * x[:-1] ** 2).sum(), torch.tensor([1.0, 2.0, 3.0]))
    >>> hessian.toarray().tolist()
    [[4.0, 2.0, 0.0], [2.0, 6.0, 4.0], [0.0, 4.0, 0.0]]
    """
    name = "sparse_hessian"
    scipy_sparse(name)
    check_input(x, name)
    check_mode(mode, name)
    x, gradient = x.detach(), grad(func)
    given = sparsity(gradient, x) if pattern is None else given_pattern(gradient, x, pattern, name)
    if given.shape[0] != given.shape[1]:
        raise ValueError(f"{name}: expected a square pattern, got shape {given.shape}")
    pattern, coloring = given.symmetric, given.symmetric_coloring._replace(mode=mode or "forward")
    products = _products(gradient, x, pattern, coloring, chunk_size, name)
    rows, columns, colors = pattern.rows, pattern.columns, coloring.colors
    # An entry that shares its row and color with another is read off where it stands mirrored.
    cells = rows * max(coloring.passes, 1) + colors[columns]
    shared = np.bincount(cells, minlength=1)[cells] > 1
    rows, columns = np.where(shared, columns, rows), np.where(shared, rows, columns)
    result = pattern.matrix(products[colors[columns], rows])
    if check:
        _check_product(gradient, x, result, coloring.mode, _largest(func(x)), name)
    return result


# ---- Products


def _products(func, x, pattern, coloring, chunk_size, name):
    """By color, the product of the Jacobian, or of the transposed one, with the sum of its unit vectors."""
    if not coloring.passes:
        value = func(x)
        check_result(value, pattern, name)
        return np.zeros((0, 0), _numpy_type(value))
    if coloring.mode == "reverse":
        value, pull = vjp(func, x)
        check_result(value, pattern, name)
        found = vmap(lambda weight: pull(weight)[0], chunk_size=chunk_size)(_seeds(coloring, value))
        return found.detach().reshape(coloring.passes, -1).numpy().astype(_numpy_type(value), copy=False)

    def push(direction):
        value, product = jvp(func, (x,), (direction,))
        check_result(value, pattern, name)
        return product

    return vmap(push, chunk_size=chunk_size)(_seeds(coloring, x)).detach().reshape(coloring.passes, -1).numpy()


def _seeds(coloring, like):
    """For each color, ones at the elements that have it."""
    seeds = np.zeros((coloring.passes, like.numel()), _numpy_type(like))
    colored = np.flatnonzero(coloring.colors >= 0)
    seeds[coloring.colors[colored], colored] = 1
    return _C.tensor(seeds, device=like.device).view(coloring.passes, *like.shape)


def _tensor(array, like):
    return _C.tensor(array, dtype=like.dtype, device=like.device).view(like.shape)


def _numpy_type(tensor):
    return np.dtype("float32" if tensor.dtype == _C.float32 else "float64")


def _check_product(func, x, result, mode, energy, name):
    """Compares a product with a random vector, of the function and of the matrix that was found.

    `energy` is the size of what func is the gradient of, if it is one.
    """
    forward = mode == "forward"
    vector = np.random.default_rng(0).uniform(0.5, 1.5, result.shape[1 if forward else 0]).astype(result.dtype)
    if forward:
        value, product = jvp(func, (x,), (_tensor(vector, x),))
    else:
        value, pull = vjp(func, x)
        (product,) = pull(_tensor(vector, value))
        result = result.T
    found, expected = result @ vector, product.detach().numpy().ravel()
    epsilon = max(np.finfo(_numpy_type(one)).eps for one in (x, value))
    sizes = abs(result) @ vector + np.abs(expected)
    # Derivatives that are zero but for rounding are as large as the function's own rounding makes them.
    scale = _largest(x) or 1.0
    largest = max(sizes.max(initial=0.0), _largest(value) / scale, energy / scale**2)
    wrong = np.flatnonzero(np.abs(found - expected) > epsilon**0.5 * sizes + 1000 * epsilon * largest)
    if len(wrong):
        raise ValueError(
            f"{name}: the pattern lacks entries: a product with a random vector is another than that of func, in "
            f"{len(wrong)} of {len(found)} {'rows' if forward else 'columns'}, the first of them {wrong[0]}; add the "
            "entries there, or leave out pattern= to have it found"
        )


def _largest(tensor):
    return np.abs(tensor.detach().numpy()).max(initial=0.0)
