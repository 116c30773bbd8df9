"""Fourier transforms of the array API standard: `adjoint.array_api.fft`."""

from ._types import array as _array
from ._types import torch as _torch

_fft = _torch.fft

__all__ = [
    *("fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft", "irfftn", "rfft"),
    *("rfftfreq", "rfftn"),
]


def fft(x, /, *, n=None, axis=-1, norm="backward"):
    """The Fourier transform along an axis.

    >>> from adjoint import array_api as xp
    >>> xp.fft.fft(xp.asarray([1.0 + 0j, 0j]))
    tensor([1.+0.j, 1.+0.j])
    """
    return _fft.fft(_array("fft", x), n=n, dim=axis, norm=norm)


def ifft(x, /, *, n=None, axis=-1, norm="backward"):
    """The inverse of `fft`.

    >>> from adjoint import array_api as xp
    >>> xp.fft.ifft(xp.asarray([1.0 + 0j, 1.0 + 0j]))
    tensor([1.+0.j, 0.+0.j])
    """
    return _fft.ifft(_array("ifft", x), n=n, dim=axis, norm=norm)


def rfft(x, /, *, n=None, axis=-1, norm="backward"):
    """The Fourier transform of real numbers: the half that tells all.

    >>> from adjoint import array_api as xp
    >>> xp.fft.rfft(xp.asarray([1.0, 0.0]))
    tensor([1.+0.j, 1.+0.j])
    """
    return _fft.rfft(_array("rfft", x), n=n, dim=axis, norm=norm)


def irfft(x, /, *, n=None, axis=-1, norm="backward"):
    """The inverse of `rfft`; n is the size of the result.

    >>> from adjoint import array_api as xp
    >>> xp.fft.irfft(xp.asarray([1.0 + 0j, 1.0 + 0j]))
    tensor([1., 0.])
    """
    return _fft.irfft(_array("irfft", x), n=n, dim=axis, norm=norm)


def hfft(x, /, *, n=None, axis=-1, norm="backward"):
    """The real transform of one half of numbers that are symmetric but for their conjugates.

    >>> from adjoint import array_api as xp
    >>> xp.fft.hfft(xp.asarray([1.0 + 0j, 0j]))
    tensor([1., 1.])
    """
    return _fft.hfft(_array("hfft", x), n=n, dim=axis, norm=norm)


def ihfft(x, /, *, n=None, axis=-1, norm="backward"):
    """The inverse of `hfft`.

    >>> from adjoint import array_api as xp
    >>> xp.fft.ihfft(xp.asarray([1.0, 1.0]))
    tensor([1.-0.j, 0.-0.j])
    """
    return _fft.ihfft(_array("ihfft", x), n=n, dim=axis, norm=norm)


def fftn(x, /, *, s=None, axes=None, norm="backward"):
    """The Fourier transform along several axes.

    >>> from adjoint import array_api as xp
    >>> xp.fft.fftn(xp.ones((2, 2), dtype=xp.complex64))
    tensor([[4.+0.j, 0.+0.j],
            [0.+0.j, 0.+0.j]])
    """
    return _fft.fftn(_array("fftn", x), s=s, dim=axes, norm=norm)


def ifftn(x, /, *, s=None, axes=None, norm="backward"):
    """The inverse of `fftn`.

    >>> from adjoint import array_api as xp
    >>> xp.fft.ifftn(xp.ones((1, 2), dtype=xp.complex64))
    tensor([[1.+0.j, 0.+0.j]])
    """
    return _fft.ifftn(_array("ifftn", x), s=s, dim=axes, norm=norm)


def rfftn(x, /, *, s=None, axes=None, norm="backward"):
    """The Fourier transform of real numbers along several axes.

    >>> from adjoint import array_api as xp
    >>> xp.fft.rfftn(xp.ones((1, 2)))
    tensor([[2.+0.j, 0.+0.j]])
    """
    return _fft.rfftn(_array("rfftn", x), s=s, dim=axes, norm=norm)


def irfftn(x, /, *, s=None, axes=None, norm="backward"):
    """The inverse of `rfftn`.

    >>> from adjoint import array_api as xp
    >>> xp.fft.irfftn(xp.ones((1, 2), dtype=xp.complex64))
    tensor([[1., 0.]])
    """
    return _fft.irfftn(_array("irfftn", x), s=s, dim=axes, norm=norm)


def fftfreq(n, /, *, d=1.0, dtype=None, device=None):
    """The frequencies of what `fft` gives, for samples at distance d.

    >>> from adjoint import array_api as xp
    >>> xp.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    return _fft.fftfreq(n, d, dtype=dtype, device=device)


def rfftfreq(n, /, *, d=1.0, dtype=None, device=None):
    """The frequencies of what `rfft` gives, for samples at distance d.

    >>> from adjoint import array_api as xp
    >>> xp.fft.rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
    """
    return _fft.rfftfreq(n, d, dtype=dtype, device=device)


def fftshift(x, /, *, axes=None):
    """x with the frequency zero moved to the middle, along axes or all.

    >>> from adjoint import array_api as xp
    >>> xp.fft.fftshift(xp.arange(4))
    tensor([2, 3, 0, 1])
    """
    return _fft.fftshift(_array("fftshift", x), axes)


def ifftshift(x, /, *, axes=None):
    """The inverse of `fftshift`.

    >>> from adjoint import array_api as xp
    >>> xp.fft.ifftshift(xp.arange(4))
    tensor([2, 3, 0, 1])
    """
    return _fft.ifftshift(_array("ifftshift", x), axes)
