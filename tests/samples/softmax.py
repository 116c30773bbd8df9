"""Samples of softmax and its relatives."""

from . import I, Sample, T

_ALONG = [
    Sample(T(2, 3, 4), 1),
    Sample(T(2, 3), -1),
    Sample(T(5), dim=0),
    Sample(T(), 0),
    Sample(T(0, 3), 0),
    Sample(T(3, 0), 1),
]

SAMPLES = {
    "softmax": _ALONG,
    "log_softmax": _ALONG,
    "nn.functional.softmax": _ALONG,
    "nn.functional.log_softmax": _ALONG,
    "nn.functional.softmin": _ALONG,
}

ERRORS = {
    "softmax": [Sample(T(2, 3), 2), Sample(I(3, high=5), 0)],
    "log_softmax": [Sample(T(2, 3), -3), Sample(I(3, high=5), 0)],
}
