"""Patterns: where the entries of a sparse tensor are. A pattern never changes, and tensors share it with what it knows.

Every pattern has

    layout, size    as its tensors have them
    tensor(values)  the sparse tensor of these values, without history
    at(g)           the elements of a tensor, dense or sparse, where the pattern has entries: the gradient of the values
    spread(g)       the gradient of a tensor of this pattern, given that of its values
    pack(values)    as tensor(), with the history of the values
    filled(values)  all elements of that tensor, as a dense one
    add_to(dense, values)   the values added to a dense tensor, in place
    converted(dense)        a dense tensor in this layout
    nnz, sparse_dim, dense_size, saved(values), shown(values), copied()
    rows()          of a matrix: its entries as `Rows`

Entries of matrices are multiplied by way of `Rows`, whatever the layout.
"""

import math
import weakref

from .. import _C
from ..ops import language as _ops

int64 = _C.int64


class Pattern:
    """What all patterns share."""

    __slots__ = ("_known", "size")
    layout = _C.strided

    def __init__(self, size):
        self.size = tuple(size)
        self._known = {}

    def tensor(self, values):
        """The sparse tensor that has these values, without history."""
        return _C._sparse_tensor(values, self, self.layout, self.size)

    def known(self, name, make):
        """What `make` gives, once for all tensors of this pattern."""
        if name not in self._known:
            self._known[name] = make()
        return self._known[name]


class Coo(Pattern):
    """Coordinates: a column of `indices` for each entry, in any order, several of one place if not `coalesced`."""

    __slots__ = ("_version", "coalesced", "indices")
    layout = _C.sparse_coo

    def __init__(self, indices, size, coalesced):
        super().__init__(size)
        self.indices = indices.detach()
        self.coalesced = bool(coalesced)
        self._version = self.indices._version

    def known(self, name, make):
        if self.indices._version != self._version:  # a program has changed them: what was found out is void
            self._known.clear()
            self._version = self.indices._version
        return super().known(name, make)

    @property
    def sparse_dim(self):
        return self.indices.shape[0]

    @property
    def nnz(self):
        return self.indices.shape[1]

    @property
    def dense_size(self):
        return self.size[self.sparse_dim :]

    def pack(self, values):
        """The sparse tensor of these values, with their history."""
        return _ops._sparse_pack(values, self)

    def flagged(self, coalesced):
        """The same places, known to be coalesced or not."""
        if coalesced == self.coalesced:
            return self
        other = Coo(self.indices, self.size, coalesced)
        if self.nnz < 2:
            other._known = self._known
        return other

    def places(self):
        """(a number for the place of each entry, how many places there are)."""
        return self.known("places", self._places)

    def _places(self):
        sizes = self.size[: self.sparse_dim]
        keys = self.indices[0] if sizes else _C.zeros(self.nnz, dtype=int64, device=self.indices.device)
        for row, size in zip(self.indices[1:], sizes[1:], strict=True) if sizes else ():
            keys = keys * size + row
        return keys, math.prod(sizes)

    def grouped(self):
        """(the coalesced pattern, order, starts, groups) of the entries; see _sparse_group()."""
        return self.known("grouped", self._grouped)

    def _grouped(self):
        order, groups, starts = _ops._sparse_group(*self.places())
        firsts = order.index_select(0, starts[:-1])
        return Coo(self.indices.index_select(1, firsts), self.size, True), order, starts, groups

    # ---- What others ask for

    def saved(self, values):
        """What a file keeps, in torch's order."""
        return self.indices, values, _C.Size(self.size), self.coalesced

    def shown(self, values):
        """The parts by name, as they are printed."""
        return ("indices", self.indices), ("values", values)

    def copied(self):
        """The same pattern on memory of its own."""
        return Coo(self.indices.clone(), self.size, self.coalesced)

    def moved(self, device):
        """The same pattern on another device."""
        return Coo(self.indices.to(device), self.size, self.coalesced)

    # ---- Gradients

    def at(self, g):
        """The elements of g where there are entries, in the shape of the values."""
        if g.layout is _C.strided:
            return _ops._sparse_coo_at(g, self)
        if g.layout is not _C.sparse_coo:
            g = g.to_sparse(self.sparse_dim)
        other = _C._sparse_pattern(g)
        if other.sparse_dim != self.sparse_dim:
            return _ops._sparse_coo_at(g.to_dense(), self)
        if other.coalesced and other.indices is self.indices:
            return _ops._sparse_unpack(g, other)
        g = g.coalesce()
        other = _C._sparse_pattern(g)
        place, found = self.found_in(other)
        entries = _ops._sparse_unpack(g, other)
        if other.nnz == 0:
            return entries.new_zeros((self.nnz, *self.dense_size))
        taken = entries.index_select(0, place)
        return taken if bool(found.all()) else _ops.where(_like(found, taken), taken, 0)

    def found_in(self, other):
        """(the entry of a coalesced pattern that each of these has the place of, whether there is one)."""
        mine, theirs = self.places()[0], other.places()[0]
        if other.nnz == 0:
            return _ops.zeros_like(mine), _ops.zeros_like(mine, dtype=_C.bool)
        place = _ops.searchsorted(theirs, mine).clamp_(max=other.nnz - 1)
        return place, theirs.index_select(0, place) == mine

    def spread(self, g):
        """The gradient of the tensor: entries of one place have the same, which counts once."""
        if self.coalesced:
            return self.pack(g)
        whole, order, starts, _ = self.grouped()
        return whole.pack(g.index_select(0, order.index_select(0, starts[:-1])))

    # ---- Dense tensors: forward and rule of _sparse_coo_at

    def found(self, dense):
        """The elements of a dense tensor where there are entries."""
        if self.sparse_dim == 0:
            return dense.expand(self.nnz, *dense.shape).clone()
        return dense[self.indices.unbind(0)]

    def added(self, values, like):
        """The rule: zeros with the values added where the entries are."""
        return self.add_to(_C.zeros(like.shape, dtype=values.dtype, device=values.device), values)

    def filled(self, values):
        """All elements of the tensor of these values."""
        zeros = _C.zeros(self.size, dtype=values.dtype, device=values.device)
        if values.dtype is not _C.bool:
            return self.add_to(zeros, values)
        if self.sparse_dim == 0:
            return zeros | values.any(0)
        return zeros.index_put_(self.indices.unbind(0), values | False) if self.coalesced else self._any(zeros, values)

    def _any(self, zeros, values):
        """Entries of truth values that share a place add up to true."""
        whole, order, starts, groups = self.grouped()
        return whole.filled(_ops._sparse_sum_groups(values, order, starts, groups))

    def converted(self, tensor):
        """A dense tensor in this layout, with as many sparse dimensions."""
        return tensor.to_sparse(self.sparse_dim)

    def add_to(self, dense, values):
        """Adds the values to a dense tensor, in place."""
        if self.sparse_dim == 0:
            return dense.add_(values.sum(0))
        if self.coalesced and dense.is_contiguous():
            flat = dense.view(self.places()[1], *self.dense_size)
            flat.index_add_(0, self.places()[0], values)
            return dense
        return dense.index_put_(self.indices.unbind(0), values, accumulate=True)

    # ---- Matrices

    def rows(self):
        """The entries of a matrix, row by row."""
        return self.known("rows", lambda: Rows(*self.indices, *self.size, ordered=self.coalesced))


