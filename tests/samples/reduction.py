"""Samples of sums, products, extremes, means, variances and norms."""

from . import B, I, Sample, T

_DIMS = [
    Sample(T(2, 3, 4)),
    Sample(T(2, 3, 4), 1),
    Sample(T(2, 3, 4), -1, True),
    Sample(T(2, 3, 4), dim=(0, 2)),
    Sample(T(2, 3, 4), dim=(0, -1), keepdim=True),
    Sample(T(2, 3, 4), dim=()),
    Sample(T(), 0),
    Sample(T()),
    Sample(T(0, 3), 0),
]
_ONE_DIM = [Sample(T(2, 3, 4)), Sample(T(2, 3, 4), 1), Sample(T(2, 3, 4), -1, True), Sample(T()), Sample(T(), 0)]
_NOT_EMPTY = _DIMS[:-1]

SAMPLES = {
    "sum": [
        *_DIMS,
        Sample(T(2, 3), dim=None, keepdim=True),
        Sample(T(2, 3), axis=0, keepdims=True),
        Sample(I(2, 3, low=-5, high=5)),
        Sample(B(2, 3), 0),
    ],
    "mean": [*_DIMS[:-1], Sample(T(3, 0), 0)],
    "nansum": [Sample(T(2, 3)), Sample(T(2, 3), 1, True), Sample(I(4, high=9))],
    "nanmean": [Sample(T(2, 3)), Sample(T(2, 3), 1, True)],
    "count_nonzero": [Sample(I(3, 4, high=2)), Sample(I(3, 4, high=2), 1), Sample(B(3, 4), (0, 1))],
    "sum_to_size": [
        Sample(T(2, 3, 4), 3, 1),
        Sample(T(2, 3, 4), (1, 1, 4)),
        Sample(T(2, 3), 2, 3),
        Sample(T(2, 3), 1),
    ],
    "prod": [*_ONE_DIM, Sample(T(0, 2), 0), Sample(T(1, 3), 0), Sample(I(3, low=-3, high=3))],
    "amax": [*_NOT_EMPTY, Sample(T(0, 3), 1), Sample(I(3, 4, high=50), 1), Sample(B(3, 4), 0)],
    "amin": [*_NOT_EMPTY, Sample(T(0, 3), 1), Sample(I(3, 4, high=50), 1), Sample(B(3, 4), 0)],
    "max": [*_ONE_DIM, Sample(T(2, 3), T(3)), Sample(I(3, 4, high=50), 1), Sample(T(0, 3), 1)],
    "min": [*_ONE_DIM, Sample(T(2, 3), T(3)), Sample(I(3, 4, high=50), 1), Sample(T(0, 3), 1)],
    "argmax": [
        Sample(T(2, 3)),
        Sample(T(2, 3), 1),
        Sample(T(2, 3), -2, True),
        Sample(T(2, 3), keepdim=True),
        Sample(T()),
    ],
    "argmin": [
        Sample(T(2, 3)),
        Sample(T(2, 3), 1),
        Sample(T(2, 3), -2, True),
        Sample(T(2, 3), keepdim=True),
        Sample(T()),
    ],
    "any": [Sample(B(2, 3)), Sample(B(2, 3), 1), Sample(B(2, 3), (0, 1), True), Sample(B(2, 3), ()), Sample(T(0))],
    "all": [Sample(B(2, 3)), Sample(B(2, 3), 1), Sample(B(2, 3), (0, 1), True), Sample(B(2, 3), ()), Sample(T(0))],
    "var": [
        *_NOT_EMPTY[:6],
        Sample(T(4), False),
        Sample(T(4, 3), 0, False),
        Sample(T(4, 3), 0, unbiased=False, keepdim=True),
        Sample(T(4, 3), dim=1, correction=0),
        Sample(T(4, 3), correction=2.5),
    ],
    "std": [
        *_NOT_EMPTY[:6],
        Sample(T(4), False),
        Sample(T(4, 3), dim=1, correction=0),
        Sample(T(4, 3), (0, 1), True, True),
    ],
    "var_mean": [
        Sample(T(4, 3)),
        Sample(T(4, 3), 1, keepdim=True),
        Sample(T(4, 3), 0, correction=0),
        Sample(T(4), False),
    ],
    "std_mean": [
        Sample(T(4, 3)),
        Sample(T(4, 3), 1, keepdim=True),
        Sample(T(4, 3), 0, correction=0),
        Sample(T(4), False),
    ],
    "norm": [
        Sample(T(2, 3)),
        Sample(T(2, 3), 1),
        Sample(T(2, 3), 2, 0),
        Sample(T(2, 3), p=3, dim=(0, 1), keepdim=True),
        Sample(T(2, 3), p="fro", dim=1),
        Sample(T(2, 3), float("inf")),
        Sample(T(2, 3), float("-inf"), 1),
        Sample(T(2, 3), 1.5, 1),
        Sample(T(2, 3, low=0.5), 0.5),
        Sample(T(2, 3, low=0.5), -1),
    ],
    "linalg.vector_norm": [
        Sample(T(2, 3)),
        Sample(T(2, 3), 3, dim=0, keepdim=True),
        Sample(T(2, 3), 1, (0, 1)),
        Sample(T()),
    ],
    "logsumexp": [
        Sample(T(2, 3), 0),
        Sample(T(2, 3), -1, True),
        Sample(T(2, 3, 4), (0, 2)),
        Sample(T(), 0),
        Sample(T(0, 3), 0),
        Sample(I(2, 3, high=5), 1),
    ],
}

ERRORS = {
    "sum": [Sample(T(2, 3), 2), Sample(T(2, 3), (0, 0)), Sample(T(), 1), Sample(T(2), dims=0)],
    "mean": [Sample(I(3, high=5)), Sample(T(2, 3), -3), Sample(B(3), 0)],
    "prod": [Sample(T(2, 3), 2), Sample(T(2, 3), (0, 1))],
    "sum_to_size": [Sample(T(2, 3), 2), Sample(T(3), 2, 3)],
    "amax": [Sample(T(0)), Sample(T(0, 3), 0), Sample(T(2, 3), (1, 1))],
    "max": [Sample(T(0)), Sample(T(0, 3), 0), Sample(T(2, 3), 2), Sample(T(2, 3), (0, 1))],
    "min": [Sample(T(0)), Sample(T(0, 3), 0), Sample(T(2, 3), 2)],
    "argmax": [Sample(T(0)), Sample(T(0, 3), 0), Sample(T(2), 1), Sample(B(2))],
    "var": [Sample(I(3, high=5)), Sample(T(2, 3), 2), Sample(T(2, 3), (0, 0))],
    "norm": [Sample(I(3, high=5)), Sample(T(2, 3), "abc"), Sample(T(0), float("inf")), Sample(T(2, 3), 2, 2)],
    "linalg.vector_norm": [Sample(T(2), "fro"), Sample(T(2), 2, (0, 0)), Sample(T(0, 3), float("inf"), 0)],
    "logsumexp": [Sample(T(2, 3), 2), Sample(T(2, 3))],
}
