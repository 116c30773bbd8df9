"""DataLoader: batches of a dataset, in this process or made ahead by worker processes."""

import contextlib
import itertools
import os
import time
import warnings
import weakref
from collections.abc import Callable
from typing import Any

from ... import _C
from ._utils import shared, worker
from ._utils.collate import default_collate, default_convert
from ._utils.pin_memory import pin_memory
from .dataset import IterableDataset
from .sampler import BatchSampler, RandomSampler, SequentialSampler, fresh_seed

PATIENCE = 5.0  # seconds that workers have to end by themselves,
FORCED = 1.0  # and when they are made to

_open_conns = set()  # our ends of the pipes to all workers: a worker that inherits one would keep the pipe open


class _Endless:
    """A sampler for streams, which have no indices: None for ever."""

    def __iter__(self):
        return itertools.repeat(None)


class DataLoader:
    """Batches of samples: in order or shuffled, collated, and loaded by `num_workers` processes if not 0.

    >>> import adjoint as torch
    >>> loader = torch.utils.data.DataLoader(range(5), batch_size=2)
    >>> list(loader), len(loader)
    ([tensor([0, 1]), tensor([2, 3]), tensor([4])], 3)
    """

    _initialized = False
    _iterator = None
    _multiprocessing_context = None

    def __class_getitem__(cls, item):
        return cls

    def __init__(
        self,
        dataset,
        batch_size=1,
        shuffle=None,
        sampler=None,
        batch_sampler=None,
        num_workers=0,
        collate_fn=None,
        pin_memory=False,
        drop_last=False,
        timeout=0,
        worker_init_fn=None,
        multiprocessing_context=None,
        generator=None,
        *,
        prefetch_factor=None,
        persistent_workers=False,
        pin_memory_device="",
        in_order=True,
    ):
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers > 0 and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        self._stream = isinstance(dataset, IterableDataset)
        self._stream_length = None
        if self._stream:
            for name, value in (("shuffle", shuffle), ("sampler", sampler), ("batch_sampler", batch_sampler)):
                if value not in ((None, False) if name == "shuffle" else (None,)):
                    raise ValueError(
                        f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}"
                    )
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                )
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        if sampler is None:
            if self._stream:
                sampler = _Endless()
            else:
                sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.generator = generator
        if collate_fn is None:
            collate_fn = default_collate if self._auto_collation else default_convert
        self.collate_fn = collate_fn
        self.persistent_workers = persistent_workers
        self._initialized = True
        self._warn_of_many_workers()

    def __setattr__(self, name, value):
        fixed = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")
        if self._initialized and name in fixed:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    @property
    def multiprocessing_context(self):
        """How worker processes are started: a context of `multiprocessing`, or None for its default."""
        return self._multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context):
        if context is not None:
            import multiprocessing.context

            if self.num_workers == 0:
                raise ValueError(
                    "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
                    f"num_workers={self.num_workers}"
                )
            if isinstance(context, str):
                methods = multiprocessing.get_all_start_methods()
                if context not in methods:
                    raise ValueError(
                        f"multiprocessing_context option should specify a valid start method in {methods!r}, but got "
                        f"multiprocessing_context={context!r}"
                    )
                context = multiprocessing.get_context(context)
            if not isinstance(context, multiprocessing.context.BaseContext):
                raise TypeError(
                    "multiprocessing_context option should be a valid context object or a string specifying the start "
                    f"method, but got multiprocessing_context={context}"
                )
        self._multiprocessing_context = context

    @property
    def _auto_collation(self):
        return self.batch_sampler is not None

    @property
    def _pins(self):
        """Whether batches go to pinned memory: where it is asked for and there is a GPU."""
        return self.pin_memory and not _C._cuda_why_unavailable()

    @property
    def _index_sampler(self):
        return self.batch_sampler if self._auto_collation else self.sampler

    def __iter__(self):
        if self.pin_memory and self.pin_memory_device:
            warnings.warn(
                "pin_memory_device is deprecated, the current accelerator will be used as the device,ignore "
                f"pin_memory_device='{self.pin_memory_device}'.",
                stacklevel=2,
            )
        if self.pin_memory and not self._pins:
            warnings.warn(
                "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be "
                "used.",
                stacklevel=2,
            )
        if self.num_workers == 0:
            return _InThisProcess(self)
        if not self.persistent_workers:
            return _ByWorkers(self)
        if self._iterator is None or self._iterator._crew.closed:
            self._iterator = _ByWorkers(self)
        else:
            self._iterator.restart()
        return self._iterator

    def __len__(self):
        if not self._stream:
            return len(self._index_sampler)
        length = self._stream_length = len(self.dataset)
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)

    def check_worker_number_rationality(self):
        """Warns when there are more workers than processors."""
        self._warn_of_many_workers()

    def _warn_of_many_workers(self):
        processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        if self.num_workers > processors:
            warnings.warn(
                f"This DataLoader will create {self.num_workers} worker processes in total. Our suggested max number "
                f"of worker in current system is {processors}, which is smaller than what this DataLoader is going to "
                "create. Please be aware that excessive worker creation might get DataLoader running slow or even "
                "freeze, lower the worker number to avoid potential slowness/freeze if necessary.",
                stacklevel=3,
            )


