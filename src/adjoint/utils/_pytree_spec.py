"""The structure of a tree without its leaves: compared, printed, written as a text, and filled with leaves again."""

import warnings
from collections import defaultdict, deque

from ._pytree_nodes import STANDARD_DICT_TYPES, SUPPORTED_NODES, kind_of


class TreeSpec:
    """The structure of a nested container without its leaves.

    >>> from adjoint.utils import _pytree
    >>> _pytree.tree_structure([1, 2]).num_leaves
    2
    """

    __module__ = "adjoint.utils._pytree"
    __slots__ = ("_children", "_context", "num_children", "num_leaves", "num_nodes", "type")

    def __init__(self, type, context=None, children_specs=()):
        children = list(children_specs)
        if type is None and (context is not None or children):
            raise AssertionError(f"leaf node should not have {'a context' if context is not None else 'children'}")
        leaves = sum(child.num_leaves for child in children) if type is not None else 1
        nodes = 1 + sum(child.num_nodes for child in children)
        for name, value in zip(
            TreeSpec.__slots__, (children, context, len(children), leaves, nodes, type), strict=True
        ):
            object.__setattr__(self, name, value)

    def __setattr__(self, name, value):
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __reduce__(self):
        return TreeSpec, (self.type, self._context, self._children)

    @property
    def context(self):
        """What the type says beside its children: keys, a size."""
        return self._context

    @property
    def children_specs(self):
        """Deprecated: the structures inside."""
        warnings.warn(
            "`treespec.children_specs` is deprecated. Use `treespec.child(index)` to access a single child, or "
            "`treespec.children()` to get all children.",
            FutureWarning,
            stacklevel=2,
        )
        return self._children

    def is_leaf(self):
        """Whether this is a leaf and no container."""
        return self.type is None

    def children(self):
        """The structures inside."""
        return list(self._children)

    def child(self, index):
        """One of the structures inside."""
        return self._children[index]

    def unflatten(self, leaves):
        """The container with these leaves."""
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to a pytree that "
                f"holds {self.num_leaves} items ({self})."
            )
        if self.type is None:
            return leaves[0]
        if self.type is tuple and self.num_leaves == self.num_nodes - 1:  # nothing but leaves
            return tuple(leaves)
        return self._build(iter(leaves))

    def _build(self, leaves):
        if self.type is None:
            return next(leaves)
        return SUPPORTED_NODES[self.type].unflatten_fn(
            [child._build(leaves) for child in self._children], self._context
        )

    def flatten_up_to(self, tree):
        """The parts of a tree that begins with this structure, one for each leaf here."""
        found = []
        self._match(tree, found)
        return found

    def _match(self, tree, found):
        if self.type is None:
            found.append(tree)
            return
        kind = kind_of(tree)
        if kind is not self.type and not {kind, self.type} <= STANDARD_DICT_TYPES:
            raise ValueError(f"Node type mismatch; expected {self.type!r}, but got {type(tree)!r}.")
        children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
        if len(children) != self.num_children:
            raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(children)}.")
        if kind in STANDARD_DICT_TYPES:
            keys = self._context[1] if self.type is defaultdict else self._context
            missing, extra = set(keys) - set(tree), set(tree) - set(keys)
            if missing or extra:
                parts = [f"missing key(s): {missing}"] * bool(missing) + [f"extra key(s): {extra}"] * bool(extra)
                raise ValueError(f"Node keys mismatch; {'; '.join(parts)}.")
            children = [tree[key] for key in keys]
        elif context != self._context and kind is not deque:
            raise ValueError(
                f"Node context mismatch for node type {self.type!r}; expected {self._context!r}, but got {context!r}."
            )
        for spec, child in zip(self._children, children, strict=True):
            spec._match(child, found)

    def __eq__(self, other):
        if self is other:
            return True
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return (self.type, self._context, self._children) == (other.type, other._context, other._children)

    def __hash__(self):
        return hash((self.type, self.num_leaves, self.num_nodes))

    def __repr__(self, indent=0):
        if self.type is None:
            return "*"
        children = ""
        if self._children:
            indent += 2
            children = (",\n" + " " * indent).join(child.__repr__(indent) for child in self._children)
        return f"TreeSpec({self.type.__name__}, {self._context}, [{children}])"


