"""Samples of softmax and its relatives."""

from . import I, Sample, T, ref

_ALONG = [
    Sample(T(2, 3, 4), 1),
    Sample(T(2, 3), -1),
    Sample(T(5), dim=0),
    Sample(T(), 0),
    Sample(T(0, 3), 0),
    Sample(T(3, 0), 1),
]

_TYPES = [
    Sample(T(3, 4), 1).options(dtypes=("float32", "float16", "bfloat16")),
    Sample(T(3, 4), 0, dtype=ref("float64")).options(dtypes=("float32", "int64"), node=False),
    Sample(T(4, low=-1000.0, high=1000.0), 0).options(gradcheck=False),
]

SAMPLES = {
    "softmax": [*_ALONG, *_TYPES],
    "log_softmax": [*_ALONG, *_TYPES],
    "nn.functional.softmax": _ALONG,
    "nn.functional.log_softmax": _ALONG,
    "nn.functional.softmin": _ALONG,
}

ERRORS = {
    "softmax": [Sample(T(2, 3), 2), Sample(I(3, high=5), 0)],
    "log_softmax": [Sample(T(2, 3), -3), Sample(I(3, high=5), 0)],
}
