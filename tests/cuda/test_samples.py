"""Every sample of the op table on the device against the CPU: values, gradients, strides, types."""

import pytest

import adjoint as torch

from ..samples import LAYOUTS, collect, find, is_differentiable

# What makes tensors where it is told to, and not where its arguments are, or moves them.
ELSEWHERE = {
    *("Tensor.to", "Tensor.cpu", "rand", "randperm", "normal", "hann_window", "hamming_window", "blackman_window"),
    *("bartlett_window", "kaiser_window", "fft.fftfreq", "fft.rfftfreq"),
}
SAMPLES = [
    pytest.param(name, sample, dtype, id=f"{name}-{number}-{dtype}")
    for name, samples in sorted(collect().items())
    if name not in ELSEWHERE
    for number, sample in enumerate(samples)
    for dtype in sample.dtypes
]
CLOSE = {
    "float16": (1e-3, 1e-3),
    "bfloat16": (1.6e-2, 1e-2),
    "float32": (1e-4, 1e-5),
    "complex64": (1e-4, 1e-5),
    "float64": (1e-9, 1e-10),
    "complex128": (1e-9, 1e-10),
}


def moved(value):
    """The same arguments on the device, with histories of their own."""
    if isinstance(value, torch.Tensor):
        return on_device(value)
    if isinstance(value, list | tuple):
        return type(value)(moved(item) for item in value)
    if isinstance(value, dict):
        return {name: moved(item) for name, item in value.items()}
    return value


def on_device(tensor):
    """A copy on the device with the same strides."""
    values = tensor.detach()
    for dim, stride in enumerate(tensor.stride()):
        if stride == 0 and values.shape[dim] > 1:
            values = values.narrow(dim, 0, 1)
    copy = torch.empty_strided(values.shape, values.stride(), dtype=tensor.dtype, device="cuda").copy_(values)
    copy = copy.expand(tensor.shape)
    return copy.requires_grad_(tensor.requires_grad)


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from tensors_in(item)


def assert_same(ours, expected, dtype):
    for mine, theirs in zip(tensors_in(ours), tensors_in(expected), strict=True):
        assert mine.device.type == "cuda"
        assert (mine.dtype, mine.shape, mine.stride()) == (theirs.dtype, theirs.shape, theirs.stride())
        rtol, atol = CLOSE.get(str(mine.dtype).partition(".")[2], (0, 0))
        torch.testing.assert_close(mine.detach().cpu(), theirs.detach(), rtol=rtol, atol=atol, equal_nan=True)


def assert_alike(ours, expected):
    """The same but for the values."""
    for mine, theirs in zip(tensors_in(ours), tensors_in(expected), strict=True):
        assert mine.device.type == "cuda"
        assert (mine.dtype, mine.shape, mine.stride()) == (theirs.dtype, theirs.shape, theirs.stride())


def called(function, args, kwargs, seed):
    if seed:
        torch.manual_seed(1)
    return function(*args, **kwargs)


def differentiable(result):
    return [out for out in tensors_in(result) if out.requires_grad]


def gradients(result, args, kwargs, create_graph):
    """The gradients of what can have some, for cotangents that are the same on both devices."""
    outs = differentiable(result)
    leaves = [leaf for leaf in tensors_in([*args, *kwargs.values()]) if leaf.requires_grad]
    if not outs or not leaves:
        return []
    cotangents = []
    for out in outs:
        numbers = torch.arange(1, out.numel() + 1, dtype=torch.float64).sin().reshape(out.shape)
        cotangents.append(numbers.to(out.dtype).to(out.device))
    return list(torch.autograd.grad(outs, leaves, cotangents, create_graph=create_graph, allow_unused=True))


def compare(name, sample, dtype, layout):
    function = find(torch, name)
    args, kwargs, _ = sample.make(torch, dtype, layout)
    try:
        expected = called(function, args, kwargs, sample.seed)
    except (NotImplementedError, RuntimeError, TypeError, ValueError, IndexError):
        return  # not for this type: whether it is refused is for the tests of the op table
    there, named = moved(args), moved(kwargs)
    ours = called(function, there, named, sample.seed)
    if sample.seed:  # devices have random numbers of their own: tests/cuda/test_random.py
        return assert_alike(ours, expected)
    assert_same(ours, expected, dtype)
    if not is_differentiable(dtype):
        return
    twice = sample.gradgrad and dtype == sample.precise
    first = gradients(expected, args, kwargs, twice)
    mine = gradients(ours, there, named, twice)
    kept = [(a, b) for a, b in zip(mine, first, strict=True) if a is not None or b is not None]
    assert_same([a for a, _ in kept], [b for _, b in kept], dtype)
    if twice:
        first, mine = [b for _, b in kept], [a for a, _ in kept]
        second, own = gradients(first, args, kwargs, False), gradients(mine, there, named, False)
        kept = [(a, b) for a, b in zip(own, second, strict=True) if a is not None or b is not None]
        assert_same([a for a, _ in kept], [b for _, b in kept], dtype)


@pytest.mark.parametrize(("name", "sample", "dtype"), SAMPLES)
def test_sample(name, sample, dtype):
    compare(name, sample, dtype, "contiguous")


@pytest.mark.parametrize(("name", "sample", "dtype"), [each for each in SAMPLES if each.values[1].layouts])
@pytest.mark.parametrize("layout", LAYOUTS[1:])
def test_layouts(name, sample, dtype, layout):
    if dtype == sample.precise:
        compare(name, sample, dtype, layout)
