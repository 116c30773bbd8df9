"""Samples of index_put. Indexing by keys is fuzzed in tests/test_indexing.py."""

from . import B, I, Sample, T

SAMPLES = {
    "index_put": [
        Sample(T(4, 3), (I(values=[0, 2]),), T(2, 3)),
        Sample(T(4, 3), (I(values=[0, 2]), I(values=[1, 1])), T(2)),
        Sample(T(4, 3), (I(values=[0, 0, -1]),), T(3, 3), accumulate=True),
        Sample(T(4, 3), (I(values=[[0], [1]]), I(values=[0, 2])), T(), True),
        Sample(T(3), (B(values=[True, False, True]),), T(2)),
        Sample(T(3), (B(values=[True, False, True]),), T()),
        Sample(T(3), (B(values=[True, False, True]),), T(2), accumulate=True),
    ],
}

ERRORS = {
    "index_put": [
        Sample(T(3), (I(values=[5]),), T(1)),
        Sample(T(3), (I(values=[0]),), T(2)),
        Sample(T(3), (I(values=[0]), I(values=[0])), T(1)),
        Sample(T(3), (I(values=[0]),), T(1, dtype="float32")),
        Sample(T(3), (T(values=[0.5]),), T(1)),
        Sample(T(3), (B(values=[True]),), T(1)),
        Sample(T(3), (I(values=[0]),), 1.0),
    ],
}
