"""The profiler of one stretch of a program, and the names that a program gives to parts of itself."""

import contextlib
import types
import warnings
from typing import ClassVar

from .. import _C
from .._profile.building import Options
from .._profile.kinds import ProfilerActivity as ProfilerActivity
from .._profile.other_tools import EnforceUnique as EnforceUnique
from .._profile.other_tools import emit_itt as emit_itt
from .._profile.other_tools import emit_nvtx as emit_nvtx
from .._profile.other_tools import load_nvprof as load_nvprof
from .._profile.other_tools import parse_nvprof_trace as parse_nvprof_trace
from .._profile.session import Session, enabled
from .profiler_util import MEMORY_EVENT_NAME as MEMORY_EVENT_NAME
from .profiler_util import OUT_OF_MEMORY_EVENT_NAME as OUT_OF_MEMORY_EVENT_NAME
from .profiler_util import DeviceType as DeviceType
from .profiler_util import EventList as EventList
from .profiler_util import FunctionEvent as FunctionEvent
from .profiler_util import FunctionEventAvg as FunctionEventAvg
from .profiler_util import Kernel as Kernel
from .profiler_util import MemRecordsAcc as MemRecordsAcc

__all__ = [
    "EnforceUnique",
    "EventList",
    "FunctionEvent",
    "KinetoStepTracker",
    "MemRecordsAcc",
    "emit_itt",
    "emit_nvtx",
    "load_nvprof",
    "parse_nvprof_trace",
    "profile",
    "record_function",
]


def kineto_available():
    """Whether events can be written as torch's profiler does: always.

    >>> import adjoint as torch
    >>> torch.profiler.kineto_available()
    True
    """
    return True


class _ExperimentalConfig:
    """Options of torch's profiler that few programs set. `verbose` fills the stacks of events; others do nothing.

    >>> import adjoint as torch
    >>> torch.profiler._ExperimentalConfig(verbose=True).verbose
    True
    """

    def __init__(self, profiler_metrics=(), profiler_measure_per_kernel=False, verbose=False, **others):
        self.profiler_metrics = list(profiler_metrics)
        self.profiler_measure_per_kernel = profiler_measure_per_kernel
        self.verbose = verbose
        vars(self).update(others)


class profile:  # torch's name
    """Logs what this thread does in a `with` block: ops, nodes of backward, and parts that record_function names.

    - `record_shapes`: the shapes of arguments;
    - `profile_memory`: bytes that an event has taken, less those that it has freed;
    - `with_flops`: estimates of floating-point operations, for products, conv2d, add and mul;
    - `with_stack`: the calls of Python's functions, as events.

    >>> import adjoint as torch
    >>> x = torch.ones(2, 3, requires_grad=True)
    >>> with torch.autograd.profiler.profile(record_shapes=True) as prof:
    ...     (x * 2).sum().backward()
    >>> [event.name for event in prof.function_events if event.cpu_parent is None][:3]
    ['aten::mul', 'aten::sum', 'autograd::engine::evaluate_function: SumBackward0']
    """

    def __init__(
        self,
        enabled=True,
        *,
        use_cuda=False,
        use_device=None,
        record_shapes=False,
        with_flops=False,
        profile_memory=False,
        with_stack=False,
        with_modules=False,
        use_kineto=False,
        use_cpu=True,
        experimental_config=None,
        acc_events=False,
        custom_trace_id_callback=None,
        post_processing_timeout_s=None,
        activity_filters=None,
    ):
        self.enabled = enabled
        if not enabled:
            return
        if use_cuda:
            warnings.warn(
                "The attribute `use_cuda` will be deprecated soon, please use ``use_device = 'cuda'`` instead.",
                FutureWarning,
                stacklevel=2,
            )
            use_device = "cuda"
        if use_device is not None:
            warnings.warn(
                f"{use_device.upper()} is not available, disabling {use_device.upper()} profiling", stacklevel=2
            )
        if not use_cpu and not use_kineto:
            raise AssertionError("Device-only events supported only with Kineto (use_kineto=True); leave use_cpu out")
        self.use_device = None
        self.record_shapes = record_shapes or with_flops
        self.with_flops = with_flops
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_modules = with_modules
        self.acc_events = acc_events
        self.custom_trace_id_callback = custom_trace_id_callback
        self.experimental_config = experimental_config or _ExperimentalConfig()
        self.entered = False
        self.session = None
        self.sessions = []  # those that have ended, and whose events are not made yet
        self._function_events = None

    def __enter__(self):
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant; make another profile() for another block")
        self._prepare_trace()
        self._start_trace()
        return self

    def __exit__(self, *_):
        if not self.enabled:
            return False
        self.session.stop()
        if not self.acc_events:
            self.sessions, self._function_events = [], None
        self.sessions.append(self.session)
        return False

    def _prepare_trace(self):
        self.entered = True
        verbose = bool(getattr(self.experimental_config, "verbose", False))
        flags = self.record_shapes, self.with_flops, self.profile_memory, self.with_stack
        self.session = Session(Options(*flags, verbose))

    def _start_trace(self):
        self.session.start()

    def toggle_collection_dynamic(self, enabled, activities):
        """Lets a running profiler look away, and look again."""
        if ProfilerActivity.CPU in activities and self.session is not None:
            (self.session.resume if enabled else self.session.pause)()

    @property
    def function_events(self):
        """The events, with those of later blocks before those of earlier ones where they are kept."""
        if self.sessions:
            before = self._function_events
            flags = {"profile_memory": self.profile_memory, "with_flops": self.with_flops}
            found = EventList(**flags)
            for session in reversed(self.sessions):
                found.extend(session.events())
            found.extend(before or ())
            found._tree_built = True
            self.last_session = self.sessions[-1]
            self.sessions, self._function_events = [], found
        return self._function_events if self._function_events is not None else EventList()

    def __repr__(self):
        if not self.sessions and self._function_events is None:
            return "<unfinished torch.autograd.profile>"
        return repr(self.function_events)

    def __str__(self):
        if not self.sessions and self._function_events is None:
            return "<unfinished torch.autograd.profile>"
        return str(self.function_events)

    def table(
        self,
        sort_by=None,
        row_limit=100,
        max_src_column_width=75,
        max_name_column_width=55,
        max_shapes_column_width=80,
        header=None,
        top_level_events_only=False,
    ):
        """The events as a table; see EventList.table."""
        return self.function_events.table(
            sort_by,
            row_limit,
            max_src_column_width,
            max_name_column_width,
            max_shapes_column_width,
            header,
            top_level_events_only,
        )

    def export_chrome_trace(self, path, metadata=None, use_python_export=False):
        """Writes the events to a file that chrome://tracing and ui.perfetto.dev open; compressed, if it ends in .gz."""
        from .._profile.chrome import profile_content, write

        write(path, profile_content(self, metadata or {}, path))

    def export_stacks(self, path, metric="self_cpu_time_total"):
        """Writes stacks with their times; see EventList.export_stacks."""
        if not self.with_stack:
            raise AssertionError("export_stacks() requires with_stack=True; make the profile() with it")
        return self.function_events.export_stacks(path, metric)

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0, group_by_overload_name=False):
        """The sums over events that are alike; see EventList.key_averages."""
        events = self.function_events
        if not events:
            return EventList()
        return events.key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def total_average(self):
        """The sum of all events, as one."""
        return self.function_events.total_average()

    @property
    def self_cpu_time_total(self):
        """The time of all events together, in microseconds."""
        return self.function_events.self_cpu_time_total


