"""Samplers: the order in which a DataLoader asks for samples, with torch's random streams."""

import itertools

from ... import _C
from ...ops import language as ops


def fresh_seed(generator=None):
    """A seed drawn from a generator, by default the global one."""
    return int(_C.empty((), dtype=_C.int64).random_(generator=generator).item())


def _check_count(num_samples):
    if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
        raise ValueError(f"num_samples should be a positive integer value, but got num_samples={num_samples}")


def _length(dataset):
    """How many samples a dataset has; one that does not say is refused in words."""
    try:
        return len(dataset)
    except TypeError as error:
        if hasattr(dataset, "__len__"):
            raise
        raise TypeError(
            f"{error}; give the dataset a method __len__, or make it an IterableDataset with __iter__"
        ) from None


class Sampler:
    """Indices, or lists of them, to be iterated over: to be subclassed with `__iter__`.

    >>> import adjoint as torch
    >>> class Backwards(torch.utils.data.Sampler):
    ...     def __iter__(self):
    ...         return iter([2, 1, 0])
    >>> list(torch.utils.data.DataLoader([10, 20, 30], sampler=Backwards()))
    [tensor([30]), tensor([20]), tensor([10])]
    """

    def __class_getitem__(cls, item):
        return cls

    def __iter__(self):
        raise NotImplementedError("Subclasses of Sampler should implement __iter__.")


class SequentialSampler(Sampler):
    """The indices in order.

    >>> from adjoint.utils.data import SequentialSampler
    >>> list(SequentialSampler("abc"))
    [0, 1, 2]
    """

    def __init__(self, data_source):
        self.data_source = data_source

    def __iter__(self):
        return iter(range(_length(self.data_source)))

    def __len__(self):
        return _length(self.data_source)


class RandomSampler(Sampler):
    """The indices in random order, or drawn with replacement.

    >>> import adjoint as torch
    >>> sorted(torch.utils.data.RandomSampler(range(4)))
    [0, 1, 2, 3]
    """

    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        _check_count(self.num_samples)

    @property
    def num_samples(self):
        """How many indices there will be: as many as samples, unless told."""
        return _length(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self):
        count = _length(self.data_source)
        generator = self.generator
        if generator is None:
            generator = _C.Generator()
            generator.manual_seed(fresh_seed())
        if self.replacement:
            whole, rest = divmod(self.num_samples, 32)
            for size in itertools.chain(itertools.repeat(32, whole), [rest]):
                yield from _C.randint(high=count, size=(size,), dtype=_C.int64, generator=generator).tolist()
        else:
            if not count:
                raise ZeroDivisionError(
                    f"integer division or modulo by zero: expected samples to draw {self.num_samples} of without "
                    "replacement; the data source is empty"
                )
            whole, rest = divmod(self.num_samples, count)
            for size in itertools.chain(itertools.repeat(count, whole), [rest]):
                yield from _C.randperm(count, generator=generator).tolist()[:size]

    def __len__(self):
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """Given indices in random order.

    >>> import adjoint as torch
    >>> sorted(torch.utils.data.SubsetRandomSampler([3, 5, 7]))
    [3, 5, 7]
    """

    def __init__(self, indices, generator=None):
        self.indices = indices
        self.generator = generator

    def __iter__(self):
        for i in _C.randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self):
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """Indices drawn with given weights.

    >>> import adjoint as torch
    >>> list(torch.utils.data.WeightedRandomSampler([0.0, 1.0], 3))
    [1, 1, 1]
    """

    def __init__(self, weights, num_samples, replacement=True, generator=None):
        _check_count(num_samples)
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        weights = _C.as_tensor(weights, dtype=_C.float64)
        if weights.dim() != 1:
            raise ValueError(f"weights should be a 1d sequence but given weights have shape {tuple(weights.shape)}")
        self.weights = weights
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self):
        chosen = ops.multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator)
        yield from chosen.tolist()

    def __len__(self):
        return self.num_samples


class BatchSampler(Sampler):
    """Lists of `batch_size` indices from another sampler; the last one may be shorter, unless `drop_last`.

    >>> from adjoint.utils.data import BatchSampler
    >>> list(BatchSampler(range(5), 2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler, batch_size, drop_last):
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size}")
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self):
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) < self.batch_size and self.drop_last:
                return
            yield batch

    def __len__(self):
        whole, rest = divmod(len(self.sampler), self.batch_size)
        return whole + (rest > 0 and not self.drop_last)
