"""Timer: runs a statement, given as text, often enough to say how long it takes."""

import enum
import sys
import textwrap
import timeit

from ._measurement import Measurement, TaskSpec, set_torch_threads

timer = timeit.default_timer


class Language(enum.Enum):
    """In what a statement is written: Python alone is run.

    >>> from adjoint.utils.benchmark import Language
    >>> Language.PYTHON
    <Language.PYTHON: 0>
    """

    PYTHON = 0
    CPP = 1


class Timer:
    """Times a statement, with `globals` for its names, after `setup`, while `num_threads` threads compute.

    >>> import adjoint as torch
    >>> from adjoint.utils.benchmark import Timer
    >>> Timer("x @ x", globals={"x": torch.ones(4, 4)}, label="product").timeit(10).title
    'product'
    """

    _timer_cls = timeit.Timer

    def __init__(
        self,
        stmt="pass",
        setup="pass",
        global_setup="",
        timer=timer,
        globals=None,
        label=None,
        sub_label=None,
        description=None,
        env=None,
        num_threads=1,
        language=Language.PYTHON,
    ):
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        if language not in (Language.PYTHON, "py", "python"):
            raise NotImplementedError(f"Timer: statements in {language} cannot be compiled here; write them in Python")
        if global_setup:
            raise ValueError(
                f"global_setup is C++ only, got `{global_setup}`. Most likely this code can simply be moved to `setup`."
            )
        stmt, setup = _without_indent(stmt), _without_indent(setup)
        names = {} if globals is None else dict(globals)
        if "torch" not in names:
            names["torch"] = sys.modules[__name__.partition(".")[0]]
        self._timer = self._timer_cls(stmt=stmt, setup=setup, timer=timer, globals=names)
        self._globals = names
        self._task_spec = TaskSpec(stmt, setup, "", label, sub_label, description, env, num_threads)

    def _time(self, number):
        return max(self._timer.timeit(number), 1e-9)

    def _measured(self, number, times):
        return Measurement(number_per_run=number, raw_times=times, task_spec=self._task_spec)

    def timeit(self, number=1000000):
        """One measurement of `number` runs, after some to warm up."""
        with set_torch_threads(self._task_spec.num_threads):
            self._time(max(int(number // 100), 2))
            return self._measured(number, [self._time(number)])

    def repeat(self, repeat=-1, number=-1):
        """Raises, as in torch: blocked_autorange() says more."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback=None):
        """Raises, as in torch: blocked_autorange() says more."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def _block_size(self, min_run_time):
        """How many runs make a block so long that the clock does not count."""
        overhead = sorted(self._time_of_clock() for _ in range(5))[2]
        number = 1
        while True:
            taken = self._time(number)
            if overhead / taken <= 1e-4 and taken >= min_run_time / 1000:
                return number
            if taken > min_run_time:
                return number
            number *= 10

    def _time_of_clock(self):
        return max(timeit.Timer("pass", timer=self._timer.timer).timeit(0), 0.0)

    def blocked_autorange(self, callback=None, min_run_time=0.2):
        """Measurements of blocks of runs, for at least so many seconds."""
        with set_torch_threads(self._task_spec.num_threads):
            number = self._block_size(min_run_time)
            times, total = [], 0.0
            while total < min_run_time or not times:
                times.append(self._time(number))
                total += times[-1]
                if callback is not None:
                    callback(number, times[-1])
            return self._measured(number, times)

    def adaptive_autorange(self, threshold=0.1, *, min_run_time=0.01, max_run_time=10.0, callback=None):
        """Measurements of blocks of runs, until their quartiles lie within a part of the median, or for so long."""
        with set_torch_threads(self._task_spec.num_threads):
            number = self._block_size(min_run_time)
            times, total = [], 0.0
            while True:
                for _ in range(2):
                    times.append(self._time(number))
                    total += times[-1]
                    if callback is not None:
                        callback(number, times[-1])
                measured = self._measured(number, times)
                steady = len(times) >= 4 and measured.meets_confidence(threshold)
                if total >= max_run_time or (total >= min_run_time and steady):
                    return measured

    def collect_callgrind(self, number=100, *, repeats=None, collect_baseline=True, retain_out_file=False):
        """Raises: run the program under valgrind to count its instructions."""
        raise NotImplementedError("collect_callgrind: run the program under `valgrind --tool=callgrind` instead")


def _without_indent(text):
    text = textwrap.dedent(text.rstrip())
    return text[1:] if text.startswith("\n") else text
