"""Weak references that tell objects apart by what they are, not by what they equal: for tensors as keys."""

import weakref
from collections.abc import Mapping, MutableMapping

from .. import _C

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]

WeakRef = weakref.ref


class WeakIdRef(weakref.ref):
    """A weak reference that equals another one to the same object, and is hashed by it.

    >>> import adjoint as torch
    >>> from adjoint.utils.weak import WeakIdRef
    >>> x = torch.ones(2)
    >>> WeakIdRef(x) == WeakIdRef(x), WeakIdRef(x) == WeakIdRef(torch.ones(2))
    (True, False)
    """

    __slots__ = ("_id",)

    def __init__(self, key, callback=None):
        super().__init__(key, callback)
        self._id = id(key)

    def __call__(self):
        return super().__call__()

    def __hash__(self):
        return self._id

    def __eq__(self, other):
        mine, theirs = self(), other()
        # Of an object that is gone, the reference itself is all there is.
        return self is other if mine is None or theirs is None else mine is theirs


class _WeakHashRef(weakref.ref):
    """A weak reference that is hashed as its object is, also when that is gone."""

    __slots__ = ("_hash",)

    def __init__(self, key, callback=None):
        super().__init__(key, callback)
        self._hash = hash(key)

    def __hash__(self):
        return self._hash

    def __eq__(self, other):
        mine, theirs = self(), other()
        return self is other if mine is None or theirs is None else mine == theirs


class WeakIdKeyDictionary(MutableMapping):
    """A dict whose keys are told apart by identity, and which does not keep them: entries go with their keys.

    >>> import adjoint as torch
    >>> notes = torch.utils.weak.WeakIdKeyDictionary()
    >>> x = torch.ones(2)
    >>> notes[x] = "mine"
    >>> notes[x], torch.ones(2) in notes
    ('mine', False)
    >>> del x
    >>> len(notes)
    0
    """

    def __init__(self, dict=None, ref_type=WeakIdRef):
        self.data = {}
        self.ref_type = ref_type
        this = weakref.ref(self)

        def remove(key):
            table = this()
            if table is not None:
                table.data.pop(key, None)

        self._remove = remove
        if dict is not None:
            self.update(dict)

    def __getitem__(self, key):
        return self.data[self.ref_type(key)]

    def __setitem__(self, key, value):
        self.data[self.ref_type(key, self._remove)] = value

    def __delitem__(self, key):
        del self.data[self.ref_type(key)]

    def __contains__(self, key):
        try:
            return self.ref_type(key) in self.data
        except TypeError:  # nothing can refer to it weakly
            return False

    def __len__(self):
        return len(self.data)

    def __iter__(self):
        return self.keys()

    def __repr__(self):
        return f"<{type(self).__name__} at {id(self):#x}>"

    def items(self):
        """(key, value) for the keys that are still there."""
        for reference, value in list(self.data.items()):
            key = reference()
            if key is not None:
                yield key, value

    def keys(self):
        """The keys that are still there."""
        for key, _ in self.items():
            yield key

    def values(self):
        """The values of the keys that are still there."""
        for _, value in self.items():
            yield value

    def keyrefs(self):
        """The weak references to the keys."""
        return list(self.data)

    def get(self, key, default=None):
        """The value of a key, or a default."""
        return self.data.get(self.ref_type(key), default)

    def pop(self, key, *default):
        """Takes an entry out; its value, or the default."""
        return self.data.pop(self.ref_type(key), *default)

    def popitem(self):
        """Takes the last entry out whose key is still there."""
        while True:
            reference, value = self.data.popitem()
            key = reference()
            if key is not None:
                return key, value

    def setdefault(self, key, default=None):
        """The value of a key, which becomes the default if it has none."""
        return self.data.setdefault(self.ref_type(key, self._remove), default)

    def update(self, dict=None, **kwargs):
        """Takes over the entries of another mapping."""
        given = {} if dict is None else dict
        for key, value in given.items() if hasattr(given, "items") else given:
            self[key] = value
        if kwargs:
            self.update(kwargs)

    def copy(self):
        """Another dict of the same keys and values."""
        return type(self)(self, self.ref_type)

    __copy__ = copy

    def __deepcopy__(self, memo):
        from copy import deepcopy

        result = type(self)(ref_type=self.ref_type)
        for key, value in self.items():
            result[key] = deepcopy(value, memo)
        return result

    def __eq__(self, other):
        if not isinstance(other, Mapping):
            return NotImplemented
        return {id(key): value for key, value in self.items()} == {id(key): value for key, value in other.items()}

    __hash__ = None  # type: ignore[assignment]  # it can be changed

    def __or__(self, other):
        if not isinstance(other, Mapping):
            return NotImplemented
        result = self.copy()
        result.update(other)
        return result

    def __ror__(self, other):
        if not isinstance(other, Mapping):
            return NotImplemented
        result = type(self)(other, self.ref_type)
        result.update(self)
        return result

    def __ior__(self, other):
        self.update(other)
        return self


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference to a tensor.

    >>> import adjoint as torch
    >>> x = torch.ones(2)
    >>> torch.utils.weak.TensorWeakRef(x)() is x
    True
    """

    __slots__ = ("ref",)

    def __init__(self, tensor):
        if not isinstance(tensor, _C.Tensor):
            raise AssertionError(f"expected torch.Tensor, got {type(tensor)}.")
        self.ref = weakref.ref(tensor)

    def __call__(self):
        return self.ref()