def _check_workers(num_workers, timeout, prefetch_factor, persistent_workers):
    if num_workers < 0:
        raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable "
            "multiprocessing, otherwise set prefetch_factor to None."
        )
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


class _Iterator:
    """One pass over a loader."""

    def __init__(self, loader):
        self._loader = loader
        self._fetcher_type = worker.IterableFetcher if loader._stream else worker.MapFetcher
        self._base_seed = fresh_seed(loader.generator)
        self._begin()

    def _begin(self):
        self._indices = iter(self._loader._index_sampler)
        self._yielded = 0

    def __iter__(self):
        return self

    def __len__(self):
        return len(self._loader._index_sampler)

    def __next__(self):
        span = _C._begin_span(self._profile_name)
        try:
            batch = self._next_batch()
            if self._loader._pins:
                batch = pin_memory(batch)
        finally:
            _C._end_span(span)
        self._yielded += 1
        length = self._loader._stream_length
        if length is not None and self._yielded > length:
            hint = ""
            if self._loader.num_workers > 0:
                hint = (
                    " For multiprocessing data-loading, this could be caused by not properly configuring the "
                    "IterableDataset replica at each worker: use get_worker_info() to divide the samples."
                )
            warnings.warn(
                f"Length of IterableDataset {self._loader.dataset} was reported to be {length}(when accessing "
                f"len(dataloader)), but {self._yielded} samples have been fetched.{hint}",
                stacklevel=2,
            )
        return batch


class _InThisProcess(_Iterator):
    """Fetches each batch when it is asked for."""

    _profile_name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"  # by which torch's profiler has it

    def __init__(self, loader):
        super().__init__(loader)
        self._fetcher = self._fetcher_type(loader.dataset, loader._auto_collation, loader.collate_fn, loader.drop_last)

    def _next_batch(self):
        return self._fetcher.fetch(next(self._indices))


class _Worker:
    """A worker process as the main process sees it."""

    def __init__(self, context, job):
        self.conn, theirs = context.Pipe()
        _open_conns.add(self.conn)
        if context.get_start_method() == "fork":
            job.conns_of_others = list(_open_conns)
        self.process = context.Process(target=worker.run, args=(job, theirs), daemon=True)
        self.process.start()
        theirs.close()
        self.end = _end_of(self.process)
        self.active = True  # whether its stream has not ended

    def request(self, what):
        """Sends a request; that it is no longer there is found out when its answer is awaited."""
        with contextlib.suppress(OSError):
            self.conn.send(what)

    def dismiss(self):
        """Tells the process that no more is wanted of it."""
        self.request(None)
        _open_conns.discard(self.conn)
        self.conn.close()
        if self.end != self.process.sentinel:
            os.close(self.end)

    def why_gone(self):
        """How the process ended, in words."""
        self.process.join(FORCED)
        code = self.process.exitcode
        if code is not None and code < 0:
            import signal

            return f"killed by signal {signal.Signals(-code).name}"
        return f"exit code {code}"


def _end_of(process):
    """A file that can be read when the process has ended, even if processes that it started have its pipes."""
    try:
        return os.pidfd_open(process.pid)
    except (AttributeError, OSError):  # not on this system
        return process.sentinel


class _Crew:
    """The workers of one iterator, and the end of them."""

    def __init__(self):
        self.workers = []
        self.closed = False
        self.pid = os.getpid()

    def close(self, patience=PATIENCE):
        """Ends the workers: at once when they wait, by force when they do not end by themselves."""
        if self.closed or os.getpid() != self.pid:
            return
        self.closed = True
        for each in self.workers:
            each.dismiss()
        self._await(patience)
        for end in ("terminate", "kill"):
            for each in self.workers:
                if each.process.is_alive():
                    getattr(each.process, end)()
            self._await(FORCED)

    def _await(self, seconds):
        """Waits until all processes have ended, but no longer than that."""
        end = time.monotonic() + seconds
        for each in self.workers:
            each.process.join(max(0.0, end - time.monotonic()))


