"""Pooling: greatest elements, means and norms over windows in one to three dimensions, and their inverses."""

from .. import _C
from . import language
from .batching import call, samples, with_batch
from .checks import integers
from .language import (
    _adaptive_avg_pool2d,
    _adaptive_avg_pool_backward,
    _avg_pool2d,
    _avg_pool_backward,
    _laid_out,
    _max_pool2d,
    _max_pool_backward,
    _max_pool_values,
    composite,
    is_grad_enabled,
    op,
    rand,
)

_HIDDEN = {"function_": False, "method": False}
_COUNTS = {1: "one int", 2: "two ints", 3: "three ints"}


# ---- Batch rules; see batching.py


def _pool_batch(op, size, batched, input, kernel_size, *rest):
    """For ops whose second argument has a number for each dimension of a plane."""
    return samples(len(kernel_size) + 2, op, size, batched, input, kernel_size, *rest)


def _fractional_batch(op, size, batched, input, kernel_size, output_size, random_samples):
    input, random_samples = with_batch(size, (batched[0], batched[3]), (input, random_samples))
    rank = len(kernel_size) + 2
    planes = input.flatten(0, 1) if input.dim() > rank else input
    results = call(op, planes, kernel_size, output_size, random_samples.flatten(0, 1))
    return tuple(one.reshape(*input.shape[: 1 - rank], *one.shape[1:]) for one in results)


def _unpool_batch(op, size, batched, input, indices, output_size, *rest):
    """For ops whose third argument has a number for each dimension of a plane."""
    return samples(len(output_size) + 2, op, size, batched, input, indices, output_size, *rest)


# ---- Pooling


def _in_plane(value, indices, dims):
    """The elements of each channel that the indices name."""
    return value.flatten(-dims).gather(-1, indices.flatten(-dims)).view(indices.shape)


def _places(input, *window):
    """The places of the greatest elements."""
    return _max_pool2d(input.detach(), *window)[1]


def _declare(dims):
    """The ops for `dims` dimensions. The kernels serve any number of them, which they take from the lists."""

    def channels_last(input, kept):
        return kept and input.ndim == dims + 2 and _C._channels_last(input)

    def greatest(kept, batch=_pool_batch):
        return {
            "outputs": ("values", "indices"),
            "input": lambda g_values, indices, input_meta: _max_pool_backward(
                g_values, indices, input_meta.shape[-dims:], channels_last(input_meta, kept)
            ),
            "jvp": lambda input_t, indices: _in_plane(input_t, indices, dims),
            "batch": batch,
            "public": False,
        }

    in_space = "float32" if dims == 3 else None
    op(f"_max_pool{dims}d(input, kernel_size, stride, padding, dilation, ceil_mode)", native="max_pool",
       node=f"MaxPool{dims}DWithIndicesBackward0", **greatest(True))  # fmt: skip
    op(f"_adaptive_max_pool{dims}d(input, output_size)", native="adaptive_max_pool", autocast=in_space,
       node=f"AdaptiveMaxPool{dims}DBackward0", **greatest(dims == 2))  # fmt: skip
    op(f"_fractional_max_pool{dims}d(input, kernel_size, output_size, random_samples)", native="fractional_max_pool",
       autocast="float32, none", node=f"FractionalMaxPool{dims}DBackward0",
       **greatest(False, _fractional_batch))  # fmt: skip
    op(f"_max_unpool{dims}d(input, indices, output_size)", native="max_unpool", node=f"MaxUnpool{dims}DBackward0",
       autocast="float32, none", linear="input", public=False,
       input=lambda g, indices: _in_plane(g, indices, dims),
       batch=_unpool_batch)  # fmt: skip
    op(f"_avg_pool{dims}d(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)",
       native="avg_pool", autocast=in_space, node=f"AvgPool{dims}DBackward0", out="exact", linear="input", public=False,
       input=lambda g, input_meta, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override:
           _avg_pool_backward(g, input_meta.shape[-dims:], kernel_size, stride, padding, ceil_mode, count_include_pad,
                              divisor_override, channels_last(input_meta, dims == 2)),
       batch=_pool_batch)  # fmt: skip
    op(f"_adaptive_avg_pool{dims}d(input, output_size)", native="adaptive_avg_pool",
       node=f"AdaptiveAvgPool{dims}DBackward0", linear="input", public=False,
       input=lambda g, input_meta: _adaptive_avg_pool_backward(
           g, input_meta.shape[-dims:], channels_last(input_meta, dims == 2)),
       batch=_pool_batch)  # fmt: skip


