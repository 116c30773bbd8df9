"""Window functions: torch.signal.windows, and the older torch.hann_window and its kin."""

import math

from .. import _C
from .checks import as_dtype, boolean, integer
from .language import abs, arange, composite, cos, empty, exp, float32, float64, get_default_dtype, i0, ones, sin, sqrt

_HANN = (0.5, 0.5)
_BLACKMAN = (0.42, 0.5, 0.08)
_NUTTALL = (0.3635819, 0.4891775, 0.1365995, 0.0106411)
# Where a point lies: its number k among 0 .. length-1, and the length of one period (sym: a point less).


def _general_cosine(k, period, coefficients):
    return sum((-1) ** i * a * cos(k * (2 * math.pi * i / period)) for i, a in enumerate(coefficients))


def _bartlett(k, period):
    return 1 - abs(k * (2 / period) - 1)


def _cosine(k, period):
    return sin((k + 0.5) * (math.pi / (period + 1)))


def _exponential(k, period, center, tau):
    return exp(-abs(k - (period / 2 if center is None else center)) / tau)


def _gaussian(k, period, std):
    return exp(-(((k - period / 2) / std) ** 2) / 2)


def _kaiser(k, period, beta):
    place = k * (2 / period) - 1
    return i0(beta * sqrt((1 - place * place).clamp(min=0))) / i0(k.new_tensor(float(beta)))


def _window(length, sym, shape, *parameters, dtype, device=None, requires_grad=False):
    """A window of this shape; computed in float32 at least."""
    if length <= 1:
        make = ones if length else empty
        return make(length, dtype=dtype, device=device, requires_grad=requires_grad)
    k = arange(length, dtype=dtype if dtype is float64 else float32, device=device)
    values = shape(k, length - 1 if sym else length, *parameters)
    return _C._requiring_grad(values.to(dtype), False if requires_grad is None else requires_grad)


# ---- torch.signal.windows


