"""The events of a profiler, and sums of them: what their times and memory are."""

import warnings
from collections import namedtuple

from .kinds import DeviceType
from .table import format_time

Kernel = namedtuple("Kernel", ["name", "device", "duration"])


class FormattedTimesMixin:
    """The times of events and of sums of them, per call and as texts.

    >>> from adjoint.autograd.profiler_util import FunctionEvent
    >>> FunctionEvent(0, "aten::mul", 1, 0, 1500).cpu_time_str
    '1.500ms'
    """

    cpu_time_str = property(lambda self: format_time(self.cpu_time), doc="cpu_time as a text.")
    device_time_str = property(lambda self: format_time(self.device_time), doc="device_time as a text.")
    cpu_time_total_str = property(lambda self: format_time(self.cpu_time_total), doc="cpu_time_total as a text.")
    device_time_total_str = property(lambda self: format_time(self.device_time_total), doc="The total as a text.")
    self_cpu_time_total_str = property(lambda self: format_time(self.self_cpu_time_total), doc="It as a text.")
    self_device_time_total_str = property(lambda self: format_time(self.self_device_time_total), doc="It as a text.")

    @property
    def cpu_time(self):
        """Microseconds for a call."""
        return 0.0 if self.count == 0 else 1.0 * self.cpu_time_total / self.count

    @property
    def device_time(self):
        """Microseconds of another device for a call."""
        return 0.0 if self.count == 0 else 1.0 * self.device_time_total / self.count

    @property
    def cuda_time(self):
        """The former name of device_time."""
        warnings.warn("`cuda_time` is deprecated, please use `device_time` instead.", FutureWarning, stacklevel=2)
        return self.device_time


class Interval:
    """A time span, in microseconds.

    >>> from adjoint.autograd.profiler_util import Interval
    >>> Interval(2, 5).elapsed_us()
    3
    """

    def __init__(self, start, end):
        self.start = start
        self.end = end

    def elapsed_us(self):
        """How long it is."""
        return self.end - self.start


def _renamed(old, new):
    """A property under its former name, which warns."""

    def get(self):
        warnings.warn(f"`{old}` is deprecated. Use `{new}` instead.", FutureWarning, stacklevel=2)
        return getattr(self, new)

    return property(get, doc=f"The former name of {new}.")


