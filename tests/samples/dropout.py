"""Samples of dropout, padding and gelu."""

from . import Sample, T

_PAD = T(2, 3, 4)

SAMPLES = {
    "nn.functional.dropout": [
        Sample(T(4, 33)).options(seed=True, dtypes=("float64", "float32", "bfloat16")),
        Sample(T(4, 33), 0.2).options(seed=True),
        Sample(T(4, 33), p=1.0).options(seed=True),
        Sample(T(4, 33), p=0.0),
        Sample(T(4, 33), training=False),
        Sample(T(0, 3)).options(seed=True, node=False),
    ],
    "nn.functional.dropout1d": [Sample(T(3, 4, 5)).options(seed=True), Sample(T(4, 5)).options(seed=True, node=False)],
    "nn.functional.dropout2d": [Sample(T(3, 4, 5, 2)).options(seed=True)],
    "nn.functional.dropout3d": [Sample(T(3, 4, 2, 2, 2), 0.3).options(seed=True)],
    "nn.functional.gelu": [
        Sample(T(2, 3), approximate="tanh").options(dtypes=("float64", "float32", "float16"), out=False),
        Sample(T(2, 3), approximate="none"),
    ],
    "constant_pad_nd": [Sample(_PAD, (1, 2, 0, 1), 1.5).options(dtypes=("float64", "float32", "int64", "bool"))],
    "nn.functional.pad": [
        Sample(_PAD, (1, 2)).options(dtypes=("float64", "float32", "int64", "complex128")),
        Sample(_PAD, (1, -1, -2, 2, 0, 1), value=3.0),
        Sample(_PAD, (-1, -1)),
        Sample(_PAD, (-1, -1), value=0),
        Sample(_PAD, ()),
        Sample(T(0, 3), (1, 1, 1, 1)),
        Sample(T(3), (0, 0)),
        *(
            Sample(_PAD, pad, mode=mode).options(node=False)
            for mode in ("reflect", "replicate", "circular")
            for pad in ((1, 2), (2, 1, 1, 0))
        ),
    ],
}

ERRORS = {
    "nn.functional.dropout": [Sample(T(2), 1.5), Sample(T(2), -0.1)],
    "nn.functional.gelu": [Sample(T(2), approximate="x"), Sample(T(2, dtype="int64"))],
    "nn.functional.pad": [
        Sample(T(2), (1,)),
        Sample(T(2), (1, 1, 1, 1)),
        Sample(T(2), (-3, 0)),
        Sample(T(2, 3), (3, 3), mode="reflect"),
        Sample(T(2, 3), (1, 1), mode="bad"),
    ],
}
