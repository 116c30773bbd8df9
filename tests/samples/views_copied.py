"""Samples of copies of views and of copies with a part replaced: names that the operator database leaves out."""

from . import I, Sample, T

SAMPLES = {
    "select_copy": [Sample(T(2, 3), 0, 1), Sample(T(2, 3, 4), -2, -1)],
    "slice_copy": [Sample(T(5, 3), 0, 1, 4), Sample(T(5, 3), 1, None, None, 2), Sample(T(5, 3))],
    "view_as_real_copy": [Sample(T(2, 3)).options(dtypes=("complex128",))],
    "view_as_complex_copy": [Sample(T(3, 2, grad=False)).options(layouts=False)],
    "split_copy": [Sample(T(5, 2), 2).options(out=False), Sample(T(2, 5), 2, 1).options(out=False)],
    "unsafe_split_with_sizes": [Sample(T(5, 2), [2, 3])],
    # The node's name is part of what is compared here.
    "permute_copy": [Sample(T(2, 3, 4), (2, 0, 1))],
    "squeeze_copy": [Sample(T(2, 1, 3, 1)), Sample(T(2, 1, 3), 1), Sample(T(2, 1, 3), (1, 2))],
    "narrow_copy": [Sample(T(5, 3), 0, 1, 3), Sample(T(5, 3), 1, -2, 2)],
    "select_scatter": [Sample(T(2, 3), T(3), 0, 1)],
    "slice_scatter": [Sample(T(5, 3), T(2, 3), 0, 1, 5, 2)],
    "diagonal_scatter": [Sample(T(3, 4), T(3), 1)],
    "diag_embed": [Sample(T(2, 3)), Sample(T(2, 3), 1, 0, 2), Sample(T(2, 0))],
    "diag": [Sample(T(3), 1).options(out=False), Sample(T(3, 4), -1).options(out=False)],
    "block_diag": [Sample(T(2, 3), T(), T(2), T(0))],
    "index_reduce": [
        Sample(T(3, 2), 0, I(values=[2, 0, 2]), T(3, 2), "mean"),
        Sample(T(2, 3), 1, I(values=[1, 1]), T(2, 2), "amax", include_self=False),
    ],
}

ERRORS = {
    "select_scatter": [Sample(T(2, 3), T(2), 0, 1), Sample(T(2, 3), T(3), 0, 2), Sample(T(2, 3), T(3), 2, 0)],
    "slice_scatter": [Sample(T(5, 3), T(2, 3), 0, 0, 1), Sample(T(5, 3), T(5, 3), 0, 0, 5, 0)],
    "diagonal_scatter": [Sample(T(3, 4), T(4))],
    "as_strided_scatter": [Sample(T(4), T(3), (2,), (1,)), Sample(T(4), T(2), (2,), (9,))],
    "diag_embed": [Sample(T(3), 0, 0, 0), Sample(T(3), 0, 3, 0), Sample(T())],
    "block_diag": [Sample(T(2, 2, 2))],
    "cartesian_prod": [Sample(T(2, 2)), Sample(T(2), T())],
    "empty_permuted": [Sample((2, 3), (0, 0)), Sample((2, 3), (0,)), Sample((2, 3), (0, 2)), Sample((2, 3), (0, -1))],
    "nonzero_static": [Sample(T(3), size=-1), Sample(T(3))],
    "unravel_index": [
        Sample(T(2), (2, 2)),
        Sample(I(2, high=3), (2, -2)),
        Sample(I(2, high=3), (2, 0)),
        Sample(I(2, high=3), 1.5),
    ],
    "index_reduce": [
        Sample(T(3, 2), 0, I(values=[0, 3]), T(2, 2), "mean"),
        Sample(T(3, 2), 0, I(values=[0, 1]), T(2, 2), "sum"),
        Sample(T(3, 2), 0, I(values=[0]), T(2, 2), "prod"),
        Sample(T(3, 2), 0, I(values=[[0, 1]]), T(2, 2), "prod"),
        Sample(T(3, 2), 2, I(values=[0, 1]), T(2, 2), "amin"),
    ],
    "narrow": [Sample(T(3), 0, I(values=[1]), 1)],
    "unsafe_split": [Sample(T(3), -1), Sample(T(3), 0)],
}
