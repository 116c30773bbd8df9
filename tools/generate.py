"""Build-time generator: op table -> C++ elementwise loops, kernel glue and derived rules; optimizers -> their loops.

`python tools/generate.py --out DIR` imports the op table with a symbolic language, traces every elementwise expression
and rule, and writes the files named in `generate`. A file is touched only when its text changes.
"""

import argparse
import dis
import importlib
import sys
import types
from pathlib import Path

SOURCES = Path(__file__).resolve().parent.parent / "src"
sys.path.insert(0, str(Path(__file__).resolve().parent))

# After the path is set, because they lie beside this file and not in a package.
import emit  # noqa: E402 - see above
import symbolic  # noqa: E402 - see above
import updates  # noqa: E402 - see above
from symbolic import TraceError, Value, apply, lift  # noqa: E402 - see above

declaration = None  # adjoint.ops.declaration, once load_table has put the sources in reach


class Table:
    """All declarations by op name, and what the trace in progress is about."""

    def __init__(self, sources):
        self.sources = sources
        self.ops = {}
        self.files = {}
        self.file = ""
        self.tracing = []

    def add(self, item):
        names = {item.name, *item.alias}
        taken = names.intersection(self.ops)
        if taken:
            item.fail(f"declared twice: also in {self.files[taken.pop()]}")
        for name in names:
            self.ops[name] = item
            self.files[name] = self.file
        return item

    def unique(self, *kinds):
        return [item for name, item in self.ops.items() if item.name == name and item.kind in kinds]


class Name:
    """A name of the language. In a trace it is a primitive or another elementwise op, inlined; elsewhere a stand-in."""

    def __init__(self, table, name):
        self._table = table
        self._name = name

    def __call__(self, *args, **kwargs):
        table, name = self._table, self._name
        if not table.tracing:
            return Name(table, f"{name}(...)")
        if name == "zeros_like":
            return lift(0)
        if name in symbolic.PRIMITIVES and not kwargs:
            return apply(name, *args)
        item = table.ops.get(name)
        if item is None or item.kind != "elementwise":
            raise TraceError(f"{name} is neither a primitive nor an elementwise op, and cannot be part of a kernel")
        if item in table.tracing:
            raise TraceError(f"{name} is used in its own expression, but is not a primitive of csrc/cpu/math.h")
        return trace_expression(table, item, bind(item, args, kwargs))

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if self._table.tracing:
            raise TraceError(f"{self._name}.{name} has no meaning in a kernel")
        return Name(self._table, f"{self._name}.{name}")

    def __or__(self, other):
        return self if not self._table.tracing else NotImplemented

    __ror__ = __or__

    def __mro_entries__(self, bases):
        return ()


def bind(item, args, kwargs):
    """Argument values by name for a call of `item` inside another expression."""
    values = dict(item.defaults) | dict(zip(item.arguments, args, strict=False)) | kwargs
    if len(args) > item.positional or set(values) != set(item.arguments):
        raise TraceError(f"{item.name} is called with other arguments than {item.signature}")
    return {name: lift(value) for name, value in values.items()}


def trace_expression(table, item, values):
    table.tracing.append(item)
    try:
        return lift(item.expression(*(values[n] for n in declaration.parameter_names(item.expression))))
    finally:
        table.tracing.pop()


def trace(table, item, argument, function, leaves):
    """`function` on symbolic leaves; errors name the op, the argument and the file."""
    table.tracing.append(item)
    try:
        return lift(function(*(leaves[name] for name in declaration.parameter_names(function))))
    except (TraceError, TypeError, AttributeError, NameError, ArithmeticError) as error:
        what = f"the rule for {argument!r}" if argument else "the expression"
        raise SystemExit(f"{item.name}: {what} cannot be traced: {error} ({item.place})") from None
    finally:
        table.tracing.pop()


def language_module(table):
    """The module that stands in for adjoint.ops.language while the op table is read."""
    module = types.ModuleType("adjoint.ops.language")
    module.TABLE = table.ops
    for kind in ("elementwise", "op", "view"):
        make = getattr(declaration, kind)
        setattr(module, kind, lambda *args, make=make, **options: table.add(make(*args, **options)))

    # Composites are Python functions of ops: a rule may call them as they are.
    module.composite = lambda function=None, **options: function or (lambda decorated: decorated)
    module.__getattr__ = name_resolver(table)
    return module


