"""Datasets, samplers and collation against torch's: values, random streams, errors."""

import collections

import numpy as np
import pytest
import torch

import adjoint
from tests.compare import programs, same

program, test_program = programs()
LETTERS = "abcdefghij"


def data(L):
    """The module utils.data."""
    return L.utils.data


def squares(L, count=10):
    """A dataset of squares, made with the library's own class."""

    class Squares(data(L).Dataset):
        def __len__(self):
            return count

        def __getitem__(self, index):
            return index**2

    return Squares()


def stream(L, count=5):
    class Stream(data(L).IterableDataset):
        def __iter__(self):
            return iter(range(count))

    return Stream()


@program
def tensors(L):
    dataset = data(L).TensorDataset(L.arange(6).view(3, 2), L.ones(3))
    return [dataset[1], dataset[-1], dataset[:2], len(dataset)]


@program
def sums_of_datasets(L):
    both = squares(L, 3) + squares(L, 2)
    return [both[i] for i in range(-5, 5)], len(both), both.cumulative_sizes, list(stream(L, 2) + stream(L, 3))


@program
def stacked(L):
    first, second = squares(L, 3), squares(L, 3)
    by_name = data(L).StackDataset(a=first, b=data(L).Subset(second, [2, 1, 0]))
    return [data(L).StackDataset(first, second)[2], by_name[0], by_name.__getitems__([0, 2]), len(by_name)]


@program
def subsets(L):
    subset = data(L).Subset(squares(L), [3, 1])
    nested = data(L).Subset(data(L).Subset(squares(L), [3, 1, 4]), [2, 0])
    return list(subset), subset.__getitems__([1, 0]), nested.__getitems__([0]), len(nested)


@program
def splits(L):
    L.manual_seed(4)
    parts = data(L).random_split(squares(L), [3, 7])
    shares = data(L).random_split(squares(L), [0.35, 0.35, 0.3], L.Generator().manual_seed(1))
    return [[list(part.indices) for part in [*parts, *shares]], L.rand(1)]


@program
def samplers(L):
    D, source = data(L), range(10)
    L.manual_seed(7)
    generator = L.Generator()
    generator.manual_seed(3)
    return [
        list(D.SequentialSampler(source)),
        list(D.RandomSampler(source)),
        list(D.RandomSampler(source, generator=generator)),
        list(D.RandomSampler(source, True, 70)),
        list(D.RandomSampler(source, False, 25)),
        list(D.SubsetRandomSampler([5, 6, 7])),
        list(D.WeightedRandomSampler([1.0, 2.0, 3.0], 5)),
        list(D.WeightedRandomSampler([1.0, 2.0, 3.0], 3, False)),
        list(D.BatchSampler(D.RandomSampler(source), 3, True)),
        list(D.BatchSampler(source, 3, False)),
        [len(D.BatchSampler(source, 3, drop)) for drop in (True, False)],
        L.rand(2),
    ]


@program
def shares_of_processes(L):
    lists = []
    for drop_last in (False, True):
        for rank in range(3):
            sampler = data(L).DistributedSampler(range(10), 3, rank, seed=2, drop_last=drop_last)
            sampler.set_epoch(5)
            lists.append((list(sampler), len(sampler)))
    return lists, list(data(L).DistributedSampler(range(2), 5, 4, shuffle=False))


Pair = collections.namedtuple("Pair", "a b")


class Keeper(dict):
    """A mapping of its own kind."""


def batches(L):
    """Lists of samples."""
    return {
        "ints": [1, 2],
        "floats": [1.0, 2.0],
        "bools": [True, False],
        "strings": ["a", "b"],
        "bytes": [b"a"],
        "tensors": [L.ones(2), L.zeros(2)],
        "arrays": [np.ones(2), np.zeros(2)],
        "array scalars": [np.float32(1), np.float32(2)],
        "zero-dimensional arrays": [np.array(3), np.array(4)],
        "dicts": [{"a": 1, "b": L.ones(1)}] * 2,
        "mappings": [collections.OrderedDict(a=1), collections.OrderedDict(a=2)],
        "named tuples": [Pair(1, 2.0), Pair(3, 4.0)],
        "tuples": [(1, "a"), (2, "b")],
        "lists": [[1, 2], [3, 4]],
        "nested": [{"a": [(1, L.ones(1))]}, {"a": [(2, L.zeros(1))]}],
        "uneven": [[1], [2, 3]],
        "none": [None],
        "nothing": [],
        "objects": [object()],
        "text arrays": [np.array("a")],
        "shapes": [L.ones(1), L.ones(2)],
        "sets": [{1}],
        "ranges": [range(2), range(2)],
        "mixed": ["a", 1],
    }


