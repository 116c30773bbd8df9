"""Tracing: an expression or a rule of the op table is run on symbols, and what it computes is noted."""

from ..ops.declaration import parameter_names
from .expressions import TraceError, apply, lift
from .primitives import PRIMITIVES


class Table:
    """Declarations by op name, the symbolic words they are written in, and what the trace in progress is about."""

    def __init__(self):
        self.ops = {}
        self.files = {}
        self.file = ""
        self.language = None
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
        if name in PRIMITIVES and not kwargs:
            return apply(name, *args)
        item = table.ops.get(name)
        if item is None or item.kind != "elementwise":
            raise TraceError(f"{name} is neither a primitive nor an elementwise op, and cannot be part of a kernel")
        if item in table.tracing:
            raise TraceError(f"{name} is used in its own expression, but is not a primitive of csrc/cpu/math.h")
        return _run(table, item, item.expression, _bind(item, args, kwargs))

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


def name_resolver(table):
    """A module's __getattr__ under which every name exists."""

    def resolve(name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Name(table, name)

    return resolve


def trace(table, item, argument, function, leaves):
    """What `function` computes of these leaves; errors name the op, the argument and the file."""
    try:
        return _run(table, item, function, leaves)
    except (TraceError, TypeError, AttributeError, NameError, ArithmeticError) as error:
        what = f"the rule for {argument!r}" if argument else "the expression"
        raise TraceError(f"{item.name}: {what} cannot be traced: {error} ({item.place})") from None


def _run(table, item, function, values):
    table.tracing.append(item)
    try:
        return lift(function(*(values[name] for name in parameter_names(function))))
    finally:
        table.tracing.pop()


def _bind(item, args, kwargs):
    """Argument values by name for a call of `item` inside another expression."""
    values = dict(item.defaults) | dict(zip(item.arguments, args, strict=False)) | kwargs
    if len(args) > item.positional or set(values) != set(item.arguments):
        raise TraceError(f"{item.name} is called with other arguments than {item.signature}")
    return {name: lift(value) for name, value in values.items()}
