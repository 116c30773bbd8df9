"""Types of one's own as containers of a tree: data classes, and constants without leaves."""

from collections import namedtuple

from . import _pytree_nodes as nodes
from ._pytree_nodes import GetAttrKey


def register_dataclass(cls, *, field_names=None, drop_field_names=None, serialized_type_name=None):
    """Makes a data class a container of its fields; fields that are None are no leaves.

    With `field_names`, fields in `drop_field_names` are left out, and get their defaults. A class that is no data class
    gives its `field_names`, which its `__init__` takes.

    >>> import dataclasses
    >>> from adjoint.utils import _pytree
    >>> @dataclasses.dataclass
    ... class Point:
    ...     x: int
    ...     y: int
    >>> _pytree.register_dataclass(Point)
    >>> _pytree.tree_map(lambda v: 2 * v, Point(1, 2))
    Point(x=2, y=4)
    """
    import dataclasses  # here: it takes longer to import than all of this

    dropped = list(drop_field_names or ())
    if not dataclasses.is_dataclass(cls):
        if field_names is None:
            raise ValueError(
                "field_names must be specified with a list of all fields used to initialize "
                f"{cls}, as it is not a dataclass."
            )
    elif field_names is None:
        field_names = [f.name for f in dataclasses.fields(cls) if f.init]
    else:
        _check_fields({f.name for f in dataclasses.fields(cls) if f.init}, set(field_names), dropped)
    names = list(field_names)

    def keyed(value):
        there = [(name, getattr(value, name)) for name in names if getattr(value, name) is not None]
        used = [name for name, _ in there]
        return [(GetAttrKey(name), child) for name, child in there], [used, [n for n in names if n not in used]]

    def flatten(value):
        children, context = keyed(value)
        return [child for _, child in children], context

    def unflatten(children, context):
        used, empty = context
        return cls(**dict(zip(used, children, strict=True)), **dict.fromkeys(empty))

    nodes._private_register_pytree_node(
        cls, flatten, unflatten, serialized_type_name=serialized_type_name, flatten_with_keys_fn=keyed
    )


def _check_fields(init, given, dropped):
    missing, unexpected = init - given - set(dropped), given - init
    if not missing and not unexpected:
        return
    message = "field_names does not include all dataclass fields.\n"
    if missing:
        message += (
            f"Missing fields in `field_names`: {missing}. If you want to include these fields in the pytree, please "
            "add them to `field_names`, otherwise please add them to `drop_field_names`.\n"
        )
    if unexpected:
        message += (
            f"Unexpected fields in `field_names`: {unexpected}. Please remove these fields, or add them to "
            "`drop_field_names`.\n"
        )
    raise ValueError(message)


class ConstantNode(namedtuple("ConstantNode", ("value",))):
    """The context of a constant: the value itself."""

    __slots__ = ()


def register_constant(cls):
    """Makes a type a container without leaves: its values are a part of the structure, and compared as such.

    >>> from adjoint.utils import _pytree
    >>> class Label(str):
    ...     pass
    >>> _pytree.register_constant(Label)
    >>> _pytree.tree_leaves([Label("a"), 1])
    [1]
    """
    for name in ("__eq__", "__hash__"):
        if getattr(cls, name) in (getattr(object, name), None):
            raise TypeError(f"register_constant(cls) expects `cls` to have a non-default `{name}` implementation.")
    nodes._private_register_pytree_node(
        cls,
        lambda value: ([], ConstantNode(value)),
        lambda _, context: context.value,
        flatten_with_keys_fn=lambda value: ([], ConstantNode(value)),
    )
    nodes.CONSTANT_NODES.add(cls)


def is_constant_class(cls):
    """Whether register_constant was told of a type.

    >>> from adjoint.utils import _pytree
    >>> _pytree.is_constant_class(int)
    False
    """
    return isinstance(cls, type) and cls in nodes.CONSTANT_NODES


def _is_constant_holder(spec):
    """Whether a spec is that of a constant."""
    return isinstance(spec.context, ConstantNode)


def _retrieve_constant(spec):
    """The constant that a spec is of."""
    if not _is_constant_holder(spec):
        raise AssertionError("spec does not correspond to a registered constant pytree node")
    return spec.context.value