@pytest.mark.parametrize("name", batches(torch))
def test_collate(name):
    same(lambda L: data(L).default_collate(batches(L)[name]))
    if name not in ("objects", "text arrays"):  # given back as they are: nothing to compare by value
        same(lambda L: data(L).default_convert(batches(L)[name]))


def test_own_mappings_keep_their_kind():
    assert type(adjoint.utils.data.default_collate([Keeper(a=1), Keeper(a=2)])) is Keeper


REFUSALS = {
    "sizes": lambda L: data(L).TensorDataset(L.ones(2), L.ones(3)),
    "no datasets": lambda L: data(L).ConcatDataset([]),
    "stream in a sum": lambda L: data(L).ConcatDataset([stream(L)]),
    "index": lambda L: data(L).ConcatDataset([squares(L)])[-11],
    "index behind the end": lambda L: data(L).ConcatDataset([squares(L)])[10],
    "index behind the end of a subset": lambda L: data(L).Subset(LETTERS, [1, 2])[2],
    "indices behind the end of a subset": lambda L: data(L).Subset(LETTERS, [1, 2]).__getitems__([0, 5]),
    "datasets of none": lambda L: data(L).ConcatDataset(None),
    "batch of a dict": lambda L: data(L).default_collate({"a": 1}),
    "batch of none": lambda L: data(L).default_collate([]),
    "batch of no samples": lambda L: data(L).default_collate(()),
    "batch of a number": lambda L: data(L).default_collate(5),
    "samples of other keys": lambda L: data(L).default_collate([{"a": 1}, {"b": 1}]),
    "batches of none": lambda L: next(iter(data(L).DataLoader(LETTERS, batch_sampler=[None]))),
    "batches of numbers": lambda L: next(iter(data(L).DataLoader(LETTERS, batch_sampler=[5]))),
    "an index that is no number": lambda L: data(L).ConcatDataset([squares(L)])[float("nan")],
    "split by none": lambda L: data(L).random_split(LETTERS, None),
    "subset by none": lambda L: data(L).Subset(LETTERS, [1]).__getitems__(None),
    "no tensors": lambda L: len(data(L).TensorDataset()),
    "samples of none": lambda L: next(iter(data(L).RandomSampler([], num_samples=3))),
    "nothing stacked": lambda L: data(L).StackDataset(),
    "both ways": lambda L: data(L).StackDataset(LETTERS, x=LETTERS),
    "lengths": lambda L: data(L).StackDataset("ab", "abc"),
    "no getitem": lambda L: data(L).Dataset()[0],
    "chain": lambda L: list(data(L).ChainDataset([LETTERS])),
    "split": lambda L: data(L).random_split(LETTERS, [3, 3]),
    "fraction": lambda L: data(L).random_split(LETTERS, [1.2, -0.2]),
    "empty split": lambda L: [len(part) for part in data(L).random_split("a", [0.5, 0.5])],
    "replacement": lambda L: data(L).RandomSampler(LETTERS, replacement=2),
    "count": lambda L: data(L).RandomSampler(LETTERS, num_samples=0),
    "empty": lambda L: data(L).RandomSampler([]),
    "weights": lambda L: data(L).WeightedRandomSampler([[1, 2]], 1),
    "too many": lambda L: list(data(L).WeightedRandomSampler([1, 2], 5, False)),
    "batch size": lambda L: data(L).BatchSampler([1], 0, False),
    "drop last": lambda L: data(L).BatchSampler([1], 1, 3),
    "rank": lambda L: data(L).DistributedSampler(LETTERS, 2, 2),
    "workers": lambda L: data(L).DataLoader(LETTERS, num_workers=-1),
    "timeout": lambda L: data(L).DataLoader(LETTERS, timeout=-1),
    "prefetch": lambda L: data(L).DataLoader(LETTERS, prefetch_factor=2),
    "negative prefetch": lambda L: data(L).DataLoader(LETTERS, num_workers=1, prefetch_factor=-1),
    "persistent": lambda L: data(L).DataLoader(LETTERS, persistent_workers=True),
    "shuffled stream": lambda L: data(L).DataLoader(stream(L), shuffle=True),
    "sampled stream": lambda L: data(L).DataLoader(stream(L), sampler=[1]),
    "batched stream": lambda L: data(L).DataLoader(stream(L), batch_sampler=[1]),
    "sampler and shuffle": lambda L: data(L).DataLoader(LETTERS, sampler=[1], shuffle=True),
    "batch sampler and size": lambda L: data(L).DataLoader(LETTERS, batch_sampler=[[1]], batch_size=2),
    "no batch to drop": lambda L: data(L).DataLoader(LETTERS, batch_size=None, drop_last=True),
    "context": lambda L: data(L).DataLoader(LETTERS, multiprocessing_context="fork"),
    "unknown context": lambda L: data(L).DataLoader(LETTERS, num_workers=1, multiprocessing_context="x"),
    "context of another type": lambda L: data(L).DataLoader(LETTERS, num_workers=1, multiprocessing_context=3),
    "changed": lambda L: setattr(data(L).DataLoader(LETTERS), "batch_size", 3),
    "stream without length": lambda L: len(data(L).DataLoader(stream(L))),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(name):
    same(REFUSALS[name])


def test_too_many_workers_and_pinned_memory_warn():
    assert same(lambda L: bool(data(L).DataLoader(LETTERS, num_workers=200))).warnings
    same(lambda L: list(data(L).DataLoader(LETTERS, 5, pin_memory=True)))


def test_a_stream_without_iter_says_so():
    with pytest.raises(NotImplementedError, match="should implement __iter__"):
        iter(adjoint.utils.data.IterableDataset())


# ---- DataLoader without workers


@program
def loaded_in_order_and_shuffled(L):
    D = data(L)
    L.manual_seed(0)
    seen = [list(D.DataLoader(squares(L), 4, shuffle=shuffle)) for shuffle in (True, True, False)]
    generator = L.Generator()
    generator.manual_seed(3)
    seen.append(list(D.DataLoader(squares(L), 4, shuffle=True, generator=generator)))
    return [seen, L.rand(1), L.rand(1, generator=generator)]


@program
def loaded_by_samplers(L):
    D = data(L)
    return [
        list(D.DataLoader(squares(L), 2, sampler=[3, 1, 2])),
        list(D.DataLoader(squares(L), batch_sampler=[[1, 2], [3]])),
        list(D.DataLoader(squares(L), None)),
        list(D.DataLoader(squares(L), 3, drop_last=True)),
        list(D.DataLoader(squares(L), 3, collate_fn=sum)),
        [len(D.DataLoader(squares(L), size)) for size in (1, 3, None)],
    ]


@program
def loaded_streams(L):
    D = data(L)
    return [list(D.DataLoader(stream(L), 2)), list(D.DataLoader(stream(L), 2, drop_last=True)),
            list(D.DataLoader(stream(L), None))]  # fmt: skip


def test_samplers_take_no_more_memory_than_is_asked_of_them():
    many = 2**40
    assert next(iter(adjoint.utils.data.RandomSampler(range(1), num_samples=many))) == 0
    assert next(iter(adjoint.utils.data.RandomSampler(range(1), True, many))) == 0
    assert list(adjoint.utils.data.DistributedSampler(range(3), many, many - 1, shuffle=False)) == [(many - 1) % 3]


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("count", [0, 1, 3, 7])
@pytest.mark.parametrize("replicas", [1, 2, 5])
def test_shares_of_processes(replicas, count, drop_last):
    def shares(L):
        make = data(L).DistributedSampler
        return [list(make(range(count), replicas, rank, drop_last=drop_last)) for rank in range(replicas)]

    same(shares)
