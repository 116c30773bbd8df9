"""Memory formats: results and gradients of layers have the strides that they have in torch, whatever the input's."""

import copy
import io
import pickle
from itertools import product
from math import prod

import pytest
import torch

import adjoint

from .compare import LIBRARIES, programs, raised

program, test_program = programs()

IMAGES = [(2, 4, 4, 6), (1, 4, 4, 6), (2, 1, 4, 6), (2, 4, 1, 1)]
VOLUMES = [(2, 4, 3, 4, 6), (2, 1, 3, 4, 6)]
LAYOUTS = ["contiguous", "channels_last", "forced", "channels", "columns", "transposed"]


def channels_last(L, ndim):
    return L.channels_last if ndim == 4 else L.channels_last_3d


def values(L, shape):
    return (L.arange(prod(shape), dtype=L.float32) * 37 % 101 / 50 - 1).reshape(shape)


def laid_out(L, x, layout):
    """The tensor with other strides: in a format, forced into it if it is in both, with gaps, or in another order."""
    last = channels_last(L, x.ndim)
    if layout == "channels_last":
        return x.contiguous(memory_format=last)
    if layout == "forced":
        return x.clone(memory_format=last)
    if layout == "channels":
        return L.cat([x, x], 1).contiguous(memory_format=last)[:, : x.shape[1]]
    if layout == "columns":
        return x.repeat_interleave(2, -1).contiguous(memory_format=last)[..., ::2]
    if layout == "transposed":
        return x.mT.contiguous().mT
    return x


def seen(value):
    """Sizes, strides and formats of a tensor, or of several."""
    if isinstance(value, tuple | list):
        return [seen(item) for item in value]
    if not isinstance(value, torch.Tensor | adjoint.Tensor):
        return value
    L = torch if isinstance(value, torch.Tensor) else adjoint
    formats = [value.is_contiguous(memory_format=f) for f in (L.contiguous_format, L.channels_last, L.channels_last_3d)]
    return tuple(value.shape), value.stride(), formats


def run(L, function, shape, layout, weights, weights_last, grad_last):
    """What can be seen of the result, of the gradients as they come, and of .grad after one and two backwards."""
    leaves = [laid_out(L, values(L, shape), layout).detach().requires_grad_()]
    for sizes in weights:
        weight = values(L, sizes)
        if weights_last and weight.ndim in (4, 5):
            weight = weight.clone(memory_format=channels_last(L, weight.ndim))
        leaves.append(weight.requires_grad_())
    try:
        results = function(L, *leaves)
    except (RuntimeError, ValueError) as error:
        return type(error).__name__
    result = results[0] if isinstance(results, tuple | list) else results
    shown = [seen(results)]
    if result.requires_grad:
        grad = values(L, tuple(result.shape))
        if grad_last and grad.ndim in (4, 5):
            grad = grad.contiguous(memory_format=channels_last(L, grad.ndim))
        shown.append(seen(L.autograd.grad(result, leaves, grad, retain_graph=True, allow_unused=True)))
        for _ in range(2):
            result.backward(grad, retain_graph=True)
            shown.append(seen([leaf.grad for leaf in leaves]))
    return shown


CASES = {}


def case(name, function, weights=lambda shape: [], images=IMAGES, volumes=VOLUMES):
    CASES[name] = function, weights, images + volumes


def layer(kind):
    """nn.functional's function for the dimensions of its input."""
    return lambda L, x, *args, **options: getattr(L.nn.functional, f"{kind}{x.ndim - 2}d")(x, *args, **options)


def kernel(out, size):
    return lambda shape: [(out, shape[1], *[size] * (len(shape) - 2)), (out,)]


