"""Where a graph was cut. Nothing of the graph remains there, so these are clues: shared memory, equal values, code."""

import ast
import functools
import linecache
from typing import NamedTuple

from .. import _C
from . import nodes as describe

MOST_NODES = 20_000

# What a name in the code does to a graph, when it is called as a method or function.
CALLS = {
    **dict.fromkeys(("detach", "detach_"), "detach"),
    **dict.fromkeys(("no_grad", "inference_mode", "set_grad_enabled"), "no_grad"),
    **dict.fromkeys(("int", "long", "short", "char", "byte", "bool", "argmax", "argmin"), "integer"),
    **dict.fromkeys(("tensor", "as_tensor", "from_numpy", "item", "tolist", "numpy", "new_tensor"), "copy"),
}
MAKERS = {"tensor", "as_tensor", "new_tensor"}
INTEGERS = {"int", "long", "short", "bool", "uint8", "int8", "int16", "int32", "int64"}
EFFECTS = {
    "detach": "gives the values without their history",
    "no_grad": "records nothing",
    "integer": "gives integers, which have no gradient",
    "copy": "copies values out of the graph",
    "data": "gives the values without their history",
}


class Clue(NamedTuple):
    """A line that may have cut a graph, and how."""

    kind: str
    place: describe.Place

    def __str__(self):
        return f"{self.place.quoted()} {EFFECTS[self.kind]}"


# ---- memory and values


def _extent(tensor):
    """The addresses between which a tensor lies."""
    start = low = high = tensor.data_ptr()
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        step = (size - 1) * stride * tensor.element_size()
        low, high = low + min(step, 0), high + max(step, 0)
    return (low, high + tensor.element_size()) if tensor.numel() else (start, start)


def _overlap(a, b):
    return a[0] < b[1] and b[0] < a[1]


def same_memory(a, b):
    """Whether two tensors have memory in common."""
    return _overlap(_extent(a), _extent(b))


def constants(nodes):
    """[(node, tensor)]: the saved values through which no gradient travels."""
    found = []
    for node in nodes[:MOST_NODES]:
        if not describe.is_leaf(node):
            found += [(node, value) for value in describe.saved_values(node).values() if not value.requires_grad]
    return found


def _depends(tensor, target_node):
    """Whether the history of a tensor contains a node."""
    nodes = _C._reached_nodes((_C._gradient_edge(tensor)[0],))
    return any(node is target_node for node in nodes)


def shared_memory(nodes, target):
    """(what, node) where the memory of `target`, or of a living result of it, enters a graph without history."""
    entries = [(node, _extent(value)) for node, value in constants(nodes)]
    own = _extent(target)
    for node, extent in entries:
        if _overlap(own, extent):
            return target, node
    if not entries:
        return None
    target_node = _C._gradient_edge(target)[0]
    for result in describe.living_results():
        if result.device.type == "meta" or _C._batch_level(result) is not None:
            continue
        extent = _extent(result)
        entry = next((node for node, other in entries if _overlap(extent, other)), None)
        if entry is not None and _depends(result, target_node):
            return result, entry
    return None


def equal_values(nodes, target):
    """The node that uses a constant with the values of `target` in it; None also where values are too plain to tell."""
    values = target.detach().reshape(-1).tolist()
    if set(values) <= {0, 1, -1} or (len(values) > 1 and len(set(values)) == 1):
        return None
    for node, constant in constants(nodes):
        if constant.numel() < len(values) or (len(values) > 1 and constant.numel() != len(values)):
            continue
        others = constant.to(target.dtype).reshape(-1).tolist()
        if others == values or (len(values) == 1 and values[0] in others):
            return node
    return None


# ---- code


@functools.lru_cache(maxsize=64)
def _parse_text(source):
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError):
        return None


def _parse(file):
    return _parse_text("".join(linecache.getlines(file)))


def argument_text(frame, position, keyword, otherwise, longest=40):
    """How the call that a frame is in spells an argument, where the code can be read."""
    # Not by looking into f_locals: the frame would keep what it hands out, and with it the graph.
    line, end_line, column, end_column = list(frame.f_code.co_positions())[frame.f_lasti // 2]
    tree = _parse(frame.f_code.co_filename)
    for node in ast.walk(tree) if tree else ():
        if not isinstance(node, ast.Call) or (node.lineno, node.end_lineno) != (line, end_line):
            continue
        if (node.col_offset, node.end_col_offset) != (column, end_column):
            continue
        given = [item.value for item in node.keywords if item.arg == keyword] or node.args[position : position + 1]
        text = ast.unparse(given[0]) if given else otherwise
        return text if len(text) <= longest else otherwise
    return otherwise


def _own(scope):
    """The syntax of a function, or of a module without its functions and classes."""
    if not isinstance(scope, ast.Module):
        return ast.walk(scope)
    kept = [node for node in scope.body if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]
    return (inner for node in kept for inner in ast.walk(node))


def _cut_kind(node):
    """How a piece of syntax cuts a graph, or None."""
    if isinstance(node, ast.Attribute):
        return "data" if node.attr == "data" and isinstance(node.ctx, ast.Load) else None
    if not isinstance(node, ast.Call):
        return None
    name = _called(node)
    if name in ("to", "type"):
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        names = {arg.attr for arg in given if isinstance(arg, ast.Attribute)}
        return "integer" if names & INTEGERS else None
    if isinstance(node.func, ast.Name) and name in ("int", "bool"):
        return None  # Python's own
    return None if name in MAKERS and _makes_a_leaf(node) else CALLS.get(name)


def _makes_a_leaf(call):
    """Whether a call of tensor() is meant to begin a graph: of plain numbers, or with requires_grad=."""
    plain = not any(isinstance(part, ast.Name) for argument in call.args for part in ast.walk(argument))
    return plain or any(keyword.arg == "requires_grad" for keyword in call.keywords)


def _called(call):
    return getattr(call.func, "attr", None) or getattr(call.func, "id", None)


def clues(places, everywhere=False):
    """The lines that cut graphs, in the functions of these places and in those of their files that they call.

    `everywhere`: in the whole of their files.
    """
    found = {}
    for file in {place.file: None for place in places if place.file}:
        tree = _parse(file)
        if tree is None:
            continue
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        wanted = [_scope_at(tree, functions, place.line) for place in places if place.file == file]
        wanted += [tree, *functions] if everywhere else []
        seen = []
        while wanted:
            scope = wanted.pop()
            if any(scope is known for known in seen):
                continue
            seen.append(scope)
            name = getattr(scope, "name", "<module>")
            called = set()
            for node in _own(scope):
                if kind := _cut_kind(node):
                    # Of a long chain of calls, the line with the name.
                    line = (node.func if isinstance(node, ast.Call) else node).end_lineno
                    found[file, line, kind] = Clue(kind, describe.Place(file, line, name))
                called |= {_called(node)} if isinstance(node, ast.Call) else set()
            # A module called like a function runs its forward.
            called |= {"forward", "__call__"} if called else set()
            wanted += [function for function in functions if function.name in called]
    return sorted(found.values(), key=lambda clue: (clue.place.file, clue.place.line))


def _scope_at(tree, functions, line):
    """The innermost function around a line, or the module."""
    around = [f for f in functions if f.lineno <= line <= f.end_lineno]
    return max(around, key=lambda f: f.lineno) if around else tree
