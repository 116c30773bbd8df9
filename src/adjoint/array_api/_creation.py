"""Arrays from Python's data, from other libraries, and from nothing but a shape."""

import numpy as np

from ._types import WIDE_UNSIGNED, Numbers, Tensor, array, default_complex, of_one_type, torch


def _holds_arrays(obj):
    return isinstance(obj, list | tuple) and any(isinstance(one, Tensor) or _holds_arrays(one) for one in obj)


def asarray(obj, /, *, dtype=None, device=None, copy=None):
    """An array of numbers, nested lists, a buffer or another array; gradients go through, of arrays in lists, too.

    >>> from adjoint import array_api as xp
    >>> xp.asarray([1, 2], dtype=xp.float32)
    tensor([1., 2.])
    >>> x = xp.asarray(3.0)
    >>> x.requires_grad_().requires_grad, xp.asarray([x, 2 * x]).requires_grad
    (True, True)
    """
    if isinstance(obj, Tensor):
        changed = (dtype is not None and dtype != obj.dtype) or (
            device is not None and torch.device(device) != obj.device
        )
        if copy is False and changed:
            raise ValueError("asarray: expected copy=None or copy=True where the type or the device changes; got False")
        return obj.to(device=obj.device if device is None else device, dtype=dtype or obj.dtype, copy=copy is True)
    if _holds_arrays(obj):
        parts = of_one_type("asarray", [asarray(one, dtype=dtype, device=device) for one in obj])
        return torch.stack(parts)
    if not isinstance(obj, (list, tuple, np.ndarray, np.generic, *Numbers)) and not hasattr(obj, "__dlpack__"):
        obj = np.asarray(obj)  # a buffer, whose elements have a type of their own
        if obj.dtype.kind not in "biufc":
            raise TypeError(f"asarray: expected numbers, nested lists, an array or a buffer; got elements {obj.dtype}")
    if copy is False and isinstance(obj, (list, tuple, *Numbers)):
        raise ValueError("asarray: expected copy=None or copy=True for what is not an array; got False")
    if isinstance(obj, np.ndarray) and copy is not False and not obj.flags.writeable:
        obj = obj.copy()  # a tensor could be written to
    made = torch.asarray(obj, dtype=dtype, device=None if device is None else "cpu", copy=copy)
    return made if device is None else made.to(device)


def from_dlpack(x, /, *, device=None, copy=None):
    """An array on the memory of another library's.

    >>> from adjoint import array_api as xp
    >>> import numpy as np
    >>> xp.from_dlpack(np.ones(2, np.float32))
    tensor([1., 1.])
    """
    return torch.from_dlpack(x, device=device, copy=copy)


def _size(shape):
    return (shape,) if isinstance(shape, int) else tuple(shape)


def empty(shape, *, dtype=None, device=None):
    """An array whose values are whatever its memory holds.

    >>> from adjoint import array_api as xp
    >>> xp.empty((2, 0))
    tensor([], size=(2, 0))
    """
    return torch.empty(_size(shape), dtype=dtype, device=device)


def zeros(shape, *, dtype=None, device=None):
    """An array of zeros.

    >>> from adjoint import array_api as xp
    >>> xp.zeros(2, dtype=xp.uint16)
    tensor([0, 0], dtype=torch.uint16)
    """
    return torch.zeros(_size(shape), dtype=dtype, device=device)


def ones(shape, *, dtype=None, device=None):
    """An array of ones.

    >>> from adjoint import array_api as xp
    >>> xp.ones(2)
    tensor([1., 1.])
    """
    return torch.ones(_size(shape), dtype=dtype, device=device)


def full(shape, fill_value, *, dtype=None, device=None):
    """An array of one value.

    >>> from adjoint import array_api as xp
    >>> xp.full((2,), 7)
    tensor([7, 7])
    """
    return torch.full(_size(shape), fill_value, dtype=dtype, device=device)


def empty_like(x, /, *, dtype=None, device=None):
    """An array of x's shape, whose values are whatever its memory holds.

    >>> from adjoint import array_api as xp
    >>> xp.empty_like(xp.ones(3)).shape
    torch.Size([3])
    """
    return torch.empty_like(array("empty_like", x), dtype=dtype, device=device)


