"""Measurement: the times of one task, and what they come to."""

import collections
import contextlib
import dataclasses
import math
import statistics
from typing import Any

from ... import _C

MIN_CONFIDENCE_INTERVAL = 25e-9  # seconds: a clock says no more
MAX_SIGNIFICANT_FIGURES = 4
IQR_WARN_THRESHOLD = 0.1
IQR_GROSS_WARN_THRESHOLD = 0.25
_UNITS = {"ns": "nanosecond", "us": "microsecond", "ms": "millisecond", "s": "second"}


def select_unit(t):
    """(the unit in which a time of t seconds is written, its size).

    >>> from adjoint.utils.benchmark import select_unit
    >>> select_unit(0.002)
    ('ms', 0.001)
    """
    unit = {-3: "ns", -2: "us", -1: "ms"}.get(int(math.log10(t) // 3), "s") if t > 0 else "ns"
    return unit, {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}[unit]


def unit_to_english(u):
    """A unit in full.

    >>> from adjoint.utils.benchmark import unit_to_english
    >>> unit_to_english("us")
    'microsecond'
    """
    return _UNITS[u]


def trim_sigfig(x, n):
    """A number with its first n digits alone.

    >>> from adjoint.utils.benchmark import trim_sigfig
    >>> trim_sigfig(1234.5, 2)
    1200.0
    """
    if n != int(n):
        raise AssertionError(f"n must be an integer, got {n}")
    scale = 10 ** (math.ceil(math.log10(abs(x))) - int(n)) if x else 1
    return float(round(x / scale) * scale)


def ordered_unique(elements):
    """The elements, each once, in order.

    >>> from adjoint.utils.benchmark import ordered_unique
    >>> ordered_unique([1, 2, 1])
    [1, 2]
    """
    return list(dict.fromkeys(elements))


@contextlib.contextmanager
def set_torch_threads(n):
    """A context in which n threads compute.

    >>> import adjoint as torch
    >>> from adjoint.utils.benchmark import set_torch_threads
    >>> with set_torch_threads(1):
    ...     print(torch.get_num_threads())
    1
    """
    before = _C.get_num_threads()
    _C.set_num_threads(n)
    try:
        yield
    finally:
        _C.set_num_threads(before)


@dataclasses.dataclass(eq=True, frozen=True, repr=False)
class TaskSpec:
    """What was timed, and how it is named.

    >>> from adjoint.utils.benchmark import TaskSpec
    >>> TaskSpec("x + y", "pass", label="sum", sub_label="small").title
    'sum: small'
    """

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self):
        """The label with the sub label, or the statement."""
        if self.label is not None:
            return self.label + (f": {self.sub_label}" if self.sub_label else "")
        if "\n" not in self.stmt:
            return self.stmt
        shown = f" {self.sub_label}" if self.sub_label else ""
        return f"stmt:{shown}\n  " + self.stmt.replace("\n", "\n  ")

    def setup_str(self):
        """The setup as it is printed: nothing, a line, or an indented text."""
        if self.setup == "pass" or not self.setup:
            return ""
        return f"setup:\n  {self.setup}".replace("\n", "\n  ") if "\n" in self.setup else f"setup: {self.setup}"

    def summarize(self):
        """The title, the description and the setup, a line each."""
        return "\n".join(part for part in (self.title, self.description or "", self.setup_str()) if part)


@dataclasses.dataclass(init=True, repr=False)
class Measurement:
    """How long a task took: the times of blocks of runs, and their median, mean and spread for one run.

    >>> import adjoint as torch
    >>> from adjoint.utils.benchmark import Timer
    >>> measured = Timer("x + 1", globals={"x": torch.ones(2)}).timeit(10)
    >>> measured.median > 0, measured.number_per_run
    (True, 10)
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    @property
    def times(self):
        """The time of one run, from each block."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def median(self):
        """The median time of a run, in seconds."""
        return statistics.median(self._timed())

    @property
    def mean(self):
        """The mean time of a run, in seconds."""
        return statistics.mean(self._timed())

    @property
    def iqr(self):
        """The distance of the quartiles of the times."""
        low, high = self._quartiles()
        return high - low

    @property
    def significant_figures(self):
        """How many digits of the median the spread of the times leaves."""
        half = max(sum(abs(q - self.median) for q in self._quartiles()) / 2 / math.sqrt(len(self.times)), 0)
        half = max(half, MIN_CONFIDENCE_INTERVAL / 2)
        return min(max(math.floor(math.log10(self.median / half)), 1), MAX_SIGNIFICANT_FIGURES)

    @property
    def has_warnings(self):
        """Whether the times differ too much to be trusted."""
        return not self.meets_confidence()

    @property
    def title(self):
        """The title of the task."""
        return self.task_spec.title

    @property
    def env(self):
        """Where the task ran, as the program named it."""
        return self.task_spec.env

    @property
    def as_row_name(self):
        """The name of the task's row in a table."""
        return self.task_spec.sub_label or self.task_spec.stmt or "[Unknown]"

    def __getattr__(self, name):
        if name in ("stmt", "setup", "label", "sub_label", "description", "num_threads"):
            return getattr(self.task_spec, name)
        raise AttributeError(f"'Measurement' object has no attribute {name!r}")

    def meets_confidence(self, threshold=IQR_WARN_THRESHOLD):
        """Whether the quartiles lie within a part of the median."""
        return self.iqr / self.median < threshold

    def _timed(self):
        if not self.raw_times:
            raise RuntimeError("Measurement: there are no times; run the task first")
        return self.times

    def _quartiles(self):
        times = sorted(self._timed())
        return tuple(_quantile(times, q) for q in (0.25, 0.75))

    def __repr__(self):
        lines = [f"{super().__repr__()}", self.task_spec.summarize()]
        unit, size = select_unit(self.median)
        several = len(self.raw_times) > 1
        lines.append(f"  {'Median: ' if several else ''}{self.median / size:.2f} {unit}")
        if len(self.raw_times) >= 4:
            low, high = self._quartiles()
            lines.append(f"  IQR:    {self.iqr / size:.2f} {unit} ({low / size:.2f} to {high / size:.2f})")
        runs = f"{self.number_per_run} runs {'per measurement' if several else ''}"
        threads = f"{self.task_spec.num_threads} thread{'s' if self.task_spec.num_threads > 1 else ''}"
        lines.append(f"  {len(self.raw_times)} measurement{'s' if several else ''}, {runs}, {threads}")
        if self.iqr / self.median > IQR_WARN_THRESHOLD:
            gross = self.iqr / self.median > IQR_GROSS_WARN_THRESHOLD
            lines.append(
                f"  WARNING: Interquartile range is {self.iqr / self.median * 100:.1f}% of the median measurement."
            )
            lines.append(
                f"           This {'suggests' if gross else 'could indicate'} significant environmental influence."
            )
        return "\n".join(lines)

    @staticmethod
    def merge(measurements):
        """Measurements of equal tasks made one each."""
        grouped = collections.defaultdict(list)
        for one in measurements:
            grouped[one.task_spec].append(one)
        return [Measurement(1, [t for one in same for t in one.times], task) for task, same in grouped.items()]


def _quantile(times, q):
    place = q * (len(times) - 1)
    low = math.floor(place)
    high = min(low + 1, len(times) - 1)
    return times[low] + (times[high] - times[low]) * (place - low)
