"""Samples of scans."""

from . import B, I, Sample, T

_ALONG = [
    Sample(T(2, 3, 4), 1),
    Sample(T(2, 3), -1),
    Sample(T(5), dim=0),
    Sample(T(), 0),
    Sample(T(0, 3), 0),
    Sample(T(1, 3), 0),
]
_INTEGERS = [Sample(I(2, 3, low=-3, high=4), 1), Sample(B(4), 0)]

SAMPLES = {
    "cumsum": [*_ALONG, *_INTEGERS],
    "cumprod": [*_ALONG, *_INTEGERS],
    "logcumsumexp": [*_ALONG, Sample(T(6, low=-40.0, high=40.0), 0)],
    "cummax": [*_ALONG, *_INTEGERS],
    "cummin": [*_ALONG, *_INTEGERS],
}

ERRORS = {
    "cumsum": [Sample(T(2, 3), 2), Sample(T(2, 3)), Sample(T(), 1)],
    "cumprod": [Sample(T(2, 3), 2)],
    "logcumsumexp": [Sample(I(3, high=5), 0), Sample(T(3), 1)],
    "cummax": [Sample(T(2, 3), -3)],
}
