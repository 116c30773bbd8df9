"""Which types are containers of a tree, and the keys that lead into them."""

import warnings
from collections import OrderedDict, defaultdict, deque, namedtuple

from .. import _C

# ---- Keys: one step from a container to what it holds


class KeyEntry:
    """One step on the way from a tree to a leaf."""

    __module__ = "adjoint.utils._pytree"
    __slots__ = ()

    def __eq__(self, other):
        return type(other) is type(self) and self._value() == other._value()

    def __hash__(self):
        return hash(self._value())

    def __repr__(self):
        return f"{type(self).__name__}({self.__slots__[0]}={self._value()!r})"

    def _value(self):
        return getattr(self, self.__slots__[0])


class SequenceKey(KeyEntry):
    """A place in a sequence.

    >>> from adjoint.utils import _pytree
    >>> str(_pytree.SequenceKey(1)), _pytree.SequenceKey(1).get("ab")
    ('[1]', 'b')
    """

    __module__ = "adjoint.utils._pytree"
    __slots__ = ("idx",)

    def __init__(self, idx):
        self.idx = idx

    def __str__(self):
        return f"[{self.idx!r}]"

    def get(self, sequence):
        """What stands at the place."""
        return sequence[self.idx]


class MappingKey(KeyEntry):
    """A key of a mapping.

    >>> from adjoint.utils import _pytree
    >>> str(_pytree.MappingKey("a")), _pytree.MappingKey("a").get({"a": 1})
    ("['a']", 1)
    """

    __module__ = "adjoint.utils._pytree"
    __slots__ = ("key",)

    def __init__(self, key):
        self.key = key

    def __str__(self):
        return f"[{self.key!r}]"

    def get(self, mapping):
        """What stands under the key."""
        return mapping[self.key]


class GetAttrKey(KeyEntry):
    """An attribute of an object.

    >>> from adjoint.utils import _pytree
    >>> str(_pytree.GetAttrKey("real")), _pytree.GetAttrKey("real").get(2)
    ('.real', 2)
    """

    __module__ = "adjoint.utils._pytree"
    __slots__ = ("name",)

    def __init__(self, name):
        self.name = name

    def __str__(self):
        return f".{self.name}"

    def get(self, obj):
        """The attribute."""
        return getattr(obj, self.name)


# ---- The table


class NodeDef(namedtuple("NodeDef", ("type", "flatten_fn", "unflatten_fn", "flatten_with_keys_fn"))):
    """How a container type is taken apart and put together."""

    __slots__ = ()


class _SerializeNodeDef(
    namedtuple("_SerializeNodeDef", ("typ", "serialized_type_name", "to_dumpable_context", "from_dumpable_context"))
):
    """How a container type is named in a text, and its context written there."""

    __slots__ = ()


NO_SERIALIZED_TYPE_NAME_FOUND = "NO_SERIALIZED_TYPE_NAME_FOUND"
SUPPORTED_NODES: dict = {}
SUPPORTED_SERIALIZED_TYPES: dict = {}
SERIALIZED_TYPE_TO_PYTHON_TYPE: dict = {}
CONSTANT_NODES: set = set()
BUILTIN_TYPES = frozenset({tuple, list, dict, namedtuple, OrderedDict, defaultdict, deque})
STANDARD_DICT_TYPES = frozenset({dict, OrderedDict, defaultdict})
LEAF_TYPES = {_C.Tensor, int, float, complex, bool, str, type(None)}  # the most frequent ones


