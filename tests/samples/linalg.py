"""Samples of linear algebra that torch's operator database has under another name, or not at all.

Layouts that repeat elements make singular matrices: tests/test_linalg.py has others.
"""

from . import Sample, T

SAMPLES = {
    "chain_matmul": [
        Sample(T(2, 3), T(3, 4), T(4, 2)).options(node=False),
        Sample(T(2, 3), T(3, 4)).options(node=False),
        Sample(T(2, 3)),
    ],
    "inverse": [
        Sample(T(3, 3)).options(layouts=False),
        Sample(T(2, 3, 3)).options(dtypes=("float32", "complex128"), layouts=False),
        Sample(T(2, 0, 0)),
    ],
    "orgqr": [Sample(T(4, 3), T(3)), Sample(T(2, 4, 3), T(2, 2)).options(dtypes=("float32", "complex128"))],
    "pdist": [Sample(T(4, 3)).options(gradgrad=False), Sample(T(4, 3), 1.0).options(gradgrad=False)],
    "det": [Sample(T(3, 3)), Sample(T(2, 2, 2)).options(dtypes=("float32", "complex128"))],
    "slogdet": [Sample(T(3, 3)).options(layouts=False)],
    "matrix_exp": [Sample(T(3, 3)), Sample(T(2, 3, 3)).options(dtypes=("float32", "complex128"))],
    "matrix_power": [
        Sample(T(3, 3), 3).options(node=False),
        Sample(T(3, 3), -2).options(node=False, layouts=False),
    ],
}
