"""The products, convolutions and attentions in the log of a trace, as the calls that torch makes of them.

torch counts the operations of ops by their arguments. What is one op here may be another there: this file says which,
so that counts are torch's.
"""

import bisect
from typing import NamedTuple

from .._C import Size
from . import names
from .building import FUNCTION, NODE, OP, OTHER, TENSOR, Row

# Functions that torch runs by ops that it does not count.
_UNCOUNTED = ("bilinear", "lstm")
_ATTENTION = "_scaled_dot_product_flash_attention_for_cpu"
# Products with a factor that is transposed: which one.
_TURNED = {"mm_nt": 1, "mm_tn": 0, "mm_t_conj": 0, "bmm_nt": 1, "bmm_tn": 0, "mm_conj": None}


class Call(NamedTuple):
    """A call of an op of torch: its arguments, with shapes for tensors, and the shape of its result."""

    name: str
    arguments: list
    result: object
    number: int  # of the row that it is in


class Log:
    """The rows of a log, with their surroundings."""

    def __init__(self, rows):
        self.rows = [Row(*row) for row in rows]
        self.children = {}
        self.recorded = {}  # by sequence number: the op that has recorded a node
        for i, row in enumerate(self.rows):
            if row.parent >= 0:
                self.children.setdefault(row.parent, []).append(i)
            if row.kind == OP and row.sequence >= 0:
                self.recorded.setdefault(row.sequence, i)

    def around(self, number):
        """The rows around one, and, of backward, around the call that it is the backward of."""
        seen = set()
        while number >= 0 and number not in seen:
            seen.add(number)
            row = self.rows[number]
            yield row
            number = self.recorded.get(row.sequence, -1) if row.kind == NODE else row.parent

    def origin(self, number):
        """The call of forward whose backward a row is a part of, or None."""
        while number >= 0:
            row = self.rows[number]
            if row.kind == NODE:
                place = self.recorded.get(row.sequence)
                return None if place is None else self.rows[place]
            number = row.parent
        return None

    def calls(self):
        """All calls, in order."""
        for number, row in enumerate(self.rows):
            if row.kind == NODE and row.name == "ConvolutionBackward0":
                yield from self._convolution_backward(number, row)
            elif row.kind == OP:
                yield from self._of_op(number, row)
            elif row.kind == FUNCTION:
                name = names.function_name(row.name)
                if name is not None and name.startswith("aten::"):
                    yield Call(name.removeprefix("aten::"), _arguments(row), None, number)

    def _of_op(self, number, row):
        around = [outer.name for outer in self.around(number) if outer.kind != OP]
        if any(outer in _UNCOUNTED for outer in around) or "ConvolutionBackward0" in around:
            return
        if row.name in ("_attention", "_attention_gradients"):
            yield from _attention(number, row)
        elif self._in_fused_attention(number):
            return
        elif row.name == "mm" or row.name in _TURNED:
            yield _product(number, row, "einsum" in around)
        elif row.name == "linear":
            *bias, source, weight = _arguments(row)
            yield Call("addmm" if bias else "mm", [*bias, source, _turned(weight)], _result(row), number)
        else:
            for level in names.steps(row.name, len(row.inputs)):
                yield Call(level[-1].removeprefix("aten::"), _arguments(row), _result(row), number)

    def _in_fused_attention(self, number):
        """Whether torch does this as a part of attention in one op."""
        while number >= 0:
            row = self.rows[number]
            if row.kind == FUNCTION and row.name == "scaled_dot_product_attention":
                return _is_fused(row) and not self._drops(number)
            number = self.recorded.get(row.sequence, -1) if row.kind == NODE else row.parent
        return False

    def _drops(self, number):
        """Whether a function calls dropout."""
        return any(self.rows[i].name == "bernoulli_" or self._drops(i) for i in self.children.get(number, ()))

    def _convolution_backward(self, number, row):
        forward = self.rows[self.recorded[row.sequence]] if row.sequence in self.recorded else None
        if forward is None or forward.name != "convolution":
            return
        source, weight, bias, *options = _arguments(forward)
        inside = [self.rows[i] for i in self.children.get(number, ()) if self.rows[i].kind == OP]
        given = {child.name: _result(child) for child in inside if child.name in ("convolution", "_convolution_weight")}
        mask = ["convolution" in given, "_convolution_weight" in given, isinstance(bias, Size)]
        results = [given.get("convolution"), given.get("_convolution_weight"), bias if mask[2] else None]
        gradient = Size(row.inputs[0][1])
        sizes = list(bias) if isinstance(bias, Size) else None
        yield Call("convolution_backward", [gradient, source, weight, sizes, *options, mask], results, number)


def _product(number, row, in_einsum):
    """A product of matrices, of which a factor may be transposed; torch's einsum does all of them as batches."""
    place = _TURNED.get(row.name)
    shapes = [_turned(shape) if i == place else shape for i, shape in enumerate(_arguments(row)[:2])]
    result = _result(row)
    if row.name.startswith("bmm"):
        return Call("bmm", shapes, result, number)
    if not in_einsum:
        return Call("mm", shapes, result, number)
    return Call("bmm", [Size([1, *shape]) for shape in shapes], Size([1, *result]), number)


def _turned(shape):
    return Size([*shape[:-2], shape[-1], shape[-2]])


def _argument(value, kind):
    if kind == TENSOR:
        return Size(value[1])
    return value if kind == OTHER else [Size(tensor[1]) for tensor in value]


def _arguments(row):
    return [_argument(value, kind) for value, kind in zip(row.arguments, row.which, strict=True)]


def _result(row):
    shapes = [Size(sizes) for _, sizes in row.outputs]
    return shapes[0] if len(shapes) == 1 else tuple(shapes)


def _is_fused(row):
    """Whether torch does an attention of these arguments in one op."""
    tensors = [value for value in _arguments(row) if isinstance(value, Size)][:3]
    return len(tensors) == 3 and all(len(shape) == 4 for shape in tensors) and len({s[-1] for s in tensors}) == 1


def _attention(number, row):
    """Attention in one op, or the products that torch makes of it."""
    shapes = [shape for shape in _arguments(row) if isinstance(shape, Size)]
    backward = row.name == "_attention_gradients"
    if len(shapes[0]) == 4:
        yield Call(_ATTENTION + ("_backward" if backward else ""), _arguments(row), _result(row), number)
        return
    query, key, value = shapes[1:4] if backward else shapes[:3]
    for _ in range(2 if backward else 1):
        yield Call("bmm", [query, _turned(key)], None, number)
        yield Call("bmm", [Size([*query[:-1], key[-2]]), value], None, number)


class Modules:
    """Which modules were running when: names of all around, by time."""

    def __init__(self):
        self.known = {}  # by id: (name, module), which keeps it
        self.running = []
        self.times = [0]
        self.active = [frozenset(("Global",))]

    def enter(self, module, now):
        if id(module) not in self.known:
            root = type(module).__name__
            for path, inner in module.named_modules():
                self.known.setdefault(id(inner), (f"{root}.{path}" if path else root, inner))
        self.running.append(self.known[id(module)][0])
        self._note(now)

    def leave(self, now):
        self.running.pop()
        self._note(now)

    def _note(self, now):
        self.times.append(now)
        self.active.append(frozenset(("Global", *self.running)))

    def at(self, time):
        """The names of the modules that were running at a time."""
        return self.active[bisect.bisect_right(self.times, time) - 1]
