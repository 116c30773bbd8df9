"""Finds which elements of a function's result depend on which elements of its input, by running it once.

A level sees every op. What an element depends on is kept for each place in memory, so that views and changes in place
need no rules: a view reads the places that it looks at, a change writes them. What ops do is in rules.py.
"""

import numpy as np

from ... import _C
from ...autograd.function import BackwardCFunction
from ...autograd.grad_mode import enable_grad
from ...ops.language import TABLE
from . import rows as sets
from .patterns import check_output
from .rules import dependencies

# In place, these leave nothing of what was there: they copy another argument, or draw numbers.
COPYING = {"copy", "fill", "overwrite", "zero"}
DRAWING = {"bernoulli_numbers", "cauchy", "exponential", "geometric"}
DRAWING |= {"log_normal", "normal_numbers", "random", "uniform"}


def traced(func, x):
    """The matrix of bools that says which elements of func(x) depend on which of x."""
    # There is a history, too, by which results of custom Functions are known.
    start = _C._requiring_grad(x.detach().clone(), True)
    trace = _Trace(start)
    level = _C._open_handled(trace.handle)
    try:
        with enable_grad():
            result = func(start.clone())  # which may be changed in place
    finally:
        _C._close_level(level)
    check_output(result, "sparsity")
    trace.meet(result)
    rows = trace.rows(result)
    return sets.empty(result.numel(), x.numel()) if rows is None else rows


