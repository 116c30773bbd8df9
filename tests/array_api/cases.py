"""Calls of every function of the standard, over types, shapes, special values and promotions.

A case is a function's name and its arguments, in which arrays are NumPy's: what NumPy, whose namespace is one of the
standard's too, gives for them is what is expected. Arguments stay within what the standard defines.
"""

import itertools
import math

import numpy as np

SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = SIGNED + UNSIGNED
FLOATS = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
REAL = INTEGERS + FLOATS
NUMERIC = REAL + COMPLEX
FLOATING = FLOATS + COMPLEX
ALL = ("bool", *NUMERIC)

SPECIAL = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -1.5, 2.0, -2.0, 2.5, -3.0]
SPECIAL += [1e-30, -1e-30, 1e30, -1e30]

UNARY = {
    **dict.fromkeys(("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "expm1"), FLOATING),
    **dict.fromkeys(("log", "log10", "log1p", "log2", "reciprocal", "sin", "sinh", "sqrt", "tan", "tanh"), FLOATING),
    **dict.fromkeys(("abs", "conj", "isfinite", "isinf", "isnan", "negative", "positive", "real"), NUMERIC),
    **dict.fromkeys(("round", "sign", "square"), NUMERIC),
    **dict.fromkeys(("ceil", "floor", "trunc"), REAL),
    "imag": COMPLEX,
    "bitwise_invert": ("bool", *INTEGERS),
    "logical_not": ("bool",),
    "signbit": FLOATS,
}
BINARY = {
    **dict.fromkeys(["add", "multiply", "subtract", "pow"], NUMERIC),
    **dict.fromkeys(["equal", "not_equal"], ALL),
    **dict.fromkeys(["atan2", "copysign", "hypot", "logaddexp", "nextafter"], FLOATS),
    **dict.fromkeys(["bitwise_and", "bitwise_or", "bitwise_xor"], ("bool", *INTEGERS)),
    **dict.fromkeys(["bitwise_left_shift", "bitwise_right_shift"], INTEGERS),
    **dict.fromkeys(["greater", "greater_equal", "less", "less_equal", "maximum", "minimum"], REAL),
    **dict.fromkeys(["floor_divide", "remainder"], REAL),
    **dict.fromkeys(["logical_and", "logical_or", "logical_xor"], ("bool",)),
    "divide": FLOATING,
}
DOMAINS = {"acos": (-0.9, 0.9), "asin": (-0.9, 0.9), "atanh": (-0.9, 0.9), "acosh": (1.1, 3)}
SHAPES = [((3,), (3,)), ((2, 3), (3,)), ((), (3,)), ((2, 1), ()), ((), ()), ((0,), (1,))]


class Case:
    """One call: the function's name, its arguments, and what was varied, to tell of it."""

    def __init__(self, name, *args, **options):
        self.name, self.args, self.options = name, args, options

    def __repr__(self):
        def say(value):
            if isinstance(value, np.ndarray):
                return f"{value.dtype}{list(value.shape)}" + (f"={value.tolist()}" if value.size < 4 else "")
            return f"({', '.join(map(say, value))})" if isinstance(value, tuple | list) else repr(value)

        options = [f"{key}={say(value)}" for key, value in self.options.items()]
        return f"{self.name}({', '.join([*map(say, self.args), *options])})"


class Values:
    """Random arrays, the same in every run."""

    def __init__(self, seed=0):
        self.generator = np.random.default_rng(seed)

    def __call__(self, dtype, shape=(3,), low=None, high=None):
        kind = np.dtype(dtype).kind
        if kind == "b":
            return np.asarray(self.generator.integers(0, 2, shape), bool)
        if kind in "iu":
            info = np.iinfo(dtype)
            low, high = info.min if low is None else low, info.max if high is None else high
            return np.asarray(self.generator.integers(low, high, shape, dtype, endpoint=True), dtype)
        low, high = -3.0 if low is None else low, 3.0 if high is None else high
        values = self.generator.uniform(low, high, shape)
        if kind == "c":
            values = values + 1j * self.generator.uniform(low, high, shape)
        return np.asarray(values, dtype)


def promotions(dtypes):
    """Pairs of types that the standard promotes."""
    for a, b in itertools.product(dtypes, repeat=2):
        signs = {a in UNSIGNED, b in UNSIGNED}
        if a in INTEGERS and b in INTEGERS:
            if not ("uint64" in (a, b) and signs == {True, False}):
                yield a, b
        elif (a in FLOATING and b in FLOATING) or a == b:
            yield a, b


def operands(name, values, dtype, shape, second):
    """Values of an operand for which the function is defined."""
    if name in ("floor_divide", "remainder") and second and dtype in INTEGERS:
        return values(dtype, shape, 1, 11)
    if name == "pow" and dtype in INTEGERS:
        return values(dtype, shape, 0, 3)
    if name == "pow" and not second:
        return values(dtype, shape, 0.5, 2.0)
    if "shift" in name:
        return values(dtype, shape, 0, 6 if second else 100)
    return values(dtype, shape)


def elementwise(values):
    for name, dtypes in UNARY.items():
        for dtype in dtypes:
            low, high = (
                (-0.9, 0.9) if name in ("acos", "asin", "atanh") else (1.1, 3) if name == "acosh" else (None,) * 2
            )
            for shape in ((), (3,), (2, 0), (2, 3)):
                x = values(dtype, shape, low, high) if dtype in FLOATING else values(dtype, shape)
                yield Case(name, np.abs(x) if name.startswith("log") or name == "sqrt" else x)
            if dtype in FLOATS:
                yield Case(name, np.array(SPECIAL, dtype))
    for name, dtypes in BINARY.items():
        for a, b in promotions(dtypes):
            for first, second in SHAPES:
                yield Case(name, operands(name, values, a, first, False), operands(name, values, b, second, True))
        for dtype in dtypes:
            x = operands(name, values, dtype, (3,), False)
            number = True if dtype == "bool" else 2 if dtype in INTEGERS else 1.5
            yield Case(name, x, number)
            if name != "pow" or dtype not in COMPLEX:
                yield Case(name, number, operands(name, values, dtype, (3,), True))
            if dtype in FLOATING and name not in ("atan2", "copysign", "hypot", "logaddexp", "nextafter"):
                yield Case(name, x, 2)
            if dtype in FLOATS:
                first, second = np.array(list(itertools.product(SPECIAL, repeat=2)), dtype).T
                yield Case(name, first.copy(), second.copy())
    for dtype in REAL:
        x = values(dtype, (2, 3))
        low, high = np.sort(values(dtype, (2,)))
        number = int if dtype in INTEGERS else float
        yield Case("clip", x)
        yield Case("clip", x, number(low), number(high))
        yield Case("clip", x, min=number(low))
        yield Case("clip", x, np.full((3,), low), np.full((2, 1), high))
        yield Case("clip", x, None, np.asarray(high))
        yield Case("where", values("bool", (2, 3)), x, values(dtype, (3,)))
        yield Case("where", values("bool", (2, 3)), x, 1)
        yield Case("where", values("bool", ()), 1, x)
    for a, b in promotions(ALL):
        yield Case("where", values("bool", (3,)), values(a), values(b, ()))


# The method of each operator, and the function that it is.
OPERATORS = [("__add__", "add"), ("__sub__", "subtract"), ("__mul__", "multiply"), ("__truediv__", "divide")]
OPERATORS += [("__pow__", "pow"), ("__floordiv__", "floor_divide"), ("__mod__", "remainder"), ("__eq__", "equal")]
OPERATORS += [("__and__", "bitwise_and"), ("__or__", "bitwise_or"), ("__xor__", "bitwise_xor"), ("__ne__", "not_equal")]
OPERATORS += [("__lshift__", "bitwise_left_shift"), ("__rshift__", "bitwise_right_shift"), ("__lt__", "less")]
OPERATORS += [("__le__", "less_equal"), ("__gt__", "greater"), ("__ge__", "greater_equal")]


def operators(values):
    """Operators between arrays: Tensor's own, which no namespace can change."""
    for method, name in OPERATORS:
        for a, b in promotions(BINARY[name]):
            for first, second in SHAPES:
                yield Case(method, operands(name, values, a, first, False), operands(name, values, b, second, True))
        for dtype in BINARY[name]:
            number = True if dtype == "bool" else 2 if dtype in INTEGERS else 1.5
            yield Case(method, operands(name, values, dtype, (3,), False), number)
            if name != "pow" or dtype not in COMPLEX:
                yield Case(method, number, operands(name, values, dtype, (3,), True))
    for method, name in (("__neg__", "negative"), ("__abs__", "abs"), ("__pos__", "positive")):
        for dtype in UNARY[name]:
            yield Case(method, values(dtype))
    for dtype in UNARY["bitwise_invert"]:
        yield Case("__invert__", values(dtype))
    for a, b in promotions(NUMERIC):
        low = (0, 3) if a in INTEGERS else ()
        yield Case("__matmul__", values(a, (2, 3), *low), values(b, (3, 4), *low))


AXES = [((), [None, ()]), ((3,), [None, 0, -1, (0,)]), ((2, 3, 4), [None, 1, (0, 2), (-1,), ()])]
EMPTY = [((0,), [None, 0]), ((2, 0), [None, 0, 1])]


def statistics(values):
    sums = dict.fromkeys(("sum", "prod"), NUMERIC) | dict.fromkeys(("mean",), FLOATING)
    sums |= dict.fromkeys(("all", "any", "count_nonzero"), ALL)
    extremes = {"max": REAL, "min": REAL, "std": FLOATS, "var": FLOATS}
    for name, dtypes in (sums | extremes).items():
        for dtype in dtypes:
            shapes = AXES + (EMPTY if name in ("sum", "prod", "all", "any", "count_nonzero") else [])
            for shape, axes in shapes:
                x = values(dtype, shape, 0, 2) if dtype in INTEGERS else values(dtype, shape)
                for axis, keepdims in itertools.product(axes, (False, True)):
                    yield Case(name, x, axis=axis, keepdims=keepdims)
        if name in ("max", "min"):
            yield Case(name, np.array([[1.0, math.nan], [math.inf, -math.inf]]), axis=1)
        if name in ("std", "var"):
            yield Case(name, values("float64", (2, 3)), correction=1.0, axis=0)
            yield Case(name, values("float64", (5,)), correction=1.5)
    for name, dtype in itertools.product(("sum", "prod"), ("int8", "uint8", "int64")):
        yield Case(name, values(dtype, (4,), 0, 3), dtype=np.dtype("float64"))
    for name, dtype in itertools.product(("cumulative_sum", "cumulative_prod"), NUMERIC):
        small = (0, 2) if dtype in INTEGERS else ()
        yield Case(name, values(dtype, (4,), *small))
        yield Case(name, values(dtype, (2, 3), *small), axis=0, include_initial=True)
        yield Case(name, values(dtype, (2, 0, 3), *small), axis=1, include_initial=True)
        yield Case(name, values(dtype, (2, 3), *small), axis=-1, dtype=np.dtype("float64" if small else dtype))
    for dtype in NUMERIC:
        x = values(dtype, (3, 5))
        yield Case("diff", x)
        yield Case("diff", x, axis=0, n=2)
        yield Case("diff", x, axis=1, prepend=values(dtype, (3, 2)), append=values(dtype, (3, 1)))


def searching(values):
    for dtype in REAL:
        few = (0, 4) if dtype in INTEGERS else ()
        for shape in ((5,), (3, 4)):
            x = values(dtype, shape, *few) if few else np.round(values(dtype, shape))
            for name in ("argmax", "argmin"):
                for axis, keepdims in itertools.product((None, 0, -1), (False, True)):
                    yield Case(name, x, axis=axis, keepdims=keepdims)
            for name in ("sort", "argsort"):
                for axis, descending in itertools.product((0, -1), (False, True)):
                    yield Case(name, x, axis=axis, descending=descending)
        x = np.sort(values(dtype, (6,)))
        for side in ("left", "right"):
            yield Case("searchsorted", x, values(dtype, (2, 2)), side=side)
            yield Case("searchsorted", x, x, side=side)
            order = np.array([3, 1, 0, 5, 4, 2])
            unsorted = np.empty_like(x)
            unsorted[order] = x
            yield Case("searchsorted", unsorted, x[:2], side=side, sorter=order)
    for dtype in ALL:
        x = values(dtype, (2, 5), 0, 2) if dtype in INTEGERS else np.asarray(np.round(values(dtype, (2, 5))), dtype)
        for name in ("unique_all", "unique_counts", "unique_inverse", "unique_values"):
            yield Case(name, x)
            yield Case(name, x[0, 0])
            yield Case(name, x[:0])
        yield Case("nonzero", x)
        yield Case("take", x, np.array([1, 0, 1]), axis=0)
        yield Case("take", x[0], np.array([4, 2]))
        yield Case("take_along_axis", x, np.array([[1, 0], [3, 4]]), axis=1)
        yield Case("take_along_axis", x, np.array([[1, 0, 0, 1, 1]]), axis=0)
    yield Case("unique_all", np.array([math.nan, 1.0, math.nan, 0.0, -0.0]))


def arrangement(values):
    for dtype in ALL:
        x, cube = values(dtype, (2, 3)), values(dtype, (1, 3, 1, 2))
        yield Case("broadcast_arrays", x, values(dtype, (3,)), values(dtype, ()))
        yield Case("broadcast_to", x, (4, 2, 3))
        yield Case("concat", [x, x])
        yield Case("concat", (x, x), axis=-1)
        yield Case("concat", [x, values(dtype, ())], axis=None)
        yield Case("stack", [x, x], axis=-1)
        yield Case("unstack", x, axis=1)
        yield Case("expand_dims", x, axis=-1)
        yield Case("expand_dims", x, 0)
        yield Case("squeeze", cube, (0, 2))
        yield Case("squeeze", cube, -2)
        yield Case("squeeze", cube, ())
        yield Case("flip", x)
        yield Case("flip", x, axis=(0,))
        yield Case("moveaxis", cube, (0, 1), (-1, 0))
        yield Case("moveaxis", cube, 1, 3)
        yield Case("permute_dims", cube, (3, 0, 2, 1))
        yield Case("matrix_transpose", cube)
        for copy in (None, True, False):
            yield Case("reshape", x, (3, -1), copy=copy)
        yield Case("roll", x, 4)
        yield Case("roll", x, -1, axis=1)
        yield Case("roll", x, (1, 2), axis=(0, 1))
        yield Case("repeat", x, 2)
        yield Case("repeat", x, 2, axis=0)
        yield Case("repeat", x, np.array([0, 2, 1]), axis=1)
        yield Case("tile", x, (2,))
        yield Case("tile", x, (2, 1, 2))
        yield Case("tril", x, k=-1)
        yield Case("triu", x, k=1)
        yield Case("meshgrid", values(dtype, (2,)), values(dtype, (3,)))
        yield Case("meshgrid", values(dtype, (2,)), values(dtype, (3,)), values(dtype, (2,)), indexing="ij")
        yield Case("astype", x, np.dtype("complex128" if dtype in COMPLEX else "float64"))
        yield Case("astype", x, np.dtype(dtype), copy=False)
        for name in ("zeros_like", "ones_like", "full_like"):
            yield Case(name, x, *([1] if name == "full_like" else []))
            yield Case(name, x, *([1] if name == "full_like" else []), dtype=np.dtype("int16"))
        for name in ("zeros", "ones"):
            yield Case(name, (2, 3), dtype=np.dtype(dtype))
        yield Case("full", (2,), 1, dtype=np.dtype(dtype))
        yield Case("eye", 3, 4, k=1, dtype=np.dtype(dtype))
        yield Case("eye", 3, k=-2, dtype=np.dtype(dtype))
        yield Case("eye", 2, 3, k=5, dtype=np.dtype(dtype))
        yield Case("asarray", x.tolist(), dtype=np.dtype(dtype))
    for a, b in promotions(ALL):
        yield Case("concat", [values(a), values(b)])
        yield Case("stack", [values(a), values(b)])
        yield Case("result_type", np.dtype(a), np.dtype(b))
        yield Case("result_type", values(a, ()), np.dtype(b))
        yield Case("can_cast", np.dtype(a), np.dtype(b))
    for dtype, kind in itertools.product(ALL, ("bool", "signed integer", "unsigned integer", "integral", "numeric")):
        yield Case("isdtype", np.dtype(dtype), kind)
        yield Case("isdtype", np.dtype(dtype), (kind, "real floating", "complex floating"))
        yield Case("isdtype", np.dtype(dtype), (np.dtype("int8"), kind))
    for dtype in REAL:
        small = np.dtype(dtype)
        yield Case("arange", 5, dtype=small)
        yield Case("arange", 1, 9, 2, dtype=small)
        yield Case("arange", 9, 1, dtype=small)
    for dtype in FLOATING:
        yield Case("linspace", 0, 3, 7, dtype=np.dtype(dtype))
        yield Case("linspace", -1.5, 3, 5, dtype=np.dtype(dtype), endpoint=False)
        yield Case("linspace", 0, 1, 1, dtype=np.dtype(dtype))
    yield Case("arange", 3)
    yield Case("arange", 0.5, 3)
    yield Case("arange", 5, 0, -2)
    yield Case("full", 2, True)
    yield Case("full", (2,), 7)
    yield Case("full", (), 1.5)
    yield Case("full", (1,), 1j)
    for shape in (3, (2, 2)):
        yield Case("zeros", shape)
        yield Case("ones", shape)
    yield Case("linspace", 0.0, 1.0, 4)
    for data in ([1, 2], [[1.0, 2], [3, 4]], True, [1j, 2], [], 5):
        yield Case("asarray", data)


def products(values):
    for a, b in promotions(NUMERIC):
        low = (0, 3) if a in INTEGERS else ()
        make = lambda dtype, shape, low=low: values(dtype, shape, *low)
        yield Case("matmul", make(a, (2, 3)), make(b, (3, 4)))
        yield Case("matmul", make(a, (5, 2, 3)), make(b, (3,)))
        yield Case("matmul", make(a, (3,)), make(b, (3,)))
        yield Case("vecdot", make(a, (2, 3)), make(b, (3,)))
        yield Case("vecdot", make(a, (3, 2)), make(b, (3, 1)), axis=-2)
        yield Case("tensordot", make(a, (2, 3)), make(b, (3, 4)), axes=1)
        yield Case("tensordot", make(a, (2, 3)), make(b, (2, 3)), axes=((0, 1), (0, 1)))
        yield Case("tensordot", make(a, (2,)), make(b, (3,)), axes=0)
        yield Case("linalg.outer", make(a, (2,)), make(b, (3,)))
        yield Case("linalg.cross", make(a, (2, 3)), make(b, (2, 3)))


def positive_matrix(values, dtype, *batch):
    x = values(dtype, (*batch, 3, 3))
    return np.asarray(x @ np.conj(np.swapaxes(x, -1, -2)) + 3 * np.eye(3), dtype)


def linear_algebra(values):
    for dtype in ALL:
        x = values(dtype, (2, 3, 4))
        yield Case("linalg.diagonal", x, offset=1)
        yield Case("linalg.matrix_transpose", x)
        if dtype != "bool":
            x = values(dtype, (2, 3, 4), 0, 3) if dtype in INTEGERS else x
            yield Case("linalg.trace", x, offset=-1)
    for dtype in FLOATING:
        square, tall = positive_matrix(values, dtype, 2), values(dtype, (2, 4, 3))
        for name in ("det", "inv", "slogdet", "cholesky", "eigvalsh", "svdvals", "matrix_norm", "matrix_rank", "pinv"):
            yield Case(f"linalg.{name}", square)
            yield Case(f"linalg.{name}", square[0])
        yield Case("linalg.cholesky", square, upper=True)
        yield Case("linalg.eigh", square)
        yield Case("linalg.svd", tall, full_matrices=False)
        yield Case("linalg.svd", tall)
        yield Case("linalg.qr", tall)
        yield Case("linalg.qr", tall, mode="complete")
        yield Case("linalg.pinv", tall, rtol=1e-3)
        yield Case("linalg.matrix_rank", tall, rtol=0.5)
        yield Case("linalg.svdvals", tall)
        for power in (0, 1, 3, -2):
            yield Case("linalg.matrix_power", square, power)
        for order in ("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf):
            yield Case("linalg.matrix_norm", tall, ord=order)
            yield Case("linalg.matrix_norm", tall, ord=order, keepdims=True)
        for order in (0, 1, 2, -1, 3, 0.5, math.inf, -math.inf):
            yield Case("linalg.vector_norm", tall, ord=order)
            yield Case("linalg.vector_norm", tall, ord=order, axis=(0, 2), keepdims=True)
            yield Case("linalg.vector_norm", tall, ord=order, axis=1)
        yield Case("linalg.solve", square, values(dtype, (3,)))
        yield Case("linalg.solve", square, values(dtype, (2, 3, 2)))
        yield Case("linalg.solve", square, values(dtype, (3, 3)))
        yield Case("linalg.solve", square[0], values(dtype, (2, 3, 1)))


def fourier(values):
    for dtype in COMPLEX:
        x = values(dtype, (3, 4))
        for name in ("fft", "ifft", "hfft", "irfft"):
            yield Case(f"fft.{name}", x)
            for norm in ("ortho", "forward"):
                yield Case(f"fft.{name}", x, n=6, axis=0, norm=norm)
        for name in ("fftn", "ifftn", "irfftn"):
            yield Case(f"fft.{name}", x)
            yield Case(f"fft.{name}", x, s=(2, 6), axes=(1, 0), norm="ortho")
    for dtype in FLOATS:
        x = values(dtype, (3, 4))
        for name in ("rfft", "ihfft"):
            yield Case(f"fft.{name}", x)
            yield Case(f"fft.{name}", x, n=5, axis=0, norm="ortho")
        yield Case("fft.rfftn", x)
        yield Case("fft.rfftn", x, s=(3,), axes=(0,), norm="forward")
        for name, size in itertools.product(("fftfreq", "rfftfreq"), (5, 6)):
            yield Case(f"fft.{name}", size, d=0.5, dtype=np.dtype(dtype))
    for name, size in itertools.product(("fftfreq", "rfftfreq"), (5, 6)):
        yield Case(f"fft.{name}", size)
    for name, dtype in itertools.product(("fftshift", "ifftshift"), FLOATING):
        yield Case(f"fft.{name}", values(dtype, (3, 4)))
        yield Case(f"fft.{name}", values(dtype, (3, 4)), axes=1)
        yield Case(f"fft.{name}", values(dtype, (3, 4)), axes=(0,))


FAMILIES = {
    "elementwise": elementwise,
    "statistics": statistics,
    "searching": searching,
    "arrangement": arrangement,
    "products": products,
    "linalg": linear_algebra,
    "fft": fourier,
}
