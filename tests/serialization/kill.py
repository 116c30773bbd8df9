"""Kills a process again and again while it saves, and looks at the file each time.

`python -m tests.serialization.kill 200` does it 200 times and prints what was found.
"""

import os
import random
import signal
import sys
import tempfile
import time

import adjoint

VALUES = 1 << 16


def state(step):
    """Tensors that all know the step they belong to: a mixture of two would show."""
    return {"step": step, "first": adjoint.full((VALUES,), float(step)), "last": adjoint.full((VALUES,), float(step))}


def check(path):
    """The step of the file at `path`; raises if it is not whole."""
    obj = adjoint.load(path)
    for name in ("first", "last"):
        if obj[name].shape != (VALUES,) or not bool((obj[name] == obj["step"]).all()):
            raise RuntimeError(f"{name} is not of step {obj['step']}")
    return obj["step"]


def save_until_killed(path, step):
    """What the child process does."""
    while True:
        step += 1
        adjoint.save(state(step), path)


def in_child(function, *arguments):
    """The process id of a child that calls a function and never returns from it."""
    child = os.fork()
    if child == 0:
        try:
            function(*arguments)
        finally:
            os._exit(0)
    return child


def kill_many(count, folder, seed=0):
    """Kills `count` writers at random moments; (times the file was new, most left-over folders at once)."""
    moments = random.Random(seed)
    path = os.path.join(folder, "state.pt")
    adjoint.save(state(0), path)
    begin = time.perf_counter()
    adjoint.save(state(0), path)
    longest = 3 * (time.perf_counter() - begin)
    step, new, left_over = 0, 0, 0
    for _ in range(count):
        child = in_child(save_until_killed, path, step)
        time.sleep(moments.uniform(0, longest))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        now = check(path)
        if now < step:
            raise RuntimeError(f"the file went back from step {step} to {now}")
        new += now > step
        longest *= 0.8 if now > step else 1.25  # a busy machine takes longer to save: both outcomes must come up
        step = now
        left_over = max(left_over, len(os.listdir(folder)) - 1)
    adjoint.save(state(step), path)
    if os.listdir(folder) != ["state.pt"]:
        raise RuntimeError(f"killed writers left {os.listdir(folder)}")
    return new, left_over


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    with tempfile.TemporaryDirectory() as folder:
        new, left_over = kill_many(count, folder, seed=time.time_ns())
    print(f"{count} kills: the file was whole each time, and {new} times a newer one.")
    print(f"At most {left_over} folder of a killed writer was left, and none after the next save.")


if __name__ == "__main__":
    main()
