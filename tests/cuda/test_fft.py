"""Fourier transforms on the device against the CPU, along every dimension."""

import pytest

import adjoint as torch

CLOSE = {torch.float32: 1e-4, torch.complex64: 1e-4, torch.float64: 1e-10, torch.complex128: 1e-10}


def compare(function, tensor, **options):
    ours, expected = function(tensor.cuda(), **options), function(tensor, **options)
    tolerance = CLOSE[tensor.dtype]
    torch.testing.assert_close(ours.cpu(), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("n", [1, 2, 7, 12, 33])
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
def test_lines(dim, n, norm):
    sizes = [3, 4, 5]
    sizes[dim] = n
    for dtype in (torch.complex64, torch.complex128):
        values = torch.randn(*sizes, dtype=dtype)
        compare(torch.fft.fft, values, dim=dim, norm=norm)
        compare(torch.fft.ifft, values, dim=dim, norm=norm)
        compare(torch.fft.irfft, values, dim=dim, norm=norm, n=2 * n + 1)
        compare(torch.fft.irfft, values, dim=dim, norm=norm, n=2 * n)
    for dtype in (torch.float32, torch.float64):
        values = torch.randn(*sizes, dtype=dtype)
        compare(torch.fft.rfft, values, dim=dim, norm=norm)
        compare(torch.fft.fft, values, dim=dim, norm=norm)


def test_several_dimensions():
    values = torch.randn(3, 4, 6, dtype=torch.float64)
    compare(torch.fft.fftn, values)
    compare(torch.fft.rfftn, values)
    compare(torch.fft.irfftn, torch.fft.rfftn(values))
    compare(torch.fft.fft2, values.transpose(0, 2))


def test_the_input_stays_as_it_was():
    half = torch.randn(4, 5, dtype=torch.complex64)
    there = half.cuda()
    torch.fft.irfft(there)
    assert torch.equal(there.cpu(), half)


def test_values_that_begin_anywhere():
    values = torch.randn(13, dtype=torch.float32)
    torch.testing.assert_close(torch.fft.rfft(values.cuda()[1:]).cpu(), torch.fft.rfft(values[1:]))


def test_gradients():
    values = torch.randn(4, 6, dtype=torch.float64)
    here, there = values.clone().requires_grad_(), values.cuda().requires_grad_()
    for each in (here, there):
        torch.fft.irfft(torch.fft.rfft(each, dim=0) * 2, dim=0).sin().sum().backward()
    torch.testing.assert_close(there.grad.cpu(), here.grad)
