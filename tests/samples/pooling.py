"""Samples of pooling: windows over edges, ties and NaN, and what torch's operator database leaves out."""

from . import I, Sample, T

_NAN = float("nan")
_INF = float("inf")

SAMPLES = {
    "max_pool1d": [Sample(T(2, 3, 9), 3, 2, 1)],
    "max_pool1d_with_indices": [Sample(T(2, 3, 9), 3, 2, 1, 1, True)],
    "max_pool2d": [
        Sample(T(2, 2, 5, 6), 2).options(dtypes=("float64", "float32", "float16", "int64", "uint8")),
        Sample(T(2, 5, 6), (3, 2), (1, 3), (1, 0), 2, True),
    ],
    "max_pool3d": [Sample(T(1, 2, 3, 4, 5), 2, 1, 1)],
    "nn.functional.max_pool1d_with_indices": [Sample(T(2, 3, 9), 2)],
    "nn.functional.max_pool2d_with_indices": [
        Sample(T(1, 1, 4, 4), 2),
        # The first of equals, but the last NaN.
        Sample(T(values=[[[1.0, 1.0, 3.0, 3.0]]]), (1, 4)).options(gradcheck=False),
        Sample(T(values=[[[_NAN, 1.0, _NAN, 3.0]]]), (1, 4)).options(gradcheck=False),
        Sample(T(values=[[[-_INF, -_INF]]]), (1, 2)).options(gradcheck=False),
    ],
    "nn.functional.max_pool3d_with_indices": [Sample(T(1, 2, 3, 4, 4), 2)],
    "nn.functional.adaptive_max_pool1d_with_indices": [Sample(T(2, 3, 7), 3)],
    "nn.functional.adaptive_max_pool2d_with_indices": [Sample(T(2, 7, 5), (3, 2))],
    "nn.functional.adaptive_max_pool3d_with_indices": [Sample(T(1, 2, 3, 4, 4), 2)],
    "adaptive_max_pool1d": [Sample(T(2, 3, 7), 3)],
    "adaptive_avg_pool1d": [Sample(T(2, 3, 7), 3)],
    "avg_pool1d": [Sample(T(2, 3, 7), 3, 2, 1, True, False)],
    "nn.functional.fractional_max_pool2d_with_indices": [
        Sample(T(1, 2, 6, 7), 2, (3, 4), _random_samples=T(1, 2, 2, low=0.0, high=0.99, grad=False))
    ],
    "nn.functional.fractional_max_pool3d_with_indices": [
        Sample(T(1, 1, 5, 6, 5), 2, (2, 3, 2), _random_samples=T(1, 1, 3, low=0.0, high=0.99, grad=False))
    ],
    "nn.functional.lp_pool1d": [Sample(T(2, 3, 7), 2, 3), Sample(T(2, 3, 7, low=0.5), 3.0, 2, 1, True)],
    "nn.functional.lp_pool2d": [Sample(T(2, 5, 6), 2, (2, 3)), Sample(T(1, 2, 5, 5, low=0.5), 1.5, 2)],
    "nn.functional.lp_pool3d": [Sample(T(1, 2, 3, 4, 4), 2, 2)],
    # An index twice: the last element wins.
    "nn.functional.max_unpool1d": [Sample(T(1, 1, 3), I(values=[[[0, 5, 2]]]), 2)],
}

ERRORS = {
    "nn.functional.max_pool2d": [
        Sample(T(2, 4, 4), 0),
        Sample(T(2, 4, 4), 2, 0),
        Sample(T(2, 4, 4), 2, padding=2),
        Sample(T(2, 4, 4), 3, padding=2, dilation=2),
        Sample(T(2, 4, 4), 5),
        Sample(T(2, 4, 4), 2, dilation=0),
        Sample(T(4, 4), 2),
        Sample(T(2, 4, 4), (2, 2, 2)),
        Sample(T(2, 0, 4), 2),
        Sample(T(2, 4, 4, dtype="bool"), 2),
        Sample(T(2, 4, 4, dtype="complex64"), 2),
    ],
    "nn.functional.avg_pool2d": [
        Sample(T(2, 4, 4), 2, divisor_override=0),
        Sample(T(2, 4, 4), 2, padding=2),
        Sample(T(2, 4, 4, dtype="int32"), 2),
    ],
    "nn.functional.avg_pool3d": [Sample(T(1, 2, 2, 2), 3, 1, 1)],
    "nn.functional.adaptive_avg_pool2d": [Sample(T(2, 4, 4), (2, 2, 2)), Sample(T(2, 4, 4), -1)],
    "nn.functional.max_unpool2d": [
        Sample(T(1, 2, 2), I(values=[[[0, 1], [2, 99]]]), 2),
        Sample(T(1, 2, 2), I(values=[[[0, 1], [2, -1]]]), 2),
        Sample(T(1, 2, 2), I(1, 2, 2, dtype="int32"), 2),
        Sample(T(1, 2, 2), I(1, 2, 3), 2),
        Sample(T(1, 2, 2), I(1, 2, 2), 2, output_size=(9, 9)),
    ],
    "nn.functional.fractional_max_pool2d": [Sample(T(1, 4, 4), 2), Sample(T(1, 4, 4), 2, 4), Sample(T(1, 4, 4), 5, 1)],
}