PyTreeSpec = TreeSpec
_LEAF = TreeSpec(None)


def check_spec(treespec):
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"Expected `treespec` to be an instance of PyTreeSpec but got item of type {type(treespec)}.")


class _LeafSpecMeta(type):
    def __instancecheck__(cls, value):
        return isinstance(value, TreeSpec) and value.is_leaf()


class LeafSpec(TreeSpec, metaclass=_LeafSpecMeta):
    """Deprecated: the structure of a leaf. Ask spec.is_leaf(), and make one by treespec_leaf()."""

    __slots__ = ()

    def __new__(cls):
        warnings.warn(
            "`isinstance(treespec, LeafSpec)` is deprecated, use `isinstance(treespec, TreeSpec) and "
            "treespec.is_leaf()` instead.",
            FutureWarning,
            stacklevel=2,
        )
        return treespec_leaf()


def treespec_leaf():
    """The structure of a leaf.

    >>> from adjoint.utils import _pytree
    >>> _pytree.treespec_leaf()
    *
    """
    return _LEAF


def treespec_tuple(iterable=(), /):
    """The structure of a tuple of these structures.

    >>> from adjoint.utils import _pytree
    >>> _pytree.treespec_tuple([_pytree.treespec_leaf()])
    TreeSpec(tuple, None, [*])
    """
    children = list(iterable)
    if not all(isinstance(child, TreeSpec) for child in children):
        raise ValueError(f"Expected a tuple of TreeSpec values, got: {children}.")
    return TreeSpec(tuple, None, children)


def treespec_dict(mapping=(), /, **kwargs):
    """The structure of a dict of these structures.

    >>> from adjoint.utils import _pytree
    >>> _pytree.treespec_dict(a=_pytree.treespec_leaf())
    TreeSpec(dict, ['a'], [*])
    """
    children = dict(mapping, **kwargs)
    if not all(isinstance(child, TreeSpec) for child in children.values()):
        raise ValueError(f"Expected a dictionary of TreeSpec values, got: {children}.")
    return TreeSpec(dict, list(children), list(children.values()))


def treespec_dumps(treespec, protocol=None):
    """A structure as a text, for treespec_loads.

    >>> from adjoint.utils import _pytree
    >>> text = _pytree.treespec_dumps(_pytree.tree_structure([1, {"a": 2}]))
    >>> _pytree.treespec_loads(text) == _pytree.tree_structure([3, {"a": 4}])
    True
    """
    check_spec(treespec)
    from . import _pytree_json  # here: json is only needed for this

    return _pytree_json.dumps(treespec, protocol)


def treespec_loads(serialized):
    """The structure of a text that treespec_dumps has made.

    >>> from adjoint.utils import _pytree
    >>> _pytree.treespec_loads('[1, {"type": null, "context": null, "children_spec": []}]')
    *
    """
    from . import _pytree_json

    return _pytree_json.loads(serialized, TreeSpec)


def pytree_to_str(treespec):
    """The former name of treespec_dumps."""
    warnings.warn("`pytree_to_str` is deprecated. Please use `treespec_dumps` instead.", FutureWarning, stacklevel=2)
    return treespec_dumps(treespec)


def str_to_pytree(json):
    """The former name of treespec_loads."""
    warnings.warn("`str_to_pytree` is deprecated. Please use `treespec_loads` instead.", FutureWarning, stacklevel=2)
    return treespec_loads(json)


class _Asterisk:
    def __repr__(self):
        return "*"


def treespec_pprint(treespec):
    """A structure as its containers are printed, with a star for each leaf.

    >>> from adjoint.utils import _pytree
    >>> _pytree.treespec_pprint(_pytree.tree_structure([1, {"a": 2}]))
    "[*, {'a': *}]"
    """
    return repr(treespec.unflatten([_Asterisk()] * treespec.num_leaves))
