"""Nested containers taken apart into their leaves, and put together again."""

import types
import typing
import warnings
from collections import namedtuple as namedtuple  # the type of specs of named tuples
from collections.abc import Callable, Iterable

from ._pytree_containers import _defaultdict_flatten as _defaultdict_flatten
from ._pytree_containers import _defaultdict_flatten_with_keys as _defaultdict_flatten_with_keys
from ._pytree_containers import _defaultdict_unflatten as _defaultdict_unflatten
from ._pytree_containers import _deque_flatten as _deque_flatten
from ._pytree_containers import _deque_flatten_with_keys as _deque_flatten_with_keys
from ._pytree_containers import _deque_unflatten as _deque_unflatten
from ._pytree_containers import _dict_flatten as _dict_flatten
from ._pytree_containers import _dict_flatten_with_keys as _dict_flatten_with_keys
from ._pytree_containers import _dict_unflatten as _dict_unflatten
from ._pytree_containers import _list_flatten as _list_flatten
from ._pytree_containers import _list_flatten_with_keys as _list_flatten_with_keys
from ._pytree_containers import _list_unflatten as _list_unflatten
from ._pytree_containers import _namedtuple_flatten as _namedtuple_flatten
from ._pytree_containers import _namedtuple_flatten_with_keys as _namedtuple_flatten_with_keys
from ._pytree_containers import _namedtuple_unflatten as _namedtuple_unflatten
from ._pytree_containers import _odict_flatten as _odict_flatten
from ._pytree_containers import _odict_unflatten as _odict_unflatten
from ._pytree_containers import _ordereddict_flatten as _ordereddict_flatten
from ._pytree_containers import _ordereddict_flatten_with_keys as _ordereddict_flatten_with_keys
from ._pytree_containers import _ordereddict_unflatten as _ordereddict_unflatten
from ._pytree_containers import _register_namedtuple as _register_namedtuple
from ._pytree_containers import _tuple_flatten as _tuple_flatten
from ._pytree_containers import _tuple_flatten_with_keys as _tuple_flatten_with_keys
from ._pytree_containers import _tuple_unflatten as _tuple_unflatten
from ._pytree_nodes import BUILTIN_TYPES as BUILTIN_TYPES
from ._pytree_nodes import CONSTANT_NODES as CONSTANT_NODES
from ._pytree_nodes import LEAF_TYPES as _LEAF_TYPES
from ._pytree_nodes import NO_SERIALIZED_TYPE_NAME_FOUND as NO_SERIALIZED_TYPE_NAME_FOUND
from ._pytree_nodes import SERIALIZED_TYPE_TO_PYTHON_TYPE as SERIALIZED_TYPE_TO_PYTHON_TYPE
from ._pytree_nodes import STANDARD_DICT_TYPES as STANDARD_DICT_TYPES
from ._pytree_nodes import SUPPORTED_NODES as SUPPORTED_NODES
from ._pytree_nodes import SUPPORTED_SERIALIZED_TYPES as SUPPORTED_SERIALIZED_TYPES
from ._pytree_nodes import GetAttrKey as GetAttrKey
from ._pytree_nodes import KeyEntry as KeyEntry
from ._pytree_nodes import MappingKey as MappingKey
from ._pytree_nodes import NodeDef as NodeDef
from ._pytree_nodes import SequenceKey as SequenceKey
from ._pytree_nodes import _deregister_pytree_node as _deregister_pytree_node
from ._pytree_nodes import _private_register_pytree_node as _private_register_pytree_node
from ._pytree_nodes import _register_pytree_node as _register_pytree_node
from ._pytree_nodes import is_namedtuple as is_namedtuple
from ._pytree_nodes import is_namedtuple_class as is_namedtuple_class
from ._pytree_nodes import is_namedtuple_instance as is_namedtuple_instance
from ._pytree_nodes import is_structseq as is_structseq
from ._pytree_nodes import is_structseq_class as is_structseq_class
from ._pytree_nodes import is_structseq_instance as is_structseq_instance
from ._pytree_nodes import kind_of as _kind
from ._pytree_nodes import register_pytree_node as register_pytree_node
from ._pytree_spec import _LEAF, check_spec
from ._pytree_spec import LeafSpec as LeafSpec
from ._pytree_spec import PyTreeSpec as PyTreeSpec
from ._pytree_spec import TreeSpec as TreeSpec
from ._pytree_spec import pytree_to_str as pytree_to_str
from ._pytree_spec import str_to_pytree as str_to_pytree
from ._pytree_spec import treespec_dict as treespec_dict
from ._pytree_spec import treespec_dumps as treespec_dumps
from ._pytree_spec import treespec_leaf as treespec_leaf
from ._pytree_spec import treespec_loads as treespec_loads
from ._pytree_spec import treespec_pprint as treespec_pprint
from ._pytree_spec import treespec_tuple as treespec_tuple
from ._pytree_types import ConstantNode as ConstantNode
from ._pytree_types import _is_constant_holder as _is_constant_holder
from ._pytree_types import _retrieve_constant as _retrieve_constant
from ._pytree_types import is_constant_class as is_constant_class
from ._pytree_types import register_constant as register_constant
from ._pytree_types import register_dataclass as register_dataclass