class _ByWorkers(_Iterator):
    """Has workers fetch batches ahead, a few for each, and hands them out in order."""

    _profile_name = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"

    def __init__(self, loader):
        import multiprocessing

        self._crew = _Crew()
        self._workers = self._crew.workers
        weakref.finalize(self, self._crew.close)  # at the exit of the program as well
        super().__init__(loader)
        context = loader.multiprocessing_context or multiprocessing.get_context()
        for i in range(loader.num_workers):
            job = worker.Job(
                loader.dataset,
                self._fetcher_type,
                loader._auto_collation,
                loader.collate_fn,
                loader.drop_last,
                self._base_seed,
                i,
                loader.num_workers,
                loader.worker_init_fn,
                [],
            )
            self._workers.append(_Worker(context, job))
        self._prefetch()

    def _begin(self):
        super()._begin()
        self._sent = self._received = 0  # numbers of the next task to send, and of the next to hand out
        self._tasks = {}  # number -> worker, of those without an answer
        self._answers = {}  # number -> (kind, message)
        self._turns = itertools.cycle(self._workers)

    def restart(self):
        """Begins another pass with the same workers."""
        for each in self._workers:
            each.active = True
            each.request(worker.READY)
        waiting = set(self._workers)
        while waiting:
            for each, (kind, _, _) in self._receive(waiting):
                if kind == worker.READY:  # other replies are left over from the last pass
                    waiting.discard(each)
        self._begin()
        self._prefetch()

    def _prefetch(self):
        for _ in range(self._loader.prefetch_factor * len(self._workers)):
            self._send_task()

    def _send_task(self):
        """Gives the next task to the next worker whose turn it is, if there is any."""
        if not any(each.active for each in self._workers):
            return
        try:
            index = next(self._indices)
        except StopIteration:
            return
        chosen = next(each for each in self._turns if each.active)
        chosen.request((self._sent, index))
        self._tasks[self._sent] = chosen
        self._sent += 1

    def _receive(self, workers):
        """(worker, reply) pairs from workers that have something to say; raises when one has gone."""
        from multiprocessing.connection import wait

        conns = {each.conn: each for each in workers}
        ends = {each.end: each.conn for each in workers}
        ready = wait([*conns, *ends], self._loader.timeout or None)
        if not ready:
            self._crew.close(patience=0)
            raise RuntimeError(f"DataLoader timed out after {self._loader.timeout} seconds")
        replies = []
        for conn in {ends.get(one, one) for one in ready}:
            try:
                if conn not in ready and not conn.poll():
                    raise EOFError
                replies.append((conns[conn], shared.receive(conn)))
            except (EOFError, OSError):
                gone = conns[conn]
                pid, reason = gone.process.pid, gone.why_gone()
                self._crew.close(patience=0)
                raise RuntimeError(
                    f"DataLoader worker (pid(s) {pid}) exited unexpectedly ({reason}). A worker that is killed has "
                    "often run out of memory: use fewer workers or smaller batches"
                ) from None
        return replies

    def _next_task(self):
        """The number of the next task with an answer, or of the one to wait for; StopIteration when all is done."""
        while self._received < self._sent and self._received not in self._tasks and self._received not in self._answers:
            self._received += 1
        if self._received == self._sent:
            if not self._loader.persistent_workers:
                self._crew.close()
            raise StopIteration
        if not self._loader.in_order and self._answers:
            return min(self._answers)
        return self._received

    def _next_batch(self):
        if self._crew.closed:
            raise StopIteration
        while True:
            task = self._next_task()
            while task not in self._answers:
                for each, (kind, number, message) in self._receive(set(self._tasks.values())):
                    self._tasks.pop(number)
                    self._answers[number] = kind, message
                    if kind == worker.END:
                        each.active = False
                if not self._loader.in_order:
                    task = min(self._answers, default=task)
            kind, message = self._answers.pop(task)
            self._send_task()
            if kind == worker.END:
                continue
            value = shared.unpack(message)
            if kind == worker.ERROR:
                value.reraise()
            return value


# The names that these have in torch, by which programs tell them apart.
_BaseDataLoaderIter, _SingleProcessDataLoaderIter, _MultiProcessingDataLoaderIter = (
    _Iterator,
    _InThisProcess,
    _ByWorkers,
)
_C._explain_init(DataLoader)
_collate_fn_t = Callable[[list], Any]
_worker_init_fn_t = Callable[[int], None]
