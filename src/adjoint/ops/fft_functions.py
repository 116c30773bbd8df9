"""torch.fft: one function per kind of transform and number of dimensions."""

from .. import _C
from .checks import as_dtype, integer, integers
from .language import (
    _fft_c2c,
    _fft_c2r,
    _fft_r2c,
    arange,
    cat,
    composite,
    conj,
    get_default_dtype,
    roll,
)
from .out_words import transform

# How norm= scales (0: by 1, 1: by 1/sqrt(n), 2: by 1/n), for forward transforms and for backward ones.
_FORWARD = {None: 0, "backward": 0, "ortho": 1, "forward": 2}
_BACKWARD = {None: 2, "backward": 2, "ortho": 1, "forward": 0}
_UNSUPPORTED = {"torch.float16": "Half", "torch.bfloat16": "BFloat16"}
_COMPLEX = {"torch.complex64": "ComplexFloat", "torch.complex128": "ComplexDouble"}
_function = {"namespace": "fft", "out": True}


def _transform_of(name):
    """The options of a transform; `name`: as errors call it."""
    return _function | {"out": "kind", "out_words": transform(name)}


def _scale(norm, forward):
    modes = _FORWARD if forward else _BACKWARD
    if norm not in modes:
        raise RuntimeError(f'Invalid normalization mode: "{norm}"; expected "backward", "ortho" or "forward"')
    return modes[norm]


def _prepared(input, to_complex=False):
    """The input in a type that has a transform."""
    if str(input.dtype) in _UNSUPPORTED:
        raise RuntimeError(f"Unsupported dtype {_UNSUPPORTED[str(input.dtype)]}; convert the input to float32 first")
    if not input.is_floating_point() and not input.is_complex():
        input = input.to(get_default_dtype())
    return input.to(input.dtype.to_complex()) if to_complex and not input.is_complex() else input


def _require_real(name, input, words="a real input tensor"):
    if input.is_complex():
        raise RuntimeError(f"{name} expects {words}, but got {_COMPLEX[str(input.dtype)]}")


def _dimension(input, dim):
    """A dimension counted from the front."""
    dim = integer("fft", "dim", dim)
    if input.ndim == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    if not -input.ndim <= dim < input.ndim:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-input.ndim}, {input.ndim - 1}], but got {dim})"
        )
    return dim % input.ndim


def _resized(input, dims, sizes):
    """The input cut, or filled with zeros, to these sizes along these dimensions (-1: as it is)."""
    for dim, size in zip(dims, sizes, strict=True):
        if size == -1:
            continue
        present = input.shape[dim]
        if size < present:
            input = input.narrow(dim, 0, size)
        elif size > present:
            missing = list(input.shape)
            missing[dim] = size - present
            input = cat((input, input.new_zeros(missing)), dim)
    return input


def _check_points(count):
    if count < 1:
        raise RuntimeError(f"Invalid number of data points ({count}) specified")


def _one(input, n, dim):
    """The input with `n` points along `dim`, and the dimension."""
    dim = _dimension(input, dim)
    if n is not None:
        _check_points(integer("fft", "n", n))
        input = _resized(input, [dim], [n])
    _check_points(input.shape[dim])
    return input, dim


def _several(input, s, dim):
    """(sizes, dimensions) that the arguments of an n-dimensional transform stand for; -1: the input's size."""
    s = s if s is None else integers("fft", "s", s)
    if dim is None:
        if s is not None and len(s) > input.ndim:
            raise RuntimeError(f"Got shape with {len(s)} values but input tensor only has {input.ndim} dimensions.")
        count = input.ndim if s is None else len(s)
        dims = list(range(input.ndim - count, input.ndim))
    else:
        dims = [_dimension(input, d) for d in integers("fft", "dim", dim)]
        if len(set(dims)) != len(dims):
            raise RuntimeError("FFT dims must be unique")
        if s is not None and len(s) != len(dims):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
    sizes = [-1] * len(dims) if s is None else list(s)
    for size, d in zip(sizes, dims, strict=True):
        _check_points(input.shape[d] if size == -1 else size)
    return sizes, dims


