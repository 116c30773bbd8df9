"""Samples of convolutions: odd sizes and layouts, and the blocks that kernels cut them into."""

from . import Sample, T

_TYPES = ("float64", "float32")

SAMPLES = {
    "convolution": [
        Sample(T(2, 3, 6), T(4, 3, 3), T(4), (2,), (1,), (1,), False, (0,), 1),
        # An output_padding as large as the stride: windows that the input has no element for.
        Sample(T(2, 4, 5), T(4, 2, 2), None, (1,), (0,), (2,), True, (1,), 1),
    ],
    "conv1d": [
        Sample(T(3, 9), T(2, 3, 4), T(2)),
        Sample(T(2, 4, 31), T(18, 2, 3), None, 1, 2, 1, 2).options(dtypes=_TYPES),
        Sample(T(1, 2, 6), T(2, 2, 3), padding="same", dilation=2),
        Sample(T(2, 2, 9), T(2, 2, 3), stride=4).options(dtypes=("float64", "complex128"), node=False),
    ],
    "conv2d": [
        Sample(T(2, 3, 5, 17), T(33, 3, 2, 3), T(33), padding=(1, 0)).options(dtypes=_TYPES, gradcheck=False),
        Sample(T(1, 2, 7, 9), T(2, 2, 3, 3), stride=(3, 2), padding=(2, 1), dilation=(1, 2)),
        Sample(T(9, 2, 4, 5), T(4, 1, 3, 3), T(4), groups=2, padding=1).options(dtypes=("float64", "bfloat16")),
        Sample(T(2, 3, 5, 5), T(3, 1, 3, 3), groups=3, padding=3, stride=2),
        Sample(T(2, 5, 4, 4), T(6, 5, 1, 1), T(6)).options(dtypes=("float64", "float32", "complex128"), node=False),
        Sample(T(0, 3, 5, 5), T(2, 3, 3, 3), T(2)),
        # Rows of nothing but padding.
        Sample(T(1, 1, 1, 1), T(1, 1, 3, 3), padding=3, dilation=2),
    ],
    "conv3d": [Sample(T(1, 2, 3, 4, 5), T(2, 2, 2, 2, 2), T(2), padding=1, stride=(1, 2, 1))],
    "conv_transpose1d": [Sample(T(2, 3, 5), T(3, 2, 4), T(2), 3, 1, 2)],
    "conv_transpose2d": [
        Sample(T(2, 4, 3, 5), T(4, 9, 3, 2), T(18), stride=2, groups=2, output_padding=1).options(gradcheck=False),
        Sample(T(4, 3, 3), T(4, 2, 2, 2), stride=3).options(dtypes=("float64", "complex128"), node=False),
    ],
    "conv_transpose3d": [Sample(T(1, 2, 2, 3, 2), T(2, 1, 2, 2, 2), T(1), stride=(2, 1, 3))],
    "conv_tbc": [Sample(T(5, 2, 3), T(3, 3, 4), T(4), 1).options(node=False, layouts=False)],
}

ERRORS = {
    "conv1d": [
        Sample(T(2, 3, 9), T(2, 3, 3), stride=(1, 2)),
        Sample(T(2, 3, 9), T(2, 3, 10)),
        Sample(T(3), T(2, 3, 1)),
    ],
    "conv2d": [
        Sample(T(2, 3, 5, 5), T(4, 2, 3, 3)),
        Sample(T(2, 3, 5, 5), T(4, 3, 3, 3), T(3)),
        Sample(T(2, 3, 5, 5), T(4, 3, 3, 3), groups=2),
        Sample(T(2, 3, 5, 5), T(4, 3, 3, 3), groups=0),
        Sample(T(2, 3, 5, 5), T(4, 3, 3, 3), stride=0),
        Sample(T(2, 3, 5, 5), T(4, 3, 3, 3), padding=-1),
        Sample(T(2, 3, 5, 5), T(4, 3, 3, 3), dilation=0),
        Sample(T(2, 3, 5, 5), T(4, 3, 3, 3), padding="same", stride=2),
        Sample(T(2, 3, 5, 5), T(4, 3, 3, 3), padding="half"),
        Sample(T(2, 3, 0, 5), T(4, 3, 3, 3), padding=2),
        Sample(T(2, 3, 5, 5, dtype="float32"), T(4, 3, 3, 3, dtype="float64")),
        Sample(T(2, 3, 5, 5, dtype="bool"), T(4, 3, 3, 3, dtype="bool")),
        Sample(3, T(4, 3, 3, 3)),
    ],
    "conv_transpose2d": [
        Sample(T(2, 3, 5, 5), T(3, 2, 3, 3), output_padding=1),
        Sample(T(2, 3, 5, 5), T(4, 2, 3, 3)),
        Sample(T(2, 3, 5, 5), T(3, 2, 3, 3), padding=9),
        Sample(T(2, 3, 5, 5), T(3, 2, 3, 3), padding="same"),
    ],
}
