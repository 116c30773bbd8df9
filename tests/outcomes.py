"""Running one call in both libraries and comparing what comes of it: values, types, sizes, or the kind of exception."""

import warnings

import numpy as np
import torch

import adjoint

LIBRARIES = (torch, adjoint)
DTYPES = ["float32", "float64", "float16", "bfloat16", "complex64", "complex128"]
DTYPES += ["int64", "int32", "int16", "int8", "uint8", "bool"]


def as_array(tensor):
    """The values as a NumPy array; bfloat16 as float32."""
    tensor = tensor.detach()
    dtype = np.complex128 if tensor.is_complex() else np.float64 if tensor.is_floating_point() else None
    return np.asarray(tensor.tolist(), dtype=dtype).reshape(tuple(tensor.shape))


def describe(value):
    """What is compared of a result: everything that can be seen of a tensor, else the value."""
    if isinstance(value, torch.Tensor | adjoint.Tensor):
        values = None if str(value.device) == "meta" else as_array(value)
        return ("tensor", str(value.dtype), tuple(value.shape), str(value.device), value.requires_grad, values)
    if isinstance(value, torch.dtype | adjoint.dtype):
        return str(value)
    return value


def outcome(call, library):
    """("value", description) or ("error", name of the exception, its text); warnings are ignored."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ("value", describe(call(library)))
        except Exception as error:
            return ("error", type(error).__name__, str(error))


def equal(expected, got, rtol=0.0):
    if isinstance(expected, tuple | list):
        return len(expected) == len(got) and all(equal(a, b, rtol) for a, b in zip(expected, got, strict=True))
    if isinstance(expected, np.ndarray):
        if rtol:
            return np.allclose(expected, got, rtol=rtol, atol=rtol, equal_nan=True)
        return expected.shape == got.shape and np.array_equal(expected, got, equal_nan=expected.dtype.kind in "fc")
    if isinstance(expected, float) and isinstance(got, float):
        return expected == got or (expected != expected and got != got)
    return expected == got


def check(call, rtol=0.0, any_error=False):
    """The call has the same outcome in both libraries; messages may differ, with `any_error` also the exceptions."""
    expected, got = (outcome(call, library) for library in LIBRARIES)
    assert expected[0] == got[0], f"torch: {expected}\nadjoint: {got}"
    assert expected[0] != "error" or any_error or expected[1] == got[1], f"torch: {expected}\nadjoint: {got}"
    assert expected[0] == "error" or equal(expected[1], got[1], rtol), f"torch: {expected}\nadjoint: {got}"


def check_text(text, rtol=0.0, **names):
    """`check` of an expression in which `torch` is the library."""
    code = compile(text, "<call>", "eval")
    check(lambda library: eval(code, {"torch": library, "np": np, **names}), rtol)


def lines(text):
    """The calls of a block of text, one a line."""
    return [line.strip() for line in text.strip().splitlines() if line.strip()]
