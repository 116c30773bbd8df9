"""Samples of layer norm, unit vectors and angles."""

from . import Sample, T

_FLOATS = ("float64", "float32", "float16", "bfloat16")

SAMPLES = {
    "native_layer_norm": [
        # The mean and the deviation are not differentiable results.
        Sample(T(4, 5), (5,), T(5), T(5), 1e-5).options(gradcheck=False),
        Sample(T(2, 3, 4), (3, 4), None, None, 0.1).options(gradcheck=False),
    ],
    "nn.functional.layer_norm": [
        Sample(T(4, 5), (5,)).options(dtypes=("float64", "float32")),
        Sample(T(4, 5), (5,), T(5), T(5)).options(dtypes=("float64", "float32")),
        Sample(T(4, 5), [5], T(5)),
        Sample(T(4, 5), (5,), None, T(5)),
        Sample(T(2, 3, 4), (3, 4), T(3, 4), T(3, 4), 0.1),
        Sample(T(6), (6,), T(6), T(6)),
        Sample(T(0, 5), (5,), T(5), T(5)),
        Sample(T(2, 33), (33,), T(33)).options(dtypes=("float16", "bfloat16"), tolerance=(2e-2, 2e-2)),
    ],
    "nn.functional.normalize": [
        Sample(T(3, 4)),
        Sample(T(3, 4), dim=0),
        Sample(T(3, 4), p=1.0),
        Sample(T(3, 4, 2), 3.0, -1),
    ],
    "cosine_similarity": [
        Sample(T(3, 4), T(3, 4)).options(dtypes=("float64", "float32")),
        Sample(T(3, 4), T(4), dim=-1),
        Sample(T(2, 3, 4), T(2, 3, 4), dim=0),
    ],
    "nn.functional.cosine_similarity": [Sample(T(3, 4), T(3, 4))],
}

ERRORS = {
    "nn.functional.layer_norm": [
        Sample(T(4, 5), (4,)),
        Sample(T(4, 5), ()),
        Sample(T(4, 5), (5,), T(4)),
        Sample(T(4, 5), (5,), T(5), T(4)),
        Sample(T(5), (4, 5)),
        Sample(T(4, 5, dtype="int64"), (5,)),
    ],
}