conv, conv_transpose = layer("conv"), layer("conv_transpose")
# Torch takes other kernels for single images and for kernels of one element, by the number of threads; there the
# strides of dimensions of size 1 differ, and single volumes do not keep the format.
SEVERAL = [(2, 4, 4, 6), (3, 2, 5, 1), (2, 4, 1, 1)]
case("conv", lambda L, x, w, b: conv(L, x, w, b, padding=1), kernel(5, 3), SEVERAL)
case("conv_strided", lambda L, x, w, b: conv(L, x, w, b, padding=1, stride=2), kernel(1, 3), SEVERAL)
case("conv_dilated", lambda L, x, w, b: conv(L, x, w, None, padding=2, dilation=2), kernel(5, 3), SEVERAL)
case("conv_same", lambda L, x, w, b: conv(L, x, w, b, padding="same"), kernel(5, 3), SEVERAL)
case("conv_whole", lambda L, x, w: conv(L, x, w), lambda shape: [(5, *shape[1:])], SEVERAL[:2])
case("conv_double", lambda L, x, w, b: conv(L, x.double(), w.double(), padding=1), kernel(5, 3), SEVERAL[:1])
case("conv_bfloat16", lambda L, x, w, b: conv(L, x.bfloat16(), w.bfloat16(), padding=1), kernel(5, 3), SEVERAL)
case(
    "conv_complex", lambda L, x, w, b: conv(L, x + 0j, (w + 0j).detach(), padding=1).detach(), kernel(5, 3), SEVERAL[:1]
)
case("conv_integers", lambda L, x, w, b: conv(L, x.long(), w.long()), kernel(5, 1), SEVERAL)
case("depthwise", lambda L, x, w: conv(L, x, w, padding=1, groups=x.shape[1]),
     lambda shape: [(shape[1], 1, *[3] * (len(shape) - 2))], SEVERAL)  # fmt: skip
case("conv_transpose", lambda L, x, w: conv_transpose(L, x, w, stride=2, padding=1, output_padding=1),
     lambda shape: [(shape[1], 5, *[3] * (len(shape) - 2))], SEVERAL)  # fmt: skip


def vectors(shape):
    return [(shape[1],)] * 2


def statistics(L, x):
    return L.zeros(x.shape[1], dtype=x.dtype), L.ones(x.shape[1], dtype=x.dtype)


case("batch_norm", lambda L, x, w, b: L.nn.functional.batch_norm(x, None, None, w, b, True), vectors)
case("batch_norm_bfloat16", lambda L, x: L.nn.functional.batch_norm(x.bfloat16(), None, None, training=True))
case("batch_norm_fixed", lambda L, x, w, b: L.nn.functional.batch_norm(x, *statistics(L, x), w, b), vectors)
case("batch_norm_plain", lambda L, x: L.nn.functional.batch_norm(x, *statistics(L, x)))
case(
    "instance_norm",
    lambda L, x, w, b: L.nn.functional.instance_norm(x, None, None, w, b),
    vectors,
    IMAGES[:2],
    VOLUMES[:1],
)
case("group_norm", lambda L, x, w, b: L.nn.functional.group_norm(x, 1, w, b), vectors)
case("layer_norm", lambda L, x: L.nn.functional.layer_norm(x, x.shape[1:]))

WINDOWS = {"": {"kernel_size": 2}, "_one": {"kernel_size": 1}, "_padded": {"kernel_size": 3, "stride": 2, "padding": 1}}
for _name, _options in WINDOWS.items():
    for _kind in ("max_pool", "avg_pool"):
        case(_kind + _name, lambda L, x, kind=_kind, options=_options: layer(kind)(L, x, **options))
    case("max_pool_places" + _name, lambda L, x, options=_options: layer("max_pool")(
        L, x, return_indices=True, **options))  # fmt: skip
for _size in (1, 2, 5):
    case(f"adaptive_avg_pool_{_size}", lambda L, x, n=_size: layer("adaptive_avg_pool")(L, x, n))
    case(f"adaptive_max_pool_{_size}", lambda L, x, n=_size: layer("adaptive_max_pool")(L, x, n, return_indices=True))
case("lp_pool", lambda L, x: layer("lp_pool")(L, x, 2, 2), images=IMAGES[:2])
case("fractional_max_pool", lambda L, x: layer("fractional_max_pool")(
    L, x, 1, output_size=1, return_indices=True, _random_samples=L.full((*x.shape[:2], x.ndim - 2), 0.5)))  # fmt: skip
case(
    "max_unpool",
    lambda L, x: layer("max_unpool")(L, x, L.zeros(x.shape, dtype=L.int64), 1),
    images=IMAGES[:2],
    volumes=VOLUMES[:1],
)


def resized(**options):
    return lambda L, x: L.nn.functional.interpolate(x, **options)


for _mode in ("nearest", "nearest-exact", "area"):
    case(f"interpolate_{_mode}", resized(scale_factor=2, mode=_mode))
    case(f"interpolate_{_mode}_one", resized(size=1, mode=_mode))
for _mode in ("bilinear", "bicubic"):
    case(f"interpolate_{_mode}", resized(scale_factor=2, mode=_mode), volumes=[])
    case(f"interpolate_{_mode}_antialiased", resized(scale_factor=2, mode=_mode, antialias=True), volumes=[])