def _half(input, sizes, dims):
    """For results that are real: (sizes to cut the input to, size of the result's last dimension)."""
    last = 2 * (input.shape[dims[-1]] - 1) if sizes[-1] == -1 else sizes[-1]
    _check_points(last)
    return [*sizes[:-1], last // 2 + 1], last


def _require_dims(name, dims):
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")


# ---- One dimension


def _transform(input, n, dim, norm, forward):
    input, dim = _one(_prepared(input), n, dim)
    if input.is_complex():
        return _fft_c2c(input, [dim], _scale(norm, forward), forward)
    result = _fft_r2c(input, [dim], _scale(norm, forward), False)
    return result if forward else conj(result)


@composite(**_transform_of("fft"), autocast="float32")
def fft(input, n=None, dim=-1, norm=None):
    """The discrete Fourier transform along one dimension.

    >>> import adjoint as torch
    >>> torch.fft.fft(torch.tensor([1.0, 0.0, 0.0, 0.0]))
    tensor([1.+0.j, 1.+0.j, 1.+0.j, 1.-0.j])
    """
    return _transform(input, n, dim, norm, True)


@composite(**_transform_of("ifft"), autocast="float32")
def ifft(input, n=None, dim=-1, norm=None):
    """The inverse of fft().

    >>> import adjoint as torch
    >>> torch.fft.ifft(torch.tensor([1.0, 1.0])).real
    tensor([1., 0.])
    """
    return _transform(input, n, dim, norm, False)


@composite(**_transform_of("rfft"), autocast="float32")
def rfft(input, n=None, dim=-1, norm=None):
    """The Fourier transform of real values, without its mirrored half.

    >>> import adjoint as torch
    >>> torch.fft.rfft(torch.tensor([1.0, 2.0, 3.0, 4.0])).shape
    torch.Size([3])
    """
    _require_real("rfft", input)
    input, dim = _one(_prepared(input), n, dim)
    return _fft_r2c(input, [dim], _scale(norm, True), True)


@composite(**_transform_of("irfft"), autocast="float32")
def irfft(input, n=None, dim=-1, norm=None):
    """The inverse of rfft(); `n` is the number of real values.

    >>> import adjoint as torch
    >>> torch.fft.irfft(torch.fft.rfft(torch.tensor([1.0, 2.0, 3.0, 4.0])))
    tensor([1., 2., 3., 4.])
    """
    input = _prepared(input, to_complex=True)
    dim = _dimension(input, dim)
    sizes, last = _half(input, [-1 if n is None else n], [dim])
    return _fft_c2r(_resized(input, [dim], sizes), [dim], _scale(norm, False), last)


@composite(**_transform_of("hfft"), autocast="float32")
def hfft(input, n=None, dim=-1, norm=None):
    """The Fourier transform of a signal that is Hermitian, given by its first half: real values.

    >>> import adjoint as torch
    >>> torch.fft.hfft(torch.tensor([1.0, 0.0]))
    tensor([1., 1.])
    """
    input = _prepared(input, to_complex=True)
    dim = _dimension(input, dim)
    sizes, last = _half(input, [-1 if n is None else n], [dim])
    return _fft_c2r(conj(_resized(input, [dim], sizes)), [dim], _scale(norm, True), last)


@composite(**_transform_of("ihfft"), autocast="float32")
def ihfft(input, n=None, dim=-1, norm=None):
    """The inverse of hfft().

    >>> import adjoint as torch
    >>> torch.fft.ihfft(torch.tensor([1.0, 1.0]))
    tensor([1.-0.j, 0.-0.j])
    """
    _require_real("ihfft", input)
    input, dim = _one(_prepared(input), n, dim)
    return conj(_fft_r2c(input, [dim], _scale(norm, False), True))


# ---- Several dimensions


def _transform_n(input, s, dim, norm, forward):
    input = _prepared(input, to_complex=True)
    sizes, dims = _several(input, s, dim)
    return _fft_c2c(_resized(input, dims, sizes), dims, _scale(norm, forward), forward)


@composite(**_transform_of("fftn"), autocast="float32")
def fftn(input, s=None, dim=None, norm=None):
    """The Fourier transform along several dimensions, all by default.

    >>> import adjoint as torch
    >>> torch.fft.fftn(torch.ones(2, 2))
    tensor([[4.+0.j, 0.+0.j],
            [0.+0.j, 0.+0.j]])
    """
    return _transform_n(input, s, dim, norm, True)


@composite(**_transform_of("fftn"), autocast="float32")
def ifftn(input, s=None, dim=None, norm=None):
    """The inverse of fftn().

    >>> import adjoint as torch
    >>> torch.fft.ifftn(torch.ones(2, 2))
    tensor([[1.+0.j, 0.+0.j],
            [0.+0.j, 0.+0.j]])
    """
    return _transform_n(input, s, dim, norm, False)


@composite(**_transform_of("rfftn"), autocast="float32")
def rfftn(input, s=None, dim=None, norm=None):
    """The Fourier transform of real values along several dimensions, without the mirrored half of the last.

    >>> import adjoint as torch
    >>> torch.fft.rfftn(torch.ones(4, 4)).shape
    torch.Size([4, 3])
    """
    _require_real("rfftn", input, "a real-valued input tensor")
    input = _prepared(input)
    sizes, dims = _several(input, s, dim)
    _require_dims("rfftn", dims)
    return _fft_r2c(_resized(input, dims, sizes), dims, _scale(norm, True), True)


@composite(**_transform_of("irfftn"), autocast="float32")
def irfftn(input, s=None, dim=None, norm=None):
    """The inverse of rfftn().

    >>> import adjoint as torch
    >>> torch.fft.irfftn(torch.fft.rfftn(torch.ones(2, 2)))
    tensor([[1., 1.],
            [1., 1.]])
    """
    input = _prepared(input, to_complex=True)
    sizes, dims = _several(input, s, dim)
    _require_dims("irfftn", dims)
    sizes, last = _half(input, sizes, dims)
    return _fft_c2r(_resized(input, dims, sizes), dims, _scale(norm, False), last)


@composite(**_transform_of("hfftn"))
def hfftn(input, s=None, dim=None, norm=None):
    """hfft() along the last of several dimensions, fft() along the others.

    >>> import adjoint as torch
    >>> torch.fft.hfftn(torch.ones(2, 2))
    tensor([[4., 0.],
            [0., 0.]])
    """
    input = _prepared(input, to_complex=True)
    sizes, dims = _several(input, s, dim)
    _require_dims("hfftn", dims)
    sizes, last = _half(input, sizes, dims)
    scale = _scale(norm, True)
    others = _fft_c2c(_resized(input, dims, sizes), dims[:-1], scale, True)
    return _fft_c2r(conj(others), dims[-1:], scale, last)


@composite(**_transform_of("ihfftn"))
def ihfftn(input, s=None, dim=None, norm=None):
    """The inverse of hfftn().

    >>> import adjoint as torch
    >>> torch.fft.ihfftn(torch.ones(2, 2)).shape
    torch.Size([2, 2])
    """
    if input.is_complex():
        raise RuntimeError(f"Only supports floating-point dtypes, but found: {_COMPLEX[str(input.dtype)]}")
    input = _prepared(input)
    sizes, dims = _several(input, s, dim)
    _require_dims("ihfftn", dims)
    scale = _scale(norm, False)
    last = conj(_fft_r2c(_resized(input, dims, sizes), dims[-1:], scale, True))
    return _fft_c2c(last, dims[:-1], scale, False)


def _flat(name, shown, function):
    """The form of a transform of several dimensions that takes the last two by default."""

    def call(input, s=None, dim=(-2, -1), norm=None):
        return function(input, s, integers(f"fft_{name}", "dim", dim), norm)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"""{name[:-1]}n() along two dimensions, the last ones by default.

    >>> import adjoint as torch
    >>> torch.fft.{name}(torch.ones(5, 3, 2)).shape == torch.fft.{name[:-1]}n(torch.ones(5, 3, 2), dim=(-2, -1)).shape
    True
    """
    composite(call, **_transform_of(shown))


for _name, _shown, _function_n in (
    ("fft2", "fftn", fftn), ("ifft2", "fftn", ifftn), ("rfft2", "rfftn", rfftn), ("irfft2", "irfftn", irfftn),
    ("hfft2", "hfftn", hfftn), ("ihfft2", "ihfftn", ihfftn),
):  # fmt: skip
    _flat(_name, _shown, _function_n)


# ---- Frequencies


def _frequency_type(name, dtype):
    dtype = get_default_dtype() if dtype is None else as_dtype(dtype)
    if not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError(f"{name} requires a floating point or complex dtype, not {dtype}")
    return dtype


def _spacing(name, n, d):
    """The distance of neighbouring frequencies; infinite where samples are not apart."""
    if isinstance(d, complex):
        raise TypeError(f"fft_{name}(): argument 'd' must be float, not complex")
    return 1.0 / (n * d) if n * d else float("inf")


@composite(**_function)
def fftfreq(n, d=1.0, *, dtype=None, device=None, layout=None, requires_grad=False):
    """The frequencies of the results of fft() on `n` values that are `d` apart.

    >>> import adjoint as torch
    >>> torch.fft.fftfreq(5)
    tensor([ 0.0000,  0.2000,  0.4000, -0.4000, -0.2000])
    """
    steps = arange(n, dtype=_frequency_type("fftfreq", dtype), device=device)
    steps[n - n // 2 :] -= n
    return _C._requiring_grad(steps * _spacing("fftfreq", n, d), requires_grad)


@composite(**_function)
def rfftfreq(n, d=1.0, *, dtype=None, device=None, layout=None, requires_grad=False):
    """The frequencies of the results of rfft() on `n` values that are `d` apart.

    >>> import adjoint as torch
    >>> torch.fft.rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
    """
    steps = arange(n // 2 + 1, dtype=_frequency_type("rfftfreq", dtype), device=device)
    return _C._requiring_grad(steps * _spacing("rfftfreq", n, d), requires_grad)


def _shifted(input, dim, sign):
    dims = list(range(input.ndim) if dim is None else integers("fft_fftshift", "dim", dim))
    if not dims:
        raise RuntimeError("`shifts` required: there is no dimension to shift along")
    sizes = [input.shape[_dimension(input, d)] for d in dims]
    return roll(input, [size // 2 if sign > 0 else (size + 1) // 2 for size in sizes], dims)


@composite(namespace="fft")
def fftshift(input, dim=None):
    """Moves the frequency 0 to the middle.

    >>> import adjoint as torch
    >>> torch.fft.fftshift(torch.arange(5))
    tensor([3, 4, 0, 1, 2])
    """
    return _shifted(input, dim, 1)


@composite(namespace="fft")
def ifftshift(input, dim=None):
    """The inverse of fftshift().

    >>> import adjoint as torch
    >>> torch.fft.ifftshift(torch.arange(5))
    tensor([2, 3, 4, 0, 1])
    """
    return _shifted(input, dim, -1)
