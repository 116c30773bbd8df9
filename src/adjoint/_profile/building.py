"""From the log of a trace to the events of a profiler: names, steps, nesting, memory, shapes."""

from typing import NamedTuple

from . import names
from .event import FunctionEvent
from .event_list import EventList
from .flops import flops_of
from .kinds import MEMORY_EVENT_NAME

OP, NODE, FUNCTION, CUSTOM, NAMED, PYTHON = range(6)
BACKWARD_SCOPE, USER_SCOPE = 1, 7
ENGINE = "autograd::engine::evaluate_function: "
TENSOR, OTHER = -1, -2  # what an argument is; a sequence of tensors has their number
_TYPE_NAMES = {
    "float32": "float",
    "float64": "double",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "int64": "long int",
    "int32": "int",
    "int16": "short int",
    "int8": "signed char",
    "uint8": "unsigned char",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}


class Row(NamedTuple):
    """An event as the core logs it; times in nanoseconds. `arguments` has (dtype, sizes, strides) for tensors."""

    kind: int
    name: str
    arguments: tuple
    which: tuple
    inputs: tuple
    outputs: tuple
    start: int
    duration: int
    before: int
    memory: int
    parent: int
    thread: int
    sequence: int
    failed: bool

    @property
    def end(self):
        return self.start + self.duration

    def shapes(self):
        """The sizes of each argument that is a tensor, [] for others."""
        if self.kind == NODE:
            return [list(sizes) for _, sizes in self.inputs]
        return [
            list(value[1]) if kind == TENSOR else [] for value, kind in zip(self.arguments, self.which, strict=True)
        ]


class Options(NamedTuple):
    """What a profiler was asked to look at."""

    record_shapes: bool = False
    with_flops: bool = False
    profile_memory: bool = False
    with_stack: bool = False
    verbose: bool = False


