"""Convolutions beside torch's."""

import pytest

import adjoint
from tests.compare import same

from .compare import check, check_signature, check_trajectory, floats

SIZES = {1: (7,), 2: (7, 6), 3: (4, 5, 4)}


@pytest.mark.parametrize("dims", SIZES)
@pytest.mark.parametrize("kind", ["Conv", "ConvTranspose", "LazyConv", "LazyConvTranspose"])
def test_signatures(kind, dims):
    check_signature(f"{kind}{dims}d")


@pytest.mark.parametrize("dims", SIZES)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"stride": 2, "padding": 1, "bias": False},
        {"groups": 2, "dilation": 2, "padding": 2},
        {"padding": "same"},
        {"padding": "valid"},
        {"padding": 1, "padding_mode": "reflect"},
        {"padding": 2, "padding_mode": "replicate", "stride": 2},
        {"padding": 1, "padding_mode": "circular"},
        {"padding": "same", "padding_mode": "circular"},
    ],
    ids=str,
)
def test_convolutions(dims, options):
    def make(L):
        return getattr(L.nn, f"Conv{dims}d")(4, 6, 3, **options)

    check(make, floats(2, 4, *SIZES[dims]))
    check(make, floats(4, *SIZES[dims]))


@pytest.mark.parametrize("dims", SIZES)
@pytest.mark.parametrize(
    "options",
    [{}, {"stride": 2, "padding": 1, "output_padding": 1}, {"groups": 2, "bias": False, "dilation": 2}],
    ids=str,
)
def test_transposed_convolutions(dims, options):
    def make(L):
        return getattr(L.nn, f"ConvTranspose{dims}d")(4, 6, 3, **options)

    check(make, floats(2, 4, *SIZES[dims]))
    check(make, floats(4, *SIZES[dims]))


@pytest.mark.parametrize(
    ("shape", "size"),
    [((1, 3, 5, 5), (12, 11)), ((1, 3, 5, 5), (1, 4, 11, 12)), ((3, 5, 5), (12, 12)), ((3, 5, 5), (4, 12, 12))],
)
def test_output_size(shape, size):
    make = lambda L: L.nn.ConvTranspose2d(3, 4, 3, stride=2)
    check(make, floats(*shape), call=lambda module, x: module(x, output_size=size))


def test_output_size_with_dilation_and_padding():
    check(
        lambda L: L.nn.ConvTranspose1d(3, 2, 3, stride=3, padding=1, dilation=2),
        floats(2, 3, 4),
        call=lambda module, x: module(x, output_size=[14]),
    )


def test_sizes_of_each_dimension():
    check(lambda L: L.nn.Conv2d(3, 4, (3, 2), (2, 1), (1, 2), (1, 2)), floats(2, 3, 8, 8))
    check(lambda L: L.nn.Conv2d(3, 4, [1, 3], padding="same", padding_mode="replicate"), floats(2, 3, 8, 8))


@pytest.mark.parametrize(
    "program",
    [
        lambda L: repr(L.nn.Conv2d(3, 4, (3, 5), stride=(2, 1), padding=(4, 2), dilation=(3, 1), bias=False)),
        lambda L: repr(L.nn.Conv2d(4, 4, 3, padding="same", padding_mode="reflect", groups=2)),
        lambda L: repr(L.nn.ConvTranspose3d(3, 4, 3, output_padding=1, stride=2)),
        lambda L: {k: v for k, v in vars(L.nn.Conv1d(3, 4, 3, padding=1)).items() if k[0] != "_"},
        lambda L: {k: v for k, v in vars(L.nn.ConvTranspose2d(3, 4, 3)).items() if k[0] != "_"},
        lambda L: L.nn.Conv2d(3, 4, (2, 3), padding="same")._reversed_padding_repeated_twice,
        lambda L: L.nn.Conv2d(3, 4, 3, padding="valid")._reversed_padding_repeated_twice,
        lambda L: L.nn.Conv3d(3, 4, 3, padding=(1, 2, 3))._reversed_padding_repeated_twice,
        lambda L: str(L.nn.Conv2d(3, 4, 3, dtype=L.float64).weight.dtype),
        lambda L: isinstance(L.nn.Conv2d(3, 4, 3), L.nn.modules.conv._ConvNd),
        lambda L: isinstance(L.nn.ConvTranspose2d(3, 4, 3), L.nn.modules.conv._ConvTransposeNd),
        lambda L: L.nn.Conv2d(3, 4, 3)._conv_forward(L.ones(3, 5, 5), L.ones(1, 3, 3, 3), None),
    ],
)
def test_attributes(program):
    same(program)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda L: L.nn.Conv2d(3, 4, 3, groups=0),
        lambda L: L.nn.Conv2d(3, 4, 3, groups=2),
        lambda L: L.nn.Conv2d(4, 3, 3, groups=2),
        lambda L: L.nn.Conv2d(3, 4, 3, padding="foo"),
        lambda L: L.nn.Conv2d(3, 4, 3, padding="same", stride=2),
        lambda L: L.nn.ConvTranspose2d(3, 4, 3, padding_mode="circular"),
        lambda L: L.nn.Conv2d(3, 4, -1),
        lambda L: repr(L.nn.Conv2d(0, 4, 3)),
        lambda L: repr(L.nn.Conv2d(3, 4, 0)),
        lambda L: L.nn.Conv2d(3, 4, 3)(L.ones(1, 2, 5, 5)),
        lambda L: L.nn.Conv2d(3, 4, 3)(L.ones(5, 5)),
        lambda L: L.nn.Conv2d(3, 4, 3)(L.ones(1, 3, 2, 2)),
        lambda L: L.nn.Conv2d(3, 4, 3)(L.ones(1, 3, 5, 5, dtype=L.float64)),
        lambda L: L.nn.Conv2d(3, 4, 3, bias=False)(L.ones(1, 3, 5, 5, dtype=L.int64)),
        lambda L: L.nn.Conv2d(3, 4, 3, padding=6, padding_mode="reflect")(L.ones(1, 3, 5, 5)),
        lambda L: L.nn.Conv2d(3, 4, 3, padding=6, padding_mode="circular")(L.ones(1, 3, 5, 5)),
        lambda L: L.nn.ConvTranspose2d(3, 4, 3, stride=2)(L.ones(1, 3, 5, 5), output_size=(13, 13)),
        lambda L: L.nn.ConvTranspose2d(3, 4, 3, stride=2)(L.ones(1, 3, 5, 5), output_size=(13,)),
        lambda L: L.nn.ConvTranspose2d(3, 4, 3, output_padding=2, stride=2)(L.ones(1, 3, 5, 5)),
        lambda L: L.nn.Conv2d(3, 4, 2, padding="same")(L.ones(3, 5, 5)).shape,
    ],
)
def test_errors(wrong):
    same(wrong)