class FunctionEvent(FormattedTimesMixin):
    """A call of an op, a node of backward, or a part of the program that record_function has named.

    >>> from adjoint.autograd.profiler_util import FunctionEvent
    >>> event = FunctionEvent(0, "aten::mul", thread=1, start_us=10, end_us=15)
    >>> event.name, event.cpu_time_total
    ('aten::mul', 5)
    """

    def __init__(
        self,
        id,
        name,
        thread,
        start_us,
        end_us,
        overload_name=None,
        fwd_thread=None,
        input_shapes=None,
        stack=None,
        scope=0,
        use_device=None,
        cpu_memory_usage=0,
        device_memory_usage=0,
        is_async=False,
        is_remote=False,
        sequence_nr=-1,
        node_id=-1,
        device_type=DeviceType.CPU,
        device_index=0,
        device_resource_id=None,
        is_legacy=False,
        flops=None,
        trace_name=None,
        concrete_inputs=None,
        kwinputs=None,
        is_user_annotation=False,
        is_python_function=False,
        activity_type=None,
        metadata_json=None,
        external_id=0,
        linked_correlation_id=0,
        structured_input_shapes=None,
        structured_input_strides=None,
        input_dtypes=None,
    ):
        self.id = id
        self.node_id = node_id
        self.name = name
        self.overload_name = overload_name
        self.trace_name = trace_name
        self.time_range = Interval(start_us, end_us)
        self.thread = thread
        self.fwd_thread = fwd_thread
        self.kernels = []
        self.count = 1
        self.cpu_children = []
        self.cpu_parent = None
        self.input_shapes = input_shapes
        self.concrete_inputs = concrete_inputs
        self.kwinputs = kwinputs
        self.stack = stack
        self.scope = scope
        self.use_device = use_device
        self.cpu_memory_usage = cpu_memory_usage
        self.device_memory_usage = device_memory_usage
        self.is_async = is_async
        self.is_remote = is_remote
        self.sequence_nr = sequence_nr
        self.device_type = device_type
        self.device_index = device_index
        self.device_resource_id = thread if device_resource_id is None else device_resource_id
        self.is_legacy = is_legacy
        self.flops = flops
        self.is_user_annotation = is_user_annotation
        self.is_python_function = is_python_function
        self.activity_type = activity_type
        self.metadata_json = metadata_json or ""
        self.external_id = external_id
        self.linked_correlation_id = linked_correlation_id
        self.structured_input_shapes = structured_input_shapes or []
        self.structured_input_strides = structured_input_strides or []
        self.input_dtypes = input_dtypes or []

    def append_kernel(self, name, device, duration):
        """Notes work that the event has given to another device."""
        if self.device_type != DeviceType.CPU:
            raise AssertionError(f"Expected device_type to be CPU, but got {self.device_type}")
        self.kernels.append(Kernel(name, device, duration))

    def append_cpu_child(self, child):
        """Notes an event inside of this one."""
        for event in (self, child):
            if event.device_type != DeviceType.CPU:
                raise AssertionError(f"Expected device_type to be CPU, but got {event.device_type}")
        self.cpu_children.append(child)

    def set_cpu_parent(self, parent):
        """Notes the event that this one is inside of."""
        self.cpu_parent = parent

    @property
    def key(self):
        """What events are summed by."""
        return self.name

    @property
    def _counts(self):
        return not self.is_async and self.device_type == DeviceType.CPU

    @property
    def cpu_time_total(self):
        """Microseconds from its beginning to its end."""
        return self.time_range.elapsed_us() if self.device_type == DeviceType.CPU else 0

    @property
    def self_cpu_time_total(self):
        """Microseconds outside of the events in it."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children) if self._counts else 0

    @property
    def self_cpu_memory_usage(self):
        """Bytes taken, less those freed, outside of the events in it."""
        return self.cpu_memory_usage - sum(child.cpu_memory_usage for child in self.cpu_children) if self._counts else 0

    @property
    def device_time_total(self):
        """Microseconds of other devices."""
        own = sum(kernel.duration for kernel in self.kernels)
        return own + sum(child.device_time_total for child in self.cpu_children)

    @property
    def self_device_time_total(self):
        """Microseconds of other devices outside of the events in it."""
        return sum(kernel.duration for kernel in self.kernels)

    @property
    def self_device_memory_usage(self):
        """Bytes of other devices outside of the events in it."""
        return self.device_memory_usage - sum(child.device_memory_usage for child in self.cpu_children)

    cuda_time_total = _renamed("cuda_time_total", "device_time_total")
    self_cuda_time_total = _renamed("self_cuda_time_total", "self_device_time_total")
    self_cuda_memory_usage = _renamed("self_cuda_memory_usage", "self_device_memory_usage")

    def __repr__(self):
        device = self.use_device
        children = [child.id for child in self.cpu_children]
        return (
            f"<FunctionEvent id={self.id} name={self.name} overload_name={self.overload_name} "
            f"device_type={self.device_type} node_id={self.node_id} cpu_time={self.cpu_time_str} "
            f"start_us={self.time_range.start} end_us={self.time_range.end} cpu_children={children} "
            f"{device}_time={self.device_time_str} name={self.name} thread={self.thread} "
            f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} "
            f"{device}_memory_usage={self.device_memory_usage} is_async={self.is_async} is_remote={self.is_remote} "
            f"seq_nr={self.sequence_nr} is_legacy={self.is_legacy}>"
        )


class FunctionEventAvg(FormattedTimesMixin):
    """The sum of events that are alike.

    >>> from adjoint.autograd.profiler_util import FunctionEvent, FunctionEventAvg
    >>> total = FunctionEventAvg()
    >>> total += FunctionEvent(0, "aten::mul", 1, 0, 10)
    >>> total += FunctionEvent(1, "aten::mul", 1, 20, 50)
    >>> total.count, total.cpu_time_total, total.cpu_time
    (2, 40, 20.0)
    """

    def __init__(self):
        self.key = None
        self.count = 0
        self.node_id = 0
        self.is_async = False
        self.is_remote = False
        self.use_device = None
        self.cpu_time_total = 0
        self.device_time_total = 0
        self.self_cpu_time_total = 0
        self.self_device_time_total = 0
        self.input_shapes = None
        self.overload_name = None
        self.stack = None
        self.scope = None
        self.cpu_memory_usage = 0
        self.device_memory_usage = 0
        self.self_cpu_memory_usage = 0
        self.self_device_memory_usage = 0
        self.cpu_children = None
        self.cpu_parent = None
        self.device_type = DeviceType.CPU
        self.is_legacy = False
        self.flops = 0

    def add(self, other):
        """Adds an event, or a sum of events, of the same key."""
        if self.key is None:  # the first one
            for name in (
                *("key", "node_id", "is_async", "is_remote", "cpu_parent", "cpu_children", "overload_name"),
                *("input_shapes", "stack", "scope", "device_type", "is_legacy", "use_device", "is_user_annotation"),
            ):
                setattr(self, name, getattr(other, name, None))
        if not isinstance(other, (FunctionEvent, FunctionEventAvg)):
            raise AssertionError(f"Expected FunctionEvent or FunctionEventAvg, but got {type(other)}")
        if other.key != self.key:
            raise AssertionError(f"Expected keys to match, but got {other.key} vs {self.key}")
        for name in (
            *("cpu_time_total", "device_time_total", "self_cpu_time_total", "self_device_time_total"),
            *("cpu_memory_usage", "device_memory_usage", "self_cpu_memory_usage", "self_device_memory_usage", "count"),
        ):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.flops += other.flops or 0
        return self

    __iadd__ = add

    def __repr__(self):
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str}  self_cuda_time={self.self_device_time_total_str} "
            f"cuda_time={self.device_time_str} input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage} cuda_memory_usage={self.device_memory_usage}>"
        )