class Builder:
    """Makes the events of one log."""

    def __init__(self, options, started, first_id):
        self.options = options
        self.started = started
        self.next_id = first_id
        self.threads = {}
        self.events = []
        self.sums = {}

    def build(self, rows, memory_before, memory_after, stopped):
        """The events of rows, in the order in which they began, as an EventList whose tree is built."""
        self.children = {i: [] for i in range(-1, len(rows))}
        self.rows = rows
        for i, parent in enumerate(_parents(rows)):
            self.children[parent].append(i)
        in_use = memory_before
        for i in self._without_sums(self.children[-1]):
            if rows[i].kind != PYTHON:  # of which no memory is known
                self._loose_memory(rows[i].before - in_use, rows[i].start, rows[i].thread)
                last = self.rows[self.sums[i][-1]] if i in self.sums else rows[i]
                in_use = last.before + last.memory
            self._emit(i, None)
        if not any(row.kind == PYTHON for row in rows):
            self._loose_memory(memory_after - in_use, stopped, rows[-1].thread if rows else 0)
        options = self.options
        events = EventList(self.events, profile_memory=options.profile_memory, with_flops=options.with_flops)
        events._remove_dup_nodes()
        events._tree_built = True
        return events

    def _loose_memory(self, count, time, thread):
        """An event for what was taken or freed between others."""
        if count and self.options.profile_memory:
            event = self._event(MEMORY_EVENT_NAME, time, time, thread, None, [])
            event.cpu_memory_usage = count
            event.activity_type = "cpu_instant_event"

    def _without_sums(self, numbers):
        """The numbers of rows without the sums of gradients that follow a node: these are emitted with it."""
        kept = []
        for i in numbers:
            follows = kept and self.rows[kept[-1]].kind == NODE
            if follows and self.rows[i].kind == OP and self.rows[i].name == "sum_to":
                self.sums.setdefault(kept[-1], []).append(i)
            else:
                kept.append(i)
        return kept

    def _event(self, name, start, end, thread, parent, shapes):
        index = self.threads.setdefault(thread, len(self.threads) + 1)
        options = self.options
        event = FunctionEvent(
            id=self.next_id,
            name=name,
            overload_name="",
            trace_name=name,
            thread=index,
            fwd_thread=0,
            start_us=(start - self.started) / 1000,
            end_us=(end - self.started) / 1000,
            input_shapes=shapes if options.record_shapes else [],
            stack=_stack(parent) if options.with_stack and options.verbose else [],
            flops=0,
            concrete_inputs=[],
            kwinputs={},
            activity_type="cpu_op",
            external_id=self.next_id,
        )
        event.device_resource_id = thread
        self.next_id += 1
        if parent is not None:
            parent.append_cpu_child(event)
            event.set_cpu_parent(parent)
        self.events.append(event)
        return event

    def _emit(self, number, parent):
        row = self.rows[number]
        if row.kind == OP:
            self._emit_op(row, parent)
        elif row.kind == NODE:
            self._emit_node(number, row, parent)
        else:
            self._emit_span(number, row, parent)

    def _emit_children(self, number, parent):
        for child in self._without_sums(self.children[number]):
            self._emit(child, parent)

    def _emit_op(self, row, parent):
        shapes = row.shapes()
        levels = names.steps(row.name, len(row.inputs))
        around = _op_around(parent)
        if around is not None and [around.name] == levels[0]:
            levels = levels[1:]
            self._note_sequence(around, row)
        for level in levels:
            for name in level[:-1]:
                # A step that is not measured apart: its memory is known where it is what takes all of it.
                own = names.step_shapes(row.name, name, shapes, row.outputs)
                step = self._event(name, row.start, row.start, row.thread, parent, own)
                if name.startswith("aten::empty"):
                    step.cpu_memory_usage = row.memory
            own = names.step_shapes(row.name, level[-1], shapes, row.outputs)
            parent = self._event(level[-1], row.start, row.end, row.thread, parent, own)
            self._note_sequence(parent, row)
            parent.cpu_memory_usage = 0 if level[0].startswith("aten::empty") and len(level) > 1 else row.memory
            self._note_details(parent, row)
            if self.options.with_flops:
                parent.flops = flops_of(level[-1], own, row.outputs)

    def _note_sequence(self, event, row):
        if row.sequence >= 0 and event.sequence_nr < 0:
            event.sequence_nr = row.sequence

    def _note_details(self, event, row):
        if self.options.record_shapes:
            given = list(zip(row.arguments, row.which, strict=True))
            event.structured_input_shapes = [_each(value, kind, 1) for value, kind in given]
            event.structured_input_strides = [_each(value, kind, 2) for value, kind in given]
            event.input_dtypes = [_type_name(value, kind) for value, kind in given]
            event.concrete_inputs = [_concrete(value) if kind == OTHER else None for value, kind in given]

    def _emit_node(self, number, row, parent):
        name = names.node_name(row.name)
        sums = self.sums.get(number, [])
        end = max([row.end, *(self.rows[i].end for i in sums)])
        outer = self._event(ENGINE + name, row.start, end, row.thread, parent, [])
        outer.cpu_memory_usage = row.memory + sum(self.rows[i].memory for i in sums)
        inner = self._event(name, row.start, row.end, row.thread, outer, row.shapes())
        inner.cpu_memory_usage = row.memory
        for event in (outer, inner):
            event.sequence_nr = row.sequence
            event.fwd_thread = event.thread
        inner.scope = BACKWARD_SCOPE
        self._emit_children(number, inner)
        for i in sums:
            self._emit(i, outer)

    def _emit_span(self, number, row, parent):
        name = row.name if row.kind != FUNCTION else names.function_name(row.name)
        if row.kind == NAMED and name.startswith("ProfilerStep#"):
            name = "ProfilerStep*"
        around = _op_around(parent)
        if name is None or (around is not None and around.name == name and row.kind == FUNCTION):
            return self._emit_children(number, parent)
        shapes = names.padded(name, row.shapes()) if row.kind == FUNCTION else row.shapes()
        event = self._event(name, row.start, row.end, row.thread, parent, shapes)
        event.trace_name = row.name if row.kind == NAMED else name
        event.cpu_memory_usage = row.memory
        if row.kind == NAMED:
            event.scope = USER_SCOPE
            event.is_user_annotation = True
            event.activity_type = "user_annotation"
            event.concrete_inputs = list(row.arguments)
        elif row.kind == PYTHON:
            event.is_python_function = True
            event.activity_type = "python_function"
        else:
            self._note_details(event, row)
        self._emit_children(number, event)
        if row.kind == PYTHON:
            event.cpu_memory_usage = sum(child.cpu_memory_usage for child in event.cpu_children)
        if self.options.with_flops and name == "aten::conv2d":
            outputs = [self.rows[i].outputs for i in self.children[number] if self.rows[i].name == "convolution"]
            event.flops = flops_of(name, shapes, outputs[-1] if outputs else ())
        return None


def _op_around(event):
    """The innermost event around that is no call of Python's."""
    while event is not None and event.is_python_function:
        event = event.cpu_parent
    return event


def _each(value, kind, part):
    """The sizes or strides of an argument: of a tensor, of each in a sequence, [] of others."""
    if kind == TENSOR:
        return list(value[part])
    return [] if kind == OTHER else [list(tensor[part]) for tensor in value]


def _type_name(value, kind):
    """The type of an argument, as torch's traces have it."""
    if kind == TENSOR:
        name = str(value[0]).removeprefix("torch.")
        return _TYPE_NAMES.get(name, name)
    if kind != OTHER:
        return "TensorList"
    return "" if value is None else "ScalarList" if isinstance(value, tuple) else "Scalar"


def _concrete(value):
    return list(value) if isinstance(value, tuple) else value


def _stack(event):
    """The calls of Python around an event, innermost first."""
    found = []
    while event is not None:
        if event.is_python_function:
            found.append(event.name)
        event = event.cpu_parent
    return found


def _parents(rows):
    """For each row the number of the one around it: by the log, and where it has none, by time among Python's calls."""
    if not any(row.kind == PYTHON for row in rows):
        return [row.parent for row in rows]
    parents, open_rows = [], []
    for i, row in enumerate(rows):
        while open_rows and (row.start >= rows[open_rows[-1]].end or row.end > rows[open_rows[-1]].end):
            open_rows.pop()
        parents.append(open_rows[-1] if open_rows else -1)
        open_rows.append(i)
    return parents
