"""Modules that hold others: Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict."""

import collections
import operator
import warnings
from itertools import chain

from ... import _C
from ..._tensor_methods import typename
from ..parameter import Parameter
from .module import Module, _addindent, not_a_module

__all__ = ["Container", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


def _position(size, index):
    """A place in a container from an index that may be negative."""
    index = operator.index(index)
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of range")
    return index % size if size else index


class Container(Module):
    """A module made of others, given by name; a module of one's own does the same, and this one warns.

    >>> import warnings, adjoint as torch
    >>> warnings.simplefilter("ignore")
    >>> torch.nn.Container(a=torch.nn.ReLU())
    Container(
      (a): ReLU()
    )
    """

    def __init__(self, **kwargs):
        super().__init__()
        warnings.warn(
            "`nn.Container` is deprecated. All of its functionality is now implemented in `nn.Module`. "
            "Subclass that instead.",
            FutureWarning,
            stacklevel=2,
        )
        for name, module in kwargs.items():
            self.add_module(name, module)


class _Indexed(Module):
    """A container whose modules have the names "0", "1", and so on, or given ones, in order."""

    def _renumber(self, modules):
        self.__dict__["_modules"] = {str(i): module for i, module in enumerate(modules)}

    def _key(self, index):
        keys = list(self._modules)
        return keys[_position(len(keys), index)]

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __setitem__(self, index, module):
        setattr(self, self._key(index), module)

    def __delitem__(self, index):
        keys = list(self._modules)[index] if isinstance(index, slice) else [self._key(index)]
        for key in keys:
            delattr(self, key)
        self._renumber(list(self._modules.values()))

    def append(self, module):
        """Adds a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def _insert(self, index, module):
        modules = list(self._modules.values())
        modules.insert(index, module)
        self._renumber(modules)

    def pop(self, key):
        """Takes a module out and returns it."""
        module = self[key]
        del self[key]
        return module

    def __dir__(self):
        return [name for name in super().__dir__() if not name.isdigit()]


class Sequential(_Indexed):
    """Modules called one after the other.

    >>> import adjoint as torch
    >>> torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 1))(torch.ones(2, 3)).shape
    torch.Size([2, 1])
    """

    def __init__(self, *args):
        super().__init__()
        if len(args) == 1 and isinstance(args[0], collections.OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for i, module in enumerate(args):
                self.add_module(str(i), module)

    def forward(self, input):
        """The input, passed through every module in order."""
        for module in self._modules.values():
            input = module(input)
        return input

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(collections.OrderedDict(list(self._modules.items())[index]))
        return self._modules[self._key(index)]

    def insert(self, index, module):
        """Inserts a module before a place."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        count = len(self)
        if not -count <= index <= count:
            raise IndexError(f"Index out of range: {index}")
        self._insert(index + count if index < 0 else index, module)
        return self

    def extend(self, sequential):
        """Adds all modules of an iterable at the end."""
        for module in list(sequential):
            self.append(module)
        return self

    def _combined(self, other):
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return [*self, *other]

    def __add__(self, other):
        return Sequential(*self._combined(other))

    def __iadd__(self, other):
        for module in self._combined(other)[len(self) :]:
            self.append(module)
        return self

    def __mul__(self, times):
        if not isinstance(times, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(times)}")
        if times <= 0:
            raise ValueError(f"Non-positive multiplication factor {times} for {type(self)}")
        return Sequential(*(list(self) * times))

    __rmul__ = __mul__

    def __imul__(self, times):
        self._renumber(list(self * times))
        return self


