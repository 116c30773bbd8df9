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
    "layer_norm": [Sample(T(4, 5), (5,), T(5), T(5), 1e-5, True)],
    "rms_norm": [Sample(T(4, 5), (5,), T(5)).options(node=False)],
    "batch_norm": [
        Sample(T(4, 3, 2), T(3), T(3), None, None, True, 0.1, 1e-5, False),
        Sample(T(4, 3), T(3), T(3), T(3, grad=False), T(3, low=0.5, grad=False), False, 0.1, 1e-5, False),
    ],
    "group_norm": [Sample(T(2, 4, 3), 2, T(4), T(4), 1e-5).options(node=False)],
    "instance_norm": [Sample(T(2, 3, 4), T(3), T(3), None, None, True, 0.1, 1e-5, False).options(node=False)],
    "nn.functional.batch_norm": [
        # Planes shorter and longer than the kernel's blocks, values far from zero, and types of half the size.
        Sample(T(5, 3), None, None, T(3), T(3), True),
        Sample(T(3, 2, 40), None, None, T(2), T(2), True),
        Sample(T(2, 3, 5, 4, low=1000.0, high=1001.0), None, None, T(3), None, True).options(gradcheck=False),
        Sample(T(3, 2, 40), None, None, training=True).options(
            dtypes=("float32", "float16", "bfloat16"), tolerance=(2e-2, 2e-2)
        ),
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
    "nn.functional.batch_norm": [
        Sample(T(3, 5), None, None),
        Sample(T(1, 5), None, None, training=True),
        Sample(T(5), None, None, training=True),
        Sample(T(3, 5), T(4, grad=False), T(5, grad=False)),
        Sample(T(3, 5), T(5, grad=False), T(4, grad=False)),
        Sample(T(3, 5), None, None, T(4), training=True),
        Sample(T(3, 5), T(5), T(5), training=True),
    ],
    "nn.functional.group_norm": [Sample(T(3, 6), 4), Sample(T(3), 1), Sample(T(1, 6), 6), Sample(T(3, 6), 3, T(5))],
    "nn.functional.instance_norm": [Sample(T(3, 6)), Sample(T(3, 6, 1)), Sample(T(3, 6, 2), T(6, grad=False))],
    "nn.functional.rms_norm": [Sample(T(3, 5), (4,)), Sample(T(3, 5), ()), Sample(T(3, 5), (5,), T(4))],
    "nn.functional.local_response_norm": [Sample(T(3, 4), 2), Sample(T(3, 4, 2), 0)],
    "nn.functional.layer_norm": [
        Sample(T(4, 5), (4,)),
        Sample(T(4, 5), ()),
        Sample(T(4, 5), (5,), T(4)),
        Sample(T(4, 5), (5,), T(5), T(4)),
        Sample(T(5), (4, 5)),
        Sample(T(4, 5, dtype="int64"), (5,)),
    ],
}