class Rows:
    """The entries of a matrix by their rows, for products: `row` and `column` of each, and how many of both there are.

    `starts` says where each row begins among the entries, taken in the order `order` (None: as they are). A layout that
    has it already gives `starts`, and None for `row`.
    """

    def __init__(self, row, column, height, width, *, ordered=False, starts=None):
        self._row, self.column, self.height, self.width = row, column.contiguous(), height, width
        self._ordered, self._starts, self._order, self._transposed = ordered or starts is not None, starts, None, None

    @property
    def row(self):
        if self._row is None:
            counts = self._starts.diff()
            self._row = _ops.repeat_interleave(_C.arange(self.height, device=counts.device), counts)
        return self._row

    def _arrange(self):
        if self._starts is None:
            if not self._ordered:
                self._order = _ops._sparse_group(self.row, self.height)[0]
            if self.row.numel() and not 0 <= int(self.row.amin()) <= int(self.row.amax()) < self.height:
                raise IndexError(
                    f"index out of range: a sparse matrix has entries in row {int(self.row.amax())} of {self.height}; "
                    "check_invariants=True says so when it is made"
                )
            starts = _C.zeros(self.height + 1, dtype=int64, device=self.row.device)
            _ops.cumsum(_ops.bincount(self.row, minlength=self.height), 0, out=starts[1:])
            self._starts = starts
        return self._starts, self._order

    def times(self, values, dense):
        """The matrix of these values, times a dense one."""
        starts, order = self._arrange()
        return _ops._sparse_rows_product(values, starts, order, self.column, dense)

    def sampled(self, first, second):
        """The elements of first @ second.T where there are entries."""
        return _ops._sparse_sampled_entries(self.row, self.column, first, second)

    def solved(self, values, dense, upper, unitriangular):
        """The solution of the triangular system that a dense matrix is the right hand side of."""
        starts, order = self._arrange()
        return _ops._sparse_rows_solve(values, starts, order, self.column, dense, upper, unitriangular)

    def in_triangle(self, values, upper, unitriangular):
        """The values, zero where solved() does not look at them."""
        above = self.column - self.row if upper else self.row - self.column
        return values.masked_fill(above < (1 if unitriangular else 0), 0)

    def transposed(self):
        """The same entries by their columns."""
        found = self._transposed() if isinstance(self._transposed, weakref.ref) else self._transposed
        if found is None:
            found = self._transposed = Rows(self.column, self.row, self.width, self.height)
            found._transposed = weakref.ref(self)  # no cycle, which would keep both until they are collected
        return found


def _like(mask, values):
    """A mask of entries that broadcasts over what each of them holds."""
    return mask.reshape(-1, *(1,) * (values.dim() - 1))