# For annotations.
Context = typing.Any
PyTree = typing.Any
FlattenFn = Callable[[PyTree], tuple[list[typing.Any], Context]]
UnflattenFn = Callable[[Iterable[typing.Any], Context], PyTree]
KeyPath = tuple[KeyEntry, ...]
FlattenWithKeysFn = Callable[[PyTree], tuple[list[tuple[KeyEntry, typing.Any]], typing.Any]]
DumpableContext = typing.Any
ToDumpableContextFn = Callable[[Context], DumpableContext]
FromDumpableContextFn = Callable[[DumpableContext], Context]


def _walk(tree, leaves, is_leaf):
    kind = None if is_leaf is not None and is_leaf(tree) else _kind(tree)
    if kind is None:
        leaves.append(tree)
        return _LEAF
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    return TreeSpec(kind, context, [_walk(child, leaves, is_leaf) for child in children])


_ROWS = [TreeSpec(tuple, None, [_LEAF] * n) for n in range(8)]  # tuples of leaves, which most trees are


def tree_flatten(tree, is_leaf=None):
    """(the leaves, the structure) of nested containers.

    >>> from adjoint.utils import _pytree
    >>> leaves, spec = _pytree.tree_flatten({"a": 1, "b": (2, 3)})
    >>> leaves
    [1, 2, 3]
    """
    if is_leaf is None:
        if type(tree) in _LEAF_TYPES:
            return [tree], _LEAF
        if type(tree) is tuple and len(tree) < len(_ROWS) and _LEAF_TYPES.issuperset(map(type, tree)):
            return list(tree), _ROWS[len(tree)]
    leaves = []
    spec = _walk(tree, leaves, is_leaf)
    return leaves, spec


def tree_unflatten(leaves, treespec):
    """The nested containers of a structure, with these leaves.

    >>> from adjoint.utils import _pytree
    >>> _pytree.tree_unflatten([1, 2], _pytree.tree_structure(("a", ["b"])))
    (1, [2])
    """
    if type(leaves) is list:
        if treespec is _LEAF and len(leaves) == 1:
            return leaves[0]
        if len(leaves) < len(_ROWS) and treespec is _ROWS[len(leaves)]:
            return tuple(leaves)
    check_spec(treespec)
    return treespec.unflatten(leaves)


def tree_leaves(tree, is_leaf=None):
    """The leaves of nested containers, in order.

    >>> from adjoint.utils import _pytree
    >>> _pytree.tree_leaves([1, (2, 3)])
    [1, 2, 3]
    """
    return tree_flatten(tree, is_leaf)[0]


def tree_iter(tree, is_leaf=None):
    """An iterator over the leaves.

    >>> from adjoint.utils import _pytree
    >>> next(_pytree.tree_iter([1, 2]))
    1
    """
    return iter(tree_leaves(tree, is_leaf))


