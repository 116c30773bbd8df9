"""Which steps of a program a profiler records."""

import enum
import warnings


class ProfilerAction(enum.Enum):
    """What a profiler does in a step.

    >>> import adjoint as torch
    >>> torch.profiler.ProfilerAction.RECORD
    <ProfilerAction.RECORD: 2>
    """

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3
    DEVICE_STOPPED = 4


NONE, WARMUP, RECORD, SAVE = (
    ProfilerAction.NONE,
    ProfilerAction.WARMUP,
    ProfilerAction.RECORD,
    ProfilerAction.RECORD_AND_SAVE,
)


def schedule(*, wait, warmup, active, repeat=0, skip_first=0, skip_first_wait=0):
    """A function from the number of a step to what the profiler does in it.

    It skips `skip_first` steps, then goes through cycles of `wait` steps without it, `warmup` steps that it throws
    away and `active` steps that it keeps: `repeat` cycles, or without end. With `skip_first_wait` the first cycle does
    not wait.

    >>> import adjoint as torch
    >>> plan = torch.profiler.schedule(wait=1, warmup=1, active=2)
    >>> [plan(step).name for step in range(5)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if wait < 0 or warmup < 0 or active <= 0 or repeat < 0 or skip_first < 0:
        raise AssertionError(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} (need >= 0), "
            f"active={active} (need > 0), repeat={repeat} (need >= 0), skip_first={skip_first} (need >= 0)."
        )
    if warmup == 0:
        warnings.warn("Profiler won't be using warmup, this can skew profiler results", stacklevel=2)

    def schedule_fn(step):
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        if step < skip_first:
            return NONE
        step -= skip_first
        if skip_first_wait != 0:
            step += wait
        length = wait + warmup + active
        if repeat > 0 and step / length >= repeat:
            return NONE
        place = step % length
        if place < wait:
            return NONE
        if place < wait + warmup:
            return WARMUP
        return RECORD if place < length - 1 else SAVE

    return schedule_fn


def every_step(_):
    """The schedule of a profiler without one."""
    return RECORD
