"""The processor as a device: there is one, and it is always ready."""

import contextlib
import functools
import types

from .. import _C
from . import amp as amp

__all__ = [
    *("Event", "Stream", "StreamContext", "current_device", "current_stream", "device_count", "get_capabilities"),
    *("is_available", "is_initialized", "set_device", "stream", "synchronize"),
]


def is_available():
    """Whether there is a processor.

    >>> import adjoint as torch
    >>> torch.cpu.is_available()
    True
    """
    return True


def is_initialized():
    """Whether the processor is ready.

    >>> import adjoint as torch
    >>> torch.cpu.is_initialized()
    True
    """
    return True


def device_count():
    """The number of processors as devices: one.

    >>> import adjoint as torch
    >>> torch.cpu.device_count()
    1
    """
    return 1


def current_device():
    """The name of the device in use.

    >>> import adjoint as torch
    >>> torch.cpu.current_device()
    'cpu'
    """
    return "cpu"


def set_device(device):
    """Does nothing: there is one processor.

    >>> import adjoint as torch
    >>> torch.cpu.set_device("cpu")
    """


def synchronize(device=None):
    """Does nothing: ops on the processor are done when they return.

    >>> import adjoint as torch
    >>> torch.cpu.synchronize()
    """


# ---- Streams, for programs that are written for any device: the processor has one, and its work is done at once


class Stream:
    """Work of the processor, which is done when it is given.

    >>> import adjoint as torch
    >>> torch.cpu.Stream().wait_stream(torch.cpu.current_stream())
    """

    def __init__(self, priority=-1):
        pass

    def wait_stream(self, stream):
        """Does nothing: all work is done."""

    def record_event(self):
        """Does nothing: all work is done."""

    def wait_event(self, event):
        """Does nothing: all work is done."""


class Event:
    """A mark in the processor's work, which is done.

    >>> import adjoint as torch
    >>> torch.cpu.Event().query()
    True
    """

    def query(self):
        """Whether what the event marks is done: yes."""
        return True

    def record(self, stream=None):
        """Does nothing: all work is done."""

    def synchronize(self):
        """Does nothing: all work is done."""

    def wait(self, stream=None):
        """Does nothing: all work is done."""


_stream = Stream()


def current_stream(device=None):
    """The stream of the processor.

    >>> import adjoint as torch
    >>> torch.cpu.current_stream() is torch.cpu.current_stream()
    True
    """
    return _stream


class StreamContext(contextlib.AbstractContextManager):
    """A context in which a stream is the current one, until it ends; stream() makes one.

    >>> import adjoint as torch
    >>> with torch.cpu.StreamContext(torch.cpu.Stream()):
    ...     pass
    """

    def __init__(self, stream):
        self.stream, self._before = stream, []

    def __enter__(self):
        global _stream
        if self.stream is not None:
            self._before.append(_stream)
            _stream = self.stream

    def __exit__(self, *error):
        global _stream
        if self.stream is not None:
            _stream = self._before.pop()


def stream(stream):
    """A context in which a stream is the current one; None changes nothing.

    >>> import adjoint as torch
    >>> with torch.cpu.stream(None):
    ...     pass
    """
    return StreamContext(stream)


# Torch's names of instructions that Linux calls otherwise.
_FLAGS = {
    **{name: name for name in ("sse", "sse2", "ssse3", "sse4_1", "sse4_2", "sse4a", "popcnt", "avx", "avx2", "f16c")},
    **{name: name for name in ("fma4", "bmi2", "aes", "clflushopt", "clwb", "avx512_bf16", "avx512_fp16")},
    **{name: name for name in ("avx512_vnni", "avx512_bitalg", "avx512_vpopcntdq", "avx512_vp2intersect", "avx_vnni")},
    **{name: name for name in ("amx_bf16", "amx_int8", "amx_tile", "avx512_4fmaps")},
    **{f"avx512_{part}": f"avx512{part}" for part in ("f", "bw", "cd", "dq", "vl", "ifma")},
    "avx512_vbmi": "avx512vbmi",
    "avx512_vbmi2": "avx512_vbmi2",
    "avx512_4vnniw": "avx512_4vnniw",
    "sse3": "pni",
    "fma3": "fma",
    "bmi": "bmi1",
    "lzcnt": "abm",
    "sha": "sha_ni",
    "clflush": "clflush",
}


@functools.cache
def get_capabilities():
    """What the processor is, and which instructions it has, by torch's names.

    >>> import adjoint as torch
    >>> "avx2" in torch.cpu.get_capabilities()
    True
    """
    import os
    import platform

    found = {}
    try:
        with open("/proc/cpuinfo") as file:
            lines = (line.partition(":") for line in file.read().partition("\n\n")[0].splitlines())
            found = {name.strip(): value.strip() for name, _, value in lines}
    except OSError:  # another system than Linux: what is known is told
        pass
    flags = set(found.get("flags", "").split())
    facts = {"architecture": platform.machine(), "cpu_name": found.get("model name", platform.processor())}
    has = {name: theirs in flags for name, theirs in _FLAGS.items()}
    has["amx_fp16"] = _C._has_amx_fp16()  # which Linux does not list
    return types.MappingProxyType(facts | has | {"num_logical_cores": os.cpu_count()})
