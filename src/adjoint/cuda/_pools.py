"""Pools: memory of a GPU that a program keeps apart from the rest."""

import contextlib
import weakref

from .. import _C
from ._devices import index_of, init


class MemPool:
    """Memory of its own for what is allocated in use_mem_pool(pool); it goes back to the driver after the pool.

    Its id can be given to torch.cuda.graph(pool=). Other allocators than the package's own are not here.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     pool = torch.cuda.MemPool()
    ...     with torch.cuda.use_mem_pool(pool):
    ...         x = torch.ones(3, device="cuda")
    ...     assert len(pool.snapshot()) == 1
    """

    __module__ = "adjoint.cuda"

    def __init__(self, allocator=None, use_on_oom=False, no_split=False):
        init()
        for name, value in (("allocator", allocator), ("use_on_oom", use_on_oom), ("no_split", no_split)):
            if value:
                raise NotImplementedError(
                    f"MemPool(): {name} is not here: memory is kept by the one allocator of this package; leave it out"
                )
        self._pool = _C._cuda_new_pool()
        _C._cuda_retain_pool(self._pool)
        weakref.finalize(self, _C._cuda_release_pool, self._pool).atexit = False

    @property
    def allocator(self):
        """None: the allocator of the package."""
        return None

    @property
    def id(self):
        """The name of the pool, as torch.cuda.graph(pool=) takes it."""
        return (0, self._pool)

    def use_count(self):
        """How many use the pool: this object, contexts, and graphs."""
        return _C._cuda_pool_users(self._pool)

    def snapshot(self, include_traces=True):
        """The segments of the pool, as torch.cuda.memory_snapshot() has them."""
        return [each for each in _C._cuda_snapshot() if each["segment_pool_id"] == self.id]


@contextlib.contextmanager
def use_mem_pool(pool, device=None):
    """A context in which this thread's new tensors of a GPU lie in a pool.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     with torch.cuda.use_mem_pool(torch.cuda.MemPool()):
    ...         x = torch.ones(3, device="cuda")
    """
    index, number = index_of(device), pool.id[1]
    _C._cuda_retain_pool(number)
    before = _C._cuda_choose_pool(index, number)
    try:
        yield
    finally:
        _C._cuda_choose_pool(index, before)
        _C._cuda_release_pool(number)
