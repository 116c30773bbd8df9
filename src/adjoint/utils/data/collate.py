"""Samples made into batches of tensors."""

import collections.abc

from ... import _C
from ...ops import language as ops

_WRONG = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"


def _is_named_tuple(value):
    return isinstance(value, tuple) and hasattr(value, "_fields")


def _like(value, items):
    """Items in a container of the same kind, or in a plain one where that kind cannot be made of them."""
    try:
        return type(value)(items)
    except TypeError:
        return items


def default_convert(data):
    """NumPy arrays and numbers in a sample as tensors; all else as it is.

    >>> import numpy, adjoint as torch
    >>> torch.utils.data.default_convert([numpy.zeros(1), "a"])
    [tensor([0.], dtype=torch.float64), 'a']
    """
    kind = type(data)
    if isinstance(data, _C.Tensor):
        return data
    if kind.__module__ == "numpy" and kind.__name__ not in ("str_", "string_"):
        return data if kind.__name__ == "ndarray" and data.dtype.kind in "SUO" else _C.as_tensor(data)
    if isinstance(data, collections.abc.Mapping):
        return _like(data, {key: default_convert(value) for key, value in data.items()})
    if _is_named_tuple(data):
        return kind(*(default_convert(item) for item in data))
    if isinstance(data, tuple):
        return [default_convert(item) for item in data]
    if isinstance(data, collections.abc.Sequence) and not isinstance(data, (str, bytes)):
        return _like(data, [default_convert(item) for item in data])
    return data


def default_collate(batch):
    """A list of samples as one batch: tensors, arrays and numbers are stacked, inside dicts, tuples and lists as well.

    >>> import adjoint as torch
    >>> torch.utils.data.default_collate([(1, torch.zeros(2)), (2, torch.ones(2))])
    [tensor([1, 2]), tensor([[0., 0.],
            [1., 1.]])]
    """
    first = batch[0]
    kind = type(first)
    if isinstance(first, _C.Tensor):
        return ops.stack(batch, 0)
    if kind.__module__ == "numpy" and kind.__name__ not in ("str_", "string_"):
        if kind.__name__ != "ndarray":
            return _C.as_tensor(batch)
        if first.dtype.kind in "SUO":
            raise TypeError(_WRONG.format(first.dtype))
        return ops.stack([_C.as_tensor(item) for item in batch], 0)
    if isinstance(first, float):
        return _C.tensor(batch, dtype=_C.float64)
    if isinstance(first, int):
        return _C.tensor(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, collections.abc.Mapping):
        return _like(first, {key: default_collate([sample[key] for sample in batch]) for key in first})
    if _is_named_tuple(first):
        return kind(*(default_collate(items) for items in zip(*batch, strict=True)))
    if isinstance(first, collections.abc.Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [default_collate(items) for items in zip(*batch, strict=True)]
        return columns if isinstance(first, tuple) else _like(first, columns)
    raise TypeError(_WRONG.format(kind))