def tree_structure(tree, is_leaf=None):
    """The structure of nested containers.

    >>> from adjoint.utils import _pytree
    >>> _pytree.tree_structure([1])
    TreeSpec(list, None, [*])
    """
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func, tree, *rests, is_leaf=None):
    """The containers with func(leaf, ...) in the place of each leaf; further trees begin with the same structure.

    >>> from adjoint.utils import _pytree
    >>> _pytree.tree_map(lambda x: x + 1, [1, {"a": 2}])
    [2, {'a': 3}]
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten(map(func, leaves, *(spec.flatten_up_to(rest) for rest in rests)))


def tree_map_(func, tree, *rests, is_leaf=None):
    """Calls func(leaf, ...) for each leaf; the tree itself is the result.

    >>> from adjoint.utils import _pytree
    >>> _pytree.tree_map_(print, [1])
    1
    [1]
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    for arguments in zip(leaves, *(spec.flatten_up_to(rest) for rest in rests), strict=True):
        func(*arguments)
    return tree


def _chooser(kind):
    if isinstance(kind, type | tuple | types.UnionType):
        return lambda leaf: isinstance(leaf, kind)
    if callable(kind):
        return kind
    raise TypeError("Argument must be a type, a tuple of types, or a callable.")


def map_only(type_or_types_or_pred, /):
    """A decorator: a function of leaves of some types that leaves others alone.

    >>> from adjoint.utils import _pytree
    >>> double = _pytree.map_only(int)(lambda x: 2 * x)
    >>> double(2), double("a")
    (4, 'a')
    """
    chosen = _chooser(type_or_types_or_pred)
    return lambda func: lambda leaf: func(leaf) if chosen(leaf) else leaf


def tree_map_only(type_or_types_or_pred, /, func, tree, is_leaf=None):
    """tree_map over the leaves of some types, or those for which a function is true.

    >>> from adjoint.utils import _pytree
    >>> _pytree.tree_map_only(int, lambda x: -x, [1, 2.0])
    [-1, 2.0]
    """
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred, /, func, tree, is_leaf=None):
    """tree_map_ over the leaves of some types, or those for which a function is true.

    >>> from adjoint.utils import _pytree
    >>> _pytree.tree_map_only_(int, print, [1, 2.0])
    1
    [1, 2.0]
    """
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred, tree, is_leaf=None):
    """Whether a function is true for all leaves.

    >>> from adjoint.utils import _pytree
    >>> _pytree.tree_all(lambda x: x > 0, [1, 2])
    True
    """
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred, tree, is_leaf=None):
    """Whether a function is true for some leaf.

    >>> from adjoint.utils import _pytree
    >>> _pytree.tree_any(lambda x: x > 1, [1, 2])
    True
    """
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types, /, pred, tree, is_leaf=None):
    """Whether a function is true for all leaves of some types.

    >>> from adjoint.utils import _pytree
    >>> _pytree.tree_all_only(int, lambda x: x > 0, [1, -2.0])
    True
    """
    return all(pred(leaf) for leaf in tree_iter(tree, is_leaf) if isinstance(leaf, type_or_types))


def tree_any_only(type_or_types, /, pred, tree, is_leaf=None):
    """Whether a function is true for some leaf of some types.

    >>> from adjoint.utils import _pytree
    >>> _pytree.tree_any_only(int, lambda x: x < 0, [1, -2.0])
    False
    """
    return any(pred(leaf) for leaf in tree_iter(tree, is_leaf) if isinstance(leaf, type_or_types))


def arg_tree_leaves(*args, **kwargs):
    """The leaves of the arguments.

    >>> from adjoint.utils import _pytree
    >>> _pytree.arg_tree_leaves(1, [2], a=3)
    [1, 2, 3]
    """
    return [*tree_leaves(args), *tree_leaves(kwargs)]


