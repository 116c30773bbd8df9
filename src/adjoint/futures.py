"""Future: a value that comes later, from another thread or a callback; and lists of them."""

import sys
import threading
from typing import Generic, TypeVar

from . import _C

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")


class Future(Generic[T]):
    """A value that is set once, waited for by any thread, and passed on to callbacks.

    `devices` would be those whose streams a GPU's value waits for.

    >>> import adjoint as torch
    >>> future = torch.futures.Future()
    >>> after = future.then(lambda done: done.value() + 1)
    >>> future.set_result(1)
    >>> after.wait()
    2
    """

    def __init__(self, *, devices=None):
        for device in map(_C.device, devices or ()):
            if device.index is None:
                raise ValueError(f"Expected devices to have indices, got {device}")
            raise RuntimeError(f"PyTorch is not linked with support for {device.type} devices: there is no GPU here")
        self._lock = threading.Lock()
        self._set = threading.Event()
        self._callbacks = []
        self._result = self._error = None

    def done(self):
        """Whether a result or an exception was set."""
        return self._set.is_set()

    def wait(self):
        """Waits for the result and returns it; an exception that was set instead is raised."""
        self._set.wait()
        if self._error is not None:
            raise self._error
        return self._result

    def value(self):
        """The result, or the exception raised, of a future that is done."""
        if not self.done():
            raise RuntimeError("value(): the future is not completed() yet; call wait(), or ask done() first")
        return self.wait()

    def set_result(self, result):
        """Sets the result, and runs the callbacks in this thread."""
        self._complete(result, None)

    def set_exception(self, result):
        """Sets an exception, which wait() and value() raise, and runs the callbacks in this thread."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._complete(None, result)

    def _complete(self, result, error):
        with self._lock:
            if self.done():
                raise RuntimeError(
                    "Attempting to mark a completed Future as complete again. Note that a Future can only be marked "
                    "completed once."
                )
            self._result, self._error = result, error
            callbacks, self._callbacks = self._callbacks, []
            self._set.set()
        for callback in callbacks:
            callback()

    def _when_done(self, callback):
        with self._lock:
            if not self.done():
                self._callbacks.append(callback)
                return
        callback()

    def add_done_callback(self, callback):
        """Calls `callback(self)` when the future is done, or at once if it is; its errors are printed."""
        _check_callable("add_done_callback", callback)

        def run():
            try:
                callback(self)
            except Exception as error:
                print(_failed(error), file=sys.stderr)

        self._when_done(run)

    def then(self, callback):
        """A future of what `callback(self)` returns, which is called when this one is done."""
        _check_callable("then", callback)
        after = Future()

        def run():
            try:
                result = callback(self)
            except Exception as error:
                failed = RuntimeError(_failed(error))
                failed.__cause__ = error
                after.set_exception(failed)
            else:
                after.set_result(result)

        self._when_done(run)
        return after

    def __reduce__(self):
        raise RuntimeError("Can not pickle torch.futures.Future")


def _check_callable(name, callback):
    if not callable(callback):
        raise TypeError(
            f"{name}(): incompatible function arguments: expected a function; got {type(callback).__name__}"
        )


def _failed(error):
    return f"Got the following error when running the callback: {type(error).__name__}: {error}"


def collect_all(futures):
    """A future of the list of all these futures, done when they are; the first exception among them is its own.

    >>> import adjoint as torch
    >>> futures = [torch.futures.Future() for _ in range(2)]
    >>> both = torch.futures.collect_all(futures)
    >>> for number, future in enumerate(futures):
    ...     future.set_result(number)
    >>> [future.value() for future in both.wait()]
    [0, 1]
    """
    if not isinstance(futures, (list, tuple)) or not all(isinstance(one, Future) for one in futures):
        raise TypeError("_collect_all(): incompatible function arguments: expected a list of Futures")
    futures = list(futures)
    collected, lock, left = Future(), threading.Lock(), len(futures)

    def finish():
        errors = [one._error for one in futures if one._error is not None]
        if errors:
            collected.set_exception(errors[0])
        else:
            collected.set_result(futures)

    def count():
        nonlocal left
        with lock:
            left -= 1
            last = left == 0
        if last:
            finish()

    for one in futures:
        one._when_done(count)
    if not futures:
        finish()
    return collected


def wait_all(futures):
    """Waits for all futures and returns their results; the first exception among them is raised.

    >>> import adjoint as torch
    >>> future = torch.futures.Future()
    >>> future.set_result(3)
    >>> torch.futures.wait_all([future])
    [3]
    """
    return [one.wait() for one in collect_all(futures).wait()]
