"""Samples of the elementwise ops, made from their declarations, and those of changing the element type.

A declaration says which arguments are operands and which are parameters; what is written here is only what it cannot
say: where a function is defined, and where torch's call differs.
"""

import math

from . import I, Sample, T, ref

ALL = (
    "float64",
    "float32",
    "float16",
    "bfloat16",
    "complex64",
    "complex128",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
    "bool",
)
SPECIAL = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e-30, 1e30]

# The range of each operand (one for all, or one for each) where the function is defined and smooth.
DOMAINS = {
    "acos": (-0.9, 0.9),
    "acosh": (1.1, 3.0),
    "asin": (-0.9, 0.9),
    "atanh": (-0.9, 0.9),
    "addcdiv": [(-2.0, 2.0), (-2.0, 2.0), (0.5, 2.0)],
    "entr": (0.2, 2.0),
    "ndtri": (0.1, 0.9),
    "xlog1py": [(-2.0, 2.0), (-0.7, 3.0)],
    "bitwise_left_shift": [(-3.0, 3.0), (0.0, 3.0)],
    "bitwise_right_shift": [(-9.0, 9.0), (0.0, 3.0)],
    "digamma": (0.3, 4.0),
    "div": [(-2.0, 2.0), (0.5, 2.0)],
    "erfinv": (-0.9, 0.9),
    "floor_divide": [(-7.0, 7.0), (0.6, 3.0)],
    "fmod": [(-7.0, 7.0), (0.6, 3.0)],
    "lgamma": (0.3, 4.0),
    "log": (0.2, 3.0),
    "log10": (0.2, 3.0),
    "log1p": (-0.7, 3.0),
    "log2": (0.2, 3.0),
    "logit": (0.1, 0.9),
    "pow": [(0.3, 2.5), (0.0, 2.5)],
    "reciprocal": (0.4, 2.0),
    "remainder": [(-7.0, 7.0), (0.6, 3.0)],
    "rsqrt": (0.3, 3.0),
    "sqrt": (0.3, 3.0),
    "xlogy": [(-2.0, 2.0), (0.3, 3.0)],
}

# Parameters other than the defaults.
PARAMETERS = {
    "add": {"alpha": 3},
    "sub": {"alpha": 3},
    "rsub": {"alpha": 3},
    "addcmul": {"value": 2},
    "addcdiv": {"value": 2},
    "celu": {"alpha": 0.7},
    "elu": {"alpha": 0.7},
    "hardshrink": {"lambd": 0.9},
    "hardtanh": {"min_val": -0.5, "max_val": 0.7},
    "leaky_relu": {"negative_slope": 0.2},
    "softplus": {"beta": 2.0, "threshold": 3.0},
    "softshrink": {"lambd": 0.9},
}

# Ops whose operands torch restricts: only these samples are used.
ONLY = {
    "threshold": [Sample(T(2, 3), 0.3, 7.0), Sample(T(), 0.3, -1.0), Sample(T(0, 2), 0.1, 1.0)],
    "polygamma": [Sample(n, T(2, 3, low=0.3, high=4.0)) for n in (0, 1, 2)],
    "lerp": [
        Sample(T(2, 3), T(2, 3), T(2, 3)).options(dtypes=ALL),
        Sample(T(2, 3), T(3), T(2, 1)),
        Sample(T(2, 3), T(2, 3), 0.3).options(node=False),
        Sample(T(), T(), T()),
    ],
    "addcmul": [
        Sample(T(2, 3), T(2, 3), T(2, 3)).options(dtypes=ALL),
        Sample(T(2, 3), T(3), T(2, 1), value=2),
        Sample(T(), T(), T()),
    ],
    "addcdiv": [
        Sample(T(2, 3), T(2, 3), T(2, 3, low=0.5)).options(dtypes=ALL),
        Sample(T(2, 3), T(3), T(2, 1, low=0.5), value=2),
        Sample(T(), T(), T(low=0.5)),
    ],
    # torch's own half computes in halves at each step; its Airy function is good to six digits.
    "ndtr": [
        Sample(T(2, 3)).options(edits=False),
        Sample(T(0, 3)).options(edits=False),
        Sample(T(values=SPECIAL, grad=False)),
    ],
    "airy_ai": [Sample(T(2, 3, low=-1.0, high=1.0, grad=False)).options(dtypes=("float64", "float32", "int64"))],
    # No derivative by the first argument.
    "igamma": [Sample(T(2, 3, low=0.3, high=4.0, grad=False), T(2, 3, low=0.3, high=4.0))],
    "igammac": [Sample(T(2, 3, low=0.3, high=4.0, grad=False), T(2, 3, low=0.3, high=4.0))],
    "zeta": [Sample(T(2, 3, low=1.3, high=4.0, grad=False), T(2, 3, low=0.3, high=4.0))],
    "heaviside": [
        Sample(T(2, 3, grad=False), T(2, 3, grad=False)).options(dtypes=ALL),
        Sample(T(values=SPECIAL, grad=False), T(1, grad=False)),
    ],
}
# Binary ops whose second operand torch wants as a tensor.
TENSORS_ONLY = (
    "atan2",
    "fmax",
    "fmin",
    "hypot",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
)


