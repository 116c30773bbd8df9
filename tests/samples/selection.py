"""Samples of choosing elements: where, masks, nonzero, counts, places in sorted rows, bounds."""

import math

from . import B, I, Sample, T

ALL = ("float64", "float32", "float16", "bfloat16", "complex128", "int64", "int8", "bool")
_MASK = B(values=[[True, False, True], [False, False, True]])
_SORTED = T(values=[-1.0, 0.0, 0.0, 2.0], grad=False)

SAMPLES = {
    "where": [
        Sample(B(2, 3), T(2, 3), T(2, 3)).options(dtypes=ALL),
        Sample(B(2, 3), T(3), T(2, 1)),
        Sample(B(3), T(2, 3), T()),
        Sample(B(2, 3), T(2, 3), 0).options(dtypes=ALL),
        Sample(B(2, 3), 1.5, T(2, 3)).options(dtypes=ALL),
        Sample(B(2, 3), 1.5, 2),
        Sample(B(2, 3), True, 2),
        Sample(B(2, 3), 1j, 2),
        Sample(B(2, 3), T(2, 3), T(2, 3, dtype="float32")).options(gradcheck=False),
        Sample(B(2, 3), T(2, 3), I(2, 3)),
        Sample(B(), T(), T()),
        Sample(B(0, 3), T(3), T(0, 3)),
        Sample(B(2, 3)),
        Sample(T(2, 3, grad=False)),
    ],
    "Tensor.where": [Sample(T(2, 3), B(2, 3), T(2, 3)), Sample(T(2, 3), B(3), 0.0)],
    "masked_fill": [
        Sample(T(2, 3), B(2, 3), 1.5).options(dtypes=ALL),
        Sample(T(2, 3), B(3), T()),
        Sample(T(3), B(2, 3), 2),
        Sample(T(2, 3), _MASK, -math.inf).options(gradcheck=False),
        Sample(T(), B(), 1),
        Sample(T(0, 3), B(3), 1),
        Sample(T(2, 3), B(2, 3), T(dtype="float32")).options(gradcheck=False),
    ],
    "masked_select": [
        Sample(T(2, 3), _MASK).options(dtypes=ALL),
        Sample(T(2, 3), B(values=[True, False, True])),
        Sample(T(3), _MASK),
        Sample(T(), B(values=True)),
        Sample(T(0, 3), B(0, 3)),
    ],
    "masked_scatter": [
        Sample(T(2, 3), _MASK, T(5)).options(dtypes=ALL),
        Sample(T(3), _MASK, T(2, 3)),
        Sample(T(2, 3), B(values=[True, False, True]), T(2, 3)),
        Sample(T(0, 3), B(0, 3), T(0)),
    ],
    "nonzero": [
        Sample(T(values=[[0.0, 1.0], [2.0, 0.0]], grad=False)).options(dtypes=ALL),
        Sample(B(2, 3), as_tuple=True),
        Sample(I(values=3)),
        Sample(I(values=3), as_tuple=True),
        Sample(T(0, 3)),
        Sample(T(values=[math.nan, -0.0, 0.0], grad=False)),
    ],
    "argwhere": [Sample(I(2, 3, high=2)), Sample(I(values=3))],
    "bincount": [
        Sample(I(9, high=4)),
        Sample(I(9, high=4), minlength=6),
        Sample(I(9, high=4, dtype="uint8")),
        Sample(I(5, high=4), T(5, grad=False)).options(dtypes=("float64", "float32", "int64")),
        Sample(I(0)),
        Sample(I(0), minlength=3),
    ],
    "searchsorted": [
        Sample(_SORTED, T(2, 3, grad=False)).options(dtypes=("float64", "float32", "float16", "int64")),
        Sample(_SORTED, T(values=[0.0, 2.0, -5.0, 9.0], grad=False), right=True),
        Sample(_SORTED, 0.0, side="right"),
        Sample(_SORTED, I(3), out_int32=True),
        Sample(I(values=[1, 2, 3]), 1.5),
        Sample(T(values=[[0.0, 1.0], [5.0, 6.0]], grad=False), T(2, 3, high=7.0, grad=False)),
        Sample(T(values=[2.0, 0.0, 1.0], grad=False), T(4, grad=False), sorter=I(values=[1, 2, 0])),
    ],
    "bucketize": [
        Sample(T(2, 3, grad=False), _SORTED),
        Sample(T(2, 3, grad=False), _SORTED, right=True, out_int32=True),
        Sample(0.0, _SORTED),
    ],
    "nn.functional.one_hot": [
        Sample(I(2, 3, high=4)).options(layouts=False),
        Sample(I(2, 3, high=4), 6),
        Sample(I(values=1), 3),
        Sample(I(0), 3),
    ],
    "clamp": [
        Sample(T(2, 3), -0.5, 0.7).options(dtypes=("float64", "float32", "float16", "bfloat16", "int64")),
        Sample(T(2, 3), min=0.1),
        Sample(T(2, 3), max=0.1),
        Sample(T(2, 3), T(2, 3, low=-1.0, high=0.0), T(3, low=0.0, high=1.0)),
        Sample(T(2, 3), T(2, 3)),
        Sample(T(2, 3), max=T(2, 3)),
        Sample(T(2, 3), 1.0, -1.0),
        Sample(I(2, 3, low=-5, high=5), -1, 2),
        Sample(I(2, 3, low=-5, high=5), min=0),
        Sample(T(), 0.0, 1.0),
        Sample(T(0), 0.0, 1.0),
        Sample(T(values=[math.nan, math.inf, -math.inf], grad=False), -1.0, 1.0),
    ],
    "clip": [Sample(T(2, 3), 0.0, 1.0)],
}

