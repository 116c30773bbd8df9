"""Expressions as graphs: what the expressions and rules of the op table compute on while they are traced.

A value is a node of a hash-consed graph, so that equal subexpressions are one object.
"""

import math
import weakref

from .primitives import INFIX, PRIMITIVES

# Operators on numbers that are known when an expression is traced.
FOLD = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda a: -a,
    "conj": lambda a: a.conjugate(),
    "exp": math.exp,
    "log": math.log,
    "sqrt": math.sqrt,
}


class TraceError(Exception):
    """An expression or rule that cannot be turned into a kernel."""


_interned = weakref.WeakValueDictionary()


class Value:
    """One node: `kind` is a primitive's name, "input", "param" or "const"; `payload` the name or number of a leaf."""

    __slots__ = ("__weakref__", "args", "kind", "payload")

    def __new__(cls, kind, args=(), payload=None):
        key = (kind, *map(id, args), type(payload), repr(payload))
        value = _interned.get(key)
        if value is None:
            value = _interned[key] = object.__new__(cls)
            value.kind, value.args, value.payload = kind, args, payload
        return value

    __hash__ = object.__hash__

    def __bool__(self):
        raise TraceError("a Python condition on an element's value; use where(condition, a, b)")

    def __getattr__(self, name):
        raise TraceError(f"the attribute or method .{name} has no meaning for one element; use a function")

    def __repr__(self):
        if not self.args:
            return str(self.payload)
        return f"{self.kind}({', '.join(map(repr, self.args))})"

    def __abs__(self):
        return apply("abs", self)

    def __neg__(self):
        return apply("neg", self)

    def __invert__(self):
        return apply("bitwise_not", self)

    def conj(self):
        return apply("conj", self)


def _install_operators():
    dunder = {"div": "truediv", "floor_divide": "floordiv", "remainder": "mod"}
    dunder |= {"bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor"}
    dunder |= {"bitwise_left_shift": "lshift", "bitwise_right_shift": "rshift"}
    for name in INFIX:
        slot = dunder.get(name, name)
        setattr(Value, f"__{slot}__", lambda a, b, name=name: apply(name, a, b))
        setattr(Value, f"__r{slot}__", lambda a, b, name=name: apply(name, b, a))


_install_operators()


def lift(value):
    """A Python number as a constant node; a node as itself."""
    if isinstance(value, Value):
        return value
    if isinstance(value, bool | int | float | complex):
        return Value("const", (), value)
    raise TraceError(f"a {type(value).__name__} ({value!r}) is used as an element's value")


def apply(name, *args):
    """The primitive `name` of these values, simplified where that changes no result."""
    arity = PRIMITIVES[name].arity
    if len(args) != arity:
        raise TraceError(f"{name} takes {arity} values; came {len(args)}")
    args = tuple(map(lift, args))
    if all(a.kind == "const" for a in args) and name in FOLD:
        return lift(FOLD[name](*(a.payload for a in args)))
    if name == "mul":
        for one, other in (args, args[::-1]):
            if one.kind == "const" and type(one.payload) in (int, float) and one.payload == 1:
                return other
    if name == "pow" and args[1].kind == "const" and args[1].payload == 1:
        return args[0]
    if name == "where" and args[0].kind == "const":
        return args[1] if args[0].payload else args[2]
    if name == "pow" and args[1].kind == "const" and args[1].payload == 2:
        return Value("mul", (args[0], args[0]))
    if name in ("neg", "conj") and args[0].kind == name:
        return args[0].args[0]
    return Value(name, args)


def topological(roots):
    """All nodes under `roots`, arguments before those who use them."""
    order, seen, stack = [], set(), [(root, False) for root in reversed(roots)]
    while stack:
        value, ready = stack.pop()
        if ready:
            order.append(value)
        elif id(value) not in seen:
            seen.add(id(value))
            stack.append((value, True))
            stack.extend((a, False) for a in reversed(value.args))
    return order


def leaves(root, kind):
    """Names of the inputs or params under `root`, in order of first use."""
    return [v.payload for v in topological([root]) if v.kind == kind]


_TYPES = ("bool", "number", "real", "same")  # of two that meet in a primitive, the result is of the later one


def result_type(root):
    """The type of an expression: "same" as its inputs', "bool", or "real" (of the parts of complex inputs)."""
    types = {}
    for value in topological([root]):
        if value.kind == "const":
            types[id(value)] = "bool" if isinstance(value.payload, bool) else "number"
        elif not value.args:
            types[id(value)] = "same"
        else:
            args = value.args[1:] if value.kind == "where" else value.args
            result = PRIMITIVES[value.kind].result
            types[id(value)] = max((types[id(a)] for a in args), key=_TYPES.index) if result == "same" else result
    return "same" if types[id(root)] == "number" else types[id(root)]


def primitives_of(root):
    """The primitives that an expression is made of."""
    return {PRIMITIVES[value.kind] for value in topological([root]) if value.args}
