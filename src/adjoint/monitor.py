"""Events that a program logs for whoever listens, and numbers that it counts."""

import datetime
import enum
import threading
import time
from typing import NamedTuple

_handlers: list = []


class Aggregation(enum.Enum):
    """What becomes of the numbers that a Stat was given."""

    VALUE = 0
    MEAN = 2
    COUNT = 3
    SUM = 4
    MAX = 5
    MIN = 6


_FUNCTIONS = {
    Aggregation.VALUE: lambda values: values[-1],
    Aggregation.MEAN: lambda values: sum(values) / len(values),
    Aggregation.COUNT: len,
    Aggregation.SUM: sum,
    Aggregation.MAX: max,
    Aggregation.MIN: min,
}


class Event(NamedTuple):
    """Something that has happened: its name, its time, and numbers, texts or bools by name.

    >>> import datetime
    >>> from adjoint.monitor import Event
    >>> Event("step", datetime.datetime.now(), {"loss": 0.5}).name
    'step'
    """

    name: str
    timestamp: datetime.datetime
    data: dict


class EventHandlerHandle:
    """What register_event_handler returns."""

    def __init__(self, handler):
        self._handler = handler


def register_event_handler(callback):
    """Calls a function with each event that is logged from here on.

    >>> import datetime
    >>> from adjoint import monitor
    >>> handle = monitor.register_event_handler(lambda event: print(event.name, event.data))
    >>> monitor.log_event(monitor.Event("step", datetime.datetime.now(), {"loss": 0.5}))
    step {'loss': 0.5}
    >>> monitor.unregister_event_handler(handle)
    """
    handle = EventHandlerHandle(callback)
    _handlers.append(handle)
    return handle


def unregister_event_handler(handler):
    """Calls a function no longer.

    >>> from adjoint import monitor
    >>> monitor.unregister_event_handler(monitor.register_event_handler(print))
    """
    if handler in _handlers:
        _handlers.remove(handler)


def log_event(event):
    """Gives an event to all that listen.

    >>> import datetime
    >>> from adjoint import monitor
    >>> monitor.log_event(monitor.Event("unheard", datetime.datetime.now(), {}))
    """
    for handle in list(_handlers):
        handle._handler(event)


class Stat:
    """Numbers that are summed up over windows of time; each window ends in an event "torch.monitor.Stat".

    >>> import datetime
    >>> from adjoint.monitor import Aggregation, Stat
    >>> stat = Stat("loss", [Aggregation.MEAN], datetime.timedelta(seconds=10))
    >>> stat.add(0.5)
    >>> stat.count
    1
    """

    def __init__(self, name, aggregations, window_size, max_samples=None):
        self.name, self._aggregations = name, list(aggregations)
        self._window, self._most = window_size.total_seconds(), max_samples
        self._values, self._last = [], dict.fromkeys(self._aggregations, 0.0)
        self._lock, self._end = threading.Lock(), time.monotonic() + self._window

    @property
    def count(self):
        """How many numbers were given in this window."""
        with self._lock:
            self._log_if_over()
            return len(self._values)

    def add(self, v):
        """Takes a number."""
        with self._lock:
            self._log_if_over()
            if self._most is None or len(self._values) < self._most:
                self._values.append(float(v))

    def get(self):
        """What the numbers of the last window came to."""
        with self._lock:
            self._log_if_over()
            return dict(self._last)

    def _log_if_over(self):
        now = time.monotonic()
        if now < self._end:
            return
        self._end = now + self._window
        if self._values:
            self._last = {kind: float(_FUNCTIONS[kind](self._values)) for kind in self._aggregations}
            self._values = []
            data = {f"{self.name}.{kind.name.lower()}": value for kind, value in self._last.items()}
            log_event(Event("torch.monitor.Stat", datetime.datetime.now(), data))


class TensorboardEventHandler:
    """Writes the numbers of Stat's events to a SummaryWriter.

    >>> from adjoint.monitor import TensorboardEventHandler
    >>> handler = TensorboardEventHandler(writer=None)
    """

    def __init__(self, writer):
        self._writer = writer

    def __call__(self, event):
        if event.name == "torch.monitor.Stat":
            for name, value in event.data.items():
                self._writer.add_scalar(name, value, walltime=event.timestamp.timestamp())
