"""Whether a result of Adjoint is that of torch: structure, shape, dtype and values; the answer is a reason or None."""

import numpy as np
import torch

import adjoint

# Relative to the value, and to the largest value of its tensor: sums may be taken in another order.
TOLERANCE = {
    torch.float64: 1e-7,
    torch.complex128: 1e-7,
    torch.float32: 2e-5,
    torch.complex64: 2e-5,
    torch.float16: 2e-3,
    torch.bfloat16: 1.6e-2,
}
WIDER = {"float16": "float32", "bfloat16": "float32"}


def array(tensor):
    """The values as a NumPy array; half types as float32."""
    library = torch if isinstance(tensor, torch.Tensor) else adjoint
    tensor = tensor.detach()
    wider = WIDER.get(str(tensor.dtype).removeprefix("torch."))
    tensor = tensor.to(getattr(library, wider)) if wider else tensor
    return np.asarray(tensor.numpy(force=True))


def difference(expected, got, values=True, truth=None, slack=1.0):
    """Why `got` is not `expected`, or None.

    `values=False` compares only structure, shape and dtype. `truth` is torch's result in double precision: elements
    that lie no farther from it than the farthest of torch's agree. `slack` multiplies the tolerance.
    """
    if isinstance(expected, torch.Tensor):
        return tensor_difference(expected, got, values, truth, slack)
    if isinstance(expected, torch.Size):
        same = isinstance(got, adjoint.Size) and tuple(got) == tuple(expected)
        return None if same else f"structure: {expected} expected, got {got!r}"
    if isinstance(expected, tuple | list):
        if not isinstance(got, list if isinstance(expected, list) else tuple) or len(got) != len(expected):
            return f"structure: {outline(expected)} expected, got {outline(got)}"
        for field in fields(expected):
            if not hasattr(got, field):
                return f"structure: result has no field {field}"
        same_shape = isinstance(truth, tuple | list) and len(truth) == len(expected)
        items = zip(expected, got, truth if same_shape else [None] * len(got), strict=True)
        return next((reason for a, b, t in items if (reason := difference(a, b, values, t, slack))), None)
    if isinstance(expected, dict):
        if not isinstance(got, dict) or got.keys() != expected.keys():
            return f"structure: {outline(expected)} expected, got {outline(got)}"
        return next((r for key in expected if (r := difference(expected[key], got[key], values, None, slack))), None)
    if isinstance(expected, torch.dtype | torch.device | torch.layout):
        return None if str(expected) == str(got) else f"value: {expected} expected, got {got}"
    if type(expected) is not type(got):
        return f"structure: {type(expected).__name__} expected, got {type(got).__name__}"
    if isinstance(expected, float | complex):
        return None if np.allclose(expected, got, 1e-6, 1e-6, equal_nan=True) else f"value: {expected}, got {got}"
    return None if expected == got else f"value: {expected!r} expected, got {got!r}"


def fields(value):
    """The names of a named tuple's fields."""
    if type(value) is tuple or type(value) is list:
        return ()
    return getattr(type(value), "_fields", None) or getattr(type(value), "__match_args__", ())


def outline(value):
    """A result in a few words."""
    if isinstance(value, tuple | list | dict):
        return f"{type(value).__name__} of {len(value)}"
    return type(value).__name__


def tensor_difference(expected, got, values, truth, slack):
    if not isinstance(got, adjoint.Tensor):
        return f"structure: Tensor expected, got {outline(got)}"
    if tuple(expected.shape) != tuple(got.shape):
        return f"shape: {tuple(expected.shape)} expected, got {tuple(got.shape)}"
    if str(expected.dtype) != str(got.dtype):
        return f"dtype: {expected.dtype} expected, got {got.dtype}"
    if expected.device.type != str(got.device):
        return f"device: {expected.device} expected, got {got.device}"
    if not values or expected.device.type == "meta" or expected.numel() == 0:
        return None
    a, b = array(expected), array(got)
    allowed = TOLERANCE.get(expected.dtype, 0.0) * slack
    if allowed == 0.0:
        wrong = a != b
    else:
        with np.errstate(all="ignore"):
            size = np.abs(a)
            largest = size[np.isfinite(size)].max(initial=0.0)
            bound = {"rtol": allowed, "atol": allowed * max(1.0, min(largest, 1e4)), "equal_nan": True}
            wrong = ~np.isclose(b, a, **bound)
            if wrong.any() and np.iscomplexobj(a):  # one part infinite or nan: each for itself
                wrong &= ~(np.isclose(b.real, a.real, **bound) & np.isclose(b.imag, a.imag, **bound))
    if isinstance(truth, torch.Tensor) and truth.shape == expected.shape and allowed:
        exact = array(truth)
        with np.errstate(all="ignore"):
            error = np.abs(a - exact)
            wrong &= ~(np.abs(b - exact) <= error[np.isfinite(error)].max(initial=0.0))
    if not wrong.any():
        return None
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"value: {a[at]} expected, got {b[at]} at {at} of {tuple(a.shape)} ({int(wrong.sum())} of {a.size} differ)"
