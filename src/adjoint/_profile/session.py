"""One stretch of profiling: opens a log of ops in this thread, and of Python's calls where asked for, and reads it."""

import time

from .. import _C
from .._memory import memory_stats
from .building import Builder, Row
from .python_calls import PythonCalls

_enabled = 0  # profilers that are running, in all threads
_next_id = 1


def enabled():
    """Whether a profiler is running."""
    return _enabled > 0


class Session:
    """A log that can be stopped once, and read then."""

    def __init__(self, options):
        self.options = options
        self.log = _C._new_trace(True)
        self.calls = PythonCalls() if options.with_stack else None
        self.open = False

    def start(self):
        global _enabled
        self.memory_before = _bytes_in_use()
        self.started = time.perf_counter_ns()
        self.started_wall = time.time_ns()
        self.resume()
        _enabled += 1
        if self.calls is not None:
            self.calls.start()

    def stop(self):
        global _enabled
        if self.calls is not None:
            self.calls.stop()
        self.pause()
        self.stopped = time.perf_counter_ns()
        self.memory_after = _bytes_in_use()
        _enabled -= 1

    def resume(self):
        if not self.open:
            _C._open_trace(self.log)
            self.open = True

    def pause(self):
        if self.open:
            _C._close_trace(self.log)
            self.open = False

    def events(self):
        """What was seen, as an EventList."""
        global _next_id
        rows = [Row(*row) for row in _C._trace_details(self.log)]
        if self.calls is not None:
            rows += self.calls.rows(self.stopped)
            rows.sort(key=lambda row: (row.start, -row.duration))
        builder = Builder(self.options, self.started, _next_id)
        events = builder.build(rows, self.memory_before, self.memory_after, self.stopped)
        _next_id = builder.next_id
        return events


def _bytes_in_use():
    return memory_stats()["current"]
