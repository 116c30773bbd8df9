"""Symbolic values: what the expressions and rules of the op table compute on when the package is built.

A value is a node of a hash-consed graph, so that equal subexpressions are one object. The derivative of an expression
is found with the rules of the op table itself: there is no second table of derivatives.
"""

import math

# How many values each primitive takes; csrc/cpu/math.h has a function of the same name for each.
PRIMITIVES = {
    name: arity
    for arity, names in (
        (1, "exp exp2 expm1 log log2 log10 log1p sqrt erf erfc erfinv erfcx ndtri log_ndtr lgamma digamma trigamma"),
        (1, "i0 i0e i1 i1e bessel_j0 bessel_j1 bessel_y0 bessel_y1 spherical_bessel_j0 airy_ai"),
        (1, "modified_bessel_k0 modified_bessel_k1 scaled_modified_bessel_k0 scaled_modified_bessel_k1"),
        (1, "mantissa exponent"),
        (1, "sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh"),
        (1, "floor ceil trunc round neg abs sign sgn conj real imag angle"),
        (1, "isnan isinf isfinite isposinf isneginf signbit logical_not bitwise_not"),
        (2, "add sub mul div floor_divide trunc_divide remainder fmod pow polygamma atan2 hypot copysign"),
        (2, "zeta igamma igammac nextafter ldexp gcd lcm"),
        (2, "chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w"),
        (2, "hermite_polynomial_h hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p"),
        (2, "minimum maximum fmin fmax eq ne lt le gt ge logical_and logical_or logical_xor"),
        (2, "bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift"),
        (3, "where"),
    )
    for name in names.split()
}

INFIX = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "floor_divide": "//",
    "remainder": "%",
    "pow": "**",
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "bitwise_and": "&",
    "bitwise_or": "|",
    "bitwise_xor": "^",
    "bitwise_left_shift": "<<",
    "bitwise_right_shift": ">>",
}
PREFIX = {"neg": "-", "bitwise_not": "~"}
# Operators on numbers known when the package is built.
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


_interned = {}


class Value:
    """One node: `kind` is a primitive's name, "input", "param" or "const"; `payload` the name or number of a leaf."""

    __slots__ = ("args", "kind", "payload")

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
    Value.__neg__ = lambda a: apply("neg", a)
    Value.__invert__ = lambda a: apply("bitwise_not", a)


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
    if len(args) != PRIMITIVES[name]:
        raise TraceError(f"{name} takes {PRIMITIVES[name]} values; came {len(args)}")
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


def strip_conj(root):
    """The same expression for real types, where conj is the identity."""
    new = {}
    for value in topological([root]):
        if value.kind == "conj":
            new[id(value)] = new[id(value.args[0])]
        elif value.args:
            new[id(value)] = apply(value.kind, *(new[id(a)] for a in value.args))
        else:
            new[id(value)] = value
    return new[id(root)]


def differentiate(root, wanted, g, pull):
    """Cotangents of the nodes `wanted`, by reverse accumulation from `root` with cotangent `g`.

    `pull(value, g)` gives the cotangents of a primitive's arguments: None where there is none.
    """
    cotangents = {id(root): g}
    depends = {id(value) for value in wanted}
    order = topological([root])
    for value in order:
        if any(id(a) in depends for a in value.args):
            depends.add(id(value))
    for value in reversed(order):
        mine = cotangents.get(id(value))
        if mine is None or not value.args or not any(id(a) in depends for a in value.args):
            continue
        needed = [id(a) in depends for a in value.args]
        for argument, cotangent in zip(value.args, pull(value, mine, needed), strict=True):
            if cotangent is None or id(argument) not in depends:
                continue
            before = cotangents.get(id(argument))
            cotangents[id(argument)] = cotangent if before is None else before + cotangent
    return [cotangents.get(id(value), lift(0)) for value in wanted]
