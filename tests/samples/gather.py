"""Samples of gather, scatter, slices by index, take, put and embeddings."""

from . import B, I, Sample, T

ALL = ("float64", "float32", "float16", "bfloat16", "complex128", "int64", "int8", "bool")
_ROWS = I(values=[0, 2, 0])
_INDEX = I(3, 4, high=3)

SAMPLES = {
    "gather": [
        Sample(T(3, 4), 0, I(2, 4, high=3)).options(dtypes=ALL),
        Sample(T(3, 4), -1, I(3, 6, high=4)),
        Sample(T(2, 3, 4), 1, I(1, 5, 2, high=3)),
        Sample(T(3, 4), 0, I(2, 4, high=3, dtype="int32")),
        Sample(T(), 0, I(values=0)),
        Sample(T(), 0, I(values=[0, 0])),
        Sample(T(3), 0, I(0)),
        Sample(T(3, 4), 1, I(0, 4, high=4), sparse_grad=False),
    ],
    "scatter": [
        Sample(T(3, 4), 0, I(values=[[0, 1, 2, 0], [2, 0, 1, 1]]), T(2, 4)).options(dtypes=ALL),
        Sample(T(3, 4), 1, I(values=[[0, 3], [2, 1]]), T(3, 3)).options(gradcheck=False),
        Sample(T(3, 4), 0, _INDEX, 1.5).options(dtypes=("float64", "int64", "float16")),
        Sample(T(3, 4), 0, _INDEX, value=2),
        Sample(T(3, 4), 0, I(values=[[0, 1, 2, 0]], dtype="int32"), T(1, 4)),
        Sample(T(), 0, I(values=0), T()),
        Sample(T(3), 0, I(0), T(0)),
        Sample(T(3, 4, grad=False), 0, _INDEX, T(3, 4, grad=False), reduce="add"),
        Sample(T(3, 4, grad=False), 0, _INDEX, T(3, 4, grad=False), reduce="multiply"),
        Sample(T(3, 4, grad=False), 0, _INDEX, 2.0, reduce="multiply"),
    ],
    "scatter_add": [
        Sample(T(3, 4), 0, _INDEX, T(3, 4)).options(dtypes=ALL[:-1]),
        Sample(T(3, 4), -1, I(3, 6, high=4), T(3, 6)),
        Sample(T(), 0, I(values=0), T()),
        Sample(T(3), 0, I(0), T(0)),
    ],
    "scatter_reduce": [
        Sample(T(3, 4), 0, _INDEX, T(3, 4), reduce, include_self=include_self).options(
            dtypes=("float64", "float32", "float16", "int64")
        )
        for reduce in ("sum", "prod", "mean", "amax", "amin")
        for include_self in (True, False)
    ]
    + [
        Sample(T(3), 0, I(values=[0, 0, 1]), T(values=[2.0, 2.0, 2.0]), "amax").options(gradcheck=False),
        Sample(T(values=[2.0, 5.0]), 0, I(values=[0, 0, 1]), T(values=[2.0, 2.0, 2.0]), "amax").options(
            gradcheck=False
        ),
        Sample(T(values=[0.0, 3.0]), 0, I(values=[0, 0, 1]), T(values=[2.0, 3.0, 0.0]), "prod").options(
            gradcheck=False, gradgrad=False
        ),
        Sample(T(values=[1.0, 3.0]), 0, I(values=[0, 0, 1]), T(values=[0.0, 0.0, 0.0]), "prod").options(
            gradcheck=False, gradgrad=False
        ),
    ],
    "take_along_dim": [
        Sample(T(3, 4), I(3, 4, high=3), 0),
        Sample(T(3, 4), I(1, 4, high=3), dim=0),
        Sample(T(3, 1), I(2, 4, high=3), 0),
        Sample(T(3, 4), I(5, high=12)).options(layouts=False),
    ],
    "index_select": [
        Sample(T(3, 4), 0, _ROWS).options(dtypes=ALL),
        Sample(T(2, 3, 4), -1, I(values=[3, 3])),
        Sample(T(3, 4), 0, I(values=1)),
        Sample(T(3, 4), 0, I(values=[1], dtype="int32")),
        Sample(T(), 0, I(values=[0])),
        Sample(T(3, 4), 1, I(0)),
    ],
    "index_add": [
        Sample(T(3, 4), 0, _ROWS, T(3, 4)).options(dtypes=ALL[:-1]),
        Sample(T(3, 4), 1, I(values=[3]), T(3, 1), alpha=2.5),
        Sample(T(3), 0, I(values=[0, 0], dtype="int32"), T(2)),
        Sample(T(3), 0, I(0), T(0)),
    ],
    "index_copy": [
        Sample(T(3, 4), 0, I(values=[2, 0]), T(2, 4)).options(dtypes=ALL),
        Sample(T(3, 4), -1, I(values=[1]), T(3, 1)),
        Sample(T(3), 0, I(0), T(0)),
    ],
    "index_fill": [
        Sample(T(3, 4), 0, I(values=[2, 0]), 1.5).options(dtypes=("float64", "float32", "int64")),
        Sample(T(3, 4), 1, I(values=[-1]), T()),
        Sample(T(3), 0, I(0), 2),
    ],
    "take": [
        Sample(T(3, 4), I(2, 3, high=12)).options(dtypes=ALL),
        Sample(T(3, 4), I(values=[-1, 0, -1])),
        Sample(T(3, 4), I(values=5)),
        Sample(T(3), I(0)),
        Sample(T(0), I(0)),
    ],
    "put": [
        Sample(T(3, 4), I(values=[0, 5]), T(2)).options(dtypes=ALL[:-1]),
        Sample(T(3, 4), I(values=[[0, 0], [-1, 5]]), T(4), accumulate=True),
        Sample(T(3, 4), I(0), T(0)),
    ],
    "embedding": [
        Sample(T(5, 3), I(2, 4, high=5)).options(dtypes=("float64", "float32", "int64")),
        Sample(T(5, 3), I(values=[1, 1, 2]), padding_idx=1).options(gradcheck=False),
        Sample(T(5, 3), I(values=[1, 1, 2]), scale_grad_by_freq=True).options(gradcheck=False, gradgrad=False),
    ],
    "nn.functional.embedding": [
        Sample(I(2, 4, high=5), T(5, 3)),
        Sample(I(values=[0, 4, 4]), T(5, 3), padding_idx=-1).options(gradcheck=False),
        Sample(I(values=3), T(5, 3)),
        Sample(I(0), T(5, 3)),
        Sample(I(values=[1, 1], dtype="int32"), T(5, 3)),
        Sample(I(values=[1, 1]), T(5, 3), max_norm=0.5).options(edits=False, gradcheck=False, layouts=False),
    ],
}

