"""Lists and dicts that cannot be changed: the arguments of nodes, so that users of nodes stay known."""

from ..utils import _pytree


def _no_mutation(self, *args, **kwargs):
    raise TypeError(
        f"{type(self).__name__!r} object does not support mutation. If you are attempting to modify the kwargs or args "
        "of a torch.fx.Node object,\ninstead create a new copy of it and assign the copy to the node:\n\n"
        "    new_args = ...  # copy and mutate args\n    node.args = new_args"
    )


class immutable_list(list):
    """A list that refuses every change; a copy by `list(...)` can be changed.

    >>> from adjoint.fx.immutable_collections import immutable_list
    >>> immutable_list([1, 2])
    [1, 2]
    """

    __delitem__ = __iadd__ = __imul__ = __setitem__ = _no_mutation
    append = clear = extend = insert = pop = remove = reverse = sort = _no_mutation

    def __hash__(self):
        return hash(tuple(self))

    def __reduce__(self):
        return immutable_list, (tuple(self),)


class immutable_dict(dict):
    """A dict that refuses every change; a copy by `dict(...)` can be changed.

    >>> from adjoint.fx.immutable_collections import immutable_dict
    >>> immutable_dict(a=1)
    {'a': 1}
    """

    __delitem__ = __ior__ = __setitem__ = _no_mutation
    clear = pop = popitem = setdefault = update = _no_mutation

    def __hash__(self):
        return hash(frozenset(self.items()))

    def __reduce__(self):
        return immutable_dict, (tuple(self.items()),)


_pytree.register_pytree_node(immutable_list, lambda items: (list(items), None), lambda parts, _: immutable_list(parts))
_pytree.register_pytree_node(
    immutable_dict,
    lambda items: (list(items.values()), list(items)),
    lambda parts, keys: immutable_dict(zip(keys, parts, strict=True)),
)