class ModuleList(_Indexed):
    """A list of modules whose parameters count as this module's.

    >>> import adjoint as torch
    >>> layers = torch.nn.ModuleList([torch.nn.Linear(2, 2) for _ in range(3)])
    >>> len(layers), len(list(layers.parameters()))
    (3, 6)
    """

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self += modules

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(list(self._modules.values())[index])
        return self._modules[self._key(index)]

    def insert(self, index, module):
        """Inserts a module before a place."""
        if not isinstance(module, Module):
            raise TypeError(not_a_module(module))
        self._insert(index, module)

    def extend(self, modules):
        """Adds all modules of an iterable at the end."""
        if not isinstance(modules, collections.abc.Iterable):
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}")
        for module in list(modules):
            self.append(module)
        return self

    def __iadd__(self, modules):
        return self.extend(modules)

    def __add__(self, other):
        combined = ModuleList()
        for module in chain(self, other):
            combined.append(module)
        return combined

    def __repr__(self):
        if not len(self):
            return self._get_name() + "()"
        runs = []  # [first, last, text]: equal neighbours are shown once
        for i, module in enumerate(self):
            text = repr(module)
            if runs and runs[-1][2] == text:
                runs[-1][1] = i
            else:
                runs.append([i, i, text])
        lines = [
            _addindent(f"({first}): {text}" if first == last else f"({first}-{last}): {last - first + 1} x {text}", 2)
            for first, last, text in runs
        ]
        return self._get_name() + "(\n  " + "\n  ".join(lines) + "\n)"


class ModuleDict(Module):
    """A dict of modules whose parameters count as this module's.

    >>> import adjoint as torch
    >>> choices = torch.nn.ModuleDict({"same": torch.nn.Identity()})
    >>> choices["same"](torch.ones(1))
    tensor([1.])
    """

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key):
        return self._modules[key]

    def __setitem__(self, key, module):
        self.add_module(key, module)

    def __delitem__(self, key):
        del self._modules[key]

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    def __contains__(self, key):
        return key in self._modules

    def clear(self):
        """Takes all modules out."""
        self._modules.clear()

    def pop(self, key):
        """Takes a module out and returns it."""
        return self._modules.pop(key)

    def keys(self):
        """The names of the modules."""
        return self._modules.keys()

    def items(self):
        """(name, module) pairs."""
        return self._modules.items()

    def values(self):
        """The modules."""
        return self._modules.values()

    def update(self, modules):
        """Adds the modules of a dict, or of (name, module) pairs."""
        for key, module in _pairs(self, modules, "ModuleDict.update"):
            self[key] = module


def _pairs(container, items, method):
    """(key, value) pairs of what an update was given."""
    name = type(container).__name__
    if not isinstance(items, collections.abc.Iterable):
        raise TypeError(
            f"{method} should be called with an iterable of key/value pairs, but got {type(items).__name__}"
        )
    if isinstance(items, (ModuleDict, ParameterDict, collections.abc.Mapping)):
        return list(items.items())
    pairs = []
    for i, item in enumerate(items):
        if not isinstance(item, collections.abc.Iterable):
            raise TypeError(f"{name} update sequence element #{i} should be Iterable; is {type(item).__name__}")
        item = list(item)
        if len(item) != 2:
            raise ValueError(f"{name} update sequence element #{i} has length {len(item)}; 2 is required")
        pairs.append(tuple(item))
    return pairs


def _as_parameter(value):
    """Tensors become parameters, whatever else stays as it is."""
    return Parameter(value) if isinstance(value, _C.Tensor) and not isinstance(value, Parameter) else value


def _describe_members(items, type_of):
    lines = []
    for key, value in items:
        if isinstance(value, _C.Tensor):
            kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
            size = "x".join(str(size) for size in value.shape)
            lines.append(f"  ({key}): {kind} containing: [{type_of(value)} of size {size}]")
        else:
            lines.append(f"  ({key}): Object of type: {type(value).__name__}")
    return "\n".join(lines)