def zeros_like(x, /, *, dtype=None, device=None):
    """An array of zeros of x's shape.

    >>> from adjoint import array_api as xp
    >>> xp.zeros_like(xp.ones(2))
    tensor([0., 0.])
    """
    return torch.zeros_like(array("zeros_like", x), dtype=dtype, device=device)


def ones_like(x, /, *, dtype=None, device=None):
    """An array of ones of x's shape.

    >>> from adjoint import array_api as xp
    >>> xp.ones_like(xp.zeros(2))
    tensor([1., 1.])
    """
    return torch.ones_like(array("ones_like", x), dtype=dtype, device=device)


def full_like(x, /, fill_value, *, dtype=None, device=None):
    """An array of one value, of x's shape.

    >>> from adjoint import array_api as xp
    >>> xp.full_like(xp.zeros(2), 3)
    tensor([3., 3.])
    """
    return torch.full_like(array("full_like", x), fill_value, dtype=dtype, device=device)


def arange(start, /, stop=None, step=1, *, dtype=None, device=None):
    """Numbers at equal distances, from start to before stop; from 0 where only one is given.

    >>> from adjoint import array_api as xp
    >>> xp.arange(3), xp.arange(3, 0)
    (tensor([0, 1, 2]), tensor([], dtype=torch.int64))
    """
    if stop is None:
        start, stop = 0, start
    if dtype is None:
        whole = all(isinstance(one, int) for one in (start, stop, step))
        dtype = torch.int64 if whole else torch.get_default_dtype()
    if (step > 0 and stop <= start) or (step < 0 and stop >= start):
        return torch.empty((0,), dtype=dtype, device=device)
    if dtype in WIDE_UNSIGNED:
        return torch.arange(start, stop, step, dtype=torch.int64, device=device).to(dtype)
    return torch.arange(start, stop, step, dtype=dtype, device=device)


def linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True):
    """num numbers at equal distances from start to stop, or, without the endpoint, to before it.

    >>> from adjoint import array_api as xp
    >>> xp.linspace(0.0, 1.0, 3), xp.linspace(0.0, 1.0, 2, endpoint=False)
    (tensor([0.0000, 0.5000, 1.0000]), tensor([0.0000, 0.5000]))
    """
    if dtype is None:
        dtype = (
            default_complex() if isinstance(start, complex) or isinstance(stop, complex) else torch.get_default_dtype()
        )
    if endpoint:
        return torch.linspace(start, stop, num, dtype=dtype, device=device)
    return torch.linspace(start, stop, num + 1, dtype=dtype, device=device)[:num]


def eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None):
    """A matrix with ones on a diagonal: the k-th above the main one.

    >>> from adjoint import array_api as xp
    >>> xp.eye(2, 3, k=1)
    tensor([[0., 1., 0.],
            [0., 0., 1.]])
    """
    n_cols = n_rows if n_cols is None else n_cols
    result = torch.zeros((n_rows, n_cols), dtype=dtype, device=device)
    if -n_rows < k < n_cols:
        result.diagonal(k).fill_(1)
    return result


def tril(x, /, *, k=0):
    """Matrices with zeros above the k-th diagonal.

    >>> from adjoint import array_api as xp
    >>> xp.tril(xp.ones((2, 2)))
    tensor([[1., 0.],
            [1., 1.]])
    """
    return torch.tril(array("tril", x), k)


def triu(x, /, *, k=0):
    """Matrices with zeros below the k-th diagonal.

    >>> from adjoint import array_api as xp
    >>> xp.triu(xp.ones((2, 2)))
    tensor([[1., 1.],
            [0., 1.]])
    """
    return torch.triu(array("triu", x), k)


def meshgrid(*arrays, indexing="xy"):
    """Coordinates of the points of a grid, from those along each of its axes.

    >>> from adjoint import array_api as xp
    >>> xp.meshgrid(xp.asarray([1, 2]), xp.asarray([3]))
    (tensor([[1, 2]]), tensor([[3, 3]]))
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: expected indexing as 'xy' or 'ij'; got {indexing!r}")
    places = list(range(len(arrays)))
    if indexing == "xy":
        places[:2] = reversed(places[:2])
    spread = [
        array("meshgrid", x).reshape([-1 if axis == place else 1 for axis in range(len(arrays))])
        for x, place in zip(arrays, places, strict=True)
    ]
    return tuple(torch.broadcast_tensors(*spread)) if spread else ()
