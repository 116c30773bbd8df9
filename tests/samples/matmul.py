"""Samples of matrix products."""

from . import I, Sample, T

_TYPES = ("float32", "float16", "bfloat16", "complex128", "int32", "uint8")
_PRODUCTS = [
    Sample(T(2, 3), T(3, 4)),
    Sample(T(3), T(3)),
    Sample(T(2, 3), T(3)),
    Sample(T(3), T(3, 4)),
    Sample(T(5, 2, 3), T(5, 3, 4)),
    Sample(T(5, 2, 3), T(3, 4)),
    Sample(T(2, 3), T(5, 3, 4)).options(node=False, edits=False),  # torch transposes the product twice
    Sample(T(5, 2, 3), T(3)),
    Sample(T(3), T(5, 3, 4)).options(edits=False),
    Sample(T(7, 1, 2, 3), T(5, 3, 4)).options(edits=False),
    Sample(T(3), T(2, 5, 3, 4)).options(edits=False),
    Sample(T(2, 5, 2, 3), T(3)),
    Sample(T(1, 2, 3), T(5, 3, 4)).options(node=False, edits=False),  # torch transposes the product twice
    Sample(T(2, 0), T(0, 3)),
    Sample(T(0, 2, 3), T(3, 4)),
    Sample(T(0, 2, 3), T(0, 3, 4)),
    Sample(T(0), T(0)),
    Sample(I(2, 3, low=-5, high=5), I(3, 4, low=-5, high=5)),
]

SAMPLES = {
    "matmul": _PRODUCTS,
    "linalg.matmul": _PRODUCTS[:3],
    "mm": [_PRODUCTS[0], Sample(T(1, 1), T(1, 1)), Sample(T(17, 33), T(33, 9)), Sample(T(2, 0), T(0, 3))],
    "bmm": [
        _PRODUCTS[4],
        Sample(T(2, 3, 4), T(2, 4, 2)).options(dtypes=_TYPES),
        Sample(T(1, 2, 3), T(1, 3, 1)),
        Sample(T(0, 2, 3), T(0, 3, 4)),
        Sample(T(2, 3, 0), T(2, 0, 4)),
    ],
    "mv": [_PRODUCTS[2], Sample(T(3, 4), T(4)).options(dtypes=_TYPES), Sample(T(0, 3), T(3)), Sample(T(3, 0), T(0))],
    "dot": [
        _PRODUCTS[1],
        Sample(T(3), T(3)).options(dtypes=_TYPES),
        Sample(T(0), T(0)),
        Sample(I(4, high=9), I(4, high=9)),
    ],
    "vdot": [_PRODUCTS[1], Sample(T(3), T(3)).options(dtypes="complex128")],
    "inner": [
        Sample(T(3), T(3)),
        Sample(T(2, 3), T(4, 3)),
        Sample(T(5, 2, 3), T(6, 3)),
        Sample(T(), T(2)),
        Sample(T(2), T()),
    ],
    "outer": [Sample(T(2), T(3)), Sample(T(0), T(3))],
    "ger": [Sample(T(2), T(3))],
    "addmm": [
        Sample(T(2, 4), T(2, 3), T(3, 4)),
        Sample(T(4), T(2, 3), T(3, 4), beta=2, alpha=0.5),
        Sample(T(2, 4), T(2, 3), T(3, 4), beta=2, alpha=3).options(
            dtypes=("float32", "float16", "complex128", "int64")
        ),
        Sample(T(2, 4), T(2, 3), T(3, 4), beta=2j, alpha=3 - 1j).options(dtypes="complex128"),
        Sample(T(2, 1), T(2, 3), T(3, 4), beta=0.25),
        Sample(T(), T(2, 0), T(0, 4), beta=3),
        Sample(T(2, 4), T(2, 3), T(3, 4), beta=0),
    ],
    "addmv": [Sample(T(2), T(2, 3), T(3)), Sample(T(), T(2, 3), T(3), beta=2, alpha=3), Sample(T(1), T(2, 3), T(3))],
    "baddbmm": [
        Sample(T(5, 2, 4), T(5, 2, 3), T(5, 3, 4)),
        Sample(T(4), T(5, 2, 3), T(5, 3, 4), beta=2, alpha=0.5),
        Sample(T(2, 1), T(5, 2, 3), T(5, 3, 4)),
    ],
    "addbmm": [
        Sample(T(2, 4), T(5, 2, 3), T(5, 3, 4)),
        Sample(T(2, 4), T(5, 2, 3), T(5, 3, 4), beta=2, alpha=0.5),
        Sample(T(2, 4), T(0, 2, 3), T(0, 3, 4), beta=2),
    ],
    "addr": [
        Sample(T(2, 3), T(2), T(3)),
        Sample(T(3), T(2), T(3), beta=2, alpha=3),
        Sample(T(2, 3), T(2), T(3), beta=0),
    ],
    "einsum": [
        Sample("ij,jk->ik", T(2, 3), T(3, 4)),
        Sample("bij,bjk->bik", T(5, 2, 3), T(5, 3, 4)),
        Sample("i,i->", T(3), T(3)),
        Sample("i,j", T(2), T(3)),
        Sample("ii->i", T(3, 3)),
        Sample("ii", T(3, 3)),
        Sample("ij->ji", T(2, 3)),
        Sample("ij->", T(2, 3)),
        Sample("...ij,jk->...ik", T(5, 2, 3), T(3, 4)),
        Sample("...ij,...jk", T(5, 1, 2, 3), T(7, 3, 4)),
        Sample("bhqd,bhkd->bhqk", T(2, 3, 4, 5), T(2, 3, 6, 5)),
        Sample("ij,jk,kl->il", T(2, 3), T(3, 4), T(4, 5)),
        Sample("ij,ij->i", T(2, 3), T(1, 3)),
        Sample("ij,jk->ik", T(2, 3), T(1, 4)),
        Sample("iij,jkk->ik", T(2, 2, 3), T(3, 4, 4)),
        Sample("abc,cd->", T(2, 3, 4), T(4, 5)),
        Sample(T(2, 3), [0, 1], T(3, 4), [1, 2], [2, 0]),
        Sample(T(2, 3), [..., 0], T(3), [0]),
        Sample("i,,", T(3), T(), T()),
        Sample("ij,jk", [T(2, 3), T(3, 4)]),
        Sample("ij,jk->ik", T(2, 0), T(0, 4)),
    ],
    "tensordot": [
        Sample(T(2, 3), T(3, 4), 1),
        Sample(T(5, 2, 3), T(5, 3, 4), dims=([0, 2], [0, 1])),
        Sample(T(2, 3), T(4), dims=0),
        Sample(T(2, 3), T(2, 3)),
        Sample(T(2, 3), T(4, 3), dims=([-1], [-1])),
    ],
    "nn.functional.linear": [
        Sample(T(2, 3), T(4, 3)),
        Sample(T(2, 3), T(4, 3), T(4)),
        Sample(T(2, 3), T(4, 3)).options(dtypes=_TYPES),
        Sample(T(2, 3), T(4, 3), T(4)).options(dtypes=_TYPES),
        Sample(T(3), T(4, 3)),
        Sample(T(3), T(4, 3), T(4)).options(node=False),  # torch adds the bias apart where rows are strided
        Sample(T(5, 2, 3), T(4, 3)),
        Sample(T(5, 2, 3), T(4, 3), bias=T(4)).options(node=False),
        Sample(T(2, 3), T(3)),
        Sample(T(3), T(3)),
        Sample(T(2, 3), T(4, 3), T()),
        Sample(T(0, 3), T(4, 3), T(4)),
    ],
    "nn.functional.bilinear": [
        Sample(T(5, 2), T(5, 3), T(4, 2, 3), T(4)),
        Sample(T(2), T(3), T(4, 2, 3)),
        Sample(T(5, 6, 2), T(5, 6, 3), T(4, 2, 3), T(4)),
    ],
    "kron": [
        Sample(T(2, 3), T(3, 4)).options(edits=False),
        Sample(T(3), T(2, 2)).options(layouts=False),
        Sample(T(2), T()),
    ],
}

