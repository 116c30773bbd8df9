"""profile: a profiler that follows a schedule over the steps of a program, and hands over what it has seen."""

import json
import os
import warnings

from .._profile.kinds import DeviceType as DeviceType
from .._profile.kinds import ProfilerActivity as ProfilerActivity
from .._profile.plan import NONE, RECORD, SAVE, WARMUP, every_step
from .._profile.plan import ProfilerAction as ProfilerAction
from .._profile.plan import schedule as schedule
from ..autograd import profiler as prof
from ..autograd.profiler import KinetoStepTracker
from ..autograd.profiler import _ExperimentalConfig as _ExperimentalConfig

PROFILER_STEP_NAME = "ProfilerStep"


def supported_activities():
    """What profile() can look at: the CPU.

    >>> import adjoint as torch
    >>> torch.profiler.supported_activities()
    {<ProfilerActivity.CPU: 0>}
    """
    return {ProfilerActivity.CPU}


def tensorboard_trace_handler(dir_name, worker_name=None, use_gzip=False, use_python_export=False):
    """An `on_trace_ready` that writes each trace to a file of its own, where TensorBoard's plugin looks for them.

    >>> import adjoint as torch, os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> handler = torch.profiler.tensorboard_trace_handler(folder, worker_name="me")
    >>> with torch.profiler.profile(on_trace_ready=handler):
    ...     y = torch.ones(2) * 2
    >>> [name.split(".", 2)[0] for name in os.listdir(folder)]
    ['me']
    """
    from .._profile.chrome import file_name

    def handler(profiler):
        if not os.path.isdir(dir_name):
            try:
                os.makedirs(dir_name, exist_ok=True)
            except Exception as error:
                raise RuntimeError("Can't create directory: " + dir_name) from error
        profiler.export_chrome_trace(os.path.join(dir_name, file_name(worker_name, use_gzip)))

    return handler


