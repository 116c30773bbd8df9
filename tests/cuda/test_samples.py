"""Every sample of the op table on the device against the CPU: values, gradients, strides, types."""

import pytest

import adjoint as torch

from ..samples import LAYOUTS, collect, find, is_differentiable

# What makes tensors where it is told to, and not where its arguments are, or moves them.
ELSEWHERE = {
    *(
        "Tensor.to",
        "Tensor.type",
        "Tensor.cpu",
        "rand",
        "randperm",
        "normal",
        "hann_window",
        "hamming_window",
        "blackman_window",
    ),
    *("bartlett_window", "kaiser_window", "fft.fftfreq", "fft.rfftfreq"),
}
SAMPLES = [
    pytest.param(name, sample, dtype, id=f"{name}-{number}-{dtype}")
    for name, samples in sorted(collect().items())
    if name not in ELSEWHERE
    for number, sample in enumerate(samples)
    for dtype in sample.dtypes
]
# cuDNN has the weights of a network in one vector, and so their gradients: they are contiguous, whatever the CPU's are.
NETWORKS = {"gru", "lstm", "rnn_relu", "rnn_tanh"} if torch.backends.cudnn.is_available() else set()
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


def assert_same(ours, expected, strides=True):
    for mine, theirs in zip(tensors_in(ours), tensors_in(expected), strict=True):
        assert mine.device.type == "cuda"
        assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape)
        if strides:
            assert mine.stride() == theirs.stride()
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


def derived(name, sample, dtype, layout, device, twice):
    """The result of a sample on a device, its gradients, and theirs; those of the CPU may be an error."""
    args, kwargs, _ = sample.make(torch, dtype, layout)
    if device == "cuda":
        args, kwargs = moved(args), moved(kwargs)
    result = called(find(torch, name), args, kwargs, sample.seed)
    if sample.seed or not is_differentiable(dtype):
        return result, [], []
    first = gradients(result, args, kwargs, twice)
    present = [gradient for gradient in first if gradient is not None]
    return result, first, gradients(present, args, kwargs, False) if twice else []


def compare(name, sample, dtype, layout):
    twice = sample.gradgrad and dtype == sample.precise
    try:
        expected = derived(name, sample, dtype, layout, "cpu", twice)
    except (NotImplementedError, RuntimeError, TypeError, ValueError, IndexError) as error:
        # Not for this type, or a gradient that there is not: what the words are is for the tests of the op table.
        with pytest.raises(type(error)):
            derived(name, sample, dtype, layout, "cuda", twice)
        return
    ours = derived(name, sample, dtype, layout, "cuda", twice)
    if sample.seed:  # devices have random numbers of their own: tests/cuda/test_random.py
        return assert_alike(ours[0], expected[0])
    for mine, theirs in zip(ours, expected, strict=True):
        if isinstance(mine, list) and mine and any(gradient is None for gradient in theirs):
            assert [gradient is None for gradient in mine] == [gradient is None for gradient in theirs]
        assert_same(mine, theirs, strides=name not in NETWORKS or mine is ours[0])


@pytest.mark.parametrize(("name", "sample", "dtype"), SAMPLES)
def test_sample(name, sample, dtype):
    compare(name, sample, dtype, "contiguous")


@pytest.mark.parametrize(("name", "sample", "dtype"), [each for each in SAMPLES if each.values[1].layouts])
@pytest.mark.parametrize("layout", LAYOUTS[1:])
def test_layouts(name, sample, dtype, layout):
    if dtype == sample.precise:
        compare(name, sample, dtype, layout)
