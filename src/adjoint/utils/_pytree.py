"""Nested containers taken apart into their leaves, and put together again."""

from collections import OrderedDict, defaultdict, deque

from .. import _C


class TreeSpec:
    """The structure of a nested container without its leaves.

    >>> from adjoint.utils import _pytree
    >>> _pytree.tree_structure([1, 2]).num_leaves
    2
    """

    __slots__ = ("_children", "context", "num_children", "num_leaves", "num_nodes", "type")

    def __init__(self, type, context=None, children_specs=()):
        self.type, self.context, self._children = type, context, list(children_specs)
        self.num_children = len(self._children)
        self.num_leaves = sum(child.num_leaves for child in self._children) if type is not None else 1
        self.num_nodes = 1 + sum(child.num_nodes for child in self._children)

    def is_leaf(self):
        """Whether this is a leaf and no container."""
        return self.type is None

    def children(self):
        """The structures inside."""
        return self._children

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
        return _NODES[self.type][1]([child._build(leaves) for child in self._children], self.context)

    def flatten_up_to(self, tree):
        """The parts of a tree that begins with this structure, one for each leaf here."""
        found = []
        self._match(tree, found)
        return found

    def _match(self, tree, found):
        if self.type is None:
            found.append(tree)
            return
        kind = _kind(tree)
        if kind is not self.type and not {kind, self.type} <= _MAPPINGS:
            raise ValueError(f"Node type mismatch; expected {self.type!r}, but got {type(tree)!r}.")
        children, context = _NODES[kind][0](tree)
        if len(children) != self.num_children:
            raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(children)}.")
        if kind in _MAPPINGS:
            keys = self.context[1] if self.type is defaultdict else self.context
            missing, extra = set(keys) - set(tree), set(tree) - set(keys)
            if missing or extra:
                parts = [f"missing key(s): {missing}"] * bool(missing) + [f"extra key(s): {extra}"] * bool(extra)
                raise ValueError(f"Node keys mismatch; {'; '.join(parts)}.")
            children = [tree[key] for key in keys]
        elif context != self.context:
            raise ValueError(f"Node context mismatch for node type {self.type!r}; {self.context!r} and {context!r}.")
        for spec, child in zip(self._children, children, strict=True):
            spec._match(child, found)

    def __eq__(self, other):
        if self is other:
            return True
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return (self.type, self.context, self._children) == (other.type, other.context, other._children)

    def __hash__(self):
        return hash((self.type, self.num_leaves, self.num_nodes))

    def __repr__(self, indent=0):
        if self.type is None:
            return "*"
        children = ""
        if self._children:
            indent += 2
            children = (",\n" + " " * indent).join(child.__repr__(indent) for child in self._children)
        return f"TreeSpec({self.type.__name__}, {self.context}, [{children}])"


class namedtuple:
    """Stands for every type that collections.namedtuple makes; the type itself is the context."""


_MAPPINGS = {dict, OrderedDict, defaultdict}
_NODES = {}  # type -> (flatten, unflatten)
_LEAF_TYPES = {_C.Tensor, int, float, complex, bool, str, type(None)}  # the most frequent ones


def register_pytree_node(cls, flatten_fn, unflatten_fn, **options):
    """Makes a type a container: `flatten_fn(x)` gives (children, context), `unflatten_fn(children, context)` takes it.

    >>> from adjoint.utils import _pytree
    >>> class Pair:
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    >>> _pytree.register_pytree_node(Pair, lambda p: ([p.a, p.b], None), lambda parts, _: Pair(*parts))
    >>> _pytree.tree_leaves(Pair(1, [2, 3]))
    [1, 2, 3]
    """
    if cls in _NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    _NODES[cls] = (flatten_fn, unflatten_fn)
    _LEAF_TYPES.discard(cls)


_register_pytree_node = register_pytree_node

register_pytree_node(list, lambda x: (x, None), lambda parts, _: list(parts))
register_pytree_node(tuple, lambda x: (list(x), None), lambda parts, _: tuple(parts))
register_pytree_node(
    dict, lambda x: (list(x.values()), list(x)), lambda parts, keys: dict(zip(keys, parts, strict=True))
)
register_pytree_node(
    OrderedDict, lambda x: (list(x.values()), list(x)), lambda parts, keys: OrderedDict(zip(keys, parts, strict=True))
)
register_pytree_node(
    defaultdict,
    lambda x: (list(x.values()), [x.default_factory, list(x)]),
    lambda parts, context: defaultdict(context[0], zip(context[1], parts, strict=True)),
)
register_pytree_node(deque, lambda x: (list(x), x.maxlen), lambda parts, length: deque(parts, maxlen=length))
register_pytree_node(namedtuple, lambda x: (list(x), type(x)), lambda parts, cls: cls(*parts))


def _kind(tree):
    """The registered type that a value is a container of; None for a leaf."""
    cls = type(tree)
    if cls in _NODES:
        return cls
    if isinstance(tree, tuple) and tuple in cls.__bases__:
        if isinstance(getattr(cls, "_fields", None), tuple):
            return namedtuple
        if cls.__module__ == "torch.return_types":  # what max(x, dim) returns
            register_pytree_node(cls, lambda x: (list(x), None), lambda parts, _: cls(parts))
            return cls
    return None


def _walk(tree, leaves, is_leaf):
    kind = None if is_leaf is not None and is_leaf(tree) else _kind(tree)
    if kind is None:
        leaves.append(tree)
        return _LEAF
    children, context = _NODES[kind][0](tree)
    return TreeSpec(kind, context, [_walk(child, leaves, is_leaf) for child in children])


_LEAF = TreeSpec(None)
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
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            "tree_unflatten(leaves, treespec): Expected `treespec` to be instance of TreeSpec but got item of type "
            f"{type(treespec)}."
        )
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


def _is_kind(kind):
    return kind if callable(kind) and not isinstance(kind, type) else lambda leaf: isinstance(leaf, kind)


def tree_map_only(type_or_types_or_pred, func, tree, is_leaf=None):
    """tree_map over the leaves of some types, or those for which a function is true.

    >>> from adjoint.utils import _pytree
    >>> _pytree.tree_map_only(int, lambda x: -x, [1, 2.0])
    [-1, 2.0]
    """
    chosen = _is_kind(type_or_types_or_pred)
    return tree_map(lambda leaf: func(leaf) if chosen(leaf) else leaf, tree, is_leaf=is_leaf)


def tree_all(pred, tree, is_leaf=None):
    """Whether a function is true for all leaves.

    >>> from adjoint.utils import _pytree
    >>> _pytree.tree_all(lambda x: x > 0, [1, 2])
    True
    """
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred, tree, is_leaf=None):
    """Whether a function is true for some leaf.

    >>> from adjoint.utils import _pytree
    >>> _pytree.tree_any(lambda x: x > 1, [1, 2])
    True
    """
    return any(map(pred, tree_leaves(tree, is_leaf)))