for _dims in (2, 3):
    _declare(_dims)

# Without places, for inputs that need no gradient, unless something outside of a transform wants one.
op("_max_pool_values(input, kernel_size, stride, padding, dilation, ceil_mode)", native="max_pool_values",
   node="MaxPool2DWithIndicesBackward0", public=False,
   input=lambda g, input, kernel_size, stride, padding, dilation, ceil_mode: _max_pool_backward(
       g, _places(input, kernel_size, stride, padding, dilation, ceil_mode), input.shape[-len(kernel_size):], False),
   jvp=lambda input, input_t, kernel_size, stride, padding, dilation, ceil_mode: _in_plane(
       input_t, _places(input, kernel_size, stride, padding, dilation, ceil_mode), len(kernel_size)),
   batch=_pool_batch)  # fmt: skip
# Each is linear in its gradient, and the other's transpose.
op("_max_pool_backward(grad, indices, size, channels_last)", native="max_pool_backward",
   node="MaxPool2DWithIndicesBackwardBackward0", public=False, linear="grad",
   grad=lambda g, indices, size: _in_plane(g, indices, len(size)),
   batch=_unpool_batch)  # fmt: skip
op("_avg_pool_backward(grad, size, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, "
   "channels_last)",
   native="avg_pool_backward", node="AvgPool2DBackwardBackward0", public=False, linear="grad",
   grad=lambda g, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override:
       _avg_pool2d(g, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override),
   batch=_pool_batch)  # fmt: skip
op("_adaptive_avg_pool_backward(grad, size, channels_last)", native="adaptive_avg_pool_backward",
   node="AdaptiveAvgPool2DBackwardBackward0", public=False, linear="grad",
   grad=lambda g, grad_meta, size: _adaptive_avg_pool2d(g, grad_meta.shape[-len(size):]),
   batch=_pool_batch)  # fmt: skip


# ---- The public functions


def _publish(function, name, namespaces=("nn.functional",), autocast=None):
    function.__name__ = function.__qualname__ = name
    for namespace in namespaces:
        composite(function, namespace=namespace, method=False, autocast=autocast)


_BOTH = ("nn.functional", "")


