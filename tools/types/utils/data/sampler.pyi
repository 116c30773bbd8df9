# Samplers of places in a dataset, or of lists of places.
from collections.abc import Sized
from typing import Generic, TypeVar

_T_co = TypeVar("_T_co", covariant=True)

class Sampler(Generic[_T_co]):
    def __iter__(self) -> _Iterator[_T_co]: ...

class SequentialSampler(Sampler[_int]):
    data_source: Sized
    def __init__(self, data_source: Sized) -> None: ...
    def __iter__(self) -> _Iterator[_int]: ...

class RandomSampler(Sampler[_int]):
    data_source: Sized
    def __init__(
        self,
        data_source: Sized,
        replacement: _bool = False,
        num_samples: _int | None = None,
        generator: _Generator | None = None,
    ) -> None: ...
    @property
    def num_samples(self) -> _int: ...
    def __iter__(self) -> _Iterator[_int]: ...

class SubsetRandomSampler(Sampler[_int]):
    indices: _Sequence[_int]
    def __init__(self, indices: _Sequence[_int], generator: _Generator | None = None) -> None: ...
    def __iter__(self) -> _Iterator[_int]: ...

class WeightedRandomSampler(Sampler[_int]):
    weights: _Tensor
    def __init__(
        self,
        weights: _Sequence[_float] | _Tensor,
        num_samples: _int,
        replacement: _bool = True,
        generator: _Generator | None = None,
    ) -> None: ...
    def __iter__(self) -> _Iterator[_int]: ...

class BatchSampler(Sampler[_list[_int]]):
    sampler: Sampler[_int] | _Iterable[_int]
    def __init__(self, sampler: Sampler[_int] | _Iterable[_int], batch_size: _int, drop_last: _bool) -> None: ...
    def __iter__(self) -> _Iterator[_list[_int]]: ...
