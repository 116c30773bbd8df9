"""Telling elements apart: distinct values, membership, and the indices of triangles and combinations."""

import itertools

from .. import _C
from .checks import boolean, tensor
from .language import (
    _sorted_places,
    _unique_consecutive,
    _unique_consecutive_dim,
    _unique_dim,
    arange,
    composite,
    index_select,
    ones,
    op,
    result_type,
    scalar_tensor,
    stack,
    triangle_indices,
    unique_rows,
)
from .language import _unique2 as _unique_elements
from .selection import growing

# ---- Distinct values

op("_unique2(input, return_inverse, return_counts, consecutive=False)", loop="unique", widened="unsigned ordered",
   native="unique", node="Unique2Backward0",
   public=False, input=None, doc="The distinct elements in order, their numbers and their counts.",
   batch=growing)  # fmt: skip
op("_unique_consecutive(input, return_inverse, return_counts, consecutive=True)", loop="unique",
   widened="unsigned ordered",
   native="unique",
   node="UniqueConsecutiveBackward0", public=False, input=None,
   doc="One of each run of equal elements, their numbers and their counts.",
   batch=growing)  # fmt: skip
op("unique_rows(input, consecutive)", widened="unsigned ordered", native="unique_rows", gradient=False, public=False,
   doc="Where the first of each distinct row is, the numbers of rows and their counts.",
   batch=growing)  # fmt: skip


