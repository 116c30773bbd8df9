"""Which module made a node. The core logs the latest calls of modules with the numbers of the nodes made in them."""

from bisect import bisect_left, bisect_right
from typing import NamedTuple

from .. import _C
from . import names


class Call(NamedTuple):
    """A call of a module that has made the nodes numbered `first` to `end`; `outer` is the call that it was made in."""

    first: int
    end: int
    name: str  # the module's path, such as "net.0"
    kind: str  # its class
    outer: "Call | None"

    @property
    def chain(self):
        """This call and those around it, outermost first."""
        return (*(self.outer.chain if self.outer else ()), self)


class ModuleCalls:
    """The calls that are still known, by the nodes that they made. It keeps names, and no modules."""

    def __init__(self, frame_names):
        self.known = set(frame_names.modules.values())  # the names of all modules that variables lead to
        known = [(first, end, weak(), thread) for weak, first, end, thread in _C._module_calls()]
        known = [row for row in known if row[2] is not None]
        # Outer calls before inner ones that begin with the same node: they end later, or were logged later.
        known = [row for _, row in sorted(enumerate(known), key=lambda item: (item[1][0], -item[1][1], -item[0]))]
        self._calls, unclear, open_calls = [], [], []
        for first, end, module, thread in known:
            while open_calls and open_calls[-1][0].end <= first:
                open_calls.pop()
            outer, outer_module, outer_thread = open_calls[-1] if open_calls else (None, None, thread)
            if outer_thread != thread or (outer and end > outer.end):
                unclear.append((first, end))  # two threads at once: whose nodes these are cannot be told
                continue
            name = frame_names.modules.get(id(module)) or _path_below(outer, outer_module, module)
            call = Call(first, end, name, type(module).__name__, outer)
            self._calls.append(call)
            open_calls.append((call, module, thread))
        self._calls = _outside(self._calls, unclear)
        self._firsts = [call.first for call in self._calls]

    @property
    def names(self):
        """The names of the modules that were called."""
        return {call.name for call in self._calls}

    def of(self, node):
        """The innermost call that made a node, or None."""
        return self.of_number(node._sequence_nr())

    def of_number(self, number):
        """The innermost call in which the node with this number was made, or None."""
        at = bisect_right(self._firsts, number) - 1
        call = self._calls[at] if at >= 0 else None
        while call is not None and call.end <= number:
            call = call.outer
        return call


def _outside(calls, spans):
    """The calls that have no node in common with any of the spans, which are sorted by where they begin."""
    merged = []
    for first, end in spans:
        if merged and first <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((first, end))
    firsts = [first for first, _ in merged]

    def is_clear(call):
        at = bisect_left(firsts, call.end) - 1  # the last span that begins before the call ends
        return at < 0 or merged[at][1] <= call.first

    return [call for call in calls if is_clear(call)] if merged else calls


def _path_below(outer, outer_module, module):
    """What to call a module that no variable leads to: by the module that called it, or by its class."""
    if outer is not None:
        path = names.module_paths(outer_module).get(id(module), "")
        if path:
            return f"{outer.name}.{path}"
    return type(module).__name__
