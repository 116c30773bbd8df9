"""Every op that a block of a program calls, forward and backward: with shapes, line, time and memory."""

import json
import os
from typing import NamedTuple

from .. import _C
from . import nodes as describe


class TraceEvent(NamedTuple):
    """A call of an op, or a node of the graph that backward has applied.

    `inputs` and `outputs` are the tensors among them, as (dtype, shape); of a node, the gradients that it got and gave.
    `place` is the user's line, of a node the line that made it; `within` names the functions of this package that were
    called there and led to the op. `parent` is the number of the node whose rule called the op. Times are in seconds,
    `memory` in bytes: what is in use after the op and was not before. `own_time` and `own_memory` leave out what other
    events, inside of this one, have.
    """

    op: str
    inputs: tuple
    outputs: tuple
    place: describe.Place
    within: tuple
    start: float
    time: float
    own_time: float
    memory: int
    own_memory: int
    parent: int | None
    thread: int
    backward: bool
    failed: bool

    @property
    def line(self):
        """ "file.py:12 in f" """
        return str(self.place)


class TraceRow(NamedTuple):
    """The events of one op: how many, and their own time and memory in sum."""

    op: str
    calls: int
    time: float
    memory: int

    @property
    def mean(self):
        """Seconds for a call."""
        return self.time / self.calls


class TraceTable:
    """The ops of a trace, in sum; iterate over it, or read `rows`. `total` has the sums, also of rows left out."""

    def __init__(self, rows, total):
        self.rows = tuple(rows)
        self.total = total

    def __iter__(self):
        return iter(self.rows)

    def __len__(self):
        return len(self.rows)

    def __str__(self):
        cells = [("op", "calls", "time", "mean", "memory")]
        for row in (*self.rows, self.total):
            mean = time_text(row.mean) if row.calls else ""
            cells.append((row.op, f"{row.calls:,}", time_text(row.time), mean, signed_bytes(row.memory)))
        lines = describe.columns(cells, right=(1, 2, 3, 4))
        left = self.total.calls - sum(row.calls for row in self.rows)
        if left:
            lines.insert(-1, f"... and {left:,} calls of other ops; table(limit=None) shows all")
        return "\n".join(lines)

    __repr__ = __str__


SORTED_BY = {
    "time": lambda row: -row.time,
    "memory": lambda row: -row.memory,
    "calls": lambda row: -row.calls,
}


class Trace:
    """What a `with trace()` block has called. It may be opened again, and then goes on."""

    def __init__(self):
        self._log = _C._new_trace(False)

    def __enter__(self):
        _C._open_trace(self._log)
        return self

    def __exit__(self, *_):
        _C._close_trace(self._log)

    @property
    def events(self):
        """The events so far, in the order in which they began."""
        raw = _C._trace_events(self._log)
        own = [[event[8], event[9]] for event in raw]
        for event in raw:
            if event[10] >= 0:
                own[event[10]][0] -= event[8]
                own[event[10]][1] -= event[9]
        return [_event(event, *rest) for event, rest in zip(raw, own, strict=True)]

    def table(self, sort="time", limit=20):
        """The events as a table by op, sorted by "time", "memory" or "calls"; at most `limit` rows (None: all).

        Times and memory are the ops' own, so that they add up to the whole.

        >>> import adjoint as torch
        >>> x = torch.ones(4)
        >>> with torch.inspect.trace() as t:
        ...     for _ in range(3):
        ...         x = x * x
        ...     y = x.exp()
        >>> [(row.op, row.calls) for row in t.table(sort="calls")]
        [('mul', 3), ('exp', 1)]
        """
        if sort not in SORTED_BY:
            raise ValueError(f"table: expected sort to be one of {', '.join(SORTED_BY)}; got {sort!r}")
        if limit is not None and limit < 0:
            raise ValueError(f"table: expected a limit of 0 rows or more, or None for all; got {limit}")
        sums = {}
        for event in self.events:
            row = sums.setdefault(event.op, [0, 0.0, 0])
            row[0] += 1
            row[1] += event.own_time
            row[2] += event.own_memory
        rows = sorted((TraceRow(op, *row) for op, row in sums.items()), key=SORTED_BY[sort])
        total = TraceRow("total", sum(r.calls for r in rows), sum(r.time for r in rows), sum(r.memory for r in rows))
        return TraceTable(rows[:limit], total)

    def save(self, path):
        """Writes the events as a file that chrome://tracing and ui.perfetto.dev open; whole, or not at all.

        >>> import adjoint as torch, json, os, tempfile
        >>> x = torch.ones(2, 3)
        >>> with torch.inspect.trace() as t:
        ...     y = x.sum()
        >>> path = os.path.join(tempfile.mkdtemp(), "trace.json")
        >>> t.save(path)
        >>> with open(path) as file:
        ...     event = json.load(file)["traceEvents"][0]
        >>> event["name"], event["ph"], event["args"]["inputs"]
        ('sum', 'X', ['float32 [2, 3]'])
        """
        from ..serialization.atomic import replacement

        pid = os.getpid()
        content = {"traceEvents": [_chrome_event(event, pid) for event in self.events], "displayTimeUnit": "ms"}
        with replacement(path) as file:
            file.write(json.dumps(content).encode())

    def __str__(self):
        return str(self.table())

    def __repr__(self):
        return f"<trace of {len(_C._trace_events(self._log)):,} events>"