def register_pytree_node(
    cls,
    flatten_fn,
    unflatten_fn,
    *,
    serialized_type_name=None,
    to_dumpable_context=None,
    from_dumpable_context=None,
    flatten_with_keys_fn=None,
):
    """Makes a type a container: `flatten_fn(x)` gives (children, context), `unflatten_fn(children, context)` takes it.

    `flatten_with_keys_fn` gives ([(key, child)], context); a name, and functions for contexts that JSON cannot write,
    let treespec_dumps() write specs of the type.

    >>> from adjoint.utils import _pytree
    >>> class Pair:
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    >>> _pytree.register_pytree_node(Pair, lambda p: ([p.a, p.b], None), lambda parts, _: Pair(*parts))
    >>> _pytree.tree_leaves(Pair(1, [2, 3]))
    [1, 2, 3]
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or registered.")
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
    LEAF_TYPES.discard(cls)
    name = NO_SERIALIZED_TYPE_NAME_FOUND if serialized_type_name is None else serialized_type_name
    SUPPORTED_SERIALIZED_TYPES[cls] = _SerializeNodeDef(cls, name, to_dumpable_context, from_dumpable_context)
    SERIALIZED_TYPE_TO_PYTHON_TYPE[name] = cls


def _private_register_pytree_node(cls, flatten_fn, unflatten_fn, **options):
    """As register_pytree_node; a type that is there already is registered anew, with a warning."""
    if cls in SUPPORTED_NODES:
        warnings.warn(
            f"{cls} is already registered as pytree node. Overwriting the previous registration.", stacklevel=3
        )
        del SUPPORTED_NODES[cls]
    register_pytree_node(cls, flatten_fn, unflatten_fn, **options)


def _register_pytree_node(cls, flatten_fn, unflatten_fn, to_str_fn=None, maybe_from_str_fn=None, **options):
    """The former name of register_pytree_node; a type may be registered again."""
    warnings.warn(
        "`torch.utils._pytree._register_pytree_node` is deprecated. Please use "
        "`torch.utils._pytree.register_pytree_node` instead.",
        FutureWarning,
        stacklevel=2,
    )
    if to_str_fn is not None or maybe_from_str_fn is not None:
        warnings.warn(
            "`to_str_fn` and `maybe_from_str_fn` is deprecated. Please use `to_dumpable_context` and "
            "`from_dumpable_context` instead.",
            FutureWarning,
            stacklevel=2,
        )
    _private_register_pytree_node(cls, flatten_fn, unflatten_fn, **options)


def _deregister_pytree_node(cls):
    """Makes a type a leaf again."""
    del SUPPORTED_NODES[cls]
    node = SUPPORTED_SERIALIZED_TYPES.pop(cls)
    if SERIALIZED_TYPE_TO_PYTHON_TYPE.get(node.serialized_type_name) is cls:
        del SERIALIZED_TYPE_TO_PYTHON_TYPE[node.serialized_type_name]
    CONSTANT_NODES.discard(cls)


# ---- Which type a value is of


def is_namedtuple_class(cls):
    """Whether a class is one that collections.namedtuple makes, or derived from one.

    >>> from adjoint.utils import _pytree
    >>> _pytree.is_namedtuple_class(tuple)
    False
    """
    if not (isinstance(cls, type) and issubclass(cls, tuple)):
        return False
    fields = getattr(cls, "_fields", None)
    if not (isinstance(fields, tuple) and all(isinstance(field, str) for field in fields)):
        return False
    return callable(getattr(cls, "_make", None)) and callable(getattr(cls, "_asdict", None))


def is_namedtuple_instance(obj):
    """Whether an object is a named tuple.

    >>> from adjoint.utils import _pytree
    >>> _pytree.is_namedtuple_instance((1, 2))
    False
    """
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj):
    """Whether an object is a named tuple, or a class of them.

    >>> from adjoint.utils import _pytree
    >>> _pytree.is_namedtuple((1, 2))
    False
    """
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_structseq_class(cls):
    """Whether a class is of C's tuples with names, as the results of torch.max are.

    >>> from adjoint.utils import _pytree
    >>> import time
    >>> _pytree.is_structseq_class(time.struct_time)
    True
    """
    return (
        isinstance(cls, type)
        and cls.__bases__ == (tuple,)
        and all(isinstance(getattr(cls, f"n_{kind}fields", None), int) for kind in ("", "sequence_", "unnamed_"))
        and not cls.__flags__ & (1 << 10)  # no class can be derived from it
    )


def is_structseq_instance(obj):
    """Whether an object is one of C's tuples with names.

    >>> import adjoint as torch
    >>> torch.utils._pytree.is_structseq_instance(torch.ones(2).max(0))
    True
    """
    return is_structseq_class(type(obj))


def is_structseq(obj):
    """Whether an object is one of C's tuples with names, or a class of them.

    >>> from adjoint.utils import _pytree
    >>> _pytree.is_structseq(tuple)
    False
    """
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def kind_of(tree):
    """The registered type that a value is a container of; None for a leaf."""
    cls = type(tree)
    if cls in SUPPORTED_NODES:
        return cls
    if isinstance(tree, tuple):
        if is_namedtuple_class(cls):
            return namedtuple
        if cls.__module__ == "torch.return_types":  # what max(x, dim) returns
            from ._pytree_containers import register_return_type

            register_return_type(cls)
            return cls
    return None