def _signal_window(name, length, sym, shape, *parameters, dtype, layout, device, requires_grad):
    dtype = get_default_dtype() if dtype is None else dtype
    if length < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={length}")
    if layout is not None and str(layout) != "torch.strided":
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    if dtype not in (float32, float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
    return _window(length, sym, shape, *parameters, dtype=dtype, device=device, requires_grad=requires_grad)


@composite(namespace="signal.windows")
def general_cosine(M, *, a, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """The sum of cosines with the coefficients `a`, of alternating sign.

    >>> import adjoint as torch
    >>> torch.signal.windows.general_cosine(5, a=[0.5, 0.5])
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    coefficients = tuple(a)
    if not coefficients:
        raise ValueError("Coefficients cannot be empty")
    return _signal_window("general_cosine", M, sym, _general_cosine, coefficients, dtype=dtype, layout=layout,
                          device=device, requires_grad=requires_grad)  # fmt: skip


@composite(namespace="signal.windows")
def general_hamming(M, *, alpha=0.54, sym=True, **options):
    """alpha - (1 - alpha) cos(2 pi k / (M - 1)).

    >>> import adjoint as torch
    >>> torch.signal.windows.general_hamming(3, alpha=0.5)
    tensor([0., 1., 0.])
    """
    return general_cosine(M, a=(alpha, 1.0 - alpha), sym=sym, **options)


@composite(namespace="signal.windows")
def hamming(M, *, sym=True, **options):
    """The Hamming window.

    >>> import adjoint as torch
    >>> torch.signal.windows.hamming(3)
    tensor([0.0800, 1.0000, 0.0800])
    """
    return general_hamming(M, sym=sym, **options)


@composite(namespace="signal.windows")
def hann(M, *, sym=True, **options):
    """The Hann window.

    >>> import adjoint as torch
    >>> torch.signal.windows.hann(3)
    tensor([0., 1., 0.])
    """
    return general_cosine(M, a=_HANN, sym=sym, **options)


@composite(namespace="signal.windows")
def blackman(M, *, sym=True, **options):
    """The Blackman window.

    >>> import adjoint as torch
    >>> torch.signal.windows.blackman(3).sum() > 0.99
    tensor(True)
    """
    return general_cosine(M, a=_BLACKMAN, sym=sym, **options)


@composite(namespace="signal.windows")
def nuttall(M, *, sym=True, **options):
    """Nuttall's window with minimal side lobes.

    >>> import adjoint as torch
    >>> torch.signal.windows.nuttall(5)[2]
    tensor(1.0000)
    """
    return general_cosine(M, a=_NUTTALL, sym=sym, **options)


@composite(namespace="signal.windows")
def bartlett(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """A triangle that is 0 at its ends.

    >>> import adjoint as torch
    >>> torch.signal.windows.bartlett(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    return _signal_window("bartlett", M, sym, _bartlett, dtype=dtype, layout=layout, device=device,
                          requires_grad=requires_grad)  # fmt: skip


@composite(namespace="signal.windows")
def cosine(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """Half a period of the sine.

    >>> import adjoint as torch
    >>> torch.signal.windows.cosine(4)
    tensor([0.3827, 0.9239, 0.9239, 0.3827])
    """
    return _signal_window("cosine", M, sym, _cosine, dtype=dtype, layout=layout, device=device,
                          requires_grad=requires_grad)  # fmt: skip


@composite(namespace="signal.windows")
def exponential(
    M, *, center=None, tau=1.0, sym=True, dtype=None, layout=None, device=None, requires_grad=False
):  # fmt: skip
    """exp(-|k - center| / tau).

    >>> import adjoint as torch
    >>> torch.signal.windows.exponential(3)
    tensor([0.3679, 1.0000, 0.3679])
    """
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    return _signal_window("exponential", M, sym, _exponential, center, tau, dtype=dtype, layout=layout, device=device,
                          requires_grad=requires_grad)  # fmt: skip


@composite(namespace="signal.windows")
def gaussian(M, *, std=1.0, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """A bell of this standard deviation, in points.

    >>> import adjoint as torch
    >>> torch.signal.windows.gaussian(3)
    tensor([0.6065, 1.0000, 0.6065])
    """
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    return _signal_window("gaussian", M, sym, _gaussian, std, dtype=dtype, layout=layout, device=device,
                          requires_grad=requires_grad)  # fmt: skip


@composite(namespace="signal.windows")
def kaiser(M, *, beta=12.0, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """The Kaiser window.

    >>> import adjoint as torch
    >>> torch.signal.windows.kaiser(3)[1]
    tensor(1.)
    """
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    return _signal_window("kaiser", M, sym, _kaiser, beta, dtype=dtype, layout=layout, device=device,
                          requires_grad=requires_grad)  # fmt: skip


# ---- torch.*_window: periodic by default, any float type


def _old_window(name, length, periodic, shape, *parameters, dtype=None, layout=None, device=None, requires_grad=False):
    boolean(name, periodic=periodic)
    length = integer(name, "window_length", length)
    dtype = get_default_dtype() if dtype is None else as_dtype(dtype)
    if length < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={length}")
    if not dtype.is_floating_point:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {dtype}")
    return _window(length, not periodic, shape, *parameters, dtype=dtype, device=device, requires_grad=requires_grad)


@composite(method=False)
def hann_window(window_length, periodic=True, **options):
    """The Hann window, for a period of `window_length` points or up to the last.

    >>> import adjoint as torch
    >>> torch.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _old_window("hann_window", window_length, periodic, _general_cosine, _HANN, **options)


@composite(method=False)
def hamming_window(window_length, periodic=True, alpha=0.54, beta=0.46, **options):
    """alpha - beta cos(2 pi k / window_length).

    >>> import adjoint as torch
    >>> torch.hamming_window(2)
    tensor([0.0800, 1.0000])
    """
    return _old_window("hamming_window", window_length, periodic, _general_cosine, (alpha, beta), **options)


@composite(method=False)
def blackman_window(window_length, periodic=True, **options):
    """The Blackman window.

    >>> import adjoint as torch
    >>> torch.blackman_window(2)[1]
    tensor(1.0000)
    """
    return _old_window("blackman_window", window_length, periodic, _general_cosine, _BLACKMAN, **options)


@composite(method=False)
def bartlett_window(window_length, periodic=True, **options):
    """A triangle that is 0 at its ends.

    >>> import adjoint as torch
    >>> torch.bartlett_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _old_window("bartlett_window", window_length, periodic, _bartlett, **options)


@composite(method=False)
def kaiser_window(window_length, periodic=True, beta=12.0, **options):
    """The Kaiser window.

    >>> import adjoint as torch
    >>> torch.kaiser_window(2)[1]
    tensor(1.)
    """
    return _old_window("kaiser_window", window_length, periodic, _kaiser, beta, **options)
