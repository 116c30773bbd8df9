"""Datasets and loaders of one type of sample."""

from collections.abc import Iterator
from typing import assert_type

import adjoint as torch
from adjoint import Tensor
from adjoint.utils.data import (
    BatchSampler,
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    Sampler,
    Subset,
    TensorDataset,
    WeightedRandomSampler,
    random_split,
)

Sample = tuple[Tensor, int]


class Squares(Dataset[Sample]):
    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Sample:
        return torch.tensor(index**2), index


class Stream(IterableDataset[int]):
    def __iter__(self) -> Iterator[int]:
        return iter(range(3))


class Backwards(Sampler[int]):
    def __iter__(self) -> Iterator[int]:
        return iter([2, 1, 0])


class Wrong(Dataset[str]):
    def __getitem__(self, index: int) -> int:  # error: mypy[override] pyright[reportIncompatibleMethodOverride]
        return index


def collate(samples: list[Sample]) -> tuple[Tensor, Tensor]:
    return torch.stack([x for x, _ in samples]), torch.tensor([y for _, y in samples])


squares = Squares(10)
assert_type(squares[0], Sample)
assert_type(squares[0][0], Tensor)
loader = DataLoader(squares, batch_size=4, shuffle=True, collate_fn=collate, num_workers=0)
assert_type(loader, DataLoader[Sample])
assert_type(loader.dataset, Dataset[Sample])
for x, y in loader:
    print(x.shape, y)
for i, batch in enumerate(DataLoader(TensorDataset(torch.ones(3), torch.ones(3)), batch_size=2)):
    print(i, batch[0])
assert_type(DataLoader(Stream()), DataLoader[int])
train, test = random_split(squares, [0.8, 0.2], generator=torch.Generator().manual_seed(0))
assert_type(train, Subset[Sample])
assert_type(train[0], Sample)
assert_type(Subset(squares, [1, 2]).dataset, Dataset[Sample])
assert_type(squares + squares, ConcatDataset[Sample])
assert_type(TensorDataset(torch.ones(3))[0], tuple[Tensor, ...])
assert_type([index for index in RandomSampler(squares)], list[int])
assert_type([index for index in Backwards()], list[int])
assert_type([indices for indices in BatchSampler(Backwards(), 2, drop_last=False)], list[list[int]])
DataLoader(squares, sampler=WeightedRandomSampler([0.1, 0.2], 2))
assert_type(len(loader), int)

DataLoader([1, 2], batch_size="two")  # error: mypy[arg-type] pyright[reportArgumentType]
DataLoader(Stream(), collate_fn=collate)  # error: mypy[arg-type] pyright[reportArgumentType]
