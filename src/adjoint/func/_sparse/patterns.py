"""Patterns of sparse matrices as they are given and kept, and the checks of what they belong to."""

import collections
import functools

import numpy as np

from ... import _C
from . import coloring

MODES = ("forward", "reverse")
Coloring = collections.namedtuple("Coloring", ["mode", "colors", "passes"])
Coloring.__doc__ = """How a sparse matrix is found: `mode` is "forward", with the color of each column in `colors`, or
"reverse", with that of each row; `passes` is the number of colors, and of products with the matrix."""


class Sparsity:
    """Where a matrix may have entries: `rows` and `columns`, arrays in row-major order, and its `shape`.

    Its colorings are made when they are first asked for, and kept: `coloring` for a Jacobian, `symmetric_coloring` for
    a Hessian.
    """

    def __init__(self, matrix):
        matrix = scipy_sparse().csr_array(matrix, dtype=bool)
        matrix.sum_duplicates()
        self.shape = tuple(map(int, matrix.shape))
        self.starts, self.columns = matrix.indptr, matrix.indices
        self.rows = np.repeat(np.arange(self.shape[0]), np.diff(self.starts))
        self._colored = {}  # by mode

    def __repr__(self):
        return f"Sparsity(shape={self.shape}, entries={len(self.rows)})"

    @functools.cached_property
    def coloring(self):
        """That of columns or of rows, whichever takes fewer passes."""
        # As many colors as entries in a row, or in a column, are needed at the least.
        places = {"forward": self.rows, "reverse": self.columns}
        least = {mode: int(np.bincount(places[mode]).max(initial=0)) for mode in MODES}
        first, second = sorted(MODES, key=least.__getitem__)
        best = self.colored(first)
        return best if best.passes <= least[second] else min(best, self.colored(second), key=lambda one: one.passes)

    def colored(self, mode):
        """The coloring of columns for forward mode, of rows for reverse mode."""
        if mode not in self._colored:
            sides = (self.rows, self.columns), self.shape
            (groups, members), counts = sides if mode == "forward" else [side[::-1] for side in sides]
            self._colored[mode] = Coloring(mode, *coloring.distinct(groups, members, counts))
        return self._colored[mode]

    @property
    def symmetric(self):
        """The pattern with the mirror image of each entry."""
        return self._mirrored or self

    @functools.cached_property
    def _mirrored(self):
        matrix = self.matrix(np.ones(len(self.rows), bool))
        return None if (matrix != matrix.T).nnz == 0 else Sparsity(matrix + matrix.T)

    @functools.cached_property
    def symmetric_coloring(self):
        """That of a symmetric matrix, which an entry or its mirror image is read off."""
        rows, columns, count = self.symmetric.rows, self.symmetric.columns, self.shape[0]
        ways = coloring.star(rows, columns, count), coloring.distinct(rows, columns, (count, count))
        return Coloring("forward", *min(ways, key=lambda way: way[1]))

    def matrix(self, values):
        """The matrix with these entries, whose arrays are its own."""
        return scipy_sparse().csr_array((values, self.columns, self.starts), shape=self.shape, copy=True)


def scipy_sparse(name="sparsity"):
    """The module of SciPy."""
    try:
        from scipy import sparse
    except ImportError:
        raise ImportError(f"{name}: needs SciPy, for its sparse matrices; install it, or use jacrev") from None
    return sparse


def check_input(x, name):
    if not isinstance(x, _C.Tensor):
        raise TypeError(f"{name}: expected a tensor x, got {type(x).__name__}; join several into one")
    if _C._batch_level(x) is not None:
        raise RuntimeError(f"{name}: gives a matrix of SciPy, which cannot be under vmap; call it for each example")
    _check_type(x, "x", name)


def _check_type(tensor, what, name):
    if tensor.dtype not in (_C.float32, _C.float64):
        raise TypeError(f"{name}: expected {what} of float32 or float64, which SciPy has, got {tensor.dtype}")


def check_mode(mode, name):
    if mode not in (None, *MODES):
        raise ValueError(f"{name}: expected a mode of {' or '.join(MODES)}, or None for the better one, got {mode!r}")


def check_output(value, name):
    if not isinstance(value, _C.Tensor):
        raise TypeError(f"{name}: expected func to return a tensor, got {type(value).__name__}")
    _check_type(value, "func(x)", name)


def check_result(value, pattern, name):
    check_output(value, name)
    if value.numel() != pattern.shape[0]:
        raise ValueError(
            f"{name}: expected a pattern with a row for each of the {value.numel()} elements of func(x), got shape "
            f"{pattern.shape}"
        )


def given_pattern(func, x, pattern, name):
    """The Sparsity of a pattern in any of the forms it may have."""
    if not isinstance(pattern, Sparsity):
        pattern = _as_sparsity(func, x, pattern, name)
    if pattern.shape[1] != x.numel():
        raise ValueError(
            f"{name}: expected a pattern with a column for each of the {x.numel()} elements of x, got shape "
            f"{pattern.shape}"
        )
    return pattern


def _as_sparsity(func, x, pattern, name):
    if isinstance(pattern, tuple | list) and len(pattern) == 2:
        rows, columns = (_indices(part, name) for part in pattern)
        if len(rows) != len(columns):
            raise ValueError(f"{name}: expected as many rows as columns, got {len(rows)} and {len(columns)}")
        value = func(x)
        check_output(value, name)
        for what, places, count in (("rows", rows, value.numel()), ("columns", columns, x.numel())):
            if len(places) and not 0 <= places.min() <= places.max() < count:
                raise ValueError(f"{name}: expected {what} from 0 to {count - 1}, got {places.min()} to {places.max()}")
        shape = (value.numel(), x.numel())
        return Sparsity(scipy_sparse().coo_array((np.ones(len(rows), bool), (rows, columns)), shape=shape))
    if scipy_sparse().issparse(pattern):
        entries = pattern.tocoo()
        return Sparsity(scipy_sparse().coo_array((np.ones(entries.nnz, bool), entries.coords), shape=entries.shape))
    array = pattern.detach().numpy() if isinstance(pattern, _C.Tensor) else pattern
    if not isinstance(array, np.ndarray) or array.dtype != bool or array.ndim != 2:
        raise TypeError(
            f"{name}: expected a pattern that is a Sparsity, a matrix of SciPy, a matrix of bools, or (rows, columns), "
            f"got {type(pattern).__name__}" + (f" of {pattern.dtype}" if hasattr(pattern, "dtype") else "")
        )
    return Sparsity(array)


def _indices(part, name):
    array = part.detach().numpy() if isinstance(part, _C.Tensor) else np.asarray(part)
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(f"{name}: expected rows and columns of integers, got {array.dtype}")
    return array.reshape(-1).astype(np.int64)
