"""Patterns of compressed rows or columns: CSR, CSC, and both of blocks, BSR and BSC.

`compressed` says where each line, a row or a column, begins among the entries, and `plain` where in its line each entry
is. Both have a row for each matrix of a batch, which all have as many entries. An entry of BSR and BSC is a matrix.

What is not multiplied goes by way of `elements()`: the coordinates of all elements of all entries, in their order. Two
patterns of one layout are joined by the `keys()` of their entries, numbers that grow as these are stored.
"""

import math

from .. import _C
from ..ops import language as _ops
from ._patterns import Coo, Pattern, Rows, int64


class Compressed(Pattern):
    """What the four layouts share. Whether indices are good is looked at when they are first needed, and only once."""

    __slots__ = ("_versions", "batch", "block", "compressed", "plain")
    by_rows = True
    blocked = False

    def __init__(self, compressed, plain, size, block=()):
        super().__init__(size)
        self.compressed, self.plain, self.block = compressed.detach(), plain.detach(), tuple(block)
        self.batch = tuple(compressed.shape[:-1])
        self._versions = (self.compressed._version, self.plain._version)

    def known(self, name, make):
        versions = (self.compressed._version, self.plain._version)
        if versions != self._versions:  # a program has changed them: what was found out is void
            self._known.clear()
            self._versions = versions
        return super().known(name, make)

    sparse_dim = 2

    @property
    def nnz(self):
        return self.plain.shape[-1]

    @property
    def dense_size(self):
        return self.size[len(self.batch) + 2 :]

    @property
    def value_size(self):
        """The sizes that values have."""
        return (*self.batch, self.nnz, *self.block, *self.dense_size)

    @property
    def grid(self):
        """(lines, places of each line), both in blocks."""
        rows, columns = (n // b for n, b in zip(self.size[len(self.batch) :], self.block or (1, 1), strict=False))
        return (rows, columns) if self.by_rows else (columns, rows)

    def pack(self, values):
        """The sparse tensor of these values, with their history."""
        return _ops._sparse_pack_compressed(values, self)

    def names(self):
        """What the two index tensors are called."""
        return ("crow_indices", "col_indices") if self.by_rows else ("ccol_indices", "row_indices")

    # ---- Values, in their own shape, with a row for each entry, and with one for each element

    def by_entry(self, values):
        """The values with the batch and the entries as one dimension."""
        return values.reshape(math.prod(self.batch) * self.nnz, *self.block, *self.dense_size)

    def by_element(self, values):
        """The values as those of elements()."""
        return values.reshape(math.prod(self.batch) * self.nnz * math.prod(self.block), *self.dense_size)

    def folded(self, values):
        """Values of either shape as those of this pattern."""
        return values.reshape(self.value_size)

    def folding(self, values):
        """The tensor of values of either shape, with their history."""
        return self.pack(self.folded(values))

    # ---- Indices

    def starts(self):
        """`compressed` as int64, looked at: each line has as many entries as it says."""
        return self.known("starts", self._starts)

    def _starts(self):
        starts = self.compressed.to(int64)
        name = self.names()[0]
        if starts.numel() and bool((starts[..., 0] != 0).any()):
            raise RuntimeError(f"`{name}[..., 0] == 0` is not satisfied.")
        if starts.numel() and bool((starts[..., -1] != self.nnz).any()):
            raise RuntimeError(f"`{name}[..., -1] == nnz` is not satisfied.")
        if bool((starts.diff(dim=-1) < 0).any()):
            raise RuntimeError(f"`{name}` must not decrease; the tensor was made of other indices than it needs")
        return starts

    def places(self):
        """(line, place in it) of each entry, int64, of all batches one after the other."""
        return self.known("places", self._places)

    def _places(self):
        counts = self.starts().diff(dim=-1).reshape(-1)
        lines, width = self.grid
        plain = self.plain.reshape(-1).to(int64)
        if plain.numel() and (int(plain.min()) < 0 or int(plain.max()) >= width):
            raise IndexError(
                f"index out of range in self: `{self.names()[1]}` must be at least 0 and below {width}, and are "
                f"{int(plain.min())} to {int(plain.max())}"
            )
        line = _ops.repeat_interleave(_C.arange(lines, device=plain.device).repeat(math.prod(self.batch)), counts)
        return line, plain

    def owner(self):
        """The number of the batch that each entry is in."""
        return _C.arange(math.prod(self.batch), device=self.plain.device).repeat_interleave(self.nnz)

    def keys(self):
        """(a number for each entry, how many there may be); they grow as compressed tensors are stored."""
        return self.known("keys", self._keys)

    def _keys(self):
        line, plain = self.places()
        lines, width = self.grid
        if self.batch:
            line = line + self.owner() * lines
        return line * width + plain, math.prod(self.batch) * lines * width

    def elements(self):
        """The coordinates of all elements of the entries."""
        return self.known("elements", self._elements)

    def _elements(self):
        row, column = self.places() if self.by_rows else self.places()[::-1]
        batch = self.owner() if self.batch else None
        if self.blocked:
            high, wide = self.block
            shape = (row.shape[0], high, wide)
            down = _C.arange(high, device=row.device).reshape(-1, 1)
            across = _C.arange(wide, device=row.device)
            row = ((row * high).reshape(-1, 1, 1) + down).expand(shape).reshape(-1)
            column = ((column * wide).reshape(-1, 1, 1) + across).expand(shape).reshape(-1)
            batch = batch if batch is None else batch.repeat_interleave(high * wide)
        indices = _ops.stack([*(_ops.unravel_index(batch, self.batch) if self.batch else ()), row, column])
        pattern = Coo(indices, self.size, False)
        places = pattern.places()[0]
        if bool((places[1:] > places[:-1]).all()):
            pattern = Coo(indices, self.size, True)
        return pattern

    def is_like(self, other):
        """Whether another pattern of this layout has the same entries."""
        if other is self:
            return True
        if (self.size, self.block, self.batch, self.nnz) != (other.size, other.block, other.batch, other.nnz):
            return False
        pairs = ((self.compressed, other.compressed), (self.plain, other.plain))
        return all(a is b or _ops.equal(a.to(int64), b.to(int64)) for a, b in pairs)

    # ---- What others ask for: see _patterns.py

    def parts(self):
        """The two index tensors."""
        return self.compressed, self.plain

    def saved(self, values):
        return *self.parts(), values, _C.Size(self.size)

    def shown(self, values):
        return *zip(self.names(), self.parts(), strict=True), ("values", values)

    def copied(self):
        return type(self)(self.compressed.clone(), self.plain.clone(), self.size, self.block)

    def moved(self, device):
        return type(self)(self.compressed.to(device), self.plain.to(device), self.size, self.block)

    def at(self, g):
        if g.layout is self.layout and self.is_like(_C._sparse_pattern(g)):
            return _ops._sparse_unpack(g, _C._sparse_pattern(g))
        return self.folded(self.elements().at(in_coordinates(g)))

    def spread(self, g):
        return self.pack(g)

    def found(self, dense):
        return self.folded(self.elements().found(dense))

    def added(self, values, like):
        return self.elements().added(self.by_element(values), like)

    def filled(self, values):
        return self.elements().filled(self.by_element(values))

    def add_to(self, dense, values):
        return self.elements().add_to(dense, self.by_element(values))

    def converted(self, tensor):
        return tensor.to_sparse(layout=self.layout, blocksize=self.block or None, dense_dim=len(self.dense_size))

    def rows(self):
        """The entries of a matrix by rows, or the elements of its blocks."""
        return self.known("rows", self._rows)

    def _rows(self):
        if self.blocked:
            return Rows(*self.elements().indices, *self.size)
        rows = Rows(None, self.plain.to(int64), *self.grid, starts=self.starts())
        return rows if self.by_rows else rows.transposed()

    # ---- Other patterns

    def transposed(self):
        """The same entries of the transposed matrix."""
        return self.known("transposed", self._transposed)

    def _transposed(self):
        count = len(self.batch)
        size = (*self.batch, self.size[count + 1], self.size[count], *self.dense_size)
        other = KINDS[self.blocked, not self.by_rows](self.compressed, self.plain, size, self.block[::-1])
        other._known["transposed"] = self
        if "rows" in self._known:
            other._known["rows"] = self.rows().transposed()
        return other


class Csr(Compressed):
    """Rows of elements."""

    __slots__ = ()
    layout = _C.sparse_csr


class Csc(Compressed):
    """Columns of elements."""

    __slots__ = ()
    layout = _C.sparse_csc
    by_rows = False


class Bsr(Compressed):
    """Rows of blocks."""

    __slots__ = ()
    layout = _C.sparse_bsr
    blocked = True


class Bsc(Compressed):
    """Columns of blocks."""

    __slots__ = ()
    layout = _C.sparse_bsc
    by_rows = False
    blocked = True


KINDS = {(kind.blocked, kind.by_rows): kind for kind in (Csr, Csc, Bsr, Bsc)}
BY_LAYOUT = {kind.layout: kind for kind in KINDS.values()}


def is_compressed(value):
    """Whether this is a tensor of one of the four layouts."""
    return isinstance(value, _C.Tensor) and value.layout in BY_LAYOUT


def entries(tensor):
    """The values of a sparse tensor, with their history."""
    return _ops._sparse_unpack(tensor, _C._sparse_pattern(tensor))


def in_coordinates(tensor):
    """A compressed tensor as coordinates, with its history; others stay as they are."""
    if not is_compressed(tensor):
        return tensor
    pattern = _C._sparse_pattern(tensor)
    return pattern.elements().pack(pattern.by_element(entries(tensor)))


def of_keys(kind, keys, batch, size, block=()):
    """The pattern of entries that have these keys, distinct and in order; see Compressed.keys()."""
    lines, width = _grid(kind, batch, size, block)
    counts = _ops.bincount(keys // width if width else keys, minlength=math.prod(batch) * lines)
    counts = counts.reshape(*batch, lines)
    compressed = _C.zeros((*batch, lines + 1), dtype=int64, device=keys.device)
    compressed[..., 1:] = counts.cumsum(-1)
    totals = compressed[..., -1]
    if totals.numel() and bool((totals != totals.reshape(-1)[0]).any()):
        raise RuntimeError("Expect the same number of specified elements per batch.")
    each = int(totals.reshape(-1)[0]) if totals.numel() else 0
    pattern = kind(compressed, (keys % width if width else keys).reshape(*batch, each), size, block)
    pattern._known["starts"] = compressed
    return pattern


def _grid(kind, batch, size, block):
    rows, columns = (n // b for n, b in zip(size[len(batch) :], block or (1, 1), strict=False))
    return (rows, columns) if kind.by_rows else (columns, rows)
