"""Reads the op table and the optimizers' rules with symbolic words in place of those that compute.

Their files are imported once more, as parts of a package of another name in which `ops.language` and `optim.language`
are stand-ins. It needs no extension, and the package that may be running does not notice.
"""

import contextlib
import dis
import importlib
import sys
import threading
import types
from pathlib import Path

from ..ops import declaration
from ..optim import declaration as optim_declaration
from .expressions import Value
from .tracing import Table, name_resolver
from .updates import trace_rule

PACKAGE = Path(__file__).resolve().parent.parent
READ = "_adjoint_read"  # the package while it is read
_one_at_a_time = threading.Lock()


def read_table(package=PACKAGE):
    """The op table in the folder ops of a package, by default this one."""
    table = Table()
    table.language = _op_language(table)
    with _stand_ins(package, table, {"ops.language": table.language}):
        for path in sorted((package / "ops").glob("*.py")):
            if path.stem not in ("__init__", "language", "declaration", "derived"):
                table.file = path.name
                importlib.import_module(f"{READ}.ops.{path.stem}")
    for item in table.ops.values():
        _check_used(item)
    return table


def read_updates(table, package=PACKAGE):
    """Every update rule in the folder optim of a package, traced with the ops of `table`."""
    rules = []
    # What the classes beside the rules are made of is not needed here: any name will do.
    words = {f"optim.{name}": types.ModuleType(name) for name in ("elementwise", "optimizer")}
    words["optim.language"] = _optim_language(rules)
    for module in words.values():
        module.__getattr__ = name_resolver(table)
    with _stand_ins(package, table, words):
        for path in sorted((package / "optim").glob("*.py")):
            if "\n@rule\n" in path.read_text():
                importlib.import_module(f"{READ}.optim.{path.stem}")
    return [update for rule in rules for update in trace_rule(table, rule)]


@contextlib.contextmanager
def _stand_ins(package, table, words):
    """While it lasts, `package` can be imported under the name READ, without an __init__ and with these words."""
    modules = {}
    for name in ("", ".ops", ".optim"):
        bare = modules[READ + name] = types.ModuleType(READ + name)
        # What a table of few files lacks is found in this package.
        bare.__path__ = [str(folder / name.removeprefix(".")) for folder in (package, PACKAGE)]
    modules[READ].__getattr__ = name_resolver(table)  # for `from .. import _C`
    modules[f"{READ}.ops.declaration"] = declaration
    modules[f"{READ}.optim.declaration"] = optim_declaration
    modules |= {f"{READ}.{name}": module for name, module in words.items()}
    with _one_at_a_time:
        sys.modules.update(modules)
        try:
            yield
        finally:
            for name in [name for name in sys.modules if name.partition(".")[0] == READ]:
                del sys.modules[name]


def _op_language(table):
    """The module that stands in for adjoint.ops.language."""
    module = types.ModuleType("language")
    module.TABLE = table.ops
    for kind in ("elementwise", "op", "view"):
        make = getattr(declaration, kind)
        setattr(module, kind, lambda *args, make=make, **options: table.add(make(*args, **options)))

    # Composites are Python functions of ops: a rule may call them as they are.
    module.composite = lambda function=None, **options: function or (lambda decorated: decorated)
    module.__getattr__ = name_resolver(table)
    return module


def _optim_language(rules):
    """The module that stands in for adjoint.optim.language: rules are collected in `rules`."""
    module = types.ModuleType("language")
    module.rule = lambda function: rules.append(optim_declaration.Rule(function))
    module.item = module.tracked_item = lambda value: Value("item", (value,))
    return module


def _check_used(item):
    """Every parameter of an expression or rule must be used: an unused one would be saved for nothing."""
    functions = [("the expression", item.expression)]
    functions += [(f"the rule for {argument!r}", rule) for argument, rule in item.rules.items()]
    functions += [(f"the fused form for {argument!r}", form) for argument, form in item.fused.items()]
    for what, function in functions:
        if not hasattr(function, "__code__"):
            continue
        used = {str(i.argval) for i in dis.get_instructions(function) if i.opname.startswith("LOAD_")}
        used |= {name for i in dis.get_instructions(function) if isinstance(i.argval, tuple) for name in i.argval}
        for name in declaration.parameter_names(function):
            if name not in used and name != "g":
                item.fail(f"{what} does not use its parameter {name!r}; remove it")
