"""Where a graph was cut. Nothing of the graph remains there, so these are clues: shared memory, equal values, code."""

import ast
import functools
import linecache
import re
import types
import warnings
from typing import NamedTuple

from .. import _C
from . import nodes as describe
from .names import PACKAGE, is_module

MOST_NODES = 20_000
MOST_FUNCTIONS = 100

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


# How often a line of a kind is the culprit: numbers are mostly taken out to be printed.
LIKELY = {"detach": 2, "data": 2, "no_grad": 2, "integer": 2, "copy": 1}
# Parts of a parameter's name that say nothing about where it is used.
COMMON_WORDS = {"weight", "bias", "self", "model", "net", "module", "p", "param"}


class Clue(NamedTuple):
    """A line that may have cut a graph, how, and what speaks for it."""

    kind: str
    place: describe.Place
    score: int = 0
    because: str = ""

    def __str__(self):
        return f"{self.place.quoted()} {EFFECTS[self.kind]}" + (f"; {self.because}" if self.because else "")


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
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the source, such as "\\d": they were given when it was compiled
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


def functions_called(places, variables):
    """The places of the functions that these lines name, as global variables, and of those that these functions name.

    They may be in other files, or in other cells of a notebook.
    """
    found, wanted = {}, [word for place in places for word in re.findall(r"[A-Za-z_]\w*", place.code)]
    wanted = list(dict.fromkeys(wanted))
    while wanted and len(found) < MOST_FUNCTIONS:
        value = variables.get(wanted.pop(0))
        function = value if isinstance(value, types.FunctionType) else None
        if is_module(value):
            function = getattr(type(value), "forward", None)
        code = getattr(function, "__code__", None)
        if code is not None and code not in found and not code.co_filename.startswith(PACKAGE):
            found[code] = describe.Place(code.co_filename, code.co_firstlineno, code.co_name)
            wanted += code.co_names if function.__globals__ is variables else ()
    return list(found.values())


def clues(places, everywhere=False, name="", called=()):
    """The lines that cut graphs, in the functions of these places and in those of their files that they call.

    The likeliest for the tensor called `name` come first. `everywhere`: in the whole of their files. `called`: the
    places of functions that are looked at as well.
    """
    found = {}
    words = set(re.findall(r"[A-Za-z_]\w*", name)) - COMMON_WORDS
    for file in {place.file: None for place in (*places, *called) if place.file}:
        tree = _parse(file)
        if tree is None:
            continue
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        lines = {place.line for place in places if place.file == file}
        makers = [_scope_at(tree, functions, line) for line in lines]
        wanted = [(scope, 2, "") for scope in makers]  # with what speaks for lines in it
        wanted += [(_scope_at(tree, functions, place.line), 1, "") for place in called if place.file == file]
        wanted += [(scope, 0, "") for scope in (tree, *functions)] if everywhere else []
        seen = []
        while wanted:
            scope, trust, passed = wanted.pop(0)
            if any(scope is known for known in seen):
                continue
            seen.append(scope)
            calls = {}
            for node in _own(scope):
                if kind := _cut_kind(node):
                    # Of a long chain of calls, the line with the name.
                    line = (node.func if isinstance(node, ast.Call) else node).end_lineno
                    place = describe.Place(file, line, getattr(scope, "name", "<module>"))
                    score, because = _evidence(_statement_at(scope, line), kind, words, lines, file)
                    clue = Clue(kind, place, score + trust, because or passed)
                    known = found.setdefault((file, line), clue)
                    # Of h.detach().item(), the number is what is used.
                    if kind == "copy" or (known.kind != "copy" and known.score < clue.score):
                        found[file, line] = clue
                if isinstance(node, ast.Call):
                    given = words & {getattr(part, "id", None) for arg in node.args for part in ast.walk(arg)}
                    calls[_called(node)] = calls.get(_called(node), set()) | given
            for function in functions:
                if function.name in calls:
                    given = sorted(calls[function.name])
                    wanted.append((function, 3 if given else 1, f"it gets `{given[0]}`" if given else ""))
                elif calls and function.name in ("forward", "__call__"):  # of a module called like a function
                    wanted.append((function, 0, ""))
    return sorted(found.values(), key=lambda clue: (-clue.score, clue.place.file, clue.place.line))


def _statement_at(scope, line):
    """The innermost statement around a line."""
    around = [n for n in ast.walk(scope) if isinstance(n, ast.stmt) and n.lineno <= line <= n.end_lineno]
    return min(around, key=lambda n: n.end_lineno - n.lineno) if around else scope


def _evidence(statement, kind, words, lines, file):
    """(score, why) of a statement: does it speak of the tensor, and is its result used by the lines of the graph?"""
    score, because = LIKELY[kind], []
    names = {getattr(n, "id", None) or getattr(n, "attr", None) for n in ast.walk(statement)}
    if said := sorted(words & names):
        score += 3
        because.append(f"`{said[0]}` is used there")
    stored = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    own = range(statement.lineno, statement.end_lineno + 1) if isinstance(statement, ast.stmt) else range(0)
    for line in sorted(lines - set(own)):
        if used := sorted(stored & set(re.findall(r"[A-Za-z_]\w*", linecache.getline(file, line)))):
            score += 2
            because.append(f"its result `{used[0]}` is used at line {line}")
            break
    return score, " and ".join(because)


def _scope_at(tree, functions, line):
    """The innermost function around a line, or the module."""
    around = [f for f in functions if f.lineno <= line <= f.end_lineno]
    return max(around, key=lambda f: f.lineno) if around else tree
