"""Samples of sorting and selection."""

from . import I, Sample, T

SAMPLES = {
    "sort": [
        Sample(T(2, 3)),
        Sample(T(4, 3), 0),
        Sample(T(2, 5), dim=-1, descending=True),
        Sample(T(5), stable=True).options(node=False),
        Sample(I(3, 6, high=4), dim=1, stable=True),
        Sample(I(9, high=4), dim=0, descending=True, stable=True),
        Sample(T()),
        Sample(T(0, 3), 0),
    ],
    "argsort": [Sample(T(2, 3)), Sample(T(4, 3), 0, True), Sample(I(9, high=4), stable=True), Sample(T(2, 3), dim=-2)],
    "topk": [
        Sample(T(5), 2).options(layouts=False),  # which of equal elements it takes is not specified
        Sample(T(4, 3), 2, 0).options(layouts=False),
        Sample(T(4, 3), 3, 1, largest=False),
        Sample(T(), 1),
        Sample(T(3), 0),
        Sample(T(0, 3), 1, 1),
    ],
    "msort": [Sample(T(4, 3)), Sample(T())],
}

ERRORS = {
    "sort": [Sample(T(2, 3), 2)],
    "topk": [Sample(T(3), 4), Sample(T(3), -1), Sample(T(3), 1, 1)],
}
