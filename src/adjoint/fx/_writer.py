"""The text of a Python function, statement by statement, from the nodes of a graph."""

import dataclasses
import enum
import math
import sys
import types
import typing

from .. import _C
from ..utils import _pytree
from . import _pytree as _fx_pytree
from ._names import PACKAGE, is_ours, qualified_name, type_name
from ._namespace import custom_builtins, illegal_characters, register_builtin
from .node import Node, map_arg

MAGIC = {
    **{name: f"{{}} {sign} {{}}" for name, sign in {
        "eq": "==", "ne": "!=", "lt": "<", "gt": ">", "le": "<=", "ge": ">=", "add": "+", "sub": "-", "mul": "*",
        "floordiv": "//", "truediv": "/", "mod": "%", "pow": "**", "lshift": "<<", "rshift": ">>", "and_": "&",
        "or_": "|", "xor": "^", "matmul": "@",
    }.items()},
    "pos": "+{}", "neg": "-{}", "invert": "~{}", "getitem": "{}[{}]",
}  # fmt: skip
INPLACE = {
    **{name: f"{{}} {sign} {{}}" for name, sign in {
        "iadd": "+=", "iand": "&=", "ifloordiv": "//=", "ilshift": "<<=", "imod": "%=", "imul": "*=", "imatmul": "@=",
        "ior": "|=", "ipow": "**=", "irshift": ">>=", "isub": "-=", "itruediv": "/=", "ixor": "^=",
    }.items()},
    "setitem": "{}[{}] = {}",
}  # fmt: skip
REFLECTABLE = frozenset(
    ("add", "sub", "mul", "floordiv", "truediv", "mod", "pow", "lshift", "rshift", "and_", "or_", "xor", "matmul")
)

# What typing calls the containers that it has names for, by which they are printed.
_TYPING = {kind: getattr(typing, kind.__name__.capitalize()) for kind in (list, dict, tuple, set)}
_package = sys.modules[PACKAGE]
register_builtin("inf", "from math import inf", math.inf)
register_builtin("nan", "from math import nan", math.nan)
register_builtin("NoneType", "NoneType = type(None)", type(None))
register_builtin("torch", "import torch", _package)
register_builtin("device", "from torch import device", _C.device)
register_builtin("fx_pytree", "import torch.fx._pytree as fx_pytree", _fx_pytree)
register_builtin("pytree", "import torch.utils._pytree as pytree", _pytree)

_SHORT_TYPES = {
    "bfloat16": "bf16",
    "float64": "f64",
    "float32": "f32",
    "float16": "f16",
    "complex64": "c64",
    "complex128": "c128",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "bool": "b8",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
}
_COLORS = {"dim": "\033[2m", "blue": "\033[34m", "green": "\033[32m", "red": "\033[31m", "yellow": "\033[33m"}
_COUNTER = "# COUNTER: "
_NO_COLOR = "\033[0m"


@dataclasses.dataclass
class PythonCode:
    """The text of a function, and the objects that it needs as globals."""

    src: str
    globals: dict
    _lineno_map: dict | None
    _prologue_start: int = 0


def short_type(dtype):
    """A dtype in a few letters, as in f32."""
    name = str(dtype).removeprefix("torch.")
    return _SHORT_TYPES.get(name, name)


def format_target(base, target):
    """The expression that finds a dotted name below an object; parts that are no names are asked for by getattr."""
    expression = base
    for part in target.split("."):
        expression = f"{expression}.{part}" if part.isidentifier() else f'getattr({expression}, "{part}")'
    return expression


def _colors(colored):
    """Functions that paint a text, or leave it alone."""
    if not colored:
        return {name: lambda text: text for name in _COLORS}
    return {name: (lambda text, code=code: f"{code}{text}{_NO_COLOR}") for name, code in _COLORS.items()}


