"""What help() and inspect.signature() say of an op: its sentence, its example, its arguments.

Nothing of this is loaded before somebody asks. The sentence stands in the op's declaration (`doc=`) or docstring, the
example there, too, or in src/adjoint/ops/help: a text for each file of the table, in which an entry begins with
`# name`. An entry that begins with a sentence stands for all. Arguments that the text does not name are said by a list
that all ops share (_help_arguments.py). The form with a trailing underscore has no text of its
own, as a rule: it is made from that of the op, its calls `torch.exp(x)` turned into `x.exp_()`.
"""

import ast
import functools
import inspect
import keyword
import re
from pathlib import Path

from . import _C
from ._help_arguments import ARGUMENTS, OBVIOUS
from .ops import language

_FOLDER = Path(__file__).parent / "ops" / "help"
_IMPORT = ">>> import adjoint as torch"


@functools.cache
def entries():
    """The texts by name; (file, text) each, so that errors can say where one stands."""
    found = {}
    for path in sorted(_FOLDER.glob("*.txt")):
        for part in f"\n{path.read_text(encoding='utf-8')}".split("\n# ")[1:]:
            name, _, text = part.partition("\n")
            if name in found:
                raise ValueError(f"{name} is in {found[name][0]} and in {path.name}")
            found[name] = path.name, text.strip()
    return found


@functools.cache
def _composite_names():
    """The names under which the table has functions of Python, by the function."""
    return {function: name for name, function in language.COMPOSITES.items()}


def _written_in_python(op):
    """The function that an op object calls, if it is no op of the table."""
    return getattr(op, "__wrapped__", None)


def is_declared(op):
    """Whether there is anything behind an op object: `ops.language` makes them for any name, before there is an op."""
    return op._table_name() is not None or _written_in_python(op) is not None


def key_of(op):
    """The name of an op's text, the same for all faces of it: that in the table, or for others where they are."""
    function = _written_in_python(op)
    if function is None:
        return op._table_name() + "_" * op._in_place
    if isinstance(function, _C.Op):
        return key_of(function)
    home = "Tensor" if op._is_method else f"torch{op.__module__.removeprefix(__package__)}"
    return _composite_names().get(function) or f"{home}.{op.__name__}"


def _sentence(op):
    """What the declaration or the docstring says."""
    function = _written_in_python(op)
    if function is None:
        item = language.TABLE[op._table_name()]
        return "" if op._in_place and item.inplace != "only" else item.doc or ""
    return _sentence(function) if isinstance(function, _C.Op) else function.__doc__ or ""


def documentation(op):
    """The docstring of an op object."""
    if not is_declared(op):
        return None
    key = key_of(op)
    _, text = entries().get(key, ("", ""))
    sentence = "" if text and not text.startswith(">>>") else inspect.cleandoc(_sentence(op))
    if not text and ">>>" not in sentence:
        twin = _C.op_object(key[:-1]) if key.endswith("_") and not key.endswith("__") else None
        if twin is not None and is_declared(twin):
            return _in_place(key, documentation(twin))
    if ">>>" in text:
        before, _, example = text.partition(">>>")
        text = f"{before}{_IMPORT}\n>>>{example}"
    told, arrow, example = "\n\n".join(part for part in (sentence, text) if part).partition(">>>")
    return "\n\n".join(part for part in (told.strip(), _arguments(op, key, told + example), arrow + example) if part)


def unexplained(op, text):
    """The arguments that a text does not name, and that are not obvious."""
    return [
        name
        for name in signature(op).parameters
        if name not in OBVIOUS.split() and name[0] != "_" and not re.search(rf"\b{name.rstrip('_')}\b", text)
    ]


def _arguments(op, key, text):
    """A list of what arguments mean that the text does not name."""
    words = {name: ARGUMENTS.get(f"{key}.{name}") or ARGUMENTS.get(name) for name in unexplained(op, text)}
    return "\n".join(f"- {name}: {meaning}." for name, meaning in words.items() if meaning)


def _in_place(name, text):
    """The text of an op as that of its form with an underscore."""
    told, arrow, example = text.partition(">>>")
    told = f"{told.strip()}\n\nIn place: writes the result into the first tensor, and returns that."
    return f"{told}\n\n{arrow}{_calls_in_place(name[:-1], example)}".strip() if arrow else told


def _calls_in_place(name, example):
    """The lines of an example, with `torch.name(x, ...)` as `x.name_(...)`."""
    lines = example.split("\n")
    for i, line in enumerate(lines):
        code = line.removeprefix(">>> ")
        if (code == line and i) or f"{name}(" not in code:
            continue
        lines[i] = line[: len(line) - len(code)] + _call_in_place(name, code)
    return "\n".join(lines)


def _call_in_place(name, code):
    try:
        tree = ast.parse(code.strip())
    except SyntaxError:
        return code
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != name:
            continue
        if hasattr(_C.Tensor, f"{name}_") and ast.unparse(node.func.value).startswith("torch") and node.args:
            node.func.value = node.args.pop(0)
        node.func.attr = f"{name}_"
    return ast.unparse(tree)


def signature(op):
    """The inspect.Signature of an op object."""
    if not is_declared(op):
        raise ValueError(f"no signature found for {op!r}: no op of this name is declared")
    function = _written_in_python(op)
    parameters = _written(function) if function else _declared(language.TABLE[op._table_name()], op._in_place)
    if op._is_method and parameters:
        first = parameters[0].replace(name="self", kind=inspect.Parameter.POSITIONAL_ONLY)
        parameters = [first if first.default is first.empty else first.replace(default=first.empty), *parameters[1:]]
    return inspect.Signature(parameters)


def _declared(item, in_place):
    """The parameters that a declaration has."""
    kinds = inspect.Parameter
    parameters, kind = [], kinds.POSITIONAL_OR_KEYWORD
    for i, name in enumerate(item.arguments):
        if name == item.varargs:
            parameters.append(kinds(name, kinds.VAR_POSITIONAL))
            kind = kinds.KEYWORD_ONLY
            continue
        if i >= item.positional:
            kind = kinds.KEYWORD_ONLY
        name_shown = f"{name}_" if keyword.iskeyword(name) else name  # "from": given by position
        parameters.append(kinds(name_shown, kind, default=item.defaults.get(name, kinds.empty)))
    if item.out and not in_place and not item.creates:
        parameters.append(kinds("out", kinds.KEYWORD_ONLY, default=None))
    return parameters


def _written(function):
    """The parameters of a function of Python."""
    parameters = list(inspect.signature(function).parameters.values())
    if getattr(function, "has_out", False) and parameters[-1].name != "out":
        parameters.append(inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None))
    return parameters
