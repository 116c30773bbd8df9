"""Datasets: by index or as a stream, and what is made of others."""

import bisect
import itertools
import math
import warnings

from ... import _C


def _listed(value, meaning):
    """The items of what is meant to have some."""
    if not hasattr(value, "__iter__") and not hasattr(value, "__getitem__"):
        raise TypeError(f"'{type(value).__name__}' object is not iterable: expected {meaning}")
    return list(value)


class Dataset:
    """Samples by index: to be subclassed with `__getitem__`, and `__len__` for most samplers.

    >>> from adjoint.utils.data import Dataset
    >>> class Squares(Dataset):
    ...     def __len__(self):
    ...         return 3
    ...     def __getitem__(self, index):
    ...         return index**2
    >>> (Squares() + Squares())[4]
    1
    """

    def __class_getitem__(cls, item):
        return cls

    def __getitem__(self, index):
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other):
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    """Samples as a stream: to be subclassed with `__iter__`.

    >>> from adjoint.utils.data import DataLoader, IterableDataset
    >>> class Count(IterableDataset):
    ...     def __iter__(self):
    ...         return iter(range(3))
    >>> list(DataLoader(Count(), batch_size=2))
    [tensor([0, 1]), tensor([2])]
    """

    def __iter__(self):
        raise NotImplementedError("Subclasses of IterableDataset should implement __iter__.")

    def __add__(self, other):
        return ChainDataset([self, other])


class TensorDataset(Dataset):
    """Tensors by their first dimension: sample i is the tuple of their i-th slices.

    >>> import adjoint as torch
    >>> torch.utils.data.TensorDataset(torch.arange(3), torch.ones(3))[1]
    (tensor(1), tensor(1.))
    """

    def __init__(self, *tensors):
        if any(tensors[0].size(0) != tensor.size(0) for tensor in tensors):
            sizes = [tensor.size(0) for tensor in tensors]
            raise AssertionError(f"Size mismatch between tensors; their first dimensions, the samples, are {sizes}")
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self):
        if not self.tensors:
            raise IndexError("tuple index out of range: a TensorDataset of no tensors has no length; give it some")
        return self.tensors[0].size(0)


class StackDataset(Dataset):
    """Datasets side by side: a sample is the tuple, or the dict, of their samples.

    >>> from adjoint.utils.data import StackDataset
    >>> StackDataset(image=["a", "b"], label=[0, 1])[1]
    {'image': 'b', 'label': 1}
    """

    def __init__(self, *args, **kwargs):
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like input/output, but both "
                "types are given."
            )
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        self.datasets = args or kwargs
        self._length = len(self._list()[0])
        if any(len(dataset) != self._length for dataset in self._list()):
            raise ValueError("Size mismatch between datasets")

    def _list(self):
        return list(self.datasets.values()) if isinstance(self.datasets, dict) else list(self.datasets)

    def _like(self, values):
        return dict(zip(self.datasets, values, strict=True)) if isinstance(self.datasets, dict) else tuple(values)

    def __getitem__(self, index):
        return self._like([dataset[index] for dataset in self._list()])

    def __getitems__(self, indices):
        """The samples at several places."""
        columns = []
        for dataset in self._list():
            if callable(getattr(dataset, "__getitems__", None)):
                column = dataset.__getitems__(indices)
                if len(column) != len(indices):
                    raise ValueError(
                        f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(column)}"
                    )
            else:
                column = [dataset[index] for index in indices]
            columns.append(column)
        return [self._like(values) for values in zip(*columns, strict=True)]

    def __len__(self):
        return self._length


class ConcatDataset(Dataset):
    """Datasets one after the other.

    >>> from adjoint.utils.data import ConcatDataset
    >>> both = ConcatDataset([[1, 2], [3]])
    >>> len(both), both[2], both.cumulative_sizes
    (3, 3, [2, 3])
    """

    def __init__(self, datasets):
        self.datasets = _listed(datasets, "a list of datasets")
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = list(itertools.accumulate(len(dataset) for dataset in self.datasets))

    def __len__(self):
        return self.cumulative_sizes[-1]

    def __getitem__(self, index):
        if index < 0:
            if -index > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            index += len(self)
        if not index < len(self):
            raise IndexError(f"list index out of range: {index}, in a ConcatDataset of {len(self)} samples")
        which = bisect.bisect_right(self.cumulative_sizes, index)
        return self.datasets[which][index - (self.cumulative_sizes[which - 1] if which else 0)]


class ChainDataset(IterableDataset):
    """Streams one after the other.

    >>> import adjoint as torch
    >>> class Count(torch.utils.data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter(range(2))
    >>> list(torch.utils.data.ChainDataset([Count(), Count()]))
    [0, 1, 0, 1]
    """

    def __init__(self, datasets):
        self.datasets = datasets

    def _checked(self):
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield dataset

    def __iter__(self):
        for dataset in self._checked():
            yield from dataset

    def __len__(self):
        return sum(len(dataset) for dataset in self._checked())


class Subset(Dataset):
    """Some samples of a dataset, by their indices.

    >>> from adjoint.utils.data import Subset
    >>> list(Subset("abcd", [2, 0]))
    ['c', 'a']
    """

    def __init__(self, dataset, indices):
        self.dataset = dataset
        self.indices = indices

    def _place(self, index):
        """Where a sample is in the whole dataset."""
        try:
            return self.indices[index]
        except IndexError as error:
            raise IndexError(f"{error}: {index}, in a Subset of {len(self.indices)} samples") from None

    def __getitem__(self, index):
        if isinstance(index, list):
            return self.dataset[[self._place(i) for i in index]]
        return self.dataset[self._place(index)]

    def __getitems__(self, indices):
        """The samples at several places."""
        chosen = [self._place(index) for index in _listed(indices, "a list of indices")]
        if callable(getattr(self.dataset, "__getitems__", None)):
            return self.dataset.__getitems__(chosen)
        return [self.dataset[index] for index in chosen]

    def __len__(self):
        return len(self.indices)


def random_split(dataset, lengths, generator=None):
    """Subsets of given lengths, or fractions, that share nothing; drawn at random.

    >>> import adjoint as torch
    >>> [len(part) for part in torch.utils.data.random_split(range(10), [0.75, 0.25])]
    [8, 2]
    """
    lengths = _listed(lengths, "a list of lengths or fractions")
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        counts = []
        for i, fraction in enumerate(lengths):
            if not 0 <= fraction <= 1:
                raise ValueError(f"Fraction at index {i} is not between 0 and 1")
            counts.append(math.floor(len(dataset) * fraction))
        for i in range(len(dataset) - sum(counts)):  # what rounding left over, one each
            counts[i % len(counts)] += 1
        lengths = counts
        for i, length in enumerate(lengths):
            if length == 0:
                warnings.warn(
                    f"Length of split at index {i} is 0. This might result in an empty dataset.", stacklevel=2
                )
    if sum(lengths) != len(dataset):
        raise ValueError(
            f"Sum of input lengths does not equal the length of the input dataset! {list(lengths)} sum to "
            f"{sum(lengths)}, and the dataset has {len(dataset)} samples; fractions that sum to 1 are taken, too."
        )
    order = _C.randperm(sum(lengths), generator=generator).tolist()
    ends = itertools.accumulate(lengths)
    return [Subset(dataset, order[end - length : end]) for end, length in zip(ends, lengths, strict=True)]