class Writer:
    """One text in the making."""

    def __init__(
        self, codegen, nodes, root_module, namespace, *, verbose=False, include_stride=False, include_device=False,
        colored=False, expanded_def=False, record_func=False, additional_meta=None,
    ):  # fmt: skip
        self.codegen, self.nodes, self.root, self.namespace = codegen, nodes, root_module, namespace
        self.verbose, self.stride, self.device, self.expanded = verbose, include_stride, include_device, expanded_def
        self.more_meta = additional_meta or ()
        self.paint = _colors(colored)
        self.parameters = []
        self.body = []
        self.globals = {}
        self.wrapped = {}
        self.returns = ""
        self.trace_shown = ""
        self.last_uses = self._find_last_uses()
        for name, obj in (*((name, obj) for name, (_, obj) in custom_builtins.items()), *codegen.additional_globals()):
            self.add_global(name, obj)

    def write(self):
        for index, node in enumerate(self.nodes):
            self.body.append(f"{_COUNTER}{index}\n")  # a transformer of the body leaves it where it belongs
            self._write_node(node)
        if not self.nodes:
            self.body.append("pass\n")
        body = self.body
        if self.codegen._body_transformer is not None:
            body = self.codegen._body_transformer(body)
        wraps = "\n".join(f'torch.fx._symbolic_trace.wrap("{name}")' for name in self.wrapped)
        head = _call_with_known(self.codegen.gen_fn_def, self.parameters, self.returns, expanded_def=self.expanded)
        lines, owners, current = [], {}, None
        for line in "".join(body).split("\n"):
            if line.startswith(_COUNTER):
                current = int(line.removeprefix(_COUNTER))
            else:
                lines.append(f"    {line}")
                owners[len(lines)] = current
        code = "\n".join(lines)
        source = f"\n{wraps}\n\n{head}\n{code}"
        start = source[: source.index(head)].count("\n") + 1
        return PythonCode(source, self.globals, owners, start)

    # ---- Names

    def add_global(self, hint, obj):
        """The name by which the text finds an object."""
        if is_ours(obj) and obj is not _C.device and not isinstance(obj, types.ModuleType):
            return qualified_name(obj) if not isinstance(obj, type) else type_name(obj)
        name = illegal_characters.sub("_", hint)
        if name in self.globals and self.globals[name] is obj:
            return name
        if name in self.globals or hint not in custom_builtins:
            try:
                name = self.namespace.create_name(name, obj)
            except TypeError:  # an object without a hash
                name = self.namespace.create_name(name, None)
        self.globals[name] = obj
        return name

    def type_text(self, kind):
        """A type as an annotation; all that it is made of is made known to the code."""
        if kind == ():
            return "()"
        if isinstance(kind, types.UnionType):
            return "|".join(self.type_text(part) for part in typing.get_args(kind))
        origin = getattr(kind, "__origin__", None)
        if origin is None:
            return self.add_global(type_name(kind), kind)
        if not isinstance(kind, types.GenericAlias):
            origin = _TYPING.get(origin, origin)
        text = self.add_global(type_name(origin), origin)
        parts = [self.type_text(part) for part in typing.get_args(kind)]
        return f"{text}[{','.join(parts)}]" if parts else text

    # ---- Values

    def value(self, arg):
        if isinstance(arg, Node):
            return repr(arg)
        if isinstance(arg, tuple) and hasattr(arg, "_fields"):
            name = self.add_global(qualified_name(type(arg)), type(arg))
            return f"{name}{self.sequence(tuple(arg))}"
        if isinstance(arg, _C.Tensor):
            return f"torch.Tensor(size={list(arg.shape)}, dtype={str(arg.dtype).removeprefix('torch.')})"
        if isinstance(arg, enum.Enum):
            cls = type(arg)
            return f"{self.add_global(cls.__name__, cls)}.{arg.name}"
        if isinstance(arg, tuple | list):
            return self.sequence(arg)
        if isinstance(arg, dict):
            return "{" + ", ".join(f"{key!r}: {self.value(item)}" for key, item in arg.items()) + "}"
        if isinstance(arg, slice):
            return f"slice({', '.join(self.value(part) for part in (arg.start, arg.stop, arg.step))})"
        if isinstance(arg, int | float | str) and type(arg) in (int, float, str, bool):
            return self.paint["blue" if not isinstance(arg, str) else "green"](repr(arg)) if self.verbose else repr(arg)
        return repr(arg)

    def sequence(self, items):
        text = ", ".join(self.value(item) for item in items)
        if isinstance(items, list):
            return f"[{text}]"
        return f"({text}{',' if len(items) == 1 else ''})"

    def arguments(self, args, kwargs):
        parts = [self.value(arg) for arg in args] + [f"{key} = {self.value(item)}" for key, item in kwargs.items()]
        return ", ".join(parts)

    # ---- Statements

    def _find_last_uses(self):
        """Which nodes are used for the last time by each node: they are let go after it."""
        seen = set()
        uses = {}

        def register(node, user):
            if node not in seen:
                seen.add(node)
                uses.setdefault(user, []).append(node)

        for user in reversed(self.nodes):
            for part in (user.args, user.kwargs):
                map_arg(part, lambda node, user=user: register(node, user))
        return uses

    def _write_node(self, node):
        if self.verbose:
            self._write_trace(node)
        getattr(self, f"_write_{node.op}")(node)
        if node.op == "placeholder":
            return
        gone = list(self.last_uses.get(node, ())) if node.op != "output" else []
        if not node.users and node.op != "output":
            gone.append(node)
        text = " = ".join([*map(repr, gone), "None"])
        self.body.append(f";  {self.paint['dim'](text)}\n" if gone else "\n")

    def _write_placeholder(self, node):
        default = f" = {self.value(node.args[0])}" if node.args else ""
        kind = self._meta_annotation(node)
        if not kind and node.type is not None:
            kind = f" : {self.type_text(node.type)}"
        self.parameters.append(f"{node.target}{kind}{default}")
        plain = node.target.replace("*", "")
        if plain != repr(node):
            self.body.append(f"{node!r} = {plain}\n")

    def _write_call_method(self, node):
        target = format_target(self.value(node.args[0]), node.target)
        self.body.append(f"{self._left(node)} = {target}({self.arguments(node.args[1:], node.kwargs)})")

    def _write_call_function(self, node):
        target, left = node.target, self._left(node)
        name = getattr(target, "__name__", None)
        if getattr(target, "__module__", None) == "_operator" and name in MAGIC:
            self.body.append(f"{left} = {MAGIC[name].format(*map(self.value, node.args))}")
            return
        if getattr(target, "__module__", None) == "_operator" and name in INPLACE:
            parts = [self.value(arg) for arg in node.args]
            self.body.append(f"{INPLACE[name].format(*parts)};  {left} = {parts[0]}")
            return
        full = qualified_name(target)
        known = self.add_global(full, target)
        is_plain = len(node.args) == 2 and isinstance(node.args[1], str) and node.args[1].isidentifier()
        if known == "getattr" and is_plain:
            self.body.append(f"{left} = {format_target(self.value(node.args[0]), node.args[1])}")
            return
        self.body.append(f"{left} = {known}({self.arguments(node.args, node.kwargs)})")
        if node.meta.get("is_wrapped", False):
            self.wrapped.setdefault(known)

    def _write_call_module(self, node):
        target = format_target(self.root, node.target)
        self.body.append(f"{self._left(node)} = {target}({self.arguments(node.args, node.kwargs)})")

    def _write_get_attr(self, node):
        self.body.append(f"{self._left(node)} = {format_target(self.root, node.target)}")

    def _write_output(self, node):
        if node.type is not None:
            self.returns = f" -> {self.type_text(node.type)}"
        text = _call_with_known(self.codegen.generate_output, node.args[0], repr_fn=self.value)
        self.body.append(text)

    def _left(self, node):
        kind = self._meta_annotation(node)
        if not kind and node.type is not None:
            kind = f" : {self.type_text(node.type)}"
        return f"{node!r}{kind}"

    # ---- What print_readable adds

    def _meta_annotation(self, node):
        """The type and shape that are known of a result, in quotes after a colon."""
        if not self.verbose:
            return ""
        known = node.meta.get("val", node.meta.get("tensor_meta", node.meta.get("example_value")))
        text = self._meta_text(known)
        return f": {self.paint['green'](chr(34) + text + chr(34))}" if text else ""

    def _meta_text(self, known):
        if isinstance(known, _C.Tensor):
            text = f"{short_type(known.dtype)}{list(known.shape)}"
            text += str(list(known.stride())) if self.stride else ""
            return text + (str(known.device) if self.device else "")
        if hasattr(known, "dtype") and hasattr(known, "shape"):
            return f"{short_type(known.dtype)}{list(known.shape)}"
        return ""

    def _write_trace(self, node):
        """A line above the nodes that come from one place, and have the same notes."""
        if node.op in ("placeholder", "output"):
            return
        notes = ", ".join(f"{key}: {node.meta[key]}" for key in self.more_meta if key in node.meta)
        custom = f"Annotation: {node.meta['custom']} " if node.meta.get("custom") else ""
        text = f"# {notes} # {custom}" if notes else f"# {custom}"
        text += _place(node.stack_trace)
        if text == self.trace_shown:
            return
        self.trace_shown = text
        written = any(not line.startswith(_COUNTER) for line in self.body)
        self.body.append(("\n" if written else "") + self.paint["dim"](text) + "\n")


def _place(trace):
    """Where in the program a node comes from, in one line."""
    lines = [line.strip() for line in (trace or "").strip().split("\n")]
    for place, line in enumerate(lines[:-1]):
        parts = line.replace('"', "").split(", ")
        if line.startswith("File ") and len(parts) == 3:
            where = f"{parts[0].replace('File ', 'File: ')}:{parts[1].removeprefix('line ')} {parts[2]}"
            return f"{where}, code: {lines[place + 1]}"
    return "No stacktrace found for following nodes"


def _call_with_known(method, *args, **options):
    """Calls a method of a CodeGen with the options that it knows; older subclasses know fewer."""
    import inspect

    parameters = inspect.signature(method).parameters
    if not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        options = {name: value for name, value in options.items() if name in parameters}
    return method(*args, **options)