class record_function(contextlib.ContextDecorator):  # torch's name
    """Gives a part of a program a name, under which profilers show it: a `with` block, or a function that it decorates.

    >>> import adjoint as torch
    >>> x = torch.ones(3)
    >>> with torch.profiler.profile() as prof:
    ...     with torch.profiler.record_function("my part"):
    ...         y = x * 2
    >>> [(event.name, [child.name for child in event.cpu_children]) for event in prof.events()][:1]
    [('my part', ['aten::mul'])]
    """

    def __init__(self, name, args=None):
        self.name = name
        self.args = args
        self.run_callbacks_on_exit = True
        self.record = None

    def _recreate_cm(self):
        return type(self)(self.name, self.args)

    def __enter__(self):
        for value, argument, kind in ((self.name, "name", "str"), (self.args or "", "args", "Optional[str]")):
            if not isinstance(value, str):
                raise RuntimeError(
                    f"profiler::_record_function_enter_new() Expected a value of type '{kind}' for argument "
                    f"'{argument}' but instead found type '{type(value).__name__}'."
                )
        self.record = _C._begin_span(self.name, *(() if self.args is None else (self.args,)))
        return self

    def __exit__(self, *_):
        if self.run_callbacks_on_exit:
            if self.record is None:
                raise AssertionError("Expected record to be set: __enter__() comes before __exit__()")
            _C._end_span(self.record)

    def _call_end_callbacks_on_future(self, fut):
        """Lets the part end when a future is done, rather than with the block."""
        if not self.run_callbacks_on_exit:
            raise RuntimeError("_call_end_callbacks_on_future can only be called once.")
        self.run_callbacks_on_exit = False

        def end(done):
            _C._end_span(self.record)
            return done.value()

        return fut.then(end)


class KinetoStepTracker:
    """Counts the steps of a program from more than one count: the largest of them.

    >>> from adjoint.autograd.profiler import KinetoStepTracker
    >>> KinetoStepTracker.init_step_count("loop")
    >>> KinetoStepTracker.increment_step("loop") == KinetoStepTracker.current_step()
    True
    >>> KinetoStepTracker.erase_step_count("loop")
    True
    """

    _current_step = 0
    _step_dict: ClassVar[dict] = {}

    @classmethod
    def init_step_count(cls, requester):
        """Lets a requester count from the current step on."""
        cls._step_dict[requester] = cls._current_step

    @classmethod
    def erase_step_count(cls, requester):
        """Whether there was a count of this requester, which is dropped."""
        return cls._step_dict.pop(requester, None) is not None

    @classmethod
    def increment_step(cls, requester):
        """Counts a step of a requester."""
        cls._step_dict[requester] = cls._step_dict.get(requester, cls._current_step) + 1
        cls._current_step = max(cls._current_step, *cls._step_dict.values())
        return cls._current_step

    @classmethod
    def current_step(cls):
        """The latest step."""
        return cls._current_step


_profiler_enabled = enabled


def _record_function_with_args_enter(name, *args):
    """Begins a part of the program; returns what _record_function_with_args_exit ends it by."""
    return _C._begin_span(name, *args)


def _record_function_with_args_exit(record):
    """Ends a part of the program."""
    _C._end_span(record)


# torch.ops.profiler, by which some programs name their parts.
ops_of_profilers = types.SimpleNamespace(
    _record_function_enter=lambda name, args=None: record_function(name, args).__enter__(),
    _record_function_enter_new=lambda name, args=None: record_function(name, args).__enter__(),
    _record_function_exit=lambda record: record.__exit__(None, None, None),
)


def __getattr__(name):
    if name == "_is_profiler_enabled":
        return enabled()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
