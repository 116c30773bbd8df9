"""Samples of fills, conjugates and squares."""

from . import Sample, T
from .elementwise import ALL

COMPLEX = ("complex128", "complex64", "float64")

SAMPLES = {
    "to_dense": [Sample(T(2, 3))],
    "fill": [Sample(T(2, 3), 1.5).options(dtypes=ALL), Sample(T(2, 3), T()), Sample(T(0, 2), 3), Sample(T(), 2)],
    "conj": [Sample(T(2, 3)).options(dtypes=COMPLEX, node=False, edits=False)],
    "resolve_conj": [Sample(T(2, 3))],
    "resolve_neg": [Sample(T(2, 3))],
    "is_conj": [Sample(T(2, 3))],
    "is_neg": [Sample(T(2, 3))],
    "square": [Sample(T(2, 3)).options(dtypes=ALL), Sample(T()), Sample(T(0, 2))],
    "nn.functional.softsign": [Sample(T(2, 3)), Sample(T())],
    "nn.functional.tanhshrink": [Sample(T(2, 3)), Sample(T())],
}
