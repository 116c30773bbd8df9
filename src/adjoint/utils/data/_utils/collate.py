"""Samples made into batches of tensors."""

import collections.abc
import copy
import re

from .... import _C
from ...._refusal import Words, missing
from ....ops import language as ops

_WRONG = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
np_str_obj_array_pattern = re.compile(r"[SaUO]")  # types of arrays that are no numbers
_UNEQUAL = "; these are samples of one batch: pad or crop them to one size in the dataset, or give a collate_fn"
_CHANGED = (collections.abc.MutableMapping, collections.abc.MutableSequence)


def _is_named_tuple(value):
    return isinstance(value, tuple) and hasattr(value, "_fields")


def _like(value, items):
    """Items in a container of the same kind, or in a plain one where that kind cannot be made of them."""
    try:
        if type(value) not in (dict, list) and isinstance(value, _CHANGED):
            kept = copy.copy(value)  # with what it is made with, as the factory of a defaultdict
            for key, item in items.items() if isinstance(items, dict) else enumerate(items):
                kept[key] = item
            return kept
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


def collate_tensor_fn(batch, *, collate_fn_map=None):
    return _stacked(batch)


def _stacked(tensors):
    """One tensor of the samples; unequal ones are refused in words of data loading, with the place of the first."""
    try:
        return ops.stack(tensors, 0)
    except RuntimeError as error:
        text = str(error).partition(";")[0]
        if not text.startswith("stack expects each tensor to be equal size"):
            raise
        refusal = RuntimeError(text + _UNEQUAL)
        refusal.entry = int(text.rpartition(" ")[2])
        raise refusal from None


def name_samples(error, index):
    """Adds to the refusal of unequal samples which of the dataset they are."""
    entry = getattr(error, "entry", None)
    if entry is not None:
        error.args = (f"{error} (entries 0 and {entry} are dataset[{index[0]}] and dataset[{index[entry]}])",)


def collate_int_fn(batch, *, collate_fn_map=None):
    return _C.tensor(batch)


def collate_float_fn(batch, *, collate_fn_map=None):
    return _C.tensor(batch, dtype=_C.float64)


def collate_str_fn(batch, *, collate_fn_map=None):
    return batch


def _numpy(batch):
    """A batch of arrays, or of numbers of NumPy's types."""
    first = batch[0]
    if type(first).__name__ != "ndarray":
        return _C.as_tensor(batch)
    if first.dtype.kind in "SUO":
        raise TypeError(_WRONG.format(first.dtype))
    return _stacked([_C.as_tensor(item) for item in batch])


def _first(batch):
    """The first sample of a batch, by which its type is known."""
    try:
        return batch[0]
    except (KeyError, IndexError, TypeError) as error:
        text = Words(f"{error}: expected a list of samples, at least one; got {type(batch).__name__}")
        kind = next(kind for kind in (KeyError, IndexError, TypeError) if isinstance(error, kind))
        raise kind(text) from None


def _column(batch, key):
    """What the samples, which are dicts, have under a key."""
    for i, sample in enumerate(batch):
        if key not in sample:
            raise missing(key, f"in sample {i} of a batch whose first sample has it; give all samples the same keys")
    return [sample[key] for sample in batch]


# What makes a batch of samples of a type. Programs add their own types, for default_collate, or to a copy for collate.
default_collate_fn_map = {
    _C.Tensor: collate_tensor_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def collate(batch, *, collate_fn_map=None):
    """A list of samples as one batch, by a function for each type: `collate_fn_map` of types, or tuples of types.

    >>> from adjoint.utils.data._utils.collate import collate
    >>> collate([(1, 2), (3, 4)], collate_fn_map={int: lambda batch, collate_fn_map: sum(batch)})
    [4, 6]
    """
    first = _first(batch)
    kind = type(first)
    functions = collate_fn_map or {}
    if kind in functions:
        return functions[kind](batch, collate_fn_map=collate_fn_map)
    if kind.__module__ == "numpy" and kind.__name__ not in ("str_", "string_"):
        return _numpy(batch)
    for of, function in functions.items():
        if isinstance(first, of):
            return function(batch, collate_fn_map=collate_fn_map)
    if isinstance(first, collections.abc.Mapping):
        batches = {key: collate(_column(batch, key), collate_fn_map=collate_fn_map) for key in first}
        return _like(first, batches)
    if isinstance(first, collections.abc.Sequence):
        if not _is_named_tuple(first) and any(len(sample) != len(first) for sample in batch):
            i = next(i for i, sample in enumerate(batch) if len(sample) != len(first))
            raise RuntimeError(
                f"each element in list of batch should be of equal size; sample 0 has {len(first)} items, sample {i} "
                f"{len(batch[i])}"
            )
        columns = [collate(items, collate_fn_map=collate_fn_map) for items in zip(*batch, strict=True)]
        if _is_named_tuple(first):
            return kind(*columns)
        return columns if isinstance(first, tuple) else _like(first, columns)
    raise TypeError(
        _WRONG.format(kind) + ("; does __getitem__ of the dataset return a sample?" if first is None else "")
    )


def default_collate(batch):
    """A list of samples as one batch: tensors, arrays and numbers are stacked, inside dicts, tuples and lists as well.

    >>> import adjoint as torch
    >>> torch.utils.data.default_collate([(1, torch.zeros(2)), (2, torch.ones(2))])
    [tensor([1, 2]), tensor([[0., 0.],
            [1., 1.]])]
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)
