"""Runs programs in forked processes that may crash, hang or run out of memory without taking the run with them."""

import array
import contextlib
import copy
import faulthandler
import functools
import io
import mmap
import os
import pickle
import resource
import signal
import struct
import sys
import tempfile
import warnings

import numpy as np

import adjoint

from . import judge, program


class Held(adjoint.Tensor):
    """A tensor without memory of its own: its class computes with the one that it holds."""

    @staticmethod
    def __new__(cls, held):
        return adjoint.Tensor._make_wrapper_subclass(cls, held.shape, strides=held.stride(), dtype=held.dtype)

    def __init__(self, held):
        self.held = held

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        inner = lambda x: x.held if isinstance(x, cls) else x
        result = func(*map(inner, args), **{name: inner(value) for name, value in (kwargs or {}).items()})
        return cls(result) if isinstance(result, adjoint.Tensor) else result


NAMES = {
    "Held": Held,
    "__name__": "fuzz",
    "torch": adjoint,
    "np": np,
    "io": io,
    "copy": copy,
    "pickle": pickle,
    "functools": functools,
    "array": array,
}
HERE = os.path.dirname(__file__)
PIPE = 900  # where no integer of the fuzz closes it
CLOCKS = (signal.SIGPROF, signal.SIGALRM)
COUNTS = ("values", "refusals", "out of memory")


class Shared:
    """What a process leaves behind when it dies: the number of its program, the lines so far, and counts."""

    HEAD = struct.Struct("qqqqq")
    SIZE = 1 << 20

    def __init__(self):
        self.memory = mmap.mmap(-1, self.SIZE)
        self.numbers = memoryview(self.memory).cast("B")[: self.HEAD.size].cast("q")

    def begin(self, index):
        self.numbers[0], self.numbers[1] = index, 0

    def add(self, line):
        data = (line + "\n").encode("utf-8", "surrogatepass")
        start = self.HEAD.size + self.numbers[1]
        if start + len(data) <= self.SIZE:
            self.memory[start : start + len(data)] = data
            self.numbers[1] += len(data)

    def count(self, which):
        self.numbers[2 + which] += 1

    @property
    def index(self):
        return self.numbers[0]

    @property
    def lines(self):
        text = self.memory[self.HEAD.size : self.HEAD.size + self.numbers[1]].decode("utf-8", "surrogatepass")
        return text.splitlines()

    def take_counts(self):
        counts = dict(zip(COUNTS, self.numbers[2:], strict=True))
        for which in range(len(COUNTS)):
            self.numbers[2 + which] = 0
        return counts


class Runner:
    """Runs lines one by one, each within the time that it has."""

    def __init__(self, shared, seconds):
        self.shared, self.seconds = shared, seconds
        self.accidents = []

    def begin(self, index):
        # What the program before has made goes while its lines are still known.
        self.space = None
        self.shared.begin(index)
        adjoint.manual_seed(0)
        adjoint.set_grad_enabled(True)
        self.space = dict(NAMES)
        self.accidents = []

    def run(self, line):
        """Runs a line; the value that it names or has, None when it raised."""
        self.shared.add(line)
        # Time of its own counts, so that a busy machine hangs nothing; a wait that never ends is seen later.
        signal.setitimer(signal.ITIMER_PROF, self.seconds)
        signal.setitimer(signal.ITIMER_REAL, 10 * self.seconds)
        try:
            return self.execute(line)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            self.shared.count(2 if isinstance(error, MemoryError) or "memory" in str(error)[:300] else 1)
            reason = judge.accident(error, line)
            if reason:
                self.accidents.append((reason, f"{type(error).__name__}: {error}"[:300], judge.place(error)))
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)
        return None

    def execute(self, line):
        name, equals, _ = line.partition(" = ")
        if equals and name.isidentifier():
            exec(compile(line, "<line>", "exec"), self.space)
            self.shared.count(0)
            return self.space[name]
        try:
            code = compile(line, "<line>", "eval")
        except SyntaxError:
            code = compile(line, "<line>", "exec")
        value = eval(code, self.space)
        self.shared.count(0)
        return value


def prepare(limits, log):
    """What a process gets before it runs anything: limits, no input, and its own place to write."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.dup2(log.fileno(), 2)
    # The sanitizers reserve all the addresses there are, and have a limit of their own.
    if limits.memory and "asan" not in os.environ.get("LD_PRELOAD", ""):
        resource.setrlimit(resource.RLIMIT_AS, (limits.memory, limits.memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 26, 1 << 26))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    faulthandler.enable(file=log, all_threads=False)
    for clock in CLOCKS:
        signal.signal(clock, signal.SIG_DFL)
        faulthandler.register(clock, file=log, all_threads=False, chain=True)


class Limits:
    def __init__(self, memory=2 << 30, seconds=10.0):
        self.memory, self.seconds = memory, seconds


class Ending:
    """How a process ended: well, by a signal, or by the clock."""

    def __init__(self, status, log):
        self.code = os.waitstatus_to_exitcode(status)
        log.seek(0)
        self.log = log.read().decode("utf-8", "replace")

    @property
    def problem(self):
        if self.code == 0:
            return None
        if -self.code in CLOCKS:
            return "hang"
        return f"crash ({signal.Signals(-self.code).name})" if self.code < 0 else f"crash (exit {self.code})"

    @property
    def where(self):
        """The innermost lines of Python, by which crashes are told apart."""
        frames = [line.strip() for line in self.log.splitlines() if line.startswith('  File "')]
        return " < ".join(frame for frame in frames if HERE not in frame and "runpy" not in frame)


def forked(body, limits):
    """Runs body(send) in a child; returns (what it sent, Ending)."""
    inlet, outlet = os.pipe()
    with tempfile.TemporaryFile() as log, tempfile.TemporaryDirectory() as folder:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                os.close(inlet)
                os.dup2(outlet, PIPE)
                os.close(outlet)
                os.chdir(folder)
                prepare(limits, log)
                with os.fdopen(PIPE, "wb") as pipe:
                    body(lambda item: (pickle.dump(item, pipe), pipe.flush()))
                status = 0
            except BaseException:
                sys.excepthook(*sys.exc_info())
            finally:
                os._exit(status)
        os.close(outlet)
        sent = []
        with os.fdopen(inlet, "rb") as pipe, contextlib.suppress(EOFError, pickle.UnpicklingError):
            while True:
                sent.append(pickle.load(pipe))
        return sent, Ending(os.waitpid(child, 0)[1], log)


def run_programs(seed, first, last, shared, limits):
    """Runs programs first to last - 1, or up to one that ends the process: (accidents, Ending)."""

    def body(send):
        for index in range(first, last):
            runner.begin(index)
            program.Writer(seed, index, runner.run).write()
            for accident in runner.accidents:
                send((index, shared.lines, *accident))

    runner = Runner(shared, limits.seconds)
    return forked(body, limits)


def run_lines(lines, limits):
    """Runs some lines: (accidents, Ending)."""

    def body(send):
        runner.begin(0)
        for line in lines:
            runner.run(line)
        for accident in runner.accidents:
            send(accident)

    runner = Runner(Shared(), limits.seconds)
    return forked(body, limits)


def shortened(lines, fails):
    """The lines without those that the failure does not need."""
    for number in reversed(range(len(lines))):
        fewer = lines[:number] + lines[number + 1 :]
        if fewer and fails(fewer):
            lines = fewer
    return lines