class _Cells:
    """A storage: the rows of its elements, and a tensor that keeps it alive, so that its address stays its own."""

    def __init__(self, tensor, inputs):
        self.item = tensor.element_size()
        self.tensor = tensor
        self.rows = sets.empty(tensor.untyped_storage().nbytes() // self.item, inputs)

    def places(self, tensor):
        """The numbers of the cells that a tensor's elements begin in, in row-major order."""
        places = np.array(tensor.storage_offset())
        for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
            places = places[..., None] + np.arange(size) * stride
        return places.reshape(-1) * tensor.element_size() // self.item

    def width(self, tensor):
        """How many cells an element has: several for a complex view of real numbers."""
        return max(tensor.element_size() // self.item, 1)

    def is_whole(self, places):
        """Whether these are all cells in their order."""
        return len(places) == self.rows.shape[0] and bool((places == np.arange(len(places))).all())

    def read(self, tensor, rows=None):
        """The rows of a tensor, now or as they were when these were all rows."""
        rows = self.rows if rows is None else rows
        places = self.places(tensor)
        if self.is_whole(places):
            return rows
        return sets.united([rows[places + i] for i in range(self.width(tensor))])

    def write(self, tensor, rows):
        places = self.places(tensor)
        if tensor.element_size() != self.item:  # elements that are parts of cells, or made of them
            parts = [sets.gathered(rows, places + i, self.rows.shape[0]) for i in range(self.width(tensor))]
            self.rows = sets.united([self.rows, *parts])
        elif self.is_whole(places):
            self.rows = rows
        else:
            self.rows = sets.replaced(self.rows, places, rows)


class _Trace:
    """What is known while a function runs: the cells of each storage with an element that depends on the input.

    A tensor whose values depend on the input and whose derivative is zero, such as x > 0, has rows that are empty: it
    is no constant all the same.
    """

    def __init__(self, start):
        self.inputs = start.numel()
        self.memory = {}  # address of a storage -> _Cells
        self.detached = {}  # tensors that share memory with others, but none of their derivatives, by id
        self.made = {}  # by edge of the graph: (the tensor of this gradient, its cells, all of their rows at that time)
        self.met = set()  # nodes of custom Functions
        numbers = np.arange(self.inputs)
        self.write(start, sets.matrix(numbers, numbers, (self.inputs, self.inputs)))

    # ---- Memory

    def rows(self, value):
        """Those of a tensor, or None where it does not depend on the input."""
        if not isinstance(value, _C.Tensor) or not value.numel():
            return None
        cells = self.memory.get(_address(value))
        if cells is None:
            return None
        if id(value) in self.detached:
            return sets.empty(value.numel(), self.inputs)
        return cells.read(value)

    def write(self, tensor, rows):
        """Says what the elements of a tensor depend on from now on; rows of None are those of constants."""
        address = _address(tensor)
        if address is None or not tensor.numel() or (rows is None and address not in self.memory):
            return
        rows = sets.empty(tensor.numel(), self.inputs) if rows is None else rows
        if address not in self.memory:
            self.memory[address] = _Cells(tensor.detach(), self.inputs)
        self.memory[address].write(tensor, rows)

    # ---- Custom Functions

    def record(self, tensors):
        """Keeps what results depend on, for the case that a custom Function takes them."""
        for tensor in tensors:
            cells = self.memory.get(_address(tensor))
            if cells is not None and tensor.grad_fn is not None:
                self.made[tensor.grad_fn, tensor.output_nr] = tensor, cells, cells.rows

    def meet(self, value):
        """If this is the result of a custom Function, whose derivative no op shows, it depends on all of its inputs."""
        node = value.grad_fn if isinstance(value, _C.Tensor) else None
        if isinstance(node, BackwardCFunction) and (node, value.output_nr) not in self.met:
            self.met.add((node, value.output_nr))
            known = [cells.read(tensor, rows) for tensor, cells, rows in self.before(node)]
            if known:
                whole = sets.united([sets.repeated(rows, 1) for rows in known])
                self.write(value, sets.repeated(whole, value.numel()))
                self.record([value])

    def before(self, node):
        """The records of the tensors that a node's inputs are made of."""
        edges, seen, found = list(node.next_functions), set(), []
        while edges:
            edge = edges.pop()
            if edge in seen or edge[0] is None:
                continue
            seen.add(edge)
            if edge in self.made:
                found.append(self.made[edge])
            else:
                edges.extend(edge[0].next_functions)
        return found

    # ---- Calls

    def handle(self, op, arguments, in_place):
        for value in arguments:
            for one in value if isinstance(value, tuple | list) else (value,):
                self.meet(one)
        declaration = TABLE[op.__name__]
        if declaration.kind == "view" or op.__name__ == "detach":  # other elements of the same memory
            result = self.look(op, arguments, in_place)
        elif in_place:
            result = self.change(declaration, op, arguments)
        else:
            result = self.call(declaration, op, arguments)
        self.record(_several(result))
        return result

    def look(self, op, arguments, in_place):
        """A view, which needs no rule; if it is detached, or of a tensor that is, it has no derivatives."""
        result = _C._call_slots(op, arguments, in_place)
        if _address(arguments[0]) in self.memory and (op.__name__ == "detach" or id(arguments[0]) in self.detached):
            self.detached.update((id(y), y) for y in _several(result))
        return result

    def call(self, declaration, op, arguments):
        tracked = self.tracked(arguments)
        result = _C._call_slots(op, arguments)
        if tracked and not declaration.creates:
            outputs = _several(result)
            fresh = [self.is_new(y, arguments) for y in outputs]
            found = dependencies(declaration, op, arguments, tracked, outputs, self.inputs) if any(fresh) else outputs
            for output, rows, is_new in zip(outputs, found, fresh, strict=True):
                if is_new:
                    self.write(output, rows)
        return result

    def tracked(self, arguments):
        """By place, the rows of arguments that depend on the input; of a list those of each of its members, or None."""
        found = {}
        for i, value in enumerate(arguments):
            several = isinstance(value, tuple | list)
            rows = [self.rows(one) for one in (value if several else (value,))]
            if any(one is not None for one in rows):
                found[i] = rows if several else rows[0]
        return found

    def is_new(self, output, arguments):
        """Whether a result has memory of its own."""
        address = _address(output)
        if address is None or address in self.memory:
            return False
        return all(_address(value) != address for value in arguments if isinstance(value, _C.Tensor))

    def change(self, declaration, op, arguments):
        target, tracked = arguments[0], self.tracked(arguments)
        if op.__name__ in DRAWING:
            tracked = {}
        if op.__name__ in COPYING:
            tracked.pop(0, None)
        rows = None
        if tracked:
            (rows,) = dependencies(declaration, op, arguments, tracked, (target,), self.inputs)
        # What autograd does not see, by a detached tensor or under no_grad(), leaves other histories as they are.
        is_seen = _C.is_grad_enabled() and target.requires_grad
        self.detached.pop(id(target), None)
        before = None if is_seen else self.rows(target)
        result = _C._call_slots(op, arguments, True)
        known = [part for part in (rows, before) if part is not None]
        self.write(target, sets.united(known) if known else None)
        return result


def _address(tensor):
    storage = tensor.untyped_storage()
    return None if storage is None else storage.data_ptr() or None


def _several(result):
    return result if isinstance(result, tuple | list) else (result,)