case("interpolate_trilinear", resized(scale_factor=2, mode="trilinear"), images=[])
case("interpolate_corners", resized(scale_factor=2, mode="bilinear", align_corners=True), volumes=[])
case("interpolate_bytes", lambda L, x: resized(scale_factor=2, mode="bilinear")(L, (x * 9 + 9).byte()), volumes=[])

case("pixel_shuffle", lambda L, x: L.nn.functional.pixel_shuffle(x, 2), images=IMAGES[:2], volumes=[])
case("pixel_unshuffle", lambda L, x: L.nn.functional.pixel_unshuffle(x, 2), volumes=[])
case("channel_shuffle", lambda L, x: L.nn.functional.channel_shuffle(x, 2))
case("grid_sample", lambda L, x: L.nn.functional.grid_sample(
    x, L.zeros(x.shape[0], *[3] * (x.ndim - 2), x.ndim - 2), align_corners=False))  # fmt: skip
case("unfold", lambda L, x: L.nn.functional.unfold(x, 2, padding=1), volumes=[])
case("dropout", lambda L, x: L.nn.functional.dropout(x, 0.5))
case("dropout_channels", lambda L, x: L.nn.functional.dropout2d(x, 0.5), volumes=[])
for _mode in ("constant", "reflect", "replicate", "circular"):
    case(f"pad_{_mode}", lambda L, x, mode=_mode: L.nn.functional.pad(x, (1, 1) * (x.ndim - 2), mode=mode))
case("pad_channels", lambda L, x: L.nn.functional.pad(x, (0, 0) * (x.ndim - 2) + (1, 1)))
case("pad_away", lambda L, x: L.nn.functional.pad(x, (-1, 0)), images=IMAGES[:1])

case("cat", lambda L, x: L.cat([x, x], 1))
case("cat_columns", lambda L, x: L.cat([x, x * 2], -1))
case("cat_both", lambda L, x, y: L.cat([y, x], 1), lambda shape: [shape], images=IMAGES[:1])
case("stack", lambda L, x: L.stack([x, x], 1), images=IMAGES[:1], volumes=VOLUMES[:1])
case("flip", lambda L, x: x.flip(1))
case("softmax", lambda L, x: L.softmax(x, 1), images=IMAGES[:2], volumes=VOLUMES[:1])
case("sum", lambda L, x: x.sum(1).detach())
case("silu", lambda L, x: L.nn.functional.silu(x))
case("add_channels", lambda L, x, y: x * y, lambda shape: [(shape[1], *[1] * (len(shape) - 2))])
case("add_both", lambda L, x, y: x * y, lambda shape: [shape])
case("add_big", lambda L, x, y: (x * y).detach(), lambda shape: [(3, *shape)])

case("clone", lambda L, x: x.clone())
case("contiguous", lambda L, x: x.contiguous())
for _format in ("channels_last", "contiguous_format", "preserve_format"):

    def formatted(L, x, name=_format):
        return {"memory_format": channels_last(L, x.ndim) if name == "channels_last" else getattr(L, name)}

    case(f"to_{_format}", lambda L, x, f=formatted: x.to(**f(L, x)))
    case(f"to_double_{_format}", lambda L, x, f=formatted: x.to(L.float64, **f(L, x)))
    case(f"to_copy_{_format}", lambda L, x, f=formatted: x.to(L.float32, copy=True, **f(L, x)))
    case(f"float_{_format}", lambda L, x, f=formatted: [x.float(**f(L, x)), x.double(**f(L, x)), x.cpu(**f(L, x))])
    case(f"likes_{_format}", lambda L, x, f=formatted: [
        getattr(L, name)(x, **f(L, x)) for name in ("empty_like", "zeros_like", "rand_like")])  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_strides_are_those_of_torch(name):
    function, weights, shapes = CASES[name]
    for shape, layout, grad_last in product(shapes, LAYOUTS, (False, True)):
        for weights_last in (False, True) if any(len(sizes) in (4, 5) for sizes in weights(shape)) else (False,):
            expected, got = (
                run(L, function, shape, layout, weights(shape), weights_last, grad_last) for L in LIBRARIES
            )
            assert got == expected, (shape, layout, weights_last, grad_last)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["conv", "batch_norm", "group_norm", "max_pool", "avg_pool", "interpolate_bilinear"])
def test_values_do_not_depend_on_the_format(name, layout):
    function, weights, _ = CASES[name]
    found = []
    for used in ("contiguous", layout):
        x = laid_out(adjoint, values(adjoint, (2, 4, 6, 6)), used).detach().requires_grad_()
        leaves = [x, *(values(adjoint, sizes).requires_grad_() for sizes in weights(x.shape))]
        result = function(adjoint, *leaves)
        grads = adjoint.autograd.grad(result, leaves, values(adjoint, tuple(result.shape)))
        found.append([result.detach(), *grads])
    for expected, got in zip(*found, strict=True):
        adjoint.testing.assert_close(got, expected)