def test_unknown_padding_mode():
    # Torch lists the modes in another order in every process.
    with pytest.raises(ValueError, match=r"padding_mode must be one of .*, but got padding_mode='foo'"):
        adjoint.nn.Conv2d(3, 4, 3, padding_mode="foo")


def loss(result):
    return (result.sin() - 0.5).square().mean()


def test_training():
    def image_net(L):
        n = L.nn
        return n.Sequential(n.Conv2d(1, 4, 3, padding=1), n.MaxPool2d(2), n.Conv2d(4, 3, 3), n.AdaptiveAvgPool2d(2))

    def decoder(L):
        return L.nn.Sequential(L.nn.ConvTranspose2d(2, 3, 3, stride=2), L.nn.Conv2d(3, 1, 3, padding_mode="circular"))

    check_trajectory(image_net, floats(3, 1, 8, 8), loss=loss)
    check_trajectory(decoder, floats(2, 2, 4, 4), loss=loss)
    check_trajectory(lambda L: L.nn.Conv1d(2, 3, 3, groups=1, padding="same"), floats(2, 2, 6), loss=loss)
    check_trajectory(lambda L: L.nn.Conv3d(2, 2, 2), floats(2, 2, 3, 3, 3), loss=loss)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("sizes", [(2, 0, 3), (2, 3, 0), (0, 2, 3), (0, 0, 3), (2, 0, 0)])
@pytest.mark.parametrize("dims", SIZES)
def test_no_channels_and_no_batch(dims, sizes, dtype):
    batch, channels, filters = sizes

    def program(L):
        of = getattr(L, dtype)
        x = L.ones(batch, channels, *(5,) * dims, dtype=of, requires_grad=True)
        weight = L.ones(filters, channels, *(3,) * dims, dtype=of, requires_grad=True)
        bias = L.ones(filters, dtype=of, requires_grad=True)
        out = getattr(L.nn.functional, f"conv{dims}d")(x, weight, bias)
        out.sum().abs().backward()
        return out.shape, [(value.grad.shape, value.grad.abs().sum()) for value in (x, weight, bias)]

    same(program)


# Of each dimension: a kernel of more than 1024 taps, and an image that it dwarfs.
LARGE = {1: (1100, (3,)), 2: (40, (3, 4)), 3: (12, (2, 1, 2))}


@pytest.mark.parametrize("dims", LARGE)
@pytest.mark.parametrize(
    "options",
    [{}, {"groups": 2, "bias": False}, {"stride": 2, "dilation": 3, "output_padding": 1}, {"padding": 5, "stride": 3}],
    ids=str,
)
def test_transposed_convolutions_by_kernels_far_larger_than_the_image(dims, options):
    kernel, sizes = LARGE[dims]

    def make(L):
        return getattr(L.nn, f"ConvTranspose{dims}d")(4, 6, kernel, **options)

    check(make, floats(2, 4, *sizes))


@pytest.mark.parametrize("dims", LARGE)
@pytest.mark.parametrize("options", [{}, {"groups": 2, "bias": False}, {"stride": 2, "dilation": 3}], ids=str)
def test_convolutions_by_kernels_far_larger_than_the_image(dims, options):
    kernel, sizes = LARGE[dims]
    padding = 2 * kernel * options.get("dilation", 1)

    def make(L):
        return getattr(L.nn, f"Conv{dims}d")(4, 2, kernel, padding=padding, **options)

    check(make, floats(2, 4, *sizes))


@pytest.mark.parametrize("dtype", ["float64", "complex64", "int64"])
def test_a_kernel_far_larger_than_the_image_of_other_types(dtype):
    def program(L):
        x = L.arange(24).reshape(2, 3, 4).to(getattr(L, dtype))
        weight = (L.arange(3 * 2 * 1100) % 7 - 3).reshape(3, 2, 1100).to(getattr(L, dtype))
        wide = L.nn.functional.conv_transpose1d(x, weight)
        return wide, L.nn.functional.conv1d(x[:, :2], weight, padding=2000)

    same(program)


def test_a_kernel_far_larger_than_the_image_meets_no_padding():
    """A number that is none stays where the element of the image that it is, or meets, goes."""

    def program(L):
        x = L.ones(1, 1, 2)
        x[..., 1] = L.nan
        weight = L.ones(1, 1, 1100)
        weight[..., 5] = L.inf
        result = L.nn.functional.conv_transpose1d(x, weight)
        return result.isnan().nonzero().flatten(), result.isinf().nonzero().flatten()

    same(program)