def family(dtype):
    """The word for a type (a name) in declarations."""
    if dtype in ("float16", "bfloat16"):
        return "half"
    return next(word for word in ("float", "complex", "int", "bool") if word in dtype).replace("int", "integer")


def declared_types(declaration):
    """The types in which an op that torch does not have can be called."""
    families = declaration.types | ({"integer", "bool"} if declaration.promote == "float" else set())
    return tuple(dtype for dtype in ALL if family(dtype) in families)


def made_from(declaration, types=ALL):
    """The samples of one elementwise op, in these types."""
    name = declaration.name
    if name in ONLY:
        return ONLY[name]
    count = len(declaration.operands)
    domain = DOMAINS.get(name, (-2.0, 2.0))
    domains = domain if isinstance(domain, list) else [domain] * count

    def tensors(*shapes):
        return [T(*shape, low=low, high=high) for shape, (low, high) in zip(shapes, domains, strict=False)]

    samples = [Sample(*tensors(*[(2, 3)] * count)).options(dtypes=types)]
    samples += [
        Sample(*tensors(*[()] * count)),
        Sample(*tensors(*[(0, 3)] * count)),
        Sample(*tensors(*[(33,)] * count)),
    ]
    if name in PARAMETERS:
        samples.append(Sample(*tensors(*[(2, 3)] * count), **PARAMETERS[name]))
    if count == 1:
        # Torch's vectorised gelu gives nan at infinity.
        special = [x for x in SPECIAL if name != "gelu" or math.isfinite(x)]
        return [*samples, Sample(T(values=special, grad=False)).options(dtypes=("float64", "float32"))]
    samples += [Sample(*tensors((2, 3), (3,))), Sample(*tensors((2, 1), (1, 3))), Sample(*tensors((2, 3), ()))]
    narrow = T(2, 2, dtype="float32", low=domains[0][0], high=domains[0][1])
    samples.append(Sample(narrow, *tensors((), (2,))[1:]).options(gradcheck=False))
    if name not in TENSORS_ONLY:
        whole = max(1, math.ceil(domains[1][0]))
        numbers = tuple(dtype for dtype in types if dtype != "bool")
        samples.append(Sample(*tensors((2, 3)), whole).options(dtypes=numbers))
        samples.append(Sample(*tensors((2, 3)), whole + 0.5).options(dtypes=numbers))
    grid = [[a for a in SPECIAL for _ in SPECIAL], [b for _ in SPECIAL for b in SPECIAL]]
    samples.append(Sample(*(T(values=column, grad=False) for column in grid)).options(dtypes=("float64", "float32")))
    return samples


_CASTS = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "bfloat16": "bfloat16",
    "long": "int64",
    "int": "int32",
    "short": "int16",
    "char": "int8",
    "byte": "uint8",
    "bool": "bool",
    "cfloat": "complex64",
    "cdouble": "complex128",
}

SAMPLES = {
    **{
        f"Tensor.{name}": [Sample(T(2, 3)).options(dtypes=("float64", "float32", "int64", "bool"), gradcheck=False)]
        for name in _CASTS
    },
    "Tensor.to": [
        Sample(T(2, 3), ref("float32")).options(gradcheck=False),
        Sample(T(2, 3), ref("float64")),
        Sample(T(2, 3), ref("float64"), copy=True),
        Sample(T(2, 3), "cpu"),
        Sample(T(2, 3), "cpu", ref("float32")).options(gradcheck=False),
        Sample(T(2, 3), I(1)),
        Sample(T(2, 3), dtype=ref("int32")),
    ],
    "Tensor.type_as": [Sample(T(2), I(1)), Sample(T(2), T(1, dtype="float32")).options(gradcheck=False)],
    "Tensor.type": [Sample(T(2)), Sample(I(2), "torch.FloatTensor"), Sample(T(2), ref("float64"))],
    "Tensor.cpu": [Sample(T(2))],
}
