# DataLoader gives batches: of a Dataset[T] what the collation makes of a list of T.
from collections.abc import Iterator as _Batches
from typing import Generic, TypeVar

from .dataset import Dataset
from .sampler import Sampler

_T_co = TypeVar("_T_co", covariant=True)

class DataLoader(Generic[_T_co]):
    dataset: Dataset[_T_co]
    batch_size: _int | None
    num_workers: _int
    pin_memory: _bool
    drop_last: _bool
    timeout: _float
    sampler: Sampler[_Any] | _Iterable[_Any]
    batch_sampler: Sampler[_list[_Any]] | _Iterable[_list[_Any]] | None
    generator: _Generator | None
    collate_fn: _Callable[[_list[_Any]], _Any]
    prefetch_factor: _int | None
    persistent_workers: _bool
    def __init__(
        self,
        dataset: Dataset[_T_co],
        batch_size: _int | None = 1,
        shuffle: _bool | None = None,
        sampler: Sampler[_Any] | _Iterable[_Any] | None = None,
        batch_sampler: Sampler[_list[_Any]] | _Iterable[_list[_Any]] | None = None,
        num_workers: _int = 0,
        collate_fn: _Callable[[_list[_T_co]], _Any] | None = None,
        pin_memory: _bool = False,
        drop_last: _bool = False,
        timeout: _float = 0,
        worker_init_fn: _Callable[[_int], None] | None = None,
        multiprocessing_context: _Any = None,
        generator: _Generator | None = None,
        *,
        prefetch_factor: _int | None = None,
        persistent_workers: _bool = False,
        pin_memory_device: _str = "",
        in_order: _bool = True,
    ) -> None: ...
    def __iter__(self) -> _Batches[_Any]: ...
    def __len__(self) -> _int: ...
