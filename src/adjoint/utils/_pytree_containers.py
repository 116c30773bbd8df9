"""The containers of the standard library, and torch's, as nodes of trees: taken apart, put together, keyed, written."""

import functools
from collections import OrderedDict, defaultdict, deque, namedtuple

from .. import _C
from . import _pytree_nodes as nodes
from ._pytree_nodes import GetAttrKey, MappingKey, SequenceKey, register_pytree_node


def _keyed(children):
    return [(SequenceKey(place), child) for place, child in enumerate(children)]


def _mapped(mapping):
    return [(MappingKey(key), child) for key, child in mapping.items()]


def _list_flatten(d):
    return d, None


def _list_flatten_with_keys(d):
    return _keyed(d), None


def _list_unflatten(values, context):
    return list(values)


def _tuple_flatten(d):
    return list(d), None


def _tuple_flatten_with_keys(d):
    return _keyed(d), None


def _tuple_unflatten(values, context):
    return tuple(values)


def _size_unflatten(values, context):
    return _C.Size(values)


def _dict_flatten(d):
    return list(d.values()), list(d)


def _dict_flatten_with_keys(d):
    return _mapped(d), list(d)


def _dict_unflatten(values, context):
    return dict(zip(context, values, strict=True))


_ordereddict_flatten = _odict_flatten = _dict_flatten
_ordereddict_flatten_with_keys = _dict_flatten_with_keys


def _ordereddict_unflatten(values, context):
    return OrderedDict(zip(context, values, strict=True))


_odict_unflatten = _ordereddict_unflatten


def _defaultdict_flatten(d):
    return list(d.values()), [d.default_factory, list(d)]


def _defaultdict_flatten_with_keys(d):
    return _mapped(d), [d.default_factory, list(d)]


def _defaultdict_unflatten(values, context):
    return defaultdict(context[0], zip(context[1], values, strict=True))


def _defaultdict_serialize(context):
    factory, keys = context
    return {
        "default_factory_module": factory.__module__,
        "default_factory_name": factory.__qualname__,
        "dict_context": keys,
    }


def _defaultdict_deserialize(dumpable_context):
    import importlib

    found = importlib.import_module(dumpable_context["default_factory_module"])
    factory = functools.reduce(getattr, dumpable_context["default_factory_name"].split("."), found)
    return [factory, dumpable_context["dict_context"]]


def _deque_flatten(d):
    return list(d), d.maxlen


def _deque_flatten_with_keys(d):
    return _keyed(d), d.maxlen


def _deque_unflatten(values, context):
    return deque(values, maxlen=context)


def _namedtuple_flatten(d):
    return list(d), type(d)


def _namedtuple_flatten_with_keys(d):
    return [(GetAttrKey(name), child) for name, child in zip(d._fields, d, strict=True)], type(d)


def _namedtuple_unflatten(values, context):
    return context(*values)


def _namedtuple_serialize(context):
    if context not in nodes.SUPPORTED_SERIALIZED_TYPES:
        raise NotImplementedError(
            f"Can't serialize TreeSpec of namedtuple class {context} because we didn't register a "
            "serializated_type_name. Please register using `_register_namedtuple`."
        )
    return nodes.SUPPORTED_SERIALIZED_TYPES[context].serialized_type_name


def _namedtuple_deserialize(dumpable_context):
    if dumpable_context not in nodes.SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise NotImplementedError(
            f"Can't deserialize TreeSpec of namedtuple class {dumpable_context} because we couldn't find a "
            "serializated name."
        )
    return nodes.SERIALIZED_TYPE_TO_PYTHON_TYPE[dumpable_context]


def _register_namedtuple(cls, *, serialized_type_name):
    """Gives a type of named tuples a name in texts; all of them are containers without it."""
    nodes.SUPPORTED_SERIALIZED_TYPES[cls] = nodes._SerializeNodeDef(cls, serialized_type_name, None, None)
    nodes.SERIALIZED_TYPE_TO_PYTHON_TYPE[serialized_type_name] = cls


def register_return_type(cls):
    """Makes one of the tuples with names that ops return a container."""
    register_pytree_node(
        cls, _tuple_flatten, lambda parts, _: cls(parts), flatten_with_keys_fn=_tuple_flatten_with_keys
    )


def _register_standard():
    for cls, flatten, unflatten, with_keys, name in (
        (tuple, _tuple_flatten, _tuple_unflatten, _tuple_flatten_with_keys, "builtins.tuple"),
        (list, _list_flatten, _list_unflatten, _list_flatten_with_keys, "builtins.list"),
        (dict, _dict_flatten, _dict_unflatten, _dict_flatten_with_keys, "builtins.dict"),
        (OrderedDict, _dict_flatten, _ordereddict_unflatten, _dict_flatten_with_keys, "collections.OrderedDict"),
        (deque, _deque_flatten, _deque_unflatten, _deque_flatten_with_keys, "collections.deque"),
        (_C.Size, _tuple_flatten, _size_unflatten, _tuple_flatten_with_keys, "torch.Size"),
    ):
        register_pytree_node(cls, flatten, unflatten, serialized_type_name=name, flatten_with_keys_fn=with_keys)
    register_pytree_node(
        namedtuple,
        _namedtuple_flatten,
        _namedtuple_unflatten,
        serialized_type_name="collections.namedtuple",
        to_dumpable_context=_namedtuple_serialize,
        from_dumpable_context=_namedtuple_deserialize,
        flatten_with_keys_fn=_namedtuple_flatten_with_keys,
    )
    register_pytree_node(
        defaultdict,
        _defaultdict_flatten,
        _defaultdict_unflatten,
        serialized_type_name="collections.defaultdict",
        to_dumpable_context=_defaultdict_serialize,
        from_dumpable_context=_defaultdict_deserialize,
        flatten_with_keys_fn=_defaultdict_flatten_with_keys,
    )


_register_standard()