def _event(raw, own_time, own_memory):
    """An event as the core has it, in seconds."""
    op, inputs, outputs, file, line, function, within, start, time, memory, parent, thread, backward, failed = raw
    return TraceEvent(
        op=op,
        inputs=inputs,
        outputs=outputs,
        place=describe.Place(file or "", line, function or ""),
        within=within,
        start=start / 1e9,
        time=time / 1e9,
        own_time=own_time / 1e9,
        memory=memory,
        own_memory=own_memory,
        parent=None if parent < 0 else parent,
        thread=thread,
        backward=backward,
        failed=failed,
    )


def _chrome_event(event, pid):
    """A complete event ("X") of the Trace Event Format, in microseconds."""
    args = {
        "inputs": [describe.type_text(*item) for item in event.inputs],
        "outputs": [describe.type_text(*item) for item in event.outputs],
        "line": event.line,
        "code": event.place.code,
        "within": " > ".join(event.within),
        "memory": event.memory,
    }
    return {
        "name": event.op,
        "cat": "backward" if event.backward else "forward",
        "ph": "X",
        "ts": event.start * 1e6,
        "dur": event.time * 1e6,
        "pid": pid,
        "tid": event.thread,
        "args": args | ({"failed": True} if event.failed else {}),
    }


def time_text(seconds):
    """12.3 us: seconds in a unit that reads well."""
    for unit, size in (("us", 1e-6), ("ms", 1e-3)):
        if seconds < 1000 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.2f} s"


def signed_bytes(count):
    """Bytes in words, below zero where more were freed than taken."""
    return f"-{describe.bytes_text(-count)}" if count < 0 else describe.bytes_text(count)


def trace():
    """Logs every op that this thread calls in a `with` block, forward and backward.

    Print the result for a table of times and memory by op; `.table(sort=..., limit=...)` sorts it otherwise, `.events`
    has the single calls, with shapes, types and lines, and `.save(path)` writes a file for chrome://tracing and
    Perfetto. Results and gradients are what they are without it. Traces may be nested; each has all that it saw.

    >>> import adjoint as torch
    >>> x = torch.ones(2, 3, requires_grad=True)
    >>> with torch.inspect.trace() as t:
    ...     (x * 2).sum().backward()
    >>> for event in t.events:
    ...     print(event.op, event.inputs, event.backward)
    mul ((torch.float32, (2, 3)),) False
    sum ((torch.float32, (2, 3)),) False
    SumBackward0 ((torch.float32, ()),) True
    spread ((torch.float32, ()),) True
    MulBackward0 ((torch.float32, (2, 3)),) True
    AccumulateGrad ((torch.float32, (2, 3)),) True
    """
    return Trace()
