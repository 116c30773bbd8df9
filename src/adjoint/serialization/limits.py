"""What a file may cost: keys that hash quickly and apart, work in proportion to its length, short words about it.

Note [Costs]
A few bytes can name a structure that is large when it is walked: nested a million deep, or shared so that it doubles
at each level. Hashing and printing walk it, in C and recursively; copying walks one level of it. Keys are therefore
measured before they are hashed, calls pay for what they are given, and values are shown by `shown` alone.
"""

import collections
import reprlib

from .. import _C

MAX_KEY_PARTS = 1000
MAX_SAME_HASH = 64  # of the keys of one table; more would be compared with each other, each with all

_TUPLES = (tuple, _C.Size)
_SEQUENCES = (tuple, _C.Size, list)
_TABLES = (dict, collections.OrderedDict, collections.Counter, set)
_ATOMS = (type(None), bool, int, float, complex, str, bytes, _C.dtype, _C.device, _C.layout)


def shown(value):
    """A value of a file in a few words: a number or text, some items of a flat sequence, or the name of its type."""
    if type(value) in _SEQUENCES:
        parts = [_shown_item(item) for item in value[:8]] + ["..."] * (len(value) > 8)
        return f"{type(value).__name__}({', '.join(parts)})"
    return _shown_item(value)


def _shown_item(value):
    if type(value) in _ATOMS:
        return reprlib.repr(value)
    return f"<{value.__name__ if isinstance(value, type) else type(value).__name__}>"


def check_key(key):
    """Refuses keys whose hash would take forever or exhaust the stack: tuples nested beyond use."""
    if type(key) not in _TUPLES:
        return
    parts, stack = 0, [key]
    while stack:
        parts += 1
        item = stack.pop()
        if type(item) in _TUPLES:
            stack.extend(item[:MAX_KEY_PARTS])
        if parts + len(stack) > MAX_KEY_PARTS:
            raise RuntimeError(f"a dict key or set element has more than {MAX_KEY_PARTS} parts")


def check_spread(keys, counts=None):
    """Refuses keys that are made to hash alike; `counts` keeps how many had which hash, from call to call."""
    counts = collections.Counter() if counts is None else counts
    counts.update(map(hash, keys))
    if any(counts[hash(key)] > MAX_SAME_HASH for key in keys):
        raise RuntimeError(
            f"more than {MAX_SAME_HASH} keys of a dict or elements of a set have the same hash: "
            "the file is damaged or was made to do harm"
        )


class Limits:
    """What is left of the work that a pickle of a length may ask for."""

    def __init__(self, size):
        self._left = (1 << 20) + 8 * size
        self._counts = {}  # id of a table -> the table, and how many of its keys have which hash

    def spend_on(self, values):
        """Pays for a look at all items of these values, and of the sequences and the keys of the tables in them."""
        stack = list(values)
        self._spend(len(stack))
        while stack:
            value = stack.pop()
            if type(value) in (*_SEQUENCES, *_TABLES):
                self._spend(len(value))
                stack.extend(value)
            elif type(value) in (str, bytes, bytearray):
                self._spend(len(value))

    def _spend(self, work):
        self._left -= work
        if self._left < 0:
            raise RuntimeError("the file asks for far more work than its length explains: it was made to do harm")

    def check_keys(self, table, keys):
        """Refuses keys that would make a table slow; they are about to become keys of it."""
        for key in keys:
            check_key(key)
        self.spend_on([key for key in keys if type(key) in _TUPLES])
        if len(table) + len(keys) > MAX_SAME_HASH:
            if id(table) not in self._counts:
                self._counts[id(table)] = (table, collections.Counter(map(hash, table)))
            check_spread([key for key in keys if key not in table], self._counts[id(table)][1])
