"""Kernels that take a shorter way for common layouts, types and exponents agree with torch there too."""

import sys

import numpy as np
import pytest
import torch

import adjoint

from .compare import LIBRARIES, Bound, assert_same


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def same(results, rtol=0.0, atol=0.0):
    expected, got = results
    assert_same(got, expected, bound=Bound(rtol, atol))


@pytest.mark.parametrize("n", [1, 3, 15, 16, 17, 40, 64, 65])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_softmax_of_short_rows(name, n, dtype):
    data, g = 5 * numbers(9, n), numbers(9, n, seed=1)
    data[0, 0], data[1], data[2, 0], data[3, -1] = np.nan, -np.inf, np.inf, -np.inf
    results, gradients = [], []
    for library in LIBRARIES:
        x = library.tensor(data, dtype=getattr(library, dtype), requires_grad=True)
        results.append(getattr(library, name)(x, 1))
        results[-1].backward(library.tensor(g, dtype=x.dtype))
        gradients.append(x.grad)
    tolerance = {"rtol": 1e-5, "atol": 1e-5} if dtype == "float32" else {"rtol": 1e-12, "atol": 1e-12}
    same(results, **tolerance)
    same(gradients, **tolerance)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_of_a_transposed_matrix(name):
    gradients, results = [], []
    for library in LIBRARIES:
        x = library.tensor(numbers(70, 90), requires_grad=True)
        results.append(getattr(library, name)(x.t(), 1))
        results[-1].backward(library.tensor(numbers(70, 90, seed=1)).t())
        gradients.append(x.grad)
    assert results[0].stride() == results[1].stride()
    same(results, rtol=1e-5, atol=1e-6)
    same(gradients, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "maximum", "lt"])
@pytest.mark.parametrize("n", [7, 5000])
def test_bfloat16_is_float32_rounded_once(name, n):
    a, b = numbers(2, n)
    a[0], b[1], a[2], b[2] = np.nan, np.inf, 0, 0

    def rounded(result):
        return result if result.dtype == torch.bool else result.bfloat16()

    single = [rounded(getattr(torch, name)(torch.tensor(a).bfloat16().float(), torch.tensor(b).bfloat16().float()))]
    x, y = (adjoint.tensor(values, dtype=adjoint.bfloat16) for values in (a, b))
    same([*single, getattr(adjoint, name)(x, y)], rtol=0)
    strided = [values.expand(3, n).t() for values in (x, y)]
    same([single[0].expand(3, n).t(), getattr(adjoint, name)(*strided)], rtol=0)
    # These do not round numbers to bfloat16 first; test_half_numbers.py has those that do.
    if name in ("mul", "div", "lt"):
        expected = rounded(getattr(torch, name)(torch.tensor(a).bfloat16().float(), 0.1))
        same([expected, getattr(adjoint, name)(x, 0.1)], rtol=0)


@pytest.mark.parametrize("exponent", [2, 3, 3.0, 0.5])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_common_powers(exponent, dtype):
    results, gradients = [], []
    for library in LIBRARIES:
        x = library.tensor(np.abs(numbers(50)) + 0.1).to(getattr(library, dtype)).requires_grad_()
        results.append(library.view_as_real(x**exponent) if x.is_complex() else x**exponent)
        results[-1].sum().backward()
        gradients.append(x.grad.real if x.is_complex() else x.grad)
    same(results, rtol=1e-6)
    same(gradients, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "uint8", "complex128", "float16"])
@pytest.mark.parametrize("value", [0, 1, 3])
def test_fill_writes_every_element_and_no_other(dtype, value):
    results = []
    for library in LIBRARIES:
        x = library.zeros(33, 7, dtype=getattr(library, dtype))
        x[1:-1, 2:5].fill_(value)
        x.t()[6].fill_(value)
        x[0].zero_()
        results.append(x.to(library.complex128).real)
    same(results, rtol=0)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("steps", [1, 2, 5, 100001])
def test_linspace_meets_both_ends(dtype, steps):
    same([library.linspace(-3, 8, steps, dtype=getattr(library, dtype)) for library in LIBRARIES], rtol=1e-6, atol=1e-6)


def test_complex_quotients_at_zero_and_infinity():
    special = np.array([0, -0.0, 1, -2.5, np.inf, 1e-30], dtype=np.float32)
    real, imag, other_real, other_imag = (axis.ravel() for axis in np.meshgrid(special, special, special, special))
    quotients = []
    for library in LIBRARIES:
        a, b = (
            library.complex(library.tensor(x), library.tensor(y)) for x, y in ((real, imag), (other_real, other_imag))
        )
        quotients.append(library.view_as_real(a / b).numpy())
    expected, got = quotients
    plain = np.isfinite(real + imag + other_real + other_imag) & ((other_real != 0) | (other_imag != 0))
    np.testing.assert_allclose(got[plain], expected[plain], rtol=1e-6, atol=1e-8)
    by_zero = (other_real == 0) & (other_imag == 0) & ((real != 0) | (imag != 0))
    assert not np.isfinite(got[by_zero]).all(axis=1).any()


@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "complex64"])
def test_put_of_more_than_a_block(dtype, accumulate):
    places = np.random.default_rng(0).permutation(1300) - 500
    results = []
    for library in LIBRARIES:
        x = library.arange(1300).to(getattr(library, dtype))
        x = x.put(library.tensor(places), library.arange(1300, 0, -1).to(x.dtype), accumulate)
        results.append(x.to(library.complex128).real)
    same(results, rtol=0)


@pytest.mark.parametrize("wrong", [600, -601])
def test_put_finds_an_index_out_of_range_in_a_later_block(wrong):
    places = np.arange(600)
    places[555] = wrong
    x = adjoint.zeros(600)
    with pytest.raises(IndexError, match=f"out of range: tried to access index {wrong} on a tensor of 600 elements"):
        x.put_(adjoint.tensor(places), adjoint.ones(600))
    assert not x.any()


@pytest.mark.parametrize("times", [0, 1, 2, 3, 4, 16, 17])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bool", "float16", "complex128"])
def test_elements_repeated(dtype, times):
    for dim in (None, 0, 1):
        results = []
        for library in LIBRARIES:
            x = library.tensor(numbers(5, 6)).to(getattr(library, dtype)).t()
            results.append(library.repeat_interleave(x, times, dim).to(library.complex128).real)
        same(results, rtol=0)


def test_runs_keep_their_first_element():
    data = np.array([0.0, -0.0, np.nan, np.nan, 1, 1, -0.0, 0.0, 0.0], dtype=np.float32)
    for options in ({}, {"return_counts": True}):
        expected, got = (library.unique_consecutive(library.tensor(data), **options) for library in LIBRARIES)
        assert str(got) == str(expected)


@pytest.mark.parametrize("call", ["x.sum()", "x.sum(0)", "x.mean()", "x.mean(dim=1)", "x.prod()", "x.max()", "x.min()"])
def test_a_reduction_calls_no_python(call):
    code = compile(call, "call", "eval")
    names = {"x": adjoint.ones(2, 3, requires_grad=True)}
    frames = []
    sys.setprofile(lambda frame, event, _: frames.append(frame.f_code.co_filename) if event == "call" else None)
    try:
        eval(code, names)
    finally:
        sys.setprofile(None)
    assert frames == ["call"]