ERRORS = {
    "where": [
        Sample(T(2, 3), T(2, 3), T(2, 3)),
        Sample(B(2, 3), T(2, 3), T(4)),
        Sample(B(2, 3), T(2, 3)),
        Sample(B(2, 3), T(2, 3), [1]),
        Sample(True, T(2, 3), T(2, 3)),
    ],
    "masked_fill": [
        Sample(T(2, 3), I(2, 3), 1),
        Sample(T(2, 3), B(2), 1),
        Sample(T(2, 3), B(2, 3), 1j),
        Sample(I(2, 3), B(2, 3), math.inf),
        Sample(I(2, 3, dtype="int8"), B(2, 3), 300),
        Sample(T(2, 3), B(2, 3), T(1)),
        Sample(T(2, 3), B(2, 3), "x"),
    ],
    "masked_select": [Sample(T(2, 3), I(2, 3)), Sample(T(2, 3), B(2))],
    "masked_scatter": [
        Sample(T(2, 3), _MASK, T(2)),
        Sample(T(2, 3), _MASK, T(6, dtype="float32")),
        Sample(T(2, 3), I(2, 3), T(6)),
    ],
    "bincount": [
        Sample(I(values=[-1])),
        Sample(T(3)),
        Sample(I(2, 2)),
        Sample(I(values=[1]), minlength=-1),
        Sample(I(3), T(2)),
    ],
    "searchsorted": [
        Sample(_SORTED, 1.0, side="left", right=True),
        Sample(_SORTED, 1.0, side="x"),
        Sample(T(2, 3), T(3, 2)),
        Sample(T(), T(2)),
        Sample(T(2, 3), 1.0),
        Sample(_SORTED, T(2), sorter=I(2)),
        Sample(_SORTED, T(2), sorter=I(values=[0, 1, 2, 7])),
        Sample(T(2, dtype="complex128"), T(2, dtype="complex128")),
    ],
    "bucketize": [Sample(T(2), T(2, 3))],
    "nn.functional.one_hot": [
        Sample(I(values=[-1])),
        Sample(I(values=[3]), 2),
        Sample(T(2)),
        Sample(I(0)),
        Sample(I(values=[1], dtype="int32")),
    ],
    "clamp": [
        Sample(T(2)),
        Sample(T(2), 0.0, T(2)),
        Sample(T(2), T(3), T(3)),
        Sample(T(2, dtype="complex128"), 0.0, 1.0),
    ],
}
