"""A reader of pickles that only makes tensors, numbers, text and plain containers.

Note [Nothing executable]
A pickle is a program, and Python's own reader runs it: it imports what the program names and calls it. This reader
has the instructions that data needs and no others. A name is looked up in two tables, `rebuild.py` and what the user
allowed by add_safe_globals; nothing is ever imported. Only functions of these tables are called, and ours check every
argument. Attributes are set only on OrderedDict and on objects of classes that the user allowed. What a short file
can ask for is bounded, see Note [Costs] in limits.py.
"""

import collections
import pickle
import struct

from . import rebuild
from .limits import Limits, shown
from .safe_globals import allowed, torch_name

_BLOCKED = ("sys", "os", "posix", "nt")
_RETRY = (
    "Re-running `torch.load` with `weights_only` set to `False` will likely succeed, but it can result in arbitrary "
    "code execution. Do it only if you got the file from a trusted source."
)


def unsupported(what):
    """The error of a file that this reader does not take."""
    return pickle.UnpicklingError(f"Weights only load failed. {_RETRY}\nWeightsUnpickler error: {what}")


def _not_allowed(name):
    spelled = name.removeprefix("builtins.")
    listed = f"safe_globals([{spelled}])"
    return pickle.UnpicklingError(
        "Weights only load failed. This file can still be loaded, to do so you have two options, do those steps only "
        f"if you trust the source of the checkpoint.\n\t(1) {_RETRY}\n\t(2) Alternatively, to load with "
        "`weights_only=True` allow what the file names.\n\tWeightsUnpickler error: Unsupported global: GLOBAL "
        f"{spelled} was not an allowed global by default. Please use `torch.serialization.add_{listed}` or the "
        f"`torch.serialization.{listed}` context manager to allowlist this global if you "
        "trust this class/function."
    )


_OURS = {id(function) for function in rebuild.CALLABLE.values()}


class Globals:
    """What a file may name: our tables, and what the user allowed when loading began."""

    def __init__(self):
        self._user = allowed()
        self.user_types = tuple(value for value in self._user.values() if isinstance(value, type))
        self._callable = {id(function) for table in (rebuild.CALLABLE, self._user) for function in table.values()}

    def find(self, module, name):
        """What a name stands for; raises if it is not allowed."""
        full = torch_name(f"{'builtins' if module == '__builtin__' else module}.{name}")
        if full.partition(".")[0] in _BLOCKED:
            raise unsupported(
                f"Trying to load unsupported GLOBAL {full} whose module {full.partition('.')[0]} is blocked."
            )
        for table in (rebuild.CALLABLE, rebuild.VALUES, self._user):
            if full in table:
                return table[full]
        if full.startswith("torch._utils._rebuild_"):
            raise unsupported(
                f"the file holds a kind of tensor that does not exist here ({full}): convert it to a dense tensor "
                "of a common dtype in torch, and save it again"
            )
        raise _not_allowed(full)

    def may_call(self, function):
        """Whether a file may call this."""
        return id(function) in self._callable

    def is_ours(self, function):
        """Whether this is a function of our tables, rather than the user's."""
        return id(function) in _OURS


class WeightsUnpickler:
    """Reads one pickle from a file; `persistent_load(id)` gives the storages."""

    def __init__(self, file, persistent_load, size_left):
        self._file, self._persistent_load, self._left = file, persistent_load, size_left
        self._globals, self._limits = Globals(), Limits(size_left)
        self._stack, self._below_marks, self._memo = [], [], {}

    def load(self):
        """The object."""
        try:
            while True:
                opcode = self._bytes(1)[0]
                if opcode == pickle.STOP[0]:
                    return self._stack.pop()
                instruction = _BY_CODE.get(opcode)
                if instruction is None:
                    raise unsupported(f"Unsupported operand {opcode}")
                instruction(self)
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, struct.error) as error:
            raise unsupported(
                f"the file is damaged or was made to do harm ({type(error).__name__}: {error})"
            ) from error

    # ---- bytes of the file

    def _bytes(self, count):
        # Compared first, so that a length that the file cannot hold asks for no memory.
        data = self._file.read(count) if count <= self._left else b""
        if len(data) != count:
            raise EOFError("Ran out of input: the file ends within its pickle; it is not whole")
        self._left -= count
        return data

    def _line(self):
        line = self._file.readline(min(self._left, 1 << 16))
        if not line.endswith(b"\n"):
            raise EOFError("Ran out of input: the file ends within its pickle; it is not whole")
        self._left -= len(line)
        return line[:-1].decode()

    def _unpack(self, layout):
        return struct.unpack(layout, self._bytes(struct.calcsize(layout)))[0]

    # ---- the stack

    def _since_mark(self):
        items, self._stack = self._stack, self._below_marks.pop()
        return items

    def _top(self, *kinds):
        if type(self._stack[-1]) not in kinds:
            raise TypeError(f"items are added to {type(self._stack[-1])}")
        return self._stack[-1]

    # ---- instructions

    def _protocol(self):
        version = self._bytes(1)[0]
        if version > pickle.HIGHEST_PROTOCOL:
            raise unsupported(f"unsupported pickle protocol: {version}")

    def _long(self):
        self._stack.append(int.from_bytes(self._bytes(self._bytes(1)[0]), "little", signed=True))

    def _mark(self):
        self._below_marks.append(self._stack)
        self._stack = []

    def _marked_tuple(self):
        items = self._since_mark()
        self._stack.append(tuple(items))

    def _append(self):
        item = self._stack.pop()
        self._top(list).append(item)

    def _appends(self):
        items = self._since_mark()
        self._top(list).extend(items)

    def _set_item(self):
        value, key = self._stack.pop(), self._stack.pop()
        self._set_all([key, value])

    def _set_items(self):
        self._set_all(self._since_mark())

    def _set_all(self, items):
        target = self._top(dict, collections.OrderedDict)
        keys, values = items[::2], items[1::2]
        self._limits.check_keys(target, keys)
        for key, value in zip(keys, values, strict=True):
            target[key] = value

    def _add_items(self):
        items = self._since_mark()
        self._limits.check_keys(self._top(set), items)
        self._stack[-1].update(items)

    def _global(self):
        self._stack.append(self._globals.find(self._line(), self._line()))

    def _reduce(self):
        arguments, function = self._stack.pop(), self._stack.pop()
        if not self._globals.may_call(function):
            raise unsupported(f"Trying to call reduce for unrecognized function {shown(function)}")
        if self._globals.is_ours(function):
            self._limits.spend_on(_only_tuple(arguments))
        self._stack.append(function(*_only_tuple(arguments)))

    def _new_object(self):
        arguments, cls = self._stack.pop(), self._stack.pop()
        if not any(cls is kind for kind in self._globals.user_types):
            raise unsupported(f"Trying to create new object for unrecognized class {shown(cls)}")
        self._stack.append(cls.__new__(cls, *_only_tuple(arguments)))

    def _build(self):
        state, target = self._stack.pop(), self._stack[-1]
        if type(target) is collections.OrderedDict:
            self._limits.spend_on([state])
            rebuild.set_attributes(target, state)
        elif type(target) not in self._globals.user_types:
            raise unsupported(
                f"Can only build OrderedDict or types allowlisted via `add_safe_globals`, but got {type(target)}"
            )
        elif hasattr(target, "__setstate__"):
            target.__setstate__(state)
        else:
            attributes, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
            if attributes:
                target.__dict__.update(attributes)
            for name, value in (slots or {}).items():
                setattr(target, name, value)

    def _persistent_id(self):
        identifier = self._stack.pop()
        if type(identifier) is not tuple:
            raise unsupported(f"persistent_load id must be tuple, but got {type(identifier)}")
        if not identifier or identifier[0] != "storage":
            raise unsupported(f"Only persistent_load of storage is allowed, but got {shown(identifier)}")
        self._stack.append(self._persistent_load(identifier))


