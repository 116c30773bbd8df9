"""What a worker process of a DataLoader does: fetch the batches it is asked for, and send them back."""

import dataclasses
import itertools
import random
import signal
import sys
import traceback

from .... import _C
from ...._refusal import Words
from . import shared
from .collate import name_samples

# Kinds of replies.
DATA, END, ERROR, READY = "data", "end", "error", "ready"


@dataclasses.dataclass
class WorkerInfo:
    """What get_worker_info() tells: the number of this worker and of all, its seed, and its copy of the dataset.

    >>> import adjoint as torch
    >>> torch.utils.data.get_worker_info() is None  # there is one in workers only
    True
    """

    id: int
    num_workers: int
    seed: int
    dataset: object
    rng: object = None
    worker_method: str = "multiprocessing"


_worker_info = None


def get_worker_info():
    """The WorkerInfo of the worker process that asks; None in the main process.

    >>> import adjoint as torch
    >>> torch.utils.data.get_worker_info() is None
    True
    """
    return _worker_info


class MapFetcher:
    """Samples by index, as a batch where indices come in lists."""

    def __init__(self, dataset, auto_collation, collate_fn, drop_last):
        self.dataset, self.auto_collation, self.collate_fn = dataset, auto_collation, collate_fn

    def fetch(self, index):
        """The batch, or the sample, at an index."""
        if not self.auto_collation:
            return self.collate_fn(self.dataset[index])
        if getattr(self.dataset, "__getitems__", None):
            return self.collate_fn(self.dataset.__getitems__(index))
        if not hasattr(index, "__iter__") and not hasattr(index, "__getitem__"):
            raise TypeError(
                f"'{type(index).__name__}' object is not iterable: expected a batch_sampler of lists of indices"
            )
        samples = [self.dataset[i] for i in index]
        try:
            return self.collate_fn(samples)
        except RuntimeError as error:
            name_samples(error, index)
            raise


class IterableFetcher:
    """The next samples of a stream; StopIteration at its end."""

    def __init__(self, dataset, auto_collation, collate_fn, drop_last):
        self.auto_collation, self.collate_fn, self.drop_last = auto_collation, collate_fn, drop_last
        self.samples = iter(dataset)
        self.ended = False

    def fetch(self, index):
        """As many samples as there are indices, or one."""
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return self.collate_fn(next(self.samples))
        batch = list(itertools.islice(self.samples, len(index)))
        if len(batch) < len(index):
            self.ended = True
            if not batch or self.drop_last:
                raise StopIteration
        return self.collate_fn(batch)


class Failure:
    """An exception on its way to the main process: its type and text."""

    def __init__(self, error, where):
        trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        self.kind = type(error)
        self.text = f"Caught {self.kind.__name__} {where}.\nOriginal {trace}"

    def reraise(self):
        """Raises an exception of the same type, or RuntimeError where that takes other arguments."""
        if self.kind is KeyError:
            raise KeyError(Words(self.text)) from None
        if self.kind is StopIteration:  # which would look like the end of the data
            raise RuntimeError(self.text)
        try:
            error = self.kind(self.text)
        except Exception:
            error = RuntimeError(self.text)
        raise error


@dataclasses.dataclass
class Job:
    """What a worker needs to know."""

    dataset: object
    fetcher: type
    auto_collation: bool
    collate_fn: object
    drop_last: bool
    base_seed: int
    id: int
    num_workers: int
    init_fn: object
    conns_of_others: list  # ends of pipes that a forked process inherits and must not keep open


def _generate_state(base_seed, worker_id):
    """What seeds NumPy's generator in a worker."""
    import numpy

    return numpy.random.SeedSequence([worker_id, base_seed]).generate_state(4).tolist()


def _seed(job):
    seed = job.base_seed + job.id
    random.seed(seed)
    _C.manual_seed(seed)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(_generate_state(job.base_seed, job.id))
    return seed


def run(job, conn):
    """Answers requests until there are no more; the main process handles Ctrl-C and closes the pipe."""
    global _worker_info
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for other in job.conns_of_others:
        other.close()
    _C.set_num_threads(1)
    where = f"in DataLoader worker process {job.id}"
    fetcher = failed = None

    def start():
        return job.fetcher(job.dataset, job.auto_collation, job.collate_fn, job.drop_last)

    try:
        _worker_info = WorkerInfo(job.id, job.num_workers, _seed(job), job.dataset)
        if job.init_fn is not None:
            job.init_fn(job.id)
        fetcher = start()
    except Exception as error:
        failed = Failure(error, where)
    try:
        while (request := conn.recv()) is not None:
            if request == READY:
                fetcher = start()
                shared.send(conn, READY, None, None)
                continue
            task, index = request
            try:
                if failed is not None:
                    reply, failed = (ERROR, task, shared.pack(failed)), None
                else:
                    reply = DATA, task, shared.pack(fetcher.fetch(index))
            except StopIteration as error:
                stream = job.fetcher is IterableFetcher
                reply = (END, task, None) if stream else (ERROR, task, shared.pack(Failure(error, where)))
            except Exception as error:
                reply = ERROR, task, shared.pack(Failure(error, where))
            shared.send(conn, *reply)
    except (EOFError, OSError):
        pass  # the main process has gone, or wants no more
    finally:
        conn.close()
