"""The structure of a tree as a text, and back."""

import enum
import functools
import importlib
import json

from . import _pytree_nodes as nodes

DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL = 1


class EnumEncoder(json.JSONEncoder):
    """JSON in which members of enumerations are written by name."""

    def default(self, obj):
        """A member of an enumeration as a dict."""
        if isinstance(obj, enum.Enum):
            place = f"{type(obj).__module__}:{type(obj).__qualname__}"
            return {"__enum__": True, "fqn": place, "name": obj.name}
        return super().default(obj)


def enum_object_hook(obj):
    """Gives the member of an enumeration for a dict that EnumEncoder has made of it; others stay.

    >>> from adjoint.utils import _pytree
    >>> _pytree.enum_object_hook({"a": 1})
    {'a': 1}
    """
    if "__enum__" not in obj:
        return obj
    module, _, name = obj["fqn"].partition(":")
    kind = functools.reduce(getattr, name.split("."), importlib.import_module(module))
    return kind[obj["name"]]


def _to_json(spec):
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    node = nodes.SUPPORTED_SERIALIZED_TYPES.get(spec.type)
    if node is None:
        raise NotImplementedError(f"Serializing {spec.type} in pytree is not registered.")
    if node.serialized_type_name == nodes.NO_SERIALIZED_TYPE_NAME_FOUND:
        raise NotImplementedError(
            f"No registered serialization name for {spec.type} found. Please update your _register_pytree_node call "
            "with a `serialized_type_name` kwarg."
        )
    if node.to_dumpable_context is not None:
        context = node.to_dumpable_context(spec.context)
    else:
        try:
            context = json.dumps(spec.context, cls=EnumEncoder)
        except TypeError as error:
            raise TypeError(
                "Unable to serialize context. Please make the context json dump-able, or register a custom serializer "
                "using _register_pytree_node."
            ) from error
    children = [_to_json(child) for child in spec.children()]
    return {"type": node.serialized_type_name, "context": context, "children_spec": children}


def _from_json(written, make):
    if written["type"] is None and written["context"] is None and not written["children_spec"]:
        return make(None)
    if written["type"] not in nodes.SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise NotImplementedError(f"Deserializing {written['type']} in pytree is not registered.")
    cls = nodes.SERIALIZED_TYPE_TO_PYTHON_TYPE[written["type"]]
    node = nodes.SUPPORTED_SERIALIZED_TYPES[cls]
    if node.from_dumpable_context is not None:
        context = node.from_dumpable_context(written["context"])
    else:
        context = json.loads(written["context"], object_hook=enum_object_hook)
    return make(cls, context, [_from_json(child, make) for child in written["children_spec"]])


def _check_protocol(protocol):
    if protocol != DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL:
        raise ValueError(
            f"Unknown protocol {protocol}. Available protocols: [{DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL}]"
        )


def dumps(treespec, protocol):
    """A spec as a text."""
    protocol = DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL if protocol is None else protocol
    _check_protocol(protocol)
    return json.dumps((protocol, _to_json(treespec)), cls=EnumEncoder)


def loads(serialized, make):
    """The spec of a text; `make` builds specs."""
    protocol, written = json.loads(serialized, object_hook=enum_object_hook)
    _check_protocol(protocol)
    return _from_json(written, make)
