"""Samples of interpolation, sampling at grids, repeated padding, folding and shuffles."""

from . import Sample, T

# Coordinates inside, outside and far outside of an image.
_GRID = T(1, 3, 4, 2, low=-2.2, high=2.2)

SAMPLES = {
    "nn.functional.interpolate": [
        Sample(T(1, 2, 3, 5), size=(4, 4), mode="bilinear", antialias=True).options(dtypes=("float64", "float32")),
        Sample(T(1, 2, 9, 7), size=(4, 3), mode="bicubic", antialias=True, align_corners=False),
        Sample(T(1, 1, 8, 9), scale_factor=0.4, mode="bilinear", antialias=True),
        Sample(T(1, 2, 4), scale_factor=1.7, mode="linear", align_corners=True),
        Sample(T(1, 2, 4), scale_factor=1.7, mode="linear", recompute_scale_factor=True),
        Sample(T(1, 1, 2, 2), scale_factor=1.3),
    ],
    "nn.functional.upsample": [Sample(T(1, 2, 3), scale_factor=2).options(gradcheck=False)],
    "grid_sampler": [
        Sample(T(1, 2, 4, 5), _GRID, mode, padding, align)
        for mode in (0, 1, 2)
        for padding in (0, 1, 2)
        for align in (False, True)
    ],
    "grid_sampler_2d": [Sample(T(1, 2, 4, 5), _GRID, 0, 0, False)],
    "grid_sampler_3d": [
        Sample(T(1, 2, 3, 4, 5), T(1, 2, 3, 2, 3), mode, padding, False) for mode in (0, 1) for padding in (0, 1, 2)
    ],
    "affine_grid_generator": [
        Sample(T(2, 2, 3), (2, 1, 3, 4), True),
        Sample(T(1, 3, 4), (1, 2, 2, 3, 1), False),
        Sample(T(1, 2, 3), (1, 1, 1, 1), True),
    ],
    "nn.functional.affine_grid": [Sample(T(2, 2, 3), (2, 1, 3, 4), False)],
    "nn.functional.pad": [
        Sample(T(2, 3, 4), (1, -1), mode="circular").options(node=False),
        Sample(T(2, 3, 4), (2, 0, -1, 2), mode="reflect"),
        Sample(T(2, 3, 4, 3), (2, 0, -1, 2, 1, 1), mode="replicate"),
        Sample(T(2, 3, 4), (1, 2), mode="reflect").options(dtypes=("complex128", "int64", "float16")),
    ],
    "nn.functional.unfold": [Sample(T(2, 4, 5), (2, 3), 1, (1, 0), 2)],
    "nn.functional.fold": [
        Sample(T(2, 12, 12), (4, 5), 2),
        Sample(T(6, 4), (3, 3), (2, 3), padding=(0, 1), stride=(1, 2)).options(dtypes=("float64", "complex128")),
    ],
    "pixel_shuffle": [Sample(T(2, 8, 3, 2), 2)],
    "pixel_unshuffle": [Sample(T(2, 2, 6, 4), 2)],
    "channel_shuffle": [Sample(T(2, 6, 3), 3)],
    "native_channel_shuffle": [Sample(T(2, 6, 3, grad=False), 2)],
}
# The derivative jumps where the coordinates meet an element or an edge, and is zero for the nearest element.
for _name in ("grid_sampler", "grid_sampler_2d", "grid_sampler_3d"):
    for _sample in SAMPLES[_name]:
        _sample.options(gradcheck=False, tolerance=(1e-7, 1e-7))

ERRORS = {
    "nn.functional.interpolate": [
        Sample(T(1, 2, 4, 4)),
        Sample(T(1, 2, 4, 4), size=3, scale_factor=2),
        Sample(T(1, 2, 4, 4), size=(3, 3, 3)),
        Sample(T(1, 2, 4, 4), scale_factor=(2, 2, 2)),
        Sample(T(1, 2, 4, 4), size=3, align_corners=True),
        Sample(T(1, 2, 4, 4), size=0),
        Sample(T(1, 2, 4, 4), size=3, mode="trilinear"),
        Sample(T(1, 2, 4, 4), size=3, mode="cubic"),
        Sample(T(1, 2, 4, 4), size=3, antialias=True),
        Sample(T(1, 2, 4, 4), size=3, recompute_scale_factor=True),
        Sample(T(2, 4), size=3),
        Sample(T(1, 2, 4, 4, dtype="int64"), size=3),
    ],
    "nn.functional.grid_sample": [
        Sample(T(1, 2, 4, 4), T(1, 3, 3, 3)),
        Sample(T(1, 2, 4, 4), T(2, 3, 3, 2)),
        Sample(T(1, 2, 4, 4), T(1, 3, 3, 2), mode="linear"),
        Sample(T(1, 2, 4, 4), T(1, 3, 3, 2), padding_mode="zero"),
        Sample(T(1, 2, 0, 4), T(1, 3, 3, 2)),
        Sample(T(1, 2, 4, 4, 4), T(1, 3, 3, 3, 3), mode="bicubic"),
    ],
    "nn.functional.affine_grid": [
        Sample(T(1, 2, 3), (1, 1, 3)),
        Sample(T(1, 3, 3), (1, 1, 3, 3)),
        Sample(T(1, 2, 3), (1, 1, 0, 3)),
        Sample(T(1, 2, 3, dtype="int64"), (1, 1, 3, 3)),
    ],
    "nn.functional.pad": [
        Sample(T(2, 3, 4), (4, 0), mode="reflect"),
        Sample(T(2, 3, 4), (5, 0), mode="circular"),
        Sample(T(2, 3, 4), (1, 1, 1)),
        Sample(T(2, 3, 4), (1,) * 8),
        Sample(T(2, 3, 4, 5), (1, 1), mode="reflect"),
        Sample(T(2, 3, 4), (1, 1), mode="mirror"),
        Sample(T(2, 3, 4), (1, 1), mode="reflect", value=1.0),
        Sample(T(2, 3, 4, dtype="bool"), (1, 1), mode="reflect"),
    ],
    "nn.functional.unfold": [
        Sample(T(1, 2, 4, 4), 5),
        Sample(T(1, 2, 4, 4), 0),
        Sample(T(1, 2, 4, 4), 2, stride=0),
        Sample(T(1, 2, 4, 4), 2, padding=-1),
        Sample(T(1, 1, 2, 4, 4), 2),
        Sample(T(1, 2, 4, 4, dtype="int64"), 2),
    ],
    "nn.functional.fold": [Sample(T(1, 13, 9), 4, 2), Sample(T(1, 12, 8), 4, 2), Sample(T(12), 4, 2)],
    "pixel_shuffle": [Sample(T(3, 3, 3), 2), Sample(T(3, 3), 1), Sample(T(4, 3, 3), 0)],
    "pixel_unshuffle": [Sample(T(1, 3, 4), 2), Sample(T(1, 4, 4), -2)],
    "channel_shuffle": [Sample(T(2, 3, 4), 2), Sample(T(2, 3), 3), Sample(T(2, 3, 4), 0)],
}
