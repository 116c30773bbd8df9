"""Type stubs: what the built package offers, written down for type checkers and editors.

`python tools/stubs.py --package DIR --out DIR` imports adjoint from one folder and writes a stub for each of its
modules. Ops speak through their declarations (stub_ops.py), Python files through their annotations, values and names
(stub_modules.py, stub_words.py); overloads and generic classes are written by hand in tools/types, one file for a
module, and take the place of what was found.
"""

import argparse
import ast
import importlib
import importlib.machinery
import inspect
import sys
import unittest.mock
import warnings
from pathlib import Path

from stub_modules import BANNER, ModuleStub
from stub_ops import Ops
from stub_words import ALIASES, PRELUDE

WRITTEN = Path(__file__).resolve().parent / "types"


def parsed(path):
    """The hand-written part of a stub, as a tree."""
    return ast.parse(path.read_text(), str(path)) if path.exists() else ast.parse("")


class StandIns:
    """Finds modules that are not installed where the package is built, as what has every name: names alone are read."""

    packages = ("numpy", "safetensors", "scipy")

    def find_spec(self, name, path=None, target=None):
        """The stand-in of a module of these packages; asked last, when nothing else has found it."""
        if name.partition(".")[0] in self.packages:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        """A module that has every attribute."""
        return unittest.mock.MagicMock(name=spec.name, __spec__=spec)

    def exec_module(self, module):
        """Nothing is to be done."""


