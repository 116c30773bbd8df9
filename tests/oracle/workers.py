"""Checks many entries in processes of their own: one that crashes or hangs costs only its entry."""

import multiprocessing
import multiprocessing.connection
import time

from . import check as checks
from . import transforms
from .entries import LEFT_OUT, entries


def serve(pipe, plan, dtypes):
    """A worker: answers names with findings until it is told to stop."""
    import torch

    import adjoint

    torch.set_num_threads(1)
    adjoint.set_num_threads(1)
    while (name := pipe.recv()) is not None:
        pipe.send(findings(name, plan, dtypes) | tangents(name, plan))


def findings(name, plan, dtypes):
    """What `check` finds; its own failure is a finding."""
    try:
        return checks.check(name, plan, dtypes)
    except Exception as error:
        return everywhere(name, f"the check fails: {type(error).__name__}: {error}")


def tangents(name, plan):
    """Why an entry has not torch's tangents, in a full run; nothing where it has no gradients."""
    if plan != checks.FULL or not entries()[name].supports_autograd or name in LEFT_OUT:
        return {}
    try:
        return {"jvp": list(transforms.check(name, 2, ("jvp",)).values())}
    except Exception as error:
        return {"jvp": [f"the check fails: {type(error).__name__}: {error}"]}


def everywhere(name, reason):
    """The findings of an entry that has the same reason at every level."""
    return {level: [reason] for level in checks.Findings(entries()[name]).reasons}


class Worker:
    """A process and the entry that it works on."""

    def __init__(self, plan, dtypes):
        context = multiprocessing.get_context("spawn")
        self.pipe, far_end = context.Pipe()
        self.process = context.Process(target=serve, args=(far_end, plan, dtypes), daemon=True)
        self.process.start()
        far_end.close()
        self.name = None

    def give(self, name, timeout):
        self.name, self.started = name, time.monotonic()
        self.deadline = self.started + timeout
        self.pipe.send(name)

    def stop(self):
        self.process.kill()
        self.process.join()


def check_all(names, plan, dtypes, jobs=2, timeout=120.0):
    """Yields (name, findings, seconds) as they come."""
    waiting = list(reversed(names))
    workers = []
    try:
        while waiting or workers:
            while waiting and len(workers) < jobs:
                workers.append(Worker(plan, dtypes))
                workers[-1].give(waiting.pop(), timeout)
            multiprocessing.connection.wait([worker.pipe for worker in workers], timeout=1.0)
            for worker in list(workers):
                result = answer(worker)
                if result is None:
                    continue
                yield worker.name, result, time.monotonic() - worker.started
                if worker.process.is_alive() and waiting and not worker.pipe.closed:
                    worker.give(waiting.pop(), timeout)
                else:
                    workers.remove(worker)
                    worker.stop()
    finally:
        for worker in workers:
            worker.stop()


def answer(worker):
    """The worker's findings, None while there are none; a worker that died or hangs is closed."""
    if worker.pipe.poll():
        try:
            return worker.pipe.recv()
        except EOFError:
            worker.process.join()
            worker.pipe.close()
            return everywhere(worker.name, f"crash: exit code {worker.process.exitcode}")
    if time.monotonic() > worker.deadline:
        worker.pipe.close()
        return everywhere(worker.name, "hang: no answer in time")
    return None
