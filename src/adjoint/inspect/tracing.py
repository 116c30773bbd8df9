"""Every op that a block of a program calls, forward and backward: with shapes, line, time and memory."""

import json
import os
from typing import NamedTuple

from .. import _C
from . import html
from . import nodes as describe
from .facts import common_name
from .modules import ModuleCalls
from .names import names_for


class TraceEvent(NamedTuple):
    """A call of an op, or a node of the graph that backward has applied.

    `inputs` and `outputs` are the tensors among them, as (dtype, shape); of a node, the gradients that it got and gave.
    `place` is the user's line, of a node the line that made it; `within` names the functions of this package that were
    called there and led to the op. `parent` is the number of the node whose rule called the op. Times are in seconds,
    `memory` in bytes: what is in use after the op and was not before. `own_time` and `own_memory` leave out what other
    events, inside of this one, have. `module` is the path of the module whose forward called the op, or made the node.

    >>> import adjoint as torch
    >>> with torch.inspect.trace() as log:
    ...     _ = torch.ones(2) * 2
    >>> event = log.events[-1]
    >>> event.op, event.outputs
    ('mul', ((torch.float32, (2,)),))
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
    module: str = ""

    @property
    def line(self):
        """ "file.py:12 in f" """
        return str(self.place)


class TraceRow(NamedTuple):
    """The events of one op: how many, their own time and memory in sum, and the modules that they are of.

    In a table by module or line, `op` is what that is called.

    >>> import adjoint as torch
    >>> with torch.inspect.trace() as log:
    ...     _ = torch.ones(2) * 2 * 3
    >>> [(row.op, row.calls) for row in log.table() if row.op == "mul"]
    [('mul', 2)]
    """

    op: str
    calls: int
    time: float
    memory: int
    module: str = ""

    @property
    def mean(self):
        """Seconds for a call."""
        return self.time / self.calls


class TraceTable:
    """The ops of a trace, in sum; iterate over it, or read `rows`. `total` has the sums, also of rows left out.

    >>> import adjoint as torch
    >>> with torch.inspect.trace() as log:
    ...     _ = torch.ones(2) * 2 * 3
    >>> table = log.table()
    >>> sum(row.calls for row in table) == table.total.calls
    True
    """

    def __init__(self, rows, total, by="op"):
        self.rows = tuple(rows)
        self.total = total
        self.by = by

    def __iter__(self):
        return iter(self.rows)

    def __len__(self):
        return len(self.rows)

    def __str__(self):
        lines = describe.columns(self._cells(), right=(1, 2, 3, 4))
        left = self.total.calls - sum(row.calls for row in self.rows)
        if left:
            lines.insert(-1, f"... and {left:,} calls of other ops; table(limit=None) shows all")
        return "\n".join(lines)

    def _repr_html_(self):
        return html.table(self._cells(), right=(1, 2, 3, 4))

    def _cells(self):
        named = any(row.module for row in self.rows)
        cells = [(self.by, "calls", "time", "mean", "memory", *(["module"] if named else []))]
        for row in (*self.rows, self.total):
            mean = time_text(row.mean) if row.calls else ""
            numbers = f"{row.calls:,}", time_text(row.time), mean, signed_bytes(row.memory)
            cells.append((row.op or "(none)", *numbers, *([row.module] if named else [])))
        return cells

    __repr__ = __str__


KEYS = {
    "op": lambda event: event.op,
    "module": lambda event: event.module,
    "line": lambda event: event.line,
}
SORTED_BY = {
    "time": lambda row: -row.time,
    "memory": lambda row: -row.memory,
    "calls": lambda row: -row.calls,
}


class Trace:
    """What a `with trace()` block has called. It may be opened again, and then goes on.

    >>> import adjoint as torch
    >>> with torch.inspect.trace() as log:
    ...     _ = torch.ones(2) * 2
    >>> [event.op for event in log.events][-1]
    'mul'
    """

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
        modules = _modules_of(raw)
        return [_event(*event) for event in zip(raw, own, modules, strict=True)]

    def table(self, sort="time", limit=20, by="op"):
        """The events as a table, sorted by "time", "memory" or "calls"; at most `limit` rows (None: all).

        Its rows are ops, or modules or lines with by="module" and by="line".

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
        if by not in KEYS:
            raise ValueError(f"table: expected by to be one of {', '.join(KEYS)}; got {by!r}")
        if limit is not None and limit < 0:
            raise ValueError(f"table: expected a limit of 0 rows or more, or None for all; got {limit}")
        sums, modules = {}, {}
        for event in self.events:
            row = sums.setdefault(KEYS[by](event), [0, 0.0, 0])
            row[0] += 1
            row[1] += event.own_time
            row[2] += event.own_memory
            if event.module and by != "module":
                modules.setdefault(KEYS[by](event), {})[event.module] = None
        rows = [TraceRow(key, *row, common_name(modules.get(key, ()))) for key, row in sums.items()]
        rows.sort(key=SORTED_BY[sort])
        total = TraceRow("total", sum(r.calls for r in rows), sum(r.time for r in rows), sum(r.memory for r in rows))
        return TraceTable(rows[:limit], total, by)

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

    def _repr_html_(self):
        return self.table()._repr_html_()

    def __repr__(self):
        return f"<trace of {len(_C._trace_events(self._log)):,} events>"


def _modules_of(raw):
    """The paths of the modules of events: of the running call, or of the node, or of the node that called the op."""
    in_frames = names_for(())
    calls, found = ModuleCalls(in_frames), []
    for *_, parent, _, backward, _, weak, sequence in raw:
        module = weak() if weak is not None and not backward else None
        call = calls.of_number(sequence) if sequence is not None else None
        if module is not None:
            found.append(in_frames.modules.get(id(module)) or (call.name if call else type(module).__name__))
        else:
            found.append(call.name if call else found[parent] if 0 <= parent < len(found) else "")
    return found


def _event(raw, own, module):
    """An event as the core has it, in seconds."""
    op, inputs, outputs, file, line, function, within, start, time, memory, parent, thread, backward, failed = raw[:14]
    own_time, own_memory = own
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
        module=module,
    )


def _chrome_event(event, pid):
    """A complete event ("X") of the Trace Event Format, in microseconds."""
    args = {
        "inputs": [describe.type_text(*item) for item in event.inputs],
        "outputs": [describe.type_text(*item) for item in event.outputs],
        "line": event.line,
        "code": event.place.code,
        "within": " > ".join(event.within),
        "module": event.module,
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