def name_resolver(table):
    """A module's __getattr__ under which every name exists."""

    def resolve(name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Name(table, name)

    return resolve


def load_table(sources=SOURCES):
    """Imports every file of the op table in `sources`/adjoint/ops, symbolically."""
    global declaration
    for name in [name for name in sys.modules if name == "adjoint" or name.startswith("adjoint.")]:
        del sys.modules[name]
    # Stand-ins, so that no __init__ of the package runs.
    for name in ("adjoint", "adjoint.ops", "adjoint.optim", "adjoint.nn", "adjoint.nn.modules"):
        package = types.ModuleType(name)
        package.__path__ = [str(folder / name.replace(".", "/")) for folder in (sources, SOURCES)]
        sys.modules[name] = package
    declaration = importlib.import_module("adjoint.ops.declaration")
    table = Table(sources)
    sys.modules["adjoint"].__getattr__ = name_resolver(table)  # for `from .. import _C`
    sys.modules["adjoint.ops.language"] = language_module(table)
    for path in sorted((sources / "adjoint" / "ops").glob("*.py")):
        if path.stem not in ("__init__", "language", "declaration", "derived"):
            table.file = path.name
            importlib.import_module(f"adjoint.ops.{path.stem}")
    for item in table.ops.values():
        check_used(item)
    return table


def load_updates(table):
    """Every update rule in adjoint/optim, beside the op table, traced."""
    for name in [name for name in sys.modules if name.startswith("adjoint.optim.")]:
        del sys.modules[name]
    rules = []
    # What the classes beside the rules are made of is not needed here: any name will do.
    stand_ins = [types.ModuleType(f"adjoint.optim.{name}") for name in ("elementwise", "optimizer")]
    for module in (updates.language_module(rules), *stand_ins):
        module.__getattr__ = name_resolver(table)
        sys.modules[module.__name__] = module
    for path in sorted((table.sources / "adjoint" / "optim").glob("*.py")):
        if "\n@rule\n" in path.read_text():
            importlib.import_module(f"adjoint.optim.{path.stem}")
    return [update for rule in rules for update in updates.trace(table, rule)]


def check_used(item):
    """Every parameter of an expression or rule must be used: an unused one would be saved for nothing."""
    for argument, function in (("", item.expression), *item.rules.items()):
        if not hasattr(function, "__code__"):
            continue
        used = {str(i.argval) for i in dis.get_instructions(function) if i.opname.startswith("LOAD_")}
        used |= {name for i in dis.get_instructions(function) if isinstance(i.argval, tuple) for name in i.argval}
        for name in declaration.parameter_names(function):
            if name not in used and name != "g":
                what = f"the rule for {argument!r}" if argument else "the expression"
                item.fail(f"{what} does not use its parameter {name!r}; remove it")


def symbolic_leaves(item):
    """Leaves for tracing: operands, cotangent and result are inputs, the other arguments params."""
    leaves = {name: Value("input", (), name) for name in (*item.operands, "g", "out")}
    return leaves | {name: Value("param", (), name) for name in item.params}


def pull_by_rules(table, item):
    """Cotangents of a primitive's arguments, by the rules in the table; for symbolic.differentiate."""

    def pull(value, g, needed):
        if value.kind == "where":
            condition = value.args[0]
            return (None, apply("where", condition, g, 0), apply("where", condition, 0, g))
        rule_owner = table.ops.get(value.kind)
        if rule_owner is None or rule_owner.derived or len(rule_owner.operands) != len(value.args):
            item.fail(f"no rule can be derived: {value.kind} has none; write the rules of {item.name}")
        known = {"g": g, "out": value} | dict(zip(rule_owner.operands, value.args, strict=True))
        known |= {name: lift(rule_owner.defaults[name]) for name in rule_owner.params}
        rules = [rule_owner.rules[name] for name in rule_owner.operands]
        return [
            trace(table, rule_owner, name, rule, known) if rule and need else None
            for name, rule, need in zip(rule_owner.operands, rules, needed, strict=True)
        ]

    return pull


def kernels_of(table, item):
    """The computations of an elementwise op: (kernel name, result kind, input names, expression), forward first."""
    leaves = symbolic_leaves(item)
    forward = trace(table, item, "", item.expression, leaves)
    kernels = [emit.Kernel(item, "", list(item.operands), forward)]
    if not item.differentiable:
        return kernels
    if item.derived:
        operands = [leaves[name] for name in item.operands]
        cotangents = symbolic.differentiate(forward, operands, leaves["g"], pull_by_rules(table, item))
        for name, value in zip(item.operands, cotangents, strict=True):
            value = value if "complex" in item.types else symbolic.strip_conj(value)
            used = symbolic.leaves(value, "input")
            inputs = ["g", *(n for n in item.operands if n in used)]
            kernels.append(emit.Kernel(item, name, inputs, value, derived=True))
        return kernels
    for name, rule in item.rules.items():
        if rule is not None:
            value = trace(table, item, name, rule, leaves)
            inputs = [n for n in item.uses[name] if n not in item.params]
            if value is not leaves["g"]:
                kernels.append(emit.Kernel(item, name, inputs, value))
    return kernels


def generate(table):
    """The generated files: text by file name."""
    kernels = [k for item in table.unique("elementwise") for k in kernels_of(table, item)]
    files = {}
    for shard in range(emit.SHARDS):
        mine = [k for k in kernels if k.shard == shard]
        files[f"kernels_real_{shard}.cpp"] = emit.kernel_file(f"real_{shard}", mine, ("float",))
        files[f"kernels_other_{shard}.cpp"] = emit.kernel_file(f"other_{shard}", mine, emit.OTHER)
    files["kernels_updates.cpp"] = updates.kernel_file(load_updates(table))
    files["kernels_registration.cpp"] = emit.registration_file()
    files["glue.cpp"] = emit.glue_file(table.unique("op", "view"))
    files["derived.py"] = emit.derived_file([k for k in kernels if k.derived])
    return files


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder for the generated files")
    options = parser.parse_args()
    try:
        files = generate(load_table())
    except Exception as error:
        if declaration is not None and isinstance(error, declaration.DeclarationError):
            raise SystemExit(str(error)) from None
        raise
    options.out.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        path = options.out / name
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


if __name__ == "__main__":
    main()