def _distinct_slices(input, dim, consecutive):
    if input.ndim == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    dim = range(input.ndim)[dim] if -input.ndim <= dim < input.ndim else input.size(dim)
    if any(size == 0 for d, size in enumerate(input.shape) if d != dim):
        raise RuntimeError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")
    count = input.shape[dim]
    rows = input.movedim(dim, 0).reshape(count, input.numel() // count if count else 0)
    first, inverse, counts = unique_rows(rows, consecutive)
    return index_select(input, dim, first), inverse, counts


op("_unique_dim(input, dim, consecutive=False)", forward=_distinct_slices, node="UniqueDimBackward0", public=False,
   input=None,
   doc="The distinct slices along a dimension in order, their numbers and their counts.",
   batch=growing)  # fmt: skip
op("_unique_consecutive_dim(input, dim, consecutive=True)", forward=_distinct_slices,
   node="UniqueConsecutiveBackward0", public=False, input=None,
   doc="One of each run of equal slices along a dimension, their numbers and their counts.",
   batch=growing)  # fmt: skip


def _asked_for(results, return_inverse, return_counts):
    values, inverse, counts = results
    if not (return_inverse or return_counts):
        return values
    return (values, *([inverse] if return_inverse else []), *([counts] if return_counts else []))


@composite(numpy_names=False)
def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The distinct elements, or slices along a dimension, in order; `sorted` is there for the signature's sake.

    >>> import adjoint as torch
    >>> torch.tensor([3, 1, 3, 2]).unique(return_counts=True)
    (tensor([1, 2, 3]), tensor([1, 1, 2]))
    """
    boolean("unique", sorted=sorted, return_inverse=return_inverse, return_counts=return_counts)
    results = _unique_elements(input, return_inverse, return_counts) if dim is None else _unique_dim(input, dim)
    return _asked_for(results, return_inverse, return_counts)


@composite(numpy_names=False)
def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """One of each run of equal elements, or of equal slices along a dimension.

    >>> import adjoint as torch
    >>> torch.tensor([1, 1, 2, 2, 1]).unique_consecutive()
    tensor([1, 2, 1])
    """
    boolean("unique_consecutive", return_inverse=return_inverse, return_counts=return_counts)
    if dim is None:
        results = _unique_consecutive(input, return_inverse, return_counts)
    else:
        results = _unique_consecutive_dim(input, dim)
    return _asked_for(results, return_inverse, return_counts)


# ---- Membership


@composite(out="exact", method=False)
def isin(elements=None, test_elements=None, *, assume_unique=False, invert=False, element=None, test_element=None):
    """Whether each element is among the test elements; either may be a number. `assume_unique` changes nothing.

    >>> import adjoint as torch
    >>> torch.isin(torch.tensor([1, 2, 3]), torch.tensor([2, 5]))
    tensor([False,  True, False])
    """
    boolean("isin", assume_unique=assume_unique, invert=invert)
    elements = element if elements is None else elements
    tests = test_element if test_elements is None else test_elements
    if not (isinstance(elements, _C.Tensor) or isinstance(tests, _C.Tensor)) or elements is None or tests is None:
        raise TypeError(
            "isin() received an invalid combination of arguments: expected elements and test elements, of which one "
            "may be a number, not both"
        )
    for given in (elements, tests):
        if isinstance(given, bool):
            raise RuntimeError("Unsupported input type encountered for isin(): Bool")
        if isinstance(given, _C.Tensor) and (given.dtype is _C.bool or given.is_complex()):
            kind = str(given.dtype).removeprefix("torch.")
            names = {"bool": "Bool", "complex64": "ComplexFloat", "complex128": "ComplexDouble"}
            raise RuntimeError(f"Unsupported input type encountered for isin(): {names[kind]}")
    common = result_type(elements, tests)
    device = elements.device if isinstance(elements, _C.Tensor) else tests.device
    elements, tests = (
        given.detach().to(common) if isinstance(given, _C.Tensor) else scalar_tensor(given, dtype=common, device=device)
        for given in (elements, tests)
    )
    if device.type == "meta":
        return _C.empty(elements.shape, dtype=_C.bool, device=device)
    if common in (_C.uint16, _C.uint32):
        elements, tests = elements.to(_C.int64), tests.to(_C.int64)
    elif common is _C.uint64:  # the same bits are equal in any order
        elements, tests = elements.view(_C.int64), tests.view(_C.int64)
    if tests.is_floating_point():
        if _C._batch_level(tests) is not None:
            found = (elements.unsqueeze(-1) == tests.reshape(-1)).any(-1)
            return ~found if invert else found
        tests = tests.masked_select(tests == tests)  # nan is equal to nothing
    if tests.numel() == 0:
        return _C.full(elements.shape, invert, dtype=_C.bool, device=elements.device)
    tests = tests.reshape(-1).sort().values
    nearest = tests.take(_sorted_places(tests, elements, False, False).clamp_(max=tests.numel() - 1))
    return nearest != elements if invert else nearest == elements


# ---- Triangles and combinations

op("triangle_indices(row, col, offset, lower, dtype, like)", native="triangle_indices", public=False,
   doc="The coordinates of the entries of a triangle, on the device of a tensor.")  # fmt: skip


def _triangle(row, col, offset, lower, dtype, device, layout):
    if layout not in (None, _C.strided):
        raise RuntimeError(f"expected the strided layout, the only one there is; got {layout}")
    return triangle_indices(row, col, offset, lower, dtype, _C.empty(0, device=device))


@composite(method=False)
def tril_indices(row, col, offset=0, *, dtype=None, device=None, layout=None, pin_memory=None):
    """The coordinates of the entries on and below a diagonal, row by row.

    >>> import adjoint as torch
    >>> torch.tril_indices(2, 2)
    tensor([[0, 1, 1],
            [0, 0, 1]])
    """
    return _triangle(row, col, offset, True, dtype, device, layout)


@composite(method=False)
def triu_indices(row, col, offset=0, *, dtype=None, device=None, layout=None, pin_memory=None):
    """The coordinates of the entries on and above a diagonal, row by row.

    >>> import adjoint as torch
    >>> torch.triu_indices(2, 2)
    tensor([[0, 0, 1],
            [0, 1, 1]])
    """
    return _triangle(row, col, offset, False, dtype, device, layout)


# A grid of more dimensions has more entries than can be addressed.
_MOST_CHOICES = 62


@composite(method=False)
def combinations(input, r=2, with_replacement=False):
    """All choices of `r` elements of a row, each a row of the result, in the order of their places.

    >>> import adjoint as torch
    >>> torch.combinations(torch.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
    boolean("combinations", with_replacement=with_replacement)
    tensor("combinations", input=input)
    if input.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return input.new_empty(0)
    count = input.shape[0]
    if r > _MOST_CHOICES:
        if count > 1:
            raise RuntimeError(f"numel: integer multiplication overflow; {r} of {count} elements cannot be listed")
        return input.expand(r).unsqueeze(0).clone() if count and with_replacement else input.new_empty(0, r)
    grid = (count,) * r
    # Axis i of the grid stands for choice i.
    along = [(-1, *(1,) * (r - 1 - i)) for i in range(r)]
    places = arange(count, device=input.device)
    chosen = ones(grid, dtype=_C.bool, device=input.device)
    for this, following in itertools.pairwise(along):
        first, second = places.reshape(this), places.reshape(following)
        chosen &= first <= second if with_replacement else first < second
    return stack([input.reshape(axis).expand(grid).masked_select(chosen) for axis in along], 1)
