"""`torch.ops`: ops by namespace, name and overload, as `torch.ops.aten.mul.Tensor`, and those that programs define.

An overload is a callable that knows its name; what it calls is a function of the package (adjoint._aten says which) or
an op of adjoint.library.
"""

import contextlib
import os
import threading
import types


class _Running(threading.local):
    """The call that a dispatch mode of this thread answers: its overload knows what it stands for."""

    call = None


_running = _Running()


@contextlib.contextmanager
def answering(call):
    """While a mode answers a call."""
    outer, _running.call = _running.call, call
    try:
        yield
    finally:
        _running.call = outer


class OpOverload:
    """One overload of an op: `torch.ops.aten.add.Tensor`.

    >>> import adjoint as torch
    >>> torch.ops.aten.add.Tensor(torch.ones(1), 1), torch.ops.aten.add.Tensor.name()
    (tensor([2.]), 'aten::add.Tensor')
    """

    def __init__(self, packet, overload, function, schema=None):
        self._overloadpacket = packet
        self._overloadname = overload
        self._function = function
        self._declared = schema
        self.__name__ = f"{packet.__name__}.{overload}"
        self.__qualname__ = self.__name__
        self.__module__ = packet.__module__
        self.tags: list = []

    def __call__(self, /, *args, **kwargs):
        call = _running.call
        if call is not None and call.overload is self:
            return call(args, kwargs)
        return self._function(*args, **kwargs)

    op = property(lambda self: self._function)
    overloadpacket = property(lambda self: self._overloadpacket)
    namespace = property(lambda self: self._overloadpacket._namespace)
    _opname = property(lambda self: self._overloadpacket.__name__)

    @property
    def _schema(self):
        """What it takes and returns: see adjoint.library."""
        from . import _schema

        if self._declared is None:
            self._declared = _schema.of_function(self.name(), self._function)
        return self._declared

    @property
    def is_view(self):
        """Whether what it gives shares the memory of its argument."""
        from . import _aten

        return self.namespace == "aten" and _aten.is_view(self._opname)

    def name(self):
        """As torch spells it in errors: 'aten::add.Tensor', 'aten::exp'."""
        plain = f"{self.namespace}::{self._opname}"
        return plain if self._overloadname == "default" else f"{plain}.{self._overloadname}"

    def has_kernel_for_dispatch_key(self, key):
        """Whether it computes on the CPU: all do."""
        return str(key).rpartition(".")[2] in ("CPU", "CompositeExplicitAutograd", "Meta")

    def __str__(self):
        return f"{self.namespace}.{self.__name__}"

    def __repr__(self):
        return f"<OpOverload(op='{self._overloadpacket}', overload='{self._overloadname}')>"

    def __reduce__(self):
        return _find, (self.namespace, self._opname, self._overloadname)

    def __deepcopy__(self, memo):
        return self


class OpOverloadPacket:
    """All overloads of an op: `torch.ops.aten.add`; called itself, it finds the one for its arguments.

    >>> import adjoint as torch
    >>> torch.ops.aten.exp(torch.zeros(1)), torch.ops.aten.exp
    (tensor([1.]), <OpOverloadPacket(op='aten.exp')>)
    """

    def __init__(self, namespace, name, function, make, overloads):
        self._namespace = namespace
        self.__name__ = self.__qualname__ = name
        self.__module__ = f"torch.ops.{namespace}"
        self._qualified_op_name = f"{namespace}::{name}"
        self._function = function
        self._make = make  # overload -> OpOverload, or None
        self._overload_names = overloads

    def __call__(self, /, *args, **kwargs):
        return self._function(*args, **kwargs)

    op = property(lambda self: self._function)

    def overloads(self):
        """The names of its overloads."""
        return list(self._overload_names)

    def __iter__(self):
        return iter(self._overload_names)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        overload = self._make(self, name)
        if overload is None:
            raise AttributeError(
                f"The underlying op of '{self}' has no overload name '{name}'; it has {', '.join(self._overload_names)}"
            )
        setattr(self, name, overload)
        return overload

    def __str__(self):
        return f"{self._namespace}.{self.__name__}"

    def __repr__(self):
        return f"<OpOverloadPacket(op='{self}')>"

    def __reduce__(self):
        return _find, (self._namespace, self.__name__)

    def __deepcopy__(self, memo):
        return self


class _OpNamespace(types.ModuleType):
    """The ops of one namespace: `torch.ops.aten`."""

    def __init__(self, name):
        super().__init__(f"torch.ops.{name}")
        self.name = name

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        packet = _packet(self.name, name)
        if packet is None:
            raise AttributeError(f"'_OpNamespace' '{self.name}' object has no attribute '{name}'")
        setattr(self, name, packet)
        return packet


_namespaces: dict = {}
_registered: dict = {}  # namespace -> name -> OpOverloadPacket: of adjoint.library


def load_library(path):
    """Raises, as for a library that does not fit: those of packages are linked to libtorch."""
    refused_libraries.add(os.fspath(path))
    raise OSError(
        f"Could not load this library: {os.fspath(path)}: ops in C++ are linked to libtorch, which is not "
        "here; use what the package has in Python"
    )


refused_libraries: set = set()  # in which ops are that a program may speak of
_functions = {"load_library": load_library, "loaded_libraries": set()}


def namespace(name):
    """The namespace of this name; it need hold nothing yet. Two names stand for something else."""
    if name in _functions:
        return _functions[name]
    return _namespaces.setdefault(name, _OpNamespace(name))


def register(packet):
    """Adds an op that a program has defined."""
    _registered.setdefault(packet._namespace, {})[packet.__name__] = packet


def forget(space, name):
    """Takes away what register() added: with a name such as "f.out" that overload, and the op with its last one."""
    name, _, overload = name.partition(".")
    packet = find(space, name)
    if packet is not None:
        packet.defined.pop(overload or "default", None)
        vars(packet).pop(overload or "default", None)
        if packet.defined:
            return
    _registered.get(space, {}).pop(name, None)
    vars(namespace(space)).pop(name, None)


def find(space, name):
    """An op that a program has defined, or None."""
    return _registered.get(space, {}).get(name)


def _packet(space, name):
    from . import _aten

    return find(space, name) or _aten.packet(space, name)


def _find(space, name, overload=None):
    packet = getattr(namespace(space), name)
    return packet if overload is None else getattr(packet, overload)