class _KinetoProfile:
    """A profiler that is started and stopped by hand.

    >>> import adjoint as torch
    >>> p = torch.profiler._KinetoProfile()
    >>> p.start()
    >>> y = torch.ones(2) * 2
    >>> p.stop()
    >>> len(p.events()) > 0
    True
    """

    def __init__(
        self,
        *,
        activities=None,
        record_shapes=False,
        profile_memory=False,
        with_stack=False,
        with_flops=False,
        with_modules=False,
        experimental_config=None,
        execution_trace_observer=None,
        acc_events=False,
        custom_trace_id_callback=None,
        post_processing_timeout_s=None,
    ):
        chosen = supported_activities() if activities is None else set()
        for activity in activities or ():
            chosen |= set(activity) if isinstance(activity, dict) else {activity}
        self.activities = chosen
        if not any(isinstance(activity, ProfilerActivity) for activity in chosen):
            raise AssertionError(
                "No valid profiler activities found; give activities=[ProfilerActivity.CPU], or leave it out"
            )
        if execution_trace_observer is not None:
            raise RuntimeError(
                "profile: expected execution_trace_observer to be None, there are no execution traces here; got "
                f"{type(execution_trace_observer).__name__}; use export_chrome_trace()"
            )
        self.record_shapes = record_shapes
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_flops = with_flops
        self.with_modules = with_modules
        self.experimental_config = experimental_config
        self.acc_events = acc_events
        self.custom_trace_id_callback = custom_trace_id_callback
        self.profiler = None
        self.metadata = {}

    def start(self):
        """Begins to look."""
        self.prepare_trace()
        self.start_trace()

    def stop(self):
        """Ends it; the events can be read then."""
        self.stop_trace()

    def prepare_trace(self):
        """Makes what start_trace() starts."""
        if self.profiler is None or not self.acc_events:
            self.profiler = prof.profile(
                record_shapes=self.record_shapes,
                profile_memory=self.profile_memory,
                with_stack=self.with_stack,
                with_flops=self.with_flops,
                with_modules=self.with_modules,
                experimental_config=self.experimental_config,
                acc_events=self.acc_events,
                custom_trace_id_callback=self.custom_trace_id_callback,
            )
        self.profiler._prepare_trace()

    def start_trace(self):
        """Begins to look, after prepare_trace()."""
        self._profiler("starting trace")._start_trace()

    def stop_trace(self):
        """Ends what start_trace() began."""
        self._profiler("stopping trace").__exit__(None, None, None)

    def _profiler(self, doing):
        if self.profiler is None:
            raise AssertionError(f"Profiler must be initialized before {doing}; call start() first")
        return self.profiler

    def export_chrome_trace(self, path, use_python_export=False):
        """Writes the events to a file that chrome://tracing and ui.perfetto.dev open; compressed, if it ends in .gz.

        >>> import adjoint as torch, json, os, tempfile
        >>> with torch.profiler.profile() as p:
        ...     y = torch.ones(2) * 2
        >>> path = os.path.join(tempfile.mkdtemp(), "trace.json")
        >>> p.export_chrome_trace(path)
        >>> with open(path) as file:
        ...     events = json.load(file)["traceEvents"]
        >>> [event["name"] for event in events if event.get("cat") == "cpu_op"]
        ['aten::ones', 'aten::empty', 'aten::fill_', 'aten::mul']
        """
        self._profiler("exporting chrome trace").export_chrome_trace(path, self.metadata)

    def export_stacks(self, path, metric="self_cpu_time_total"):
        """Writes stacks with their times, a line each; for profilers made with with_stack=True."""
        self._profiler("exporting stacks").export_stacks(path, metric)

    def export_memory_timeline(self, path, device=None):
        """Refuses: there is no timeline of memory here. inspect.trace() has the memory of each op."""
        raise RuntimeError(
            "export_memory_timeline: not here, and deprecated in torch; use key_averages() with profile_memory=True, "
            "or adjoint.inspect.trace(), which has the memory of each op"
        )

    def toggle_collection_dynamic(self, enable, activities):
        """Lets a running profiler look away, and look again."""
        if self.profiler is not None:
            self.profiler.toggle_collection_dynamic(enable, activities)

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0, group_by_overload_name=False):
        """The sums over events that are alike; print its table().

        >>> import adjoint as torch
        >>> with torch.profiler.profile() as p:
        ...     y = torch.ones(2).exp().exp()
        >>> [event.count for event in p.key_averages() if event.key == "aten::exp"]
        [2]
        """
        return self._profiler("getting key averages").key_averages(
            group_by_input_shape, group_by_stack_n, group_by_overload_name
        )

    def events(self):
        """The events, in the order in which they began."""
        return self._profiler("accessing events").function_events

    def add_metadata(self, key, value):
        """Adds a text to the file that export_chrome_trace writes."""
        if not isinstance(value, str):
            raise AttributeError(f"'{type(value).__name__}' object has no attribute 'replace': the value must be a str")
        self.metadata[key] = value

    def add_metadata_json(self, key, value):
        """Adds a value, given as JSON, to the file that export_chrome_trace writes."""
        try:
            self.metadata[key] = json.loads(value)
        except ValueError as error:
            raise ValueError(f"add_metadata_json: expected JSON; got {value!r}: {error}") from None

    preset_metadata_json = add_metadata_json


