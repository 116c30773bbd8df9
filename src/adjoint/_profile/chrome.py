"""Files in the Trace Event Format, which chrome://tracing and ui.perfetto.dev open, with the fields of torch's."""

import gzip
import json
import os
import socket
import sys
import threading
import time

from .kinds import MEMORY_EVENT_NAME

SPAN, NAME = "PyTorch Profiler", "PyTorch Profiler (0)"


def write(path, content):
    """Writes a trace, whole or not at all; compressed, where the name says so."""
    from ..serialization.atomic import replacement

    text = json.dumps(content).encode()
    with replacement(path) as file:
        file.write(gzip.compress(text) if os.fspath(path).endswith(".gz") else text)


def list_content(events):
    """The trace of a list of events alone, with times from its beginning."""
    return {"traceEvents": [_complete(event, i, 0.0) for i, event in enumerate(events)]}


def profile_content(profile, metadata, path):
    """The trace of a profiler, with what is said of the whole."""
    events = profile.function_events
    session = profile.last_session
    month = 30 * 24 * 3600 * 10**9
    base = session.started_wall // (3 * month) * (3 * month)  # so that microseconds keep their digits
    origin = (session.started_wall - base) / 1000
    flags = ("with_stack", "profile_memory", "record_shapes", "with_modules", "with_flops")
    return {
        "schemaVersion": 1,
        "deviceProperties": [],
        "trace_id": trace_id(profile),
        **{flag: 1 for flag in flags if getattr(profile, flag)},
        **metadata,
        "host_name": socket.gethostname(),
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": base,
        "traceEvents": _all(events, origin, (session.stopped - session.started) / 1000),
        "traceName": os.fspath(path),
    }


def trace_id(profile):
    """The name of a trace: the program's own, or one at random."""
    if profile.custom_trace_id_callback is not None:
        return profile.custom_trace_id_callback()
    import uuid

    made = uuid.uuid4().hex.upper()
    profile.custom_trace_id_callback = lambda: made
    return made


def _all(events, origin, duration):
    threads = sorted({event.device_resource_id for event in events} | {threading.get_native_id()})
    found = list(_meta(origin, threads))
    flows = _flows(events)
    for i, event in enumerate(events):
        if event.name != MEMORY_EVENT_NAME:
            found.append(_complete(event, i, origin))
            found += _flow_events(event, origin, flows)
    index, total = len(events), 0
    for event in events:
        if event.self_cpu_memory_usage and not event.is_python_function:
            total += event.self_cpu_memory_usage
            found.append(_memory(event, index, total, origin))
            index += 1
    place = {"pid": "Spans", "tid": SPAN}
    whole = {"ph": "X", "cat": "Trace", "name": NAME, **place, "ts": origin, "dur": duration, "args": {"Op count": 0}}
    start = {"ph": "i", "s": "g", "name": f"Iteration Start: {SPAN}", "pid": "Traces", "tid": f"Trace {SPAN}"}
    end = {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": origin + duration}
    order = {"name": "process_sort_index", "ph": "M", "ts": origin, "pid": "Spans", "tid": 0}
    return [*found, whole, order | {"args": {"sort_index": 536870912}}, start | {"ts": origin}, end]


def _meta(origin, threads):
    """What the process and its threads are called."""
    pid = os.getpid()

    def note(what, tid, **args):
        return {"name": what, "ph": "M", "ts": origin, "pid": pid, "tid": tid, "args": args}

    program = os.path.basename(sys.executable or "python")
    yield note("process_name", 0, name=program)
    yield note("process_labels", 0, labels="CPU")
    yield note("process_sort_index", 0, sort_index=pid)
    for thread in threads:
        yield note("thread_name", thread, name=f"thread {thread} ({program})")
        yield note("thread_sort_index", thread, sort_index=thread)


def _complete(event, index, origin):
    """An event with its beginning and its duration."""
    return {
        "ph": "X",
        "cat": event.activity_type or "cpu_op",
        "name": event.trace_name or event.name,
        "pid": os.getpid(),
        "tid": event.device_resource_id,
        "ts": origin + event.time_range.start,
        "dur": event.time_range.elapsed_us(),
        "args": _details(event, index),
    }


def _details(event, index):
    if event.is_python_function:
        return {"Python id": event.id, "Ev Idx": index}
    details = {"External id": event.external_id}
    if event.sequence_nr >= 0:
        details |= {"Sequence number": event.sequence_nr, "Fwd thread id": event.fwd_thread}
    details["Record function id"] = 0
    if event.input_shapes:
        details |= {
            "Concrete Inputs": ["" if value is None else str(value) for value in event.concrete_inputs or ()],
            "Input type": event.input_dtypes,
            "Input Strides": event.structured_input_strides,
            "Input Dims": event.structured_input_shapes or event.input_shapes,
        }
    if event.stack:
        details["Call stack"] = ";".join(event.stack)
    return details | {"Ev Idx": index}


def _flows(events):
    """The events of forward and of backward that belong together: {id of an event: (number, "s" or "f")}."""
    forward, flows = {}, {}
    for event in events:
        if event.scope == 0 and event.sequence_nr >= 0 and not event.name.startswith("autograd::"):
            forward.setdefault((event.thread, event.sequence_nr), event)
    for event in events:
        if event.scope == 1:
            start = forward.pop((event.fwd_thread, event.sequence_nr), None)
            if start is not None:
                number = len(flows) // 2 + 1
                flows[start.id], flows[event.id] = (number, "s"), (number, "f")
    return flows


def _flow_events(event, origin, flows):
    """The end of an arrow from forward to backward, or nothing."""
    if event.id not in flows:
        return []
    number, phase = flows[event.id]
    place = {"pid": os.getpid(), "tid": event.device_resource_id, "ts": origin + event.time_range.start}
    arrow = {"ph": phase, "id": number, **place, "cat": "fwdbwd", "name": "fwdbwd"}
    return [arrow | {"bp": "e"} if phase == "f" else arrow]


def _memory(event, index, total, origin):
    """What an event has taken or freed, noted where it ends."""
    return {
        "ph": "i",
        "cat": "cpu_instant_event",
        "s": "t",
        "name": MEMORY_EVENT_NAME,
        "pid": os.getpid(),
        "tid": event.device_resource_id,
        "ts": origin + event.time_range.end,
        "args": {
            "Total Reserved": 0,
            "Total Allocated": total,
            "Bytes": event.self_cpu_memory_usage,
            "Device Id": -1,
            "Device Type": 0,
            "Addr": 0,  # not logged
            "Ev Idx": index,
        },
    }


def file_name(worker_name, use_gzip):
    """The name of a file for TensorBoard."""
    worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
    return f"{worker}.{time.time_ns()}.pt.trace.json{'.gz' if use_gzip else ''}"