ERRORS = {
    "gather": [
        Sample(T(3, 4), 0, I(3)),
        Sample(T(3, 4), 0, T(3, 4)),
        Sample(T(3, 4), 0, I(values=[[3]])),
        Sample(T(3, 4), 0, I(values=[[-1]])),
        Sample(T(3, 4), 2, I(3, 4, high=1)),
        Sample(T(3, 4), 0, I(3, 5, high=1)),
        Sample(T(3, 4), 0, "x"),
    ],
    "scatter": [
        Sample(T(3, 4), 0, _INDEX, T(3, 4, dtype="float32")),
        Sample(T(3, 4), 0, I(values=[[3]]), T(3, 4)),
        Sample(T(3, 4), 0, _INDEX, T(1, 4)),
        Sample(T(3, 4), 0, _INDEX, T(3, 4), reduce="bad"),
        Sample(T(3, 4), 0, _INDEX),
        Sample(T(3, 4), 0, B(3, 4), T(3, 4)),
    ],
    "scatter_add": [Sample(T(3, 4), 0, _INDEX, T(3, 4, dtype="float32")), Sample(T(3, 4), 0, I(values=[[9]]), T(3, 4))],
    "scatter_reduce": [
        Sample(T(3, 4), 0, _INDEX, T(3, 4), "bad"),
        Sample(T(3, 4), 0, I(values=[[9]]), T(3, 4), "sum"),
    ],
    "take_along_dim": [
        Sample(T(3, 4), I(3, 4, high=2, dtype="int32"), 0),
        Sample(T(3, 4), I(4, high=2), 0),
        Sample(T(3, 4), I(3, 4, high=2), 3),
        Sample(T(3, 4), I(2, 3, high=2), 0),
    ],
    "index_select": [
        Sample(T(3, 4), 0, I(values=[3])),
        Sample(T(3, 4), 0, I(values=[-1])),
        Sample(T(3, 4), 0, I(2, 2, high=2)),
        Sample(T(), 0, I(values=[0, 0])),
        Sample(T(3, 4), 0, T(2)),
        Sample(T(3, 4), 5, I(2, high=2)),
    ],
    "index_add": [
        Sample(T(3, 4), 0, I(values=[3]), T(1, 4)),
        Sample(T(3, 4), 0, I(values=[0, 1]), T(3, 4)),
        Sample(T(3, 4), 0, I(values=[0, 1]), T(2, 3)),
        Sample(T(3, 4), 0, I(values=[0, 1]), T(2, 4, dtype="float32")),
    ],
    "index_copy": [
        Sample(T(3, 4), 0, I(values=[3]), T(1, 4)),
        Sample(T(3, 4), 0, I(values=[0, 1]), T(3, 4)),
        Sample(T(3, 4), 0, I(values=[0, 1]), T(2, 3)),
        Sample(T(3, 4), 0, I(values=[0, 1]), T(2, 4, dtype="float32")),
        Sample(T(3, 4), 0, I(values=[0], dtype="int32"), T(1, 4)),
    ],
    "index_fill": [
        Sample(T(3, 4), 0, I(values=[3]), 1),
        Sample(T(3, 4), 0, I(values=[0]), T(1)),
        Sample(T(3, 4), 0, I(values=[0]), 1j),
        Sample(T(3, 4), 0, I(values=[0], dtype="int32"), 1),
        Sample(T(3, 4), 0, I(2, 2, high=2), 1),
    ],
    "take": [Sample(T(3), I(values=[3])), Sample(T(3), T(1)), Sample(T(0), I(values=[0]))],
    "put": [
        Sample(T(3), I(values=[3]), T(1)),
        Sample(T(3), I(values=[0]), T(2)),
        Sample(T(3), I(values=[0]), T(1, dtype="float32")),
    ],
    "nn.functional.embedding": [
        Sample(I(values=[5]), T(5, 3)),
        Sample(I(values=[-1]), T(5, 3)),
        Sample(T(2), T(5, 3)),
        Sample(I(values=[1]), T(5)),
        Sample(I(values=[1]), T(5, 3), padding_idx=9),
    ],
}
