"""Fourier transforms of every kind of length and layout: exact to the last places, and differentiable."""

import numpy as np
import pytest
import torch

import adjoint

# Every radix first, last and alone; primes that go by way of a convolution; lengths on both sides of the long line.
LENGTHS = [*range(1, 20), 22, 25, 49, 64, 77, 96, 101, 128, 210, 255, 256, 257, 343, 360, 486, 512, 1000, 1001, 2048]
# (shape, dim): one line, few and many lines, side by side, in rows and both.
LAYOUTS = [((None,), 0), ((3, None), 1), ((19, None), 1), ((None, 3), 0), ((None, 20), 0), ((2, None, 17), 1)]


def values(shape, complex_values, generator):
    x = generator.standard_normal(shape)
    return x + 1j * generator.standard_normal(shape) if complex_values else x


def assert_exact(found, expected, dtype):
    """Within some units in the last place of the root mean square: what transforms of this length lose."""
    scale = np.sqrt(np.mean(np.abs(expected) ** 2)) if expected.size else 1.0
    assert found.dtype == dtype
    assert found.shape == expected.shape
    assert np.abs(found - expected).max(initial=0) <= 20 * np.finfo(dtype).eps * (scale + 1e-30)


def exact(name, x, dim, **options):
    """In long doubles: of multiples of 17 torch loses more on some processors than is allowed here."""
    wide = x.astype(np.clongdouble if np.iscomplexobj(x) else np.longdouble)
    found = getattr(np.fft, name)(wide, axis=dim, **options)
    return found.astype(np.complex128 if np.iscomplexobj(found) else np.float64)


@pytest.mark.parametrize("n", LENGTHS)
def test_lengths_and_layouts(n):
    generator = np.random.default_rng(n)
    for shape, dim in LAYOUTS:
        sizes = [n if size is None else size for size in shape]
        for name, complex_values in [("fft", True), ("ifft", True), ("fft", False), ("rfft", False)]:
            x = values(sizes, complex_values, generator)
            expected = exact(name, x, dim)
            found = getattr(adjoint.fft, name)(adjoint.from_numpy(x), dim=dim).numpy()
            assert_exact(found, expected, np.complex128)
            narrow = adjoint.from_numpy(x.astype(np.complex64 if complex_values else np.float32))
            assert_exact(getattr(adjoint.fft, name)(narrow, dim=dim).numpy(), expected, np.complex64)
        half = np.fft.rfft(values(sizes, False, generator), axis=dim)
        expected = exact("irfft", half, dim, n=n)
        assert_exact(adjoint.fft.irfft(adjoint.from_numpy(half), n=n, dim=dim).numpy(), expected, np.float64)
        narrow = adjoint.from_numpy(half.astype(np.complex64))
        assert_exact(adjoint.fft.irfft(narrow, n=n, dim=dim).numpy(), expected, np.float32)


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize("name", ["fft2", "ifft2", "rfft2", "irfft2", "fftn", "rfftn"])
def test_several_dimensions_of_views(name, norm):
    generator = np.random.default_rng(0)
    x = values((6, 5, 8), not name.startswith("rfft"), generator)
    for view in (lambda t: t, lambda t: t.transpose(0, 2), lambda t: t[::2, :, 1:7]):
        expected = getattr(torch.fft, name)(view(torch.from_numpy(x)), norm=norm).numpy()
        found = getattr(adjoint.fft, name)(view(adjoint.from_numpy(x)), norm=norm).numpy()
        assert_exact(found, expected, expected.dtype)


def test_imaginary_parts_that_stand_for_nothing_are_ignored():
    half = np.array([1 + 2j, 3 - 1j, 2 + 5j])
    for n in (4, 5):
        expected = torch.fft.irfft(torch.from_numpy(half), n=n).numpy()
        assert_exact(adjoint.fft.irfft(adjoint.from_numpy(half), n=n).numpy(), expected, np.float64)


def test_result_does_not_depend_on_threads():
    x = adjoint.randn(70, 1024)
    before = adjoint.get_num_threads()
    try:
        results = []
        for count in (1, 3):
            adjoint.set_num_threads(count)
            results.append(adjoint.fft.fft2(x))
    finally:
        adjoint.set_num_threads(before)
    assert (results[0] == results[1]).all()


def test_nothing_to_transform():
    assert adjoint.fft.fft(adjoint.empty(0, 4)).shape == (0, 4)
    assert adjoint.fft.irfft(adjoint.empty(0, 3, dtype=adjoint.complex64)).shape == (0, 4)


@pytest.mark.parametrize("n", [4, 5, 11])
def test_gradients(n):
    x = adjoint.randn(2, n, dtype=adjoint.float64, requires_grad=True)
    assert adjoint.autograd.gradcheck(lambda x: adjoint.view_as_real(adjoint.fft.rfft(x)), x)
    assert adjoint.autograd.gradcheck(lambda x: adjoint.view_as_real(adjoint.fft.fft2(x)), x)
    assert adjoint.autograd.gradcheck(lambda x: adjoint.fft.irfft(adjoint.fft.rfft(x) ** 2, n=n), x)
