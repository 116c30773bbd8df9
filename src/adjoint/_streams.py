"""torch.Stream and torch.Event: those of the accelerator, or of the CPU, which does all work when it is given."""

from . import _C


def _device_of(device):
    """The device that is meant: that of the accelerator if none is named, and the CPU where there is none."""
    if device is None:
        return _C.device("cpu" if _C._cuda_why_unavailable() else "cuda")
    return _C.device(device)


class Stream:
    """Work of a device that is done in order: of the accelerator, which is the default, or of the CPU.

    Of a GPU it is a torch.cuda.Stream. The CPU has done its work when a call returns, so that nothing waits for it.

    >>> import adjoint as torch
    >>> torch.Stream("cpu").query()
    True
    """

    __module__ = "adjoint"

    def __new__(cls, device=None, *args, **kwargs):
        if cls is Stream and _device_of(device).type == "cuda":
            from .cuda.streams import Stream as CudaStream

            return object.__new__(CudaStream)
        return object.__new__(cls)

    def __init__(self, device=None, *, priority=0):
        self.device = _device_of(device)
        if self.device.type != "cpu":
            raise NotImplementedError(
                f"torch.Stream(): expected a device with streams, cuda or cpu; got {self.device}; leave tensors there"
            )

    device_index, device_type, stream_id = -1, 0, 0

    def is_capturing(self):
        """Whether what the stream gets goes into a graph: no."""
        return False

    def query(self):
        """Whether all work that was given to the stream is done: yes."""
        return True

    def synchronize(self):
        """Does nothing: all work is done."""

    def record_event(self, event=None):
        """An event, a new one by default, that marks how far the stream has come."""
        event = Event(self.device) if event is None else event
        event.record(self)
        return event

    def wait_event(self, event):
        """Waits for what an event marks."""
        event.synchronize()

    def wait_stream(self, stream):
        """Waits for what another stream has to do."""
        stream.synchronize()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False

    def __eq__(self, other):
        if not isinstance(other, Stream):
            return NotImplemented
        return self.device == other.device

    def __hash__(self):
        return hash(self.device)

    def __repr__(self):
        return (
            f"torch.Stream device_type={self.device.type}, device_index={self.device_index}, stream_id={self.stream_id}"
        )


class Event:
    """A mark in a stream of the accelerator, which is the default, or of the CPU.

    >>> import adjoint as torch
    >>> torch.Event("cpu").query()
    True
    """

    __module__ = "adjoint"

    def __new__(cls, device=None, *args, **kwargs):
        if cls is Event and _device_of(device).type == "cuda":
            from .cuda.streams import DeviceEvent

            return object.__new__(DeviceEvent)
        return object.__new__(cls)

    def __init__(self, device=None, *, enable_timing=False, blocking=False, interprocess=False):
        self.device = _device_of(device)
        if self.device.type != "cpu":
            raise NotImplementedError(
                f"torch.Event(): expected a device with streams, cuda or cpu; got {self.device}; leave tensors there"
            )

    event_id = 0

    def record(self, stream=None):
        """Marks how far a stream has come: all that it was given."""

    def wait(self, stream=None):
        """Does nothing: what the event marks is done."""

    def query(self):
        """Whether what the event marks is done: yes."""
        return True

    def synchronize(self):
        """Does nothing: what the event marks is done."""

    def elapsed_time(self, end_event):
        """Refuses: time is measured in streams of a GPU."""
        raise NotImplementedError(
            "torch.Event.elapsed_time(): the CPU has no events that measure time; use time.perf_counter()"
        )

    def __repr__(self):
        return f"torch.Event device_type={self.device.type}, device_index=-1, event_flag=0, event_id=0"