def tree_is_leaf(tree, is_leaf=None):
    """Whether a value is a leaf and no container.

    >>> from adjoint.utils import _pytree
    >>> _pytree.tree_is_leaf(1), _pytree.tree_is_leaf([1])
    (True, False)
    """
    return (is_leaf is not None and bool(is_leaf(tree))) or _kind(tree) is None


def _get_node_type(tree):
    """The registered type that a value is a container of, or its own type."""
    return _kind(tree) or type(tree)


def _is_leaf(tree, is_leaf=None):
    """The former name of tree_is_leaf."""
    warnings.warn(
        "torch.utils._pytree._is_leaf is private and will be removed in a future release. Please use "
        "torch.utils._pytree.tree_is_leaf instead.",
        FutureWarning,
        stacklevel=2,
    )
    return tree_is_leaf(tree, is_leaf)


def _broadcast_to_and_flatten(tree, treespec, is_leaf=None):
    """The leaves of `tree`, each as often as `treespec` has leaves in its place; None if they do not fit."""
    if tree_is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    if treespec.is_leaf():
        return None
    children, context = SUPPORTED_NODES[_kind(tree)].flatten_fn(tree)
    if _kind(tree) is not treespec.type or len(children) != treespec.num_children or context != treespec.context:
        return None
    result = []
    for child, spec in zip(children, treespec.children(), strict=True):
        part = _broadcast_to_and_flatten(child, spec, is_leaf)
        if part is None:
            return None
        result += part
    return result


# ---- Leaves by their ways


def _paths(way, tree, is_leaf):
    kind = None if is_leaf is not None and is_leaf(tree) else _kind(tree)
    if kind is None:
        yield way, tree
        return
    with_keys = SUPPORTED_NODES[kind].flatten_with_keys_fn
    if with_keys is None:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {kind}. Please pass a flatten_with_keys_fn argument to "
            "register_pytree_node."
        )
    for key, child in with_keys(tree)[0]:
        yield from _paths((*way, key), child, is_leaf)


def tree_flatten_with_path(tree, is_leaf=None):
    """([(way, leaf)], structure): a way is a tuple of keys.

    >>> from adjoint.utils import _pytree
    >>> [(_pytree.keystr(way), leaf) for way, leaf in _pytree.tree_flatten_with_path({"a": [1, 2]})[0]]
    [("['a'][0]", 1), ("['a'][1]", 2)]
    """
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_leaves_with_path(tree, is_leaf=None):
    """[(way, leaf)]: the leaves and how they are reached.

    >>> from adjoint.utils import _pytree
    >>> _pytree.tree_leaves_with_path([5])
    [((SequenceKey(idx=0),), 5)]
    """
    return list(_paths((), tree, is_leaf))


def tree_map_with_path(func, tree, *rests, is_leaf=None):
    """As tree_map, with func(way, leaf, ...).

    >>> from adjoint.utils import _pytree
    >>> _pytree.tree_map_with_path(lambda way, x: f"{_pytree.keystr(way)}={x}", {"a": 1})
    {'a': "['a']=1"}
    """
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    ways, leaves = [way for way, _ in pairs], [leaf for _, leaf in pairs]
    return spec.unflatten(map(func, ways, leaves, *(spec.flatten_up_to(rest) for rest in rests)))


def keystr(kp):
    """A way as it is written in Python.

    >>> from adjoint.utils import _pytree
    >>> _pytree.keystr((_pytree.GetAttrKey("x"), _pytree.SequenceKey(0)))
    '.x[0]'
    """
    return "".join(map(str, kp))


def key_get(obj, kp):
    """What stands at the end of a way.

    >>> from adjoint.utils import _pytree
    >>> _pytree.key_get({"a": [1, 2]}, (_pytree.MappingKey("a"), _pytree.SequenceKey(1)))
    2
    """
    for key in kp:
        obj = key.get(obj)
    return obj


def __getattr__(name):
    if name in ("DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL", "EnumEncoder", "enum_object_hook"):
        from . import _pytree_json  # here: few programs write structures as texts

        return getattr(_pytree_json, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