def _only_tuple(arguments):
    if type(arguments) is not tuple:
        raise TypeError(f"arguments must be a tuple; got {type(arguments)}")
    return arguments


# ---- instructions that differ only in their widths


def _number(layout):
    return lambda reader: reader._stack.append(reader._unpack(layout))


def _constant(make):
    return lambda reader: reader._stack.append(make())


def _text(layout, encoding, errors):
    return lambda reader: reader._stack.append(reader._bytes(reader._unpack(layout)).decode(encoding, errors))


def _tuple(count):
    def instruction(reader):
        if len(reader._stack) < count:
            raise IndexError("pop from empty list")
        items = tuple(reader._stack[-count:])
        reader._stack[-count:] = [items]

    return instruction


def _put(layout):
    def instruction(reader):
        reader._memo[reader._unpack(layout)] = reader._stack[-1]

    return instruction


def _get(layout):
    return lambda reader: reader._stack.append(reader._memo[reader._unpack(layout)])


_INSTRUCTIONS = {
    pickle.PROTO: WeightsUnpickler._protocol,
    pickle.NONE: _constant(lambda: None),
    pickle.NEWTRUE: _constant(lambda: True),
    pickle.NEWFALSE: _constant(lambda: False),
    pickle.BININT: _number("<i"),
    pickle.BININT1: _number("<B"),
    pickle.BININT2: _number("<H"),
    pickle.LONG1: WeightsUnpickler._long,
    pickle.BINFLOAT: _number(">d"),
    pickle.BINUNICODE: _text("<I", "utf-8", "surrogatepass"),
    # Text that Python 2 wrote.
    pickle.BINSTRING: _text("<I", "utf-8", "strict"),
    pickle.SHORT_BINSTRING: _text("<B", "utf-8", "strict"),
    pickle.EMPTY_TUPLE: _constant(tuple),
    pickle.TUPLE: WeightsUnpickler._marked_tuple,
    pickle.TUPLE1: _tuple(1),
    pickle.TUPLE2: _tuple(2),
    pickle.TUPLE3: _tuple(3),
    pickle.EMPTY_LIST: _constant(list),
    pickle.APPEND: WeightsUnpickler._append,
    pickle.APPENDS: WeightsUnpickler._appends,
    pickle.EMPTY_DICT: _constant(dict),
    pickle.SETITEM: WeightsUnpickler._set_item,
    pickle.SETITEMS: WeightsUnpickler._set_items,
    pickle.EMPTY_SET: _constant(set),
    pickle.ADDITEMS: WeightsUnpickler._add_items,
    pickle.MARK: WeightsUnpickler._mark,
    pickle.BINPUT: _put("<B"),
    pickle.LONG_BINPUT: _put("<I"),
    pickle.BINGET: _get("<B"),
    pickle.LONG_BINGET: _get("<I"),
    pickle.GLOBAL: WeightsUnpickler._global,
    pickle.REDUCE: WeightsUnpickler._reduce,
    pickle.NEWOBJ: WeightsUnpickler._new_object,
    pickle.BUILD: WeightsUnpickler._build,
    pickle.BINPERSID: WeightsUnpickler._persistent_id,
}
_BY_CODE = {code[0]: instruction for code, instruction in _INSTRUCTIONS.items()}