class ParameterList(Module):
    """A list of parameters that count as this module's; tensors in it become parameters.

    >>> import adjoint as torch
    >>> weights = torch.nn.ParameterList([torch.zeros(2), torch.zeros(3)])
    >>> [name for name, _ in weights.named_parameters()]
    ['0', '1']
    """

    def __init__(self, values=None):
        super().__init__()
        self._size = 0
        if values is not None:
            self += values

    def __getitem__(self, index):
        if isinstance(index, slice):
            result = type(self)()
            for i in range(*index.indices(self._size)):
                result.append(self[i])
            return result
        return getattr(self, str(_position(self._size, index)))

    def __setitem__(self, index, value):
        setattr(self, str(_position(self._size, index)), _as_parameter(value))

    def __len__(self):
        return self._size

    def __iter__(self):
        return (self[i] for i in range(self._size))

    def __iadd__(self, values):
        return self.extend(values)

    def __dir__(self):
        return [name for name in super().__dir__() if not name.isdigit()]

    def append(self, value):
        """Adds a value at the end."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values):
        """Adds all values of an iterable at the end."""
        if not isinstance(values, collections.abc.Iterable) or isinstance(values, _C.Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in values:
            self.append(value)
        return self

    def extra_repr(self):
        """A line for each value."""
        return _describe_members(enumerate(self), lambda value: value.dtype)

    def __call__(self, *args, **kwargs):
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dict of parameters that count as this module's; tensors in it become parameters.

    >>> import adjoint as torch
    >>> weights = torch.nn.ParameterDict({"left": torch.zeros(2)})
    >>> weights["left"].requires_grad
    True
    """

    def __init__(self, parameters=None):
        super().__init__()
        self._keys = {}
        if parameters is not None:
            self.update(parameters)

    def _attribute(self, key):
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a string "
                f"(type is '{type(key).__name__}'). Use a string"
            )
        return key

    def __getitem__(self, key):
        return getattr(self, self._attribute(key))

    def __setitem__(self, key, value):
        self._keys[key] = None
        setattr(self, self._attribute(key), _as_parameter(value))

    def __delitem__(self, key):
        del self._keys[key]
        delattr(self, self._attribute(key))

    def __len__(self):
        return len(self._keys)

    def __iter__(self):
        return iter(self._keys)

    def __reversed__(self):
        return reversed(list(self._keys))

    def __contains__(self, key):
        return key in self._keys

    def copy(self):
        """A ParameterDict of the same parameters."""
        return ParameterDict(collections.OrderedDict((key, self[key]) for key in self._keys))

    def setdefault(self, key, default=None):
        """The value under a key, which is set to `default` if it is missing."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self):
        """Takes all values out."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key):
        """Takes a value out and returns it."""
        value = self[key]
        del self[key]
        return value

    def popitem(self):
        """Takes the last (key, value) pair out and returns it."""
        key, _ = self._keys.popitem()
        self._keys[key] = None
        return key, self.pop(key)

    def get(self, key, default=None):
        """The value under a key, or `default`."""
        return self[key] if key in self._keys else default

    def fromkeys(self, keys, default=None):
        """A ParameterDict with these keys, all with the same value."""
        return ParameterDict((key, default) for key in keys)

    def keys(self):
        """The keys."""
        return self._keys.keys()

    def items(self):
        """(key, value) pairs."""
        return ((key, self[key]) for key in self._keys)

    def values(self):
        """The values."""
        return (self[key] for key in self._keys)

    def update(self, parameters):
        """Adds the values of a dict, or of (key, value) pairs."""
        pairs = _pairs(self, parameters, "ParametersDict.update")
        if isinstance(parameters, collections.abc.Mapping) and not isinstance(parameters, collections.OrderedDict):
            pairs.sort(key=operator.itemgetter(0))  # as torch does, from when dicts had no order
        for key, value in pairs:
            self[key] = value

    def extra_repr(self):
        """A line for each value."""
        return _describe_members(self.items(), typename)

    def __call__(self, input):
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other):
        result = self.copy()
        result.update(other)
        return result

    def __ror__(self, other):
        result = other.copy()
        result.update(self)
        return result

    def __ior__(self, other):
        self.update(other)
        return self