class Stubs:
    """Writes the stubs of the imported package."""

    def __init__(self, package):
        self.package = package
        self.core = package._C
        self.ops = Ops(package)
        self.folder = Path(package.__file__).parent
        self.written_classes = {}
        for path in WRITTEN.rglob("*.pyi"):
            module = ".".join([package.__name__, *path.relative_to(WRITTEN).with_suffix("").parts])
            classes = (node for node in parsed(path).body if isinstance(node, ast.ClassDef))
            self.written_classes.update({(module.removesuffix(".__init__"), node.name): node for node in classes})

        self.modules = {self.name_of(path) for path in self.python_files()}
        self.definitions = {}
        for path in self.python_files():
            for node in ast.parse(path.read_text()).body:
                if isinstance(node, ast.FunctionDef | ast.ClassDef):
                    self.definitions.setdefault(node.name, []).append(self.name_of(path))

    def python_files(self):
        """The Python files that get a stub."""
        return [path for path in sorted(self.folder.rglob("*.py")) if path.name != "__main__.py"]

    def name_of(self, path):
        """The name of a file's module."""
        parts = [self.package.__name__, *path.relative_to(self.folder).with_suffix("").parts]
        return ".".join(parts).removesuffix(".__init__")

    def core_stub(self):
        """The text of _C.pyi."""
        written = parsed(WRITTEN / "_C.pyi")
        classes = {node.name: node for node in written.body if isinstance(node, ast.ClassDef)}
        functions = {}
        for node in parsed(WRITTEN / "__init__.pyi").body:
            if isinstance(node, ast.FunctionDef):
                functions.setdefault(node.name, []).append(node)
        lines = [BANNER, PRELUDE.strip(), "from typing import TypeAlias as _TypeAlias"]
        lines.append(f"from {self.package.__name__} import return_types as _return_types")
        lines += [ast.unparse(node) for node in written.body if isinstance(node, ast.Import | ast.ImportFrom)]
        lines += ["", ALIASES.strip(), ""]
        own = {name: node for node in written.body for name in ModuleStub._names_of(node)}
        lines += [ast.unparse(node) for name, node in own.items() if name not in vars(self.core)]
        for name, value in sorted(vars(self.core).items()):
            if name.startswith("__"):
                continue
            if isinstance(value, type):
                lines += [self.core_class(name, value, classes.get(name), functions), ""]
            elif name in own:
                lines += [ast.unparse(node) for node in written.body if name in ModuleStub._names_of(node)]
            elif name in functions:
                lines += [ast.unparse(node) for node in functions[name]]
            elif callable(value):
                lines.append(self.ops.function(name, value))
            else:
                kinds = {
                    self.core.dtype: "_dtype",
                    self.core.layout: "_layout",
                    self.core.memory_format: "_memory_format",
                }
                kinds |= {self.core.Generator: "_Generator"}
                lines.append(f"{name}: {kinds.get(type(value), '_Any')}")
        return "\n".join([*lines, ""])

    def core_class(self, name, value, written, functions):
        """The lines of a native class: what is written by hand, and what else it has."""
        known = {}
        for node in written.body if written else ():
            for one in ModuleStub._names_of(node):
                known.setdefault(one, []).append(ast.unparse(node))
        if name == "Tensor":
            members = self.ops.tensor(known, functions)
        else:
            members = {n: f"{n}: _Any" for n in vars(value) if not n.startswith("__")}
            if written is None:
                members["__init__"] = "def __init__(self, *args: _Any, **kwargs: _Any) -> None: ..."
                if "__call__" in vars(value):
                    members["__call__"] = "def __call__(self, *args: _Any, **kwargs: _Any) -> _Any: ..."
        members |= {one: "\n".join(texts) for one, texts in known.items()}
        bases = f"({', '.join(ast.unparse(base) for base in written.bases)})" if written and written.bases else ""
        inside = "\n".join(f"    {line}" for text in members.values() for line in text.splitlines())
        return f"class {name}{bases}:\n{inside or '    ...'}"

    def module_stub(self, path):
        """The text of the stub of a Python file."""
        name = self.name_of(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                runtime = importlib.import_module(name)
            except ImportError:  # needs what is not installed
                runtime = None
        written = parsed(WRITTEN / path.relative_to(self.folder).with_suffix(".pyi"))
        stub = ModuleStub(name, path.read_text(), runtime, self.ops, written)
        stub.written_classes, stub.definitions, stub.modules = self.written_classes, self.definitions, self.modules
        if path.stem == "__init__":
            stub.submodules = frozenset(
                one.stem if one.suffix else one.name
                for one in path.parent.iterdir()
                if not one.name.startswith("_") and (one.suffix == ".py" or (one / "__init__.py").exists())
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return stub.text()

    def return_types(self):
        """The text of return_types.pyi: the named results of ops and of functions of ops."""
        lines = [BANNER, "from typing import NamedTuple as _NamedTuple", "", "from ._C import Tensor as _Tensor", ""]
        module = importlib.import_module(f"{self.package.__name__}.return_types")
        names = {name: getattr(module, name) for name in dir(module) if not name.startswith("__")}
        for item in self.ops.table.values():
            if item.outputs:
                names.setdefault(item.result_type.__name__, item.result_type)
        for name, value in sorted(names.items()):
            if isinstance(value, type) and issubclass(value, tuple):
                fields = getattr(value, "_fields", None) or [
                    n for n, v in vars(value).items() if inspect.ismemberdescriptor(v) or inspect.isdatadescriptor(v)
                ]
                lines += [f"class {name}(_NamedTuple):", *(f"    {field}: _Tensor" for field in fields), ""]
        return "\n".join(lines)

    def files(self, filled=False):
        """The stubs: text by path below the package; with `filled` of those modules alone that the op table fills."""
        files = {"_C.pyi": self.core_stub(), "return_types.pyi": self.return_types()}
        namespaces = {f"{self.package.__name__}.{name}".rstrip(".") for name, _, _ in self.ops.language.PUBLIC}
        for path in self.python_files():
            name = str(path.relative_to(self.folder).with_suffix(".pyi"))
            if name not in files and (not filled or self.name_of(path) in namespaces):
                files[name] = self.module_stub(path)
        for name, text in files.items():
            try:
                ast.parse(text, name)
            except SyntaxError as error:
                raise SyntaxError(f"the stub {name} is not valid Python: {error}\n{error.text}") from error
        return files


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--package", type=Path, required=True, help="folder that holds the built package adjoint")
    parser.add_argument("--out", type=Path, required=True, help="folder for the stubs")
    words = "only what Python files do not say, for a checker that reads the files themselves"
    parser.add_argument("--filled", action="store_true", help=words)
    options = parser.parse_args()
    sys.path.insert(0, str(options.package))
    sys.meta_path.append(StandIns())
    for name, text in Stubs(importlib.import_module("adjoint")).files(options.filled).items():
        path = options.out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    main()
