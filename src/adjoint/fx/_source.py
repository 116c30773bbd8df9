"""Text of functions run, with what it imports; and errors in it explained."""

import builtins
import importlib
import itertools
import linecache
import sys
import traceback

from ..nn import Module
from ._names import PACKAGE
from ._namespace import custom_builtins

_keys = itertools.count()


def exec_with_source(src, names, co_fields=None):
    """Runs a text so that errors in it show its lines."""
    key = f"<eval_with_key>.{next(_keys)}"
    if co_fields:
        key += f" from {co_fields['co_filename']}:{co_fields['co_firstlineno']} in {co_fields['co_name']}"
    linecache.cache[key] = (len(src), None, src.splitlines(True), key)
    exec(compile(src, key, "exec"), names)


def method_from_src(method_name, src, names, co_fields=None):
    """The function that a text defines."""
    names = names.copy()
    exec_with_source(src, names, co_fields)
    return names[method_name]


def forward_from_src(src, names, co_fields=None):
    """The function `forward` that a text defines."""
    return method_from_src("forward", src, names, co_fields)


def format_import_statement(name, obj, importer=None):
    """The statement by which a file would get a name for an object."""
    if name in custom_builtins:
        return custom_builtins[name][0]
    if isinstance(obj, type(sys)):
        return f"import {obj.__name__} as {name}"
    module = getattr(obj, "__module__", None) or "builtins"
    attribute = getattr(obj, "__name__", None) or getattr(obj, "_name", None)
    return f"from {module} import {attribute} as {name}"


def format_import_block(names, importer=None):
    """The statements by which a file would get all globals of generated code."""
    return "\n".join(sorted({format_import_statement(name, obj, importer) for name, obj in names.items()}))


def import_names(import_block):
    """What the statements import, in a dict; torch is this package, whether or not it stands in torch's place."""
    names = {"__builtins__": builtins.__dict__}
    for line in import_block.split("\n"):
        if line == "import torch":
            names["torch"] = sys.modules[PACKAGE]
        elif line.startswith("import torch."):
            _, module, _, name = line.split(" ")
            names[name] = importlib.import_module(PACKAGE + module.removeprefix("torch"))
        elif line.startswith(("from torch ", "from torch.")):
            _, home, _, attribute, *rest = line.split(" ")
            found = importlib.import_module(PACKAGE + home.removeprefix("torch"))
            names[rest[1] if rest else attribute] = getattr(found, attribute)
        else:
            exec(line, names)
    return names


class CodeOnlyModule(Module):
    """A root to trace that has a forward and a GraphModule's attributes."""

    def __init__(self, body):
        super().__init__()
        self.__dict__ = body


def explain(error):
    """Shows the line of generated code in which an error was raised, on stderr."""
    frames = traceback.extract_tb(error.__traceback__)
    if not frames or not frames[-1].filename.startswith("<eval_with_key>"):
        return
    frame = frames[-1]
    lines = linecache.getlines(frame.filename)
    number = frame.lineno or 1
    before = "".join(lines[max(number - 5, 0) : number]).strip("\n")
    after = "\n".join(lines[number : number + 2])
    mark = "~" * len(lines[number - 1].rstrip("\n")) + " <--- HERE"
    head = f"Call using an FX-traced Module, line {number} of the traced Module's generated forward function:"
    parts = [traceback.format_exc(), head, before, "", mark, after]
    print("\n".join(parts), file=sys.stderr)
