"""What expressions are made of: the primitives, one row for those that are alike.

csrc/cpu/math.h has a function of the same name for each. The result of a primitive is of the "same" type as its
arguments, "bool", or "real": for complex numbers the type of their parts. Its cost is

    exact   rounded exactly, by vector and scalar instructions alike
    vector  has a vector form, which may round the last bit in another way than the scalar one
    call    a function call that no compiler vectorises
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Primitive:
    """One primitive. `light`: with such alone, bfloat16 arrays would take longer to convert than to compute."""

    name: str
    arity: int
    result: str
    cost: str
    complex_cost: str
    light: bool


# Arity, result, cost, cost for complex numbers, light, names.
_ROWS = (
    (2, "same", "exact", "exact", True, "add sub"),
    (2, "same", "exact", "vector", True, "mul div minimum maximum bitwise_and bitwise_or"),
    (
        2,
        "same",
        "exact",
        "vector",
        False,
        "floor_divide trunc_divide remainder fmod fmin fmax copysign nextafter gcd lcm",
    ),
    (2, "same", "exact", "vector", False, "gcd lcm bitwise_xor bitwise_left_shift bitwise_right_shift"),
    (1, "same", "exact", "exact", True, "neg conj"),
    (1, "same", "exact", "vector", True, "sign sgn bitwise_not"),
    (1, "same", "exact", "vector", False, "floor ceil trunc round mantissa exponent"),
    (1, "same", "exact", "call", True, "sqrt"),
    (1, "real", "exact", "exact", True, "real"),
    (1, "real", "exact", "exact", False, "imag"),
    (1, "real", "exact", "vector", True, "abs"),
    (1, "real", "exact", "vector", False, "angle"),
    (2, "bool", "exact", "exact", True, "eq ne"),
    (2, "bool", "exact", "vector", True, "lt le gt ge logical_and logical_or"),
    (2, "bool", "exact", "vector", False, "logical_xor"),
    (1, "bool", "exact", "vector", True, "logical_not"),
    (1, "bool", "exact", "vector", False, "isnan isinf isfinite isposinf isneginf signbit"),
    (3, "same", "exact", "exact", True, "where"),
    (1, "same", "vector", "call", True, "exp tanh"),
    (1, "same", "vector", "call", False, "exp2 expm1 log log2 log10 log1p"),
    (1, "same", "vector", "call", False, "sin cos tan asin acos atan sinh cosh asinh acosh atanh"),
    (2, "same", "vector", "call", False, "pow"),
    (2, "same", "vector", "vector", False, "atan2 hypot"),
    (1, "same", "vector", "vector", True, "erf"),
    (1, "same", "vector", "vector", False, "erfc erfinv erfcx ndtri log_ndtr lgamma digamma trigamma"),
    (1, "same", "vector", "vector", False, "i0 i0e i1 i1e bessel_j0 bessel_j1 bessel_y0 bessel_y1 spherical_bessel_j0"),
    (1, "same", "vector", "vector", False, "modified_bessel_k0 modified_bessel_k1"),
    (1, "same", "vector", "vector", False, "scaled_modified_bessel_k0 scaled_modified_bessel_k1"),
    (2, "same", "vector", "vector", False, "chebyshev_polynomial_t chebyshev_polynomial_u"),
    (2, "same", "vector", "vector", False, "chebyshev_polynomial_v chebyshev_polynomial_w"),
    (2, "same", "vector", "vector", False, "hermite_polynomial_h hermite_polynomial_he"),
    (2, "same", "vector", "vector", False, "laguerre_polynomial_l legendre_polynomial_p"),
    (1, "same", "call", "vector", False, "airy_ai"),
    (2, "same", "call", "vector", False, "zeta igamma igammac polygamma ldexp"),
)
PRIMITIVES = {
    name: Primitive(name, arity, result, cost, complex_cost, light)
    for arity, result, cost, complex_cost, light, names in _ROWS
    for name in names.split()
}

# How Python spells those that are operators.
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
