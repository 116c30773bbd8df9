"""The memory that a graph holds through its saved values, by op, line and module."""

from typing import NamedTuple

from .. import _C
from . import html
from . import nodes as describe
from .modules import ModuleCalls
from .names import names_for


class SavedRow(NamedTuple):
    """What the nodes of one op, made on one line in one module, hold.

    `bytes` go when the graph goes; `shared` bytes are saved too, but tensors outside of the graph hold them anyway:
    parameters, inputs, results that are still in use.

    >>> import adjoint as torch
    >>> x = torch.ones(1000, requires_grad=True)
    >>> y = (x.exp() * 2).sum()
    >>> [(row.op, row.bytes) for row in torch.inspect.saved_tensors(y)]
    [('ExpBackward0', 4000)]
    """

    op: str
    place: describe.Place
    storages: int
    bytes: int
    shared: int
    module: str = ""

    @property
    def line(self):
        """ "file.py:12 in f" """
        return str(self.place)


class SavedTensors:
    """A table of the memory that saved values hold; iterate over it, or read `rows`, `total` and `shared`.

    >>> import adjoint as torch
    >>> x = torch.ones(1000, requires_grad=True)
    >>> y = (x.exp() * 2).sum()
    >>> torch.inspect.saved_tensors(y).total
    4000
    """

    def __init__(self, rows):
        self.rows = tuple(rows)

    @property
    def total(self):
        """Bytes that only the graph holds: what is given back when it goes."""
        return sum(row.bytes for row in self.rows)

    @property
    def shared(self):
        """Bytes that were saved without a cost: tensors elsewhere hold them too."""
        return sum(row.shared for row in self.rows)

    def by(self, what):
        """{key: bytes}, largest first, for "op", "line", "module", "function" or "file".

        >>> import adjoint as torch
        >>> x = torch.ones(10, requires_grad=True)
        >>> torch.inspect.saved_tensors(x.exp().sin().sum()).by("op")
        {'ExpBackward0': 40}
        """
        keys = {
            "op": lambda row: row.op,
            "line": lambda row: row.line,
            "module": lambda row: row.module,
            "function": lambda row: row.place.function,
            "file": lambda row: row.place.file,
        }
        if what not in keys:
            raise ValueError(f"by: expected one of {', '.join(keys)}; got {what!r}")
        sums = {}
        for row in self.rows:
            key = keys[what](row)
            sums[key] = sums.get(key, 0) + row.bytes
        return dict(sorted(sums.items(), key=lambda item: -item[1]))

    def __iter__(self):
        return iter(self.rows)

    def __len__(self):
        return len(self.rows)

    def __str__(self):
        return "\n".join(describe.columns(self._cells(), right=(0, 1, 2))) if self.rows else "saved tensors: none"

    def _repr_html_(self):
        return html.table(self._cells(), right=(0, 1, 2)) if self.rows else "<p>saved tensors: none</p>"

    def _cells(self):
        named = any(row.module for row in self.rows)
        cells = [("bytes", "shared", "storages", "op", *(["module"] if named else []), "line", "")]
        for row in self.rows:
            numbers = f"{row.bytes:,}", f"{row.shared:,}", str(row.storages)
            cells.append((*numbers, row.op, *([row.module] if named else []), row.place.short, row.place.brief))
        storages = sum(row.storages for row in self.rows)
        total = (f"{self.total:,}", f"{self.shared:,}", str(storages), "total")
        cells.append((*total, *[""] * (len(cells[0]) - len(total))))
        return cells

    __repr__ = __str__


def saved_tensors(y):
    """A table of the bytes that the graph of `y` holds through saved values, by op, line and module, largest first.

    A storage is counted once, for the oldest node that saved it. The total is what the graph alone keeps alive: it is
    given back when `y` goes, or when backward frees the graph. `y` is a tensor, a node, or a sequence of them.

    >>> import adjoint as torch
    >>> x = torch.ones(10, requires_grad=True)
    >>> y = x.exp().sin().sum()
    >>> table = torch.inspect.saved_tensors(y)
    >>> table.total
    40
    >>> [(row.op, row.bytes) for row in table]
    [('ExpBackward0', 40)]
    """
    found = _C._reached_nodes(describe.roots_of(y, "saved_tensors"))
    groups, calls = {}, ModuleCalls(names_for(()))
    for index, _, _, _, count, alone in _C._saved_memory(found):
        key = describe.op_name(found[index]), describe.place_of(found[index]), describe.module_of(found[index], calls)
        sums = groups.setdefault(key, [0, 0, 0])
        sums[0] += 1
        sums[1 if alone else 2] += count
    rows = [SavedRow(op, place, *sums, module) for (op, place, module), sums in groups.items()]
    # A leaf that lives elsewhere is no saved value.
    rows = [row for row in rows if row.bytes or row.op != describe.LEAF]
    return SavedTensors(sorted(rows, key=lambda row: (-row.bytes, -row.shared)))