@program
def suggested_formats(L):
    """Which strides torch takes for channels last, by what max_pool2d does with them."""
    found = []
    memory = L.arange(4096.0)
    for sizes in product((1, 2), (1, 3), (1, 2), (1, 2)):
        for strides in product((1, 6, 24), (0, 1, 2), (1, 3, 6), (1, 3)):
            x = memory.as_strided(sizes, strides)
            found.append(L.nn.functional.max_pool2d(x, 1).stride())
    return found


@program
def networks_in_channels_last(L):
    net = L.nn.Sequential(L.nn.Conv2d(3, 4, 3, padding=1), L.nn.BatchNorm2d(4), L.nn.ReLU(), L.nn.MaxPool2d(2))
    net = net.to(memory_format=L.channels_last)
    x = values(L, (2, 3, 4, 4)).contiguous(memory_format=L.channels_last)
    y = net(x)
    y.sum().backward()
    kept = copy.deepcopy(net)
    saved = io.BytesIO()
    L.save(net.state_dict(), saved)
    saved.seek(0)
    state = L.load(saved)
    return [
        y.stride(),
        [(p.stride(), p.grad.stride()) for p in net.parameters()],
        [p.stride() for p in kept.parameters()],
        {key: value.stride() for key, value in state.items()},
    ]


@program
def formats_refused(L):
    x = L.ones(2, 3)
    wrong = [lambda: x.to(memory_format=3), lambda: x.to(memory_format=L.channels_last)]
    return [raised(call)[0] for call in (*wrong, lambda: x.double(memory_format=L.channels_last_3d))]


@program
def pickles_keep_strides(L):
    kept = []
    for shape in IMAGES + VOLUMES:
        x = laid_out(L, values(L, shape), "forced")
        kept.append((pickle.loads(pickle.dumps(x)).stride(), copy.deepcopy(x).stride()))
    return kept


@pytest.mark.parametrize("shape", [IMAGES[0], VOLUMES[0]])
def test_meta_tensors_have_the_same_strides(shape):
    for name in ("conv", "batch_norm", "max_pool", "interpolate_nearest", "to_channels_last", "pad_reflect", "cat"):
        function, weights, _ = CASES[name]
        real = [laid_out(adjoint, values(adjoint, shape), "channels_last")]
        real += [values(adjoint, sizes) for sizes in weights(shape)]
        expected = function(adjoint, *real)
        got = function(adjoint, *(tensor.to("meta") for tensor in real))
        assert (got.stride(), got.device.type) == (expected.stride(), "meta"), name


# ---- Copies that are changed in some places

CHANGED = [
    lambda L, x, places: L.scatter(x, 0, places, x),
    lambda L, x, places: L.scatter_add(x, 0, places, x),
    lambda L, x, places: L.scatter_reduce(x, 0, places, x, "amax"),
    lambda L, x, places: L.index_add(x, 0, L.tensor([0]), x[:1]),
    lambda L, x, places: L.index_copy(x, 0, L.tensor([0]), x[:1]),
    lambda L, x, places: L.index_fill(x, 0, L.tensor([0]), 1.0),
    lambda L, x, places: L.put(x, L.tensor([0]), L.tensor([1.0])),
    lambda L, x, places: L.roll(x, 1, 0),
    lambda L, x, places: L.roll(x, (1, 2), (0, 1)),
    lambda L, x, places: L.fft.fftshift(x),
    lambda L, x, places: L.sort(x, 0),
    lambda L, x, places: L.renorm(x, 2, 0, 1.0),
    lambda L, x, places: L.nn.functional.rms_norm(x, x.shape[-1:]),
]


@pytest.mark.parametrize("layout", [*LAYOUTS, "permuted"])
@pytest.mark.parametrize("function", CHANGED)
def test_changed_copies(function, layout):
    found = []
    for L in LIBRARIES:
        x = values(L, (2, 4, 4, 6))
        x = x.permute(2, 0, 3, 1) if layout == "permuted" else laid_out(L, x, layout)
        result = function(L, x, L.zeros(x.shape, dtype=L.int64))
        found.append((seen(result), (result if isinstance(result, L.Tensor) else result[0]).tolist()))
    (theirs, their_values), (ours, our_values) = found
    assert ours == theirs
    assert torch.allclose(torch.tensor(our_values), torch.tensor(their_values))
