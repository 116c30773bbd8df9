"""Streams, in which work is done in order, and events, by which they wait for one another."""

import threading

from .. import _C
from .._streams import Event as _AnyEvent
from .._streams import Stream as _AnyStream
from ._devices import index_of, init

__all__ = ["Event", "ExternalStream", "Stream"]

_entered = threading.local()  # contexts: those of the streams that a thread has entered by `with stream:`


class Stream(_AnyStream):
    """Work of a GPU that is done in order; that of several streams at the same time.

    A `priority` below 0 goes first. Streams come from a set that is made once for each GPU. Memory that was made on
    one stream and is used on another is told by Tensor.record_stream().

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     side = torch.cuda.Stream()
    ...     side.wait_stream(torch.cuda.current_stream())
    ...     with torch.cuda.stream(side):
    ...         x = torch.ones(3, device="cuda") * 2
    ...     torch.cuda.current_stream().wait_stream(side)
    """

    __module__ = "adjoint.cuda"
    device_type = 1  # torch's number of CUDA

    def __init__(self, device=None, priority=0, *, stream_id=None, device_index=None, device_type=None):
        init()
        if stream_id is not None:
            index, handle = device_index or 0, stream_id
        else:
            index = index_of(device)
            handle = _C._cuda_new_stream(index, priority)
        self._take(index, handle)

    def _take(self, index, handle):
        self.device_index, self.cuda_stream = index, handle
        return self

    @property
    def device(self):
        """The GPU of the stream."""
        return _C.device("cuda", self.device_index)

    @property
    def stream_id(self):
        """A number that the stream alone has on its GPU."""
        return self.cuda_stream

    native_handle = _as_parameter_ = property(lambda self: self.cuda_stream, doc="The driver's handle, as a number.")

    @property
    def priority(self):
        """0, or below for a stream that goes first."""
        return _C._cuda_stream_priority(self.cuda_stream)

    @staticmethod
    def priority_range():
        """The least and the greatest priority: (0, -3)."""
        return 0, -3

    def is_capturing(self):
        """Whether what the stream gets goes into a graph."""
        from . import StreamContext

        with StreamContext(self):
            return _C._cuda_capturing(self.device_index)

    def query(self):
        """Whether all work that was given to the stream is done."""
        return _C._cuda_stream_done(self.device_index, self.cuda_stream)

    def synchronize(self):
        """Waits until all work that was given to the stream is done."""
        _C._cuda_stream_synchronize(self.device_index, self.cuda_stream)

    def record_event(self, event=None):
        """An event, a new one by default, that marks how far the stream has come."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event):
        """Lets work that the stream gets from now on wait for an event."""
        event.wait(self)

    def wait_stream(self, stream):
        """Lets work that the stream gets from now on wait for all that another one has now."""
        self.wait_event(stream.record_event())

    def __eq__(self, other):
        if not isinstance(other, Stream):
            return NotImplemented
        return (self.device_index, self.cuda_stream) == (other.device_index, other.cuda_stream)

    def __hash__(self):
        return hash((self.cuda_stream, self.device_index))

    def __enter__(self):
        from . import StreamContext

        context = StreamContext(self)
        context.__enter__()
        _entered.contexts = [*getattr(_entered, "contexts", ()), context]
        return self

    def __exit__(self, *error):
        _entered.contexts.pop().__exit__(*error)
        return False

    def __repr__(self):
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"


class ExternalStream(Stream):
    """A stream that another library has made, by the driver's handle; it must live as long as this is used.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     assert torch.cuda.ExternalStream(0) == torch.cuda.default_stream()
    """

    __module__ = "adjoint.cuda"

    def __init__(self, stream_ptr, device=None, **kwargs):
        init()
        self._take(index_of(device), int(stream_ptr))


class Event(_AnyEvent):
    """A mark in a stream: that other streams and the program wait for, and that time is measured with.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    ...     begin.record()
    ...     x = torch.ones(3, device="cuda") * 2
    ...     end.record()
    ...     end.synchronize()
    ...     assert begin.elapsed_time(end) >= 0
    """

    __module__ = "adjoint.cuda"

    def __init__(self, enable_timing=False, blocking=False, interprocess=False, external=False):
        init()
        if interprocess:
            raise NotImplementedError("torch.cuda.Event(interprocess=True): GPUs are not shared between processes here")
        self.enable_timing, self.blocking, self.external = bool(enable_timing), bool(blocking), bool(external)
        self._index, self.cuda_event = None, 0

    @property
    def device(self):
        """The GPU in whose stream the event was recorded; None before."""
        return None if self._index is None else _C.device("cuda", self._index)

    event_id = _as_parameter_ = property(
        lambda self: self.cuda_event, doc="The driver's handle, as a number; 0 at first."
    )

    def record(self, stream=None):
        """Marks how far a stream, by default the current one, has come."""
        if stream is None:
            from . import current_stream

            stream = current_stream(self._index)
        if self._index is None:
            self._index = stream.device_index
            self.cuda_event = _C._cuda_new_event(self._index, self.enable_timing, self.blocking)
        elif self._index != stream.device_index:
            raise RuntimeError(
                f"Event device {self._index} does not match recording stream's device {stream.device_index}."
            )
        _C._cuda_record_event(self._index, self.cuda_event, stream.cuda_stream)

    def wait(self, stream=None):
        """Lets work that a stream, by default the current one, gets from now on wait for the event."""
        if stream is None:
            from . import current_stream

            stream = current_stream()
        if self.cuda_event:
            _C._cuda_wait_event(stream.device_index, self.cuda_event, stream.cuda_stream)

    def query(self):
        """Whether what the event marks is done; True for one that was never recorded."""
        return not self.cuda_event or _C._cuda_event_done(self._index, self.cuda_event)

    def synchronize(self):
        """Waits until what the event marks is done."""
        if self.cuda_event:
            _C._cuda_event_synchronize(self._index, self.cuda_event)

    def elapsed_time(self, end_event):
        """The milliseconds from this event to another; both were made with enable_timing=True."""
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if not (self.cuda_event and end_event.cuda_event):
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return _C._cuda_elapsed(self._index, self.cuda_event, end_event.cuda_event)

    def ipc_handle(self):
        """Refuses: GPUs are not shared between processes."""
        raise NotImplementedError("torch.cuda.Event.ipc_handle(): GPUs are not shared between processes here")

    @classmethod
    def from_ipc_handle(cls, device, handle):
        """Refuses: GPUs are not shared between processes."""
        raise NotImplementedError("torch.cuda.Event.from_ipc_handle(): GPUs are not shared between processes here")

    def __del__(self):
        if getattr(self, "cuda_event", 0) and _C is not None:
            _C._cuda_destroy_event(self.cuda_event)

    def __repr__(self):
        if not self.cuda_event:
            return "<torch.cuda.Event uninitialized>"
        return f"<torch.cuda.Event {self.cuda_event:#x}>"


class DeviceEvent(Event):
    """What torch.Event() gives on a GPU: it takes the device first, and what it marks by names."""

    def __init__(self, device=None, *, enable_timing=False, blocking=False, interprocess=False):
        index_of(device)
        super().__init__(enable_timing, blocking)