# torch reshapes and copies where that is left out here.
for _sample in SAMPLES["einsum"]:
    _sample.options(node=False, edits=False)
for _sample in SAMPLES["kron"]:
    _sample.options(edits=False)

ERRORS = {
    "matmul": [
        Sample(T(2, 3), T(2, 3)),
        Sample(T(), T(3)),
        Sample(T(3), T(4)),
        Sample(T(2, 3), T(4)),
        Sample(T(5, 2, 3), T(4, 3, 4)),
        Sample(T(2, 3), I(3, 4, high=5)),
        Sample(T(2, 3), 2.0),
    ],
    "mm": [Sample(T(2, 3), T(2, 3)), Sample(T(2, 3), T(3))],
    "bmm": [Sample(T(5, 2, 3), T(3, 4)), Sample(T(5, 2, 3), T(4, 3, 4))],
    "mv": [Sample(T(2, 3), T(2)), Sample(T(2, 3), T(2, 3))],
    "dot": [Sample(T(3), T(4)), Sample(T(3), T(2, 3)), Sample(T(3), I(3, high=5))],
    "inner": [Sample(T(2, 3), T(3, 4))],
    "outer": [Sample(T(2, 3), T(3))],
    "addmm": [
        Sample(T(3, 4), T(2, 3), T(3, 4)),
        Sample(T(2, 4), T(2, 3), T(2, 3)),
        Sample(T(4), T(2, 3), T(3, 4), alpha=1j),
    ],
    "addmv": [Sample(T(3), T(2, 3), T(3))],
    "einsum": [
        Sample("ij"),
        Sample("ij,jk", T(2, 3)),
        Sample("ij", T(2, 3), T(2, 3)),
        Sample("i1", T(2, 3)),
        Sample("ij->k", T(2, 3)),
        Sample("ij->ii", T(2, 3)),
        Sample("ijk", T(2, 3)),
        Sample("ij,jk", T(2, 3), T(2, 3)),
        Sample("ii", T(2, 3)),
        Sample("i.j", T(2, 3)),
        Sample(T(2, 3), [0, 60]),
    ],
    "tensordot": [Sample(T(2, 3), T(3, 4), 3), Sample(T(2, 3), T(2, 3), 1), Sample(T(2, 3), T(2, 3), ([0, 0], [0, 0]))],
    "nn.functional.linear": [Sample(T(2, 3), T(4, 2)), Sample(T(2, 3), T(4, 3), T(5)), Sample(T(2, 3), T())],
    "nn.functional.bilinear": [Sample(T(2, 3), T(3, 4), T(4, 3, 4))],
}
