"""Samples of scans."""

from . import B, I, Sample, T, ref

_ALONG = [
    Sample(T(2, 3, 4), 1),
    Sample(T(2, 3), -1),
    Sample(T(5), dim=0),
    Sample(T(), 0),
    Sample(T(0, 3), 0),
    Sample(T(1, 3), 0),
]
_INTEGERS = [Sample(I(2, 3, low=-3, high=4), 1), Sample(B(4), 0)]

_TYPES = ("float32", "float16", "complex128", "int32", "bool")
_TIES = Sample(T(values=[1.0, 1.0, 0.0, 2.0, 2.0]), 0).options(gradcheck=False)

SAMPLES = {
    "cumsum": [
        *_ALONG,
        *_INTEGERS,
        Sample(T(3, 4), 1).options(dtypes=_TYPES),
        Sample(T(3), 0, dtype=ref("float64")).options(dtypes="float32"),
    ],
    "cumprod": [
        *_ALONG,
        *_INTEGERS,
        Sample(T(3, 4, low=-1.0, high=1.0), 1).options(dtypes=_TYPES),
        Sample(T(values=[[2.0, 0.0, 3.0, 0.0, 5.0], [0.0, 1.0, 2.0, 3.0, 4.0]]), 1),
    ],
    "logcumsumexp": [*_ALONG, Sample(T(6, low=-40.0, high=40.0), 0)],
    "cummax": [*_ALONG, *_INTEGERS, _TIES],
    "cummin": [*_ALONG, *_INTEGERS, _TIES],
}

ERRORS = {
    "cumsum": [Sample(T(2, 3), 2), Sample(T(2, 3)), Sample(T(), 1)],
    "cumprod": [Sample(T(2, 3), 2)],
    "logcumsumexp": [Sample(I(3, high=5), 0), Sample(T(3), 1)],
    "cummax": [Sample(T(2, 3), -3)],
}
