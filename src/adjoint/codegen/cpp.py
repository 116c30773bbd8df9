"""How C++ spells an expression: calls of the functions in csrc/cpu/math.h, on elements of a type T."""

import math

from .expressions import primitives_of
from .renderer import Renderer

# Names and C++ types of the elements in each type family: what they compute as, and what they are stored as.
DTYPES = {
    "float": (("Float32", "float"), ("Float64", "double")),
    "complex": (("Complex64", "complex64"), ("Complex128", "complex128")),
    "integer": (
        ("Int64", "int64_t"),
        ("Int32", "int32_t"),
        ("Int16", "int16_t"),
        ("Int8", "int8_t"),
        ("UInt8", "uint8_t"),
    ),
    "bool": (("Bool", "bool"),),
    "bfloat16": (("BFloat16", "float, BFloat16"),),
}
RESULT_TYPES = {"same": "{0}", "bool": "bool", "real": "fn::Real<{0}>"}


class Cpp(Renderer):
    """Constants have the type of T's parts, names end in an underscore, and `fn` holds the primitives."""

    def constant(self, number):
        if isinstance(number, bool):
            return "true" if number else "false"
        if isinstance(number, int):
            return f"fn::Real<T>({number})"
        if isinstance(number, float):
            if math.isnan(number):
                return "fn::Real<T>(NAN)"
            if math.isinf(number):
                return "fn::Real<T>(INFINITY)" if number > 0 else "fn::Real<T>(-INFINITY)"
            return f"fn::Real<T>({number!r})"
        return f"fn::constant<T>({number.real!r}, {number.imag!r})"

    def name(self, name):
        return f"{name}_"

    def call(self, primitive, args):
        return f"fn::{primitive}({', '.join(args)})"


class LoneExp(Cpp):
    """For loops of no other function than exp that the C library would be called for: see fn::lone_exp."""

    def call(self, primitive, args):
        return super().call("lone_exp" if primitive == "exp" else primitive, args)


def spelling_of(root):
    """What spells this expression."""
    called = {primitive.name for primitive in primitives_of(root) if primitive.cost != "exact"}
    return LoneExp() if called == {"exp"} else Cpp()


def in_blocks(root):
    """C++ that tells whether a loop over elements of type T goes in blocks: Note [Blocks] in csrc/cpu/loops.h.

    A loop with a function call has one path anyway, and a block would cost as many calls as it is long.
    """
    primitives = primitives_of(root)

    def rounds_by_place(costs):
        return "true" if costs - {"exact"} and "call" not in costs else "false"

    real = rounds_by_place({primitive.cost for primitive in primitives})
    complex_ = rounds_by_place({primitive.complex_cost for primitive in primitives})
    return f"fn::Complex<T> ? {complex_} : fn::Floating<T> && {real}"