class profile(_KinetoProfile):  # torch's name
    """Logs what this thread does, in the steps that `schedule` names, and calls `on_trace_ready` with itself then.

    - `activities`: what to look at; the CPU is all there is;
    - `record_shapes`, `profile_memory`, `with_flops`, `with_stack`: see adjoint.autograd.profiler.profile;
    - `acc_events`: keeps the events of all cycles of a schedule, not of the last one alone.

    >>> import adjoint as torch
    >>> x = torch.ones(2, 3)
    >>> with torch.profiler.profile(record_shapes=True) as prof:
    ...     y = (x @ x.t()).relu()
    >>> for event in prof.key_averages(group_by_input_shape=True):
    ...     print(event.key, event.input_shapes)
    aten::t [[2, 3]]
    aten::transpose [[2, 3], [], []]
    aten::matmul [[2, 3], [3, 2]]
    aten::mm [[2, 3], [3, 2]]
    aten::relu [[2, 2]]
    aten::clamp_min [[2, 2], []]
    """

    _warned = False

    def __init__(self, *, schedule=None, on_trace_ready=None, use_cuda=None, **options):
        if use_cuda is not None:
            warnings.warn("`use_cuda` is deprecated, use `activities` argument instead", FutureWarning, stacklevel=2)
        super().__init__(**options)
        self.record_steps = schedule is not None
        self.schedule = schedule if schedule is not None else every_step
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self.current_action = self.schedule(self.step_num)
        self.step_rec_fn = None
        if not self.acc_events:
            KinetoStepTracker.init_step_count(PROFILER_STEP_NAME)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()
        KinetoStepTracker.erase_step_count(PROFILER_STEP_NAME)

    def start(self):
        """Begins with the first step."""
        self._transit_action(NONE, self.current_action)
        self._begin_step()

    def stop(self):
        """Ends with the last step."""
        self._end_step()
        self._transit_action(self.current_action, None)

    def step(self):
        """Says that the next step of the program begins."""
        self._end_step()
        before = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        self._transit_action(before, self.current_action)
        KinetoStepTracker.increment_step(PROFILER_STEP_NAME)
        self._begin_step()

    def set_custom_trace_id_callback(self, callback):
        """Sets what names the traces."""
        self.custom_trace_id_callback = callback

    def get_trace_id(self):
        """The name of the trace, or None before there is one."""
        from .._profile.chrome import trace_id

        return None if self.profiler is None else trace_id(self.profiler)

    def _begin_step(self):
        if self.record_steps:
            self.step_rec_fn = prof.record_function(f"ProfilerStep#{self.step_num}")
            self.step_rec_fn.__enter__()

    def _end_step(self):
        if self.step_rec_fn is not None:
            self.step_rec_fn.__exit__(None, None, None)
            self.step_rec_fn = None

    def _trace_ready(self):
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def prepare_trace(self):
        """Makes what start_trace() starts."""
        if self.profiler is not None and not self.acc_events and not profile._warned:
            profile._warned = True
            warnings.warn(
                "Warning: Profiler clears events at the end of each cycle. Only events from the current cycle will be "
                "reported. To keep events across cycles, set acc_events=True.",
                stacklevel=2,
            )
        super().prepare_trace()

    def _transit_action(self, before, after):
        """What is to be done between two steps, or after the last one."""
        records = after in (RECORD, SAVE)
        if before in (RECORD, SAVE):
            ends = before is SAVE or after not in (RECORD, SAVE)
            if before is RECORD and after in (NONE, WARMUP):
                warnings.warn(f"Incorrect schedule: RECORD followed by {after.name}", stacklevel=3)
            if ends:
                self.stop_trace()
                if before is SAVE or after is None:
                    self._trace_ready()
            if ends and (records or after is WARMUP):
                self.prepare_trace()
                if records:
                    self.start_trace()
        elif before is WARMUP:
            if after is NONE:
                warnings.warn("Incorrect schedule: WARMUP followed by NONE", stacklevel=3)
            if after is not WARMUP:
                self.start_trace()
                if not records:
                    self.stop_trace()
        elif after is not None and after is not NONE:
            self.prepare_trace()
            if records:
                self.start_trace()


class ExecutionTraceObserver:
    """Refuses: execution traces, torch's own format of graphs, are not made here.

    >>> import adjoint as torch
    >>> try:
    ...     torch.profiler.ExecutionTraceObserver()
    ... except RuntimeError as error:
    ...     print(str(error)[:32])
    ExecutionTraceObserver: not here
    """

    def __init__(self):
        raise RuntimeError(
            "ExecutionTraceObserver: not here; use torch.profiler.profile().export_chrome_trace(), or "
            "adjoint.inspect.trace()"
        )
