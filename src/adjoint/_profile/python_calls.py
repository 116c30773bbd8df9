"""The calls of Python's functions, of built-in ones and of modules that a thread makes: a profiler's with_stack."""

import sys
import threading
import time

from .building import PYTHON, Row


class PythonCalls:
    """A log of the calls from start() to stop()."""

    def start(self):
        self.before = sys.getprofile()
        self.thread = threading.get_native_id()
        self.found = []  # [name, start, end or None]
        self.running = []  # (number in `found`, whose call it is), innermost last
        self.modules = {}  # by id: the name of a module's events
        self.counts = {}
        now = time.perf_counter_ns()
        frame, frames = sys._getframe(1), []
        while frame is not None:
            frames.append(frame)
            frame = frame.f_back
        package = frames[0].f_globals["__name__"].partition(".")[0]
        while frames and frames[0].f_globals.get("__name__", "").partition(".")[0] == package:
            frames.pop(0)  # those that start the profiler
        for frame in reversed(frames):
            self._begin(_frame_name(frame), frame, now)
        sys.setprofile(self._note)

    def stop(self):
        sys.setprofile(self.before)

    def _begin(self, name, whose, now):
        self.running.append((len(self.found), id(whose)))
        self.found.append([name, now, None])

    def _note(self, frame, event, argument):
        now = time.perf_counter_ns()
        if event == "call":
            if frame.f_code.co_name == "forward":
                self._begin_module(frame, now)
            self._begin(_frame_name(frame), frame, now)
        elif event == "c_call":
            self._begin(_builtin_name(argument), argument, now)
        else:
            self._end(id(frame if event == "return" else argument), now)

    def _begin_module(self, frame, now):
        from ..nn import Module

        module = frame.f_locals.get("self")
        if isinstance(module, Module):
            if id(module) not in self.modules:
                kind = type(module).__name__
                number = self.counts[kind] = self.counts.get(kind, -1) + 1
                self.modules[id(module)] = f"nn.Module: {kind}_{number}", module  # kept, for its id
            self._begin(self.modules[id(module)][0], frame, now)

    def _end(self, whose, now):
        """Ends the calls of a frame or a built-in function: none, where it began before the log."""
        while self.running and self.running[-1][1] == whose:
            self.found[self.running.pop()[0]][2] = now

    def rows(self, stopped):
        """The calls, as rows of a log."""
        for name, start, end in self.found:
            duration = (stopped if end is None else end) - start
            yield Row(PYTHON, name, (), (), (), (), start, duration, 0, 0, -1, self.thread, -1, False)


def _frame_name(frame):
    code = frame.f_code
    return f"{_short_path(code.co_filename)}({code.co_firstlineno}): {code.co_name}"


def _short_path(path):
    """A file by its place among the directories that modules are imported from."""
    places = [place for place in sys.path if place and path.startswith(place.rstrip("/") + "/")]
    return path[len(max(places, key=len).rstrip("/")) + 1 :] if places else path


def _builtin_name(function):
    owner = getattr(function, "__self__", None)
    name = getattr(function, "__name__", repr(function))
    if owner is None or isinstance(owner, type(sys)):
        return f"<built-in function {name}>"
    return f"<built-in method {name} of {type(owner).__name__} object at {id(owner):#x}>"
