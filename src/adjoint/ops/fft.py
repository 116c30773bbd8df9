"""Fourier transforms as ops: NumPy's pocketfft on the tensors' own memory. What people call is in fft_functions.py."""

import functools
import threading

from .language import _fft_c2c, _fft_r2c, cat, empty, get_num_threads, op, real

_INTERNAL = {"function": False, "method": False}
_PARALLEL = 1 << 18  # elements from which rows are spread over threads
# numpy's name for "scale by 1, 1/sqrt(n), 1/n", forward and backward.
_SCALES = {True: ("backward", "ortho", "forward"), False: ("forward", "ortho", "backward")}


def _along(name, source, target, dim, scale, n=None):
    """target[...] = numpy.fft.<name>(source) along one dimension, the rest of the work spread over threads."""
    import numpy

    run = functools.partial(getattr(numpy.fft, name), n=n, axis=dim, norm=scale)
    others = [d for d in range(source.ndim) if d != dim and source.shape[d] > 1]
    if source.size < _PARALLEL or not others or get_num_threads() < 2:
        run(source, out=target)
        return
    split = max(others, key=lambda d: source.shape[d])
    count = min(get_num_threads(), source.shape[split])
    bounds = [source.shape[split] * i // count for i in range(count + 1)]
    parts = [
        tuple(slice(bounds[i], bounds[i + 1]) if d == split else slice(None) for d in range(source.ndim))
        for i in range(count)
    ]
    # Threads of its own, not a pool: a pool would not survive a fork. They cost little beside this much work.
    threads = [threading.Thread(target=run, args=(source[part],), kwargs={"out": target[part]}) for part in parts[1:]]
    for thread in threads:
        thread.start()
    run(source[parts[0]], out=target[parts[0]])
    for thread in threads:
        thread.join()


def _c2c(input, dim, normalization, forward):
    if not dim:
        return input.clone()
    result = empty(input.shape, dtype=input.dtype)
    source, target = input.detach().numpy(), result.numpy()
    for d in reversed(dim):
        _along("fft" if forward else "ifft", source, target, d, _SCALES[forward][normalization])
        source = target
    return result


def _r2c(input, dim, normalization, onesided):
    shape = list(input.shape)
    if onesided:
        shape[dim[-1]] = shape[dim[-1]] // 2 + 1
    result = empty(shape, dtype=input.dtype.to_complex())
    scale = _SCALES[True][normalization]
    _along("rfft" if onesided else "fft", input.detach().numpy(), result.numpy(), dim[-1], scale)
    return _c2c(result, dim[:-1], normalization, True) if len(dim) > 1 else result


def _c2r(input, dim, normalization, last_dim_size):
    if len(dim) > 1:
        input = _c2c(input, dim[:-1], normalization, False)
    shape = list(input.shape)
    shape[dim[-1]] = last_dim_size
    result = empty(shape, dtype=input.dtype.to_real())
    scale = _SCALES[False][normalization]
    _along("irfft", input.detach().numpy(), result.numpy(), dim[-1], scale, n=last_dim_size)
    return result


def _r2c_gradient(g, input_meta, dim, normalization, onesided):
    if onesided:
        missing = list(g.shape)
        missing[dim[-1]] = input_meta.shape[dim[-1]] - g.shape[dim[-1]]
        g = cat((g, g.new_zeros(missing)), dim[-1])
    return real(_fft_c2c(g, dim, normalization, False))


def _c2r_gradient(g, dim, normalization):
    half = _fft_r2c(g, dim, normalization, True)
    # The frequencies that stand for two, themselves and their mirror image.
    last, doubled = dim[-1], g.shape[dim[-1]] - half.shape[dim[-1]]
    factors = half.new_ones([half.shape[last]])
    factors[1 : 1 + doubled] = 2
    return half * factors.reshape([-1] + [1] * (half.ndim - 1 - last))


op("_fft_c2c(input, dim, normalization, forward)", forward=_c2c, node="FftC2CBackward0", linear=True, **_INTERNAL,
   input=lambda g, dim, normalization, forward: _fft_c2c(g, dim, normalization, not forward),
   doc="A complex transform along `dim`, scaled by 1, 1/sqrt(n) or 1/n.")  # fmt: skip
op("_fft_r2c(input, dim, normalization, onesided)", forward=_r2c, node="FftR2CBackward0", linear=True, **_INTERNAL,
   input=lambda g, input_meta, dim, normalization, onesided: _r2c_gradient(
       g, input_meta, dim, normalization, onesided),
   doc="A transform of real values along `dim`; onesided: without the last one's mirrored half.")  # fmt: skip
op("_fft_c2r(input, dim, normalization, last_dim_size)", forward=_c2r, node="FftC2RBackward0", linear=True,
   **_INTERNAL, input=lambda g, dim, normalization: _c2r_gradient(g, dim, normalization),
   doc="The inverse of the onesided _fft_r2c.")  # fmt: skip
