"""Which inputs each element of a tensor depends on: sets as the rows of a sparse matrix of bools, and how they move.

A matrix has one row for each element of a tensor, in row-major order, and one column for each input. Places are numbers
of rows; a place of -1 stands for an element that depends on nothing.
"""

import numpy as np
from scipy import sparse


def empty(count, inputs):
    """The rows of elements that depend on nothing."""
    return sparse.csr_array((count, inputs), dtype=bool)


def matrix(rows, columns, shape):
    """The matrix with these entries."""
    return sparse.csr_array((np.ones(len(rows), bool), (rows, columns)), shape=shape)


def united(parts):
    """Element by element the union of several matrices of one shape."""
    first, *others = {id(part): part for part in parts}.values()
    for part in others:
        first = first + part
    return first


def picked(rows, places):
    """The rows at these places."""
    if (places < 0).any():
        rows = sparse.vstack([rows, empty(1, rows.shape[1])], format="csr")  # -1 is its last row
    return rows[places]


def replaced(rows, places, others):
    """The rows, with others at these places."""
    sources = np.arange(rows.shape[0])
    sources[places] = rows.shape[0] + np.arange(len(places))
    return sparse.vstack([rows, others], format="csr")[sources]


def gathered(rows, groups, count):
    """The unions of the rows of each of `count` groups, given the group of each row; none is -1."""
    members = np.flatnonzero(groups >= 0)
    return matrix(groups[members], members, (count, rows.shape[0])) @ rows


def repeated(rows, count):
    """The union of all rows, `count` times."""
    whole = gathered(rows, np.zeros(rows.shape[0], np.int64), 1)
    return whole[np.zeros(count, np.int64)]


def broadcast(rows, shape, target):
    """The rows of a tensor of this shape once it is broadcast to another."""
    if shape == target:
        return rows
    return rows[np.broadcast_to(np.arange(rows.shape[0]).reshape(shape), target).ravel()]


def along(rows, shape, dims, target):
    """The rows of results that mix all elements along dimensions: each depends on the whole of its line.

    A result of shape `target` has all dimensions, some in another size, or lacks those that were mixed.
    """
    kept = tuple(1 if d in dims else size for d, size in enumerate(shape))
    lines = np.arange(int(np.prod(kept))).reshape(kept)
    mixed = gathered(rows, np.broadcast_to(lines, shape).ravel(), lines.size)
    if len(target) == len(shape):
        return mixed[np.broadcast_to(lines, target).ravel()]
    return mixed
