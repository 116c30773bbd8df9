"""The events of profilers, under torch's names."""

from collections import defaultdict

from .._profile.event import FormattedTimesMixin as FormattedTimesMixin
from .._profile.event import FunctionEvent as FunctionEvent
from .._profile.event import FunctionEventAvg as FunctionEventAvg
from .._profile.event import Interval as Interval
from .._profile.event import Kernel as Kernel
from .._profile.event_list import EventList as EventList
from .._profile.kinds import MEMORY_EVENT_NAME as MEMORY_EVENT_NAME
from .._profile.kinds import OUT_OF_MEMORY_EVENT_NAME as OUT_OF_MEMORY_EVENT_NAME
from .._profile.kinds import DeviceType as DeviceType
from .._profile.table import format_memory as _format_memory  # noqa: F401 - torch's names of these
from .._profile.table import format_share as _format_time_share  # noqa: F401
from .._profile.table import format_time as _format_time  # noqa: F401

__all__ = [
    "EventList",
    "FormattedTimesMixin",
    "FunctionEvent",
    "FunctionEventAvg",
    "Interval",
    "Kernel",
    "MemRecordsAcc",
    "StringTable",
]


for _type in (EventList, FormattedTimesMixin, FunctionEvent, FunctionEventAvg, Interval, Kernel):
    _type.__module__ = __name__  # by which programs know them


class StringTable(defaultdict):
    """Names that stand for themselves.

    >>> from adjoint.autograd.profiler_util import StringTable
    >>> StringTable()["aten::mul"]
    'aten::mul'
    """

    def __missing__(self, key):
        self[key] = key
        return key


class MemRecordsAcc:
    """Finds the records of memory, of objects with start_ns(), that lie within times.

    >>> from adjoint.autograd.profiler_util import MemRecordsAcc
    >>> list(MemRecordsAcc([]).in_interval(0, 10))
    []
    """

    def __init__(self, mem_records):
        self._records = sorted(mem_records, key=lambda record: record[0].start_ns())

    def in_interval(self, start_us, end_us):
        """The records between two times, both included."""
        for record in self._records:
            if start_us * 1000 <= record[0].start_ns() <= end_us * 1000:
                yield record