def _tuple(name, argument, value, dims):
    """One number for each dimension."""
    if type(value) is int:
        return (value,) * dims
    if type(value) is tuple and len(value) == dims:
        return value
    value = integers(name, argument, value)
    if len(value) not in (1, dims):
        raise RuntimeError(
            f"{name}: {argument} must either be a single int, or a tuple of {_COUNTS[dims]}; got {value}"
        )
    return value * (dims // len(value))


def _stride(name, stride, dims):
    """Nothing, or an empty list, means the size of the window."""
    if stride is None or (isinstance(stride, (tuple, list)) and not stride):
        return ()
    return _tuple(name, "stride", stride, dims)


def _check_dims(name, input, dims):
    """Torch's error for a tensor that has neither channels nor batch and channels before the window's dimensions."""
    if input.ndim not in (dims + 1, dims + 2):
        raise RuntimeError(_wrong_dims(name, input, dims))


def _wrong_dims(name, input, dims):
    low, high, sizes = dims + 1, dims + 2, list(input.shape)
    if name in ("max_pool2d", "max_pool3d", "avg_pool3d"):
        return f"non-empty {low}D or {high}D (batch mode) tensor expected for input; {name} got {sizes}"
    if name in ("avg_pool1d", "adaptive_avg_pool1d", "adaptive_max_pool1d"):
        return (
            f"Expected {low} to {high} dimensions, but got {input.ndim}-dimensional tensor for argument #1 'self' "
            f"(while checking arguments for {name})"
        )
    if name.startswith("adaptive"):
        return f"{name}(): Expected {low}D or {high}D tensor, but got{':' if 'max' in name else ''} {sizes}"
    before = "" if name == "avg_pool2d" else f"{name}: " if name == "max_pool1d" else f"{name}(): "
    return (
        f"{before}Expected {low}D or {high}D (batch mode) tensor with optional 0 dim batch size for input, "
        f"but got:{sizes}"
    )


def _along_one(function):
    """A function on one dimension by one on two, of which the first has size 1; all of its results are squeezed."""

    def one(input):
        results = function(input.unsqueeze(-2))
        return tuple(result.squeeze(-2) for result in results) if isinstance(results, tuple) else results.squeeze(-2)

    return one


def _max_pools(dims):
    name = f"max_pool{dims}d"
    places = getattr(language, f"_max_pool{dims}d", None)

    def results(input, kernel_size, stride, padding, dilation, ceil_mode, want_indices):
        kernel, strides = _tuple(name, "kernel_size", kernel_size, dims), _stride(name, stride, dims)
        padding, dilation = _tuple(name, "padding", padding, dims), _tuple(name, "dilation", dilation, dims)
        _check_dims(name, input, dims)
        # The places are needed for a gradient too.
        plain = not want_indices and not (input.requires_grad and is_grad_enabled())
        if dims > 1:
            return (_max_pool_values if plain else places)(input, kernel, strides, padding, dilation, ceil_mode)
        if kernel[0] <= 0:
            raise RuntimeError(f"max_pool1d() kernel_size must be greater than zero, but got {kernel[0]}")
        lists = (1, *kernel), (1, *(strides or kernel)), (0, *padding), (1, *dilation)
        pool = _max_pool_values if plain else _max_pool2d
        return _along_one(lambda x: pool(x, *lists, ceil_mode))(input)

    def with_indices(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        return tuple(results(input, kernel_size, stride, padding, dilation, ceil_mode, True))

    def values(*args):
        found = results(*args, False)
        return found[0] if isinstance(found, tuple) else found

    values = composite(values, name=f"_{name}_alone", **_HIDDEN, autocast="float32, none" if dims == 3 else None)

    def max_pool(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        pool = with_indices if return_indices else values
        return pool(input, kernel_size, stride, padding, dilation, ceil_mode)

    with_indices.__doc__ = "The greatest element of each window, and its place."
    max_pool.__doc__ = "The greatest element of each window; with `return_indices`, its place too."
    _publish(max_pool, name, _BOTH)
    _publish(with_indices, f"{name}_with_indices", _BOTH if dims == 1 else ("nn.functional",))


def _avg_pools(dims):
    name = f"avg_pool{dims}d"
    pool = getattr(language, f"_avg_pool{dims}d")

    def avg_pool(
        input,
        kernel_size,
        stride=None,
        padding=0,
        ceil_mode=False,
        count_include_pad=True,
        divisor_override=None,
        *,
        out=None,
    ):
        kernel, strides = _tuple(name, "kernel_size", kernel_size, dims), _stride(name, stride, dims)
        padding = _tuple(name, "padding", padding, dims)
        _check_dims(name, input, dims)
        if divisor_override is not None and divisor_override == 0:
            raise RuntimeError("divisor must be not zero")
        return pool(input, kernel, strides, padding, ceil_mode, count_include_pad, divisor_override, out=out)

    avg_pool.__doc__ = "The mean of each window."
    _publish(avg_pool, name)


@composite(namespace="nn.functional", method=False)
def avg_pool1d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
    """The mean of each window.

    >>> import adjoint as torch
    >>> torch.nn.functional.avg_pool1d(torch.tensor([[1.0, 3.0, 5.0]]), 2, 1)
    tensor([[2., 4.]])
    """
    kernel, strides = _tuple("avg_pool1d", "kernel_size", kernel_size, 1), _stride("avg_pool1d", stride, 1)
    padding = _tuple("avg_pool1d", "padding", padding, 1)
    _check_dims("avg_pool1d", input, 1)
    lists = (1, *kernel), (1, *(strides or kernel)), (0, *padding)
    return _along_one(lambda x: _avg_pool2d(x, *lists, ceil_mode, count_include_pad, None))(input)


composite(avg_pool1d, method=False)


def _sizes(name, output_size, input, dims):
    """One size for each dimension; None keeps the input's."""
    listed = isinstance(output_size, (tuple, list))
    for size in output_size if listed else (output_size,):
        if isinstance(size, bool) or (size is None and (dims == 1 or not listed)):
            raise TypeError(
                f"{name}(): argument 'output_size' must be tuple of ints, not {type(size).__name__}; "
                "give the number of windows"
            )
    given = output_size if listed else (output_size,) * dims
    if listed and dims > 1 and input.ndim <= len(given):
        raise ValueError(f"Input dimension should be at least {len(given) + 1}")
    if len(given) != dims:
        raise RuntimeError(f"{name}: output_size must be {dims}; got {tuple(given)}")
    _check_dims(name, input, dims)
    return tuple(input.shape[d - dims] if size is None else size for d, size in enumerate(given))


def _check_sizes(name, input, first=1):
    for d in range(first, input.ndim):
        if not input.shape[d]:
            raise RuntimeError(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes "
                f"{list(input.shape)} with dimension {d} being empty"
            )


def _adaptive_pools(dims):
    mean, most = f"adaptive_avg_pool{dims}d", f"adaptive_max_pool{dims}d"

    def avg_pool(input, output_size):
        sizes = _sizes(mean, output_size, input, dims)
        if sizes == (1,) * dims and input.is_complex():  # torch has no kernel but that of the mean
            return input.mean(tuple(range(-dims, 0)), keepdim=True)
        # A mean over no channels is no mean of nothing; in three dimensions torch refuses it all the same.
        _check_sizes(mean, input, 1 if dims == 3 else input.ndim - dims)
        whole = sizes == (1,) * dims and input.is_floating_point()
        if dims == 1:
            return _along_one(
                lambda x: x.mean((-2, -1), keepdim=True) if whole else _adaptive_avg_pool2d(x, (1, *sizes))
            )(input)
        if whole:
            result = input.mean(tuple(range(-dims, 0)), keepdim=True)
            return _laid_out(result, True) if _C._channels_last(input) else result
        return getattr(language, f"_adaptive_avg_pool{dims}d")(input, sizes)

    def with_indices(input, output_size, return_indices=False):
        sizes = _sizes(most, output_size, input, dims)
        _check_sizes(most, input)
        if dims == 1:
            return _along_one(lambda x: tuple(language._adaptive_max_pool2d(x, (1, *sizes))))(input)
        return tuple(getattr(language, f"_adaptive_max_pool{dims}d")(input, sizes))

    def max_pool(input, output_size, return_indices=False):
        results = with_indices(input, output_size)
        return results if return_indices else results[0]

    avg_pool.__doc__ = "Means over windows that are chosen so that `output_size` of them cover the input."
    max_pool.__doc__ = "Greatest elements of windows that are chosen so that `output_size` of them cover the input."
    with_indices.__doc__ = "Greatest elements of windows that cover the input, and their places."
    _publish(avg_pool, mean, _BOTH if dims == 1 else ("nn.functional",), "float32" if dims == 3 else None)
    _publish(max_pool, most)
    _publish(with_indices, f"{most}_with_indices")
    if dims == 1:
        language._publish(most, getattr(language, f"{most}_with_indices"), "", False, True, ())


def _fractional_pools(dims):
    name = f"fractional_max_pool{dims}d"

    def with_indices(
        input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None
    ):
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
        if output_size is None:
            ratios = output_ratio if isinstance(output_ratio, (tuple, list)) else (output_ratio,) * dims
            if not all(0 < ratio < 1 for ratio in ratios):
                raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")
            output_size = tuple(int(n * ratio) for n, ratio in zip(input.shape[-dims:], ratios, strict=True))
        _check_dims(name, input, dims)
        if _random_samples is None:
            batch = 1 if input.ndim == dims + 1 else input.shape[0]
            _random_samples = rand(batch, input.shape[-dims - 1], dims, dtype=input.dtype, device=input.device)
        pool = getattr(language, f"_fractional_max_pool{dims}d")
        kernel, sizes = _tuple(name, "kernel_size", kernel_size, dims), _tuple(name, "output_size", output_size, dims)
        return tuple(pool(input, kernel, sizes, _random_samples))

    def max_pool(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
        results = with_indices(input, kernel_size, output_size, output_ratio, False, _random_samples)
        return results if return_indices else results[0]

    max_pool.__doc__ = "Greatest elements of windows at random steps."
    with_indices.__doc__ = "Greatest elements of windows at random steps, and their places."
    _publish(max_pool, name)
    _publish(with_indices, f"{name}_with_indices")


def _unpools(dims):
    name = f"max_unpool{dims}d"

    def unpool(input, indices, kernel_size, stride=None, padding=0, output_size=None):
        kernel = _tuple(name, "kernel_size", kernel_size, dims)
        strides, padding = _stride(name, stride, dims) or kernel, _tuple(name, "padding", padding, dims)
        _check_dims(name, input, dims)
        sizes = _unpooled_size(input, kernel, strides, padding, output_size, dims)
        for d in range(1, input.ndim):
            if not input.shape[d]:
                raise RuntimeError(
                    f"{name}(): Expected input to have non-zero size for non-batch dimensions, but got "
                    f"{list(input.shape)} with dimension {d} being empty."
                )
        if dims == 1:
            if indices.shape != input.shape:
                raise RuntimeError(
                    f"Expected shape of indices to be same as that of the input tensor ({list(input.shape)}) but got "
                    f"indices tensor with shape: {list(indices.shape)}"
                )
            return language._max_unpool2d(input.unsqueeze(-2), indices.unsqueeze(-2), (1, *sizes)).squeeze(-2)
        return getattr(language, f"_max_unpool{dims}d")(input, indices, sizes)

    unpool.__doc__ = "Zeros, with the elements of `input` where they were before pooling."
    _publish(unpool, name)


def _unpooled_size(input, kernel, stride, padding, output_size, dims):
    """The size before pooling: what it is at least, or what was asked for, within a window of that."""
    least = tuple(
        (n - 1) * s + k - 2 * p for n, s, k, p in zip(input.shape[-dims:], stride, kernel, padding, strict=True)
    )
    if output_size is None:
        return least
    if len(output_size) == dims + 2:
        output_size = output_size[2:]
    if len(output_size) != dims:
        raise ValueError(
            f"output_size should be a sequence containing {dims} or {dims + 2} elements, but it has a length of "
            f"'{len(output_size)}'"
        )
    low = [n - s for n, s in zip(least, stride, strict=True)]
    high = [n + s for n, s in zip(least, stride, strict=True)]
    for d, size in enumerate(output_size):
        if not low[d] < size < high[d]:
            raise ValueError(f'invalid output_size "{output_size}" (dim {d} must be between {low[d]} and {high[d]})')
    return tuple(output_size)


def _lp_pools(dims):
    name = f"lp_pool{dims}d"

    def lp_pool(input, norm_type, kernel_size, stride=None, ceil_mode=False):
        kernel = _tuple(name, "kernel_size", kernel_size, dims)
        if norm_type == float("inf"):
            return language.COMPOSITES[f"max_pool{dims}d"](input.abs(), kernel, stride, 0, 1, ceil_mode)
        size = 1
        for k in kernel:
            size *= k
        mean = language.COMPOSITES[f"avg_pool{dims}d"](input.pow(norm_type), kernel, stride, 0, ceil_mode)
        return (mean.sign() * mean.abs().relu()).mul(size).pow(1.0 / norm_type)

    lp_pool.__doc__ = "The `norm_type`-norm of each window."
    _publish(lp_pool, name)


for _dims in (1, 2, 3):
    _max_pools(_dims)
    _adaptive_pools(_dims)
    _unpools(_dims)
    _lp_pools(_dims)
for _dims in (2, 3):
    _avg_pools(_dims)
    _fractional_pools(_dims)
