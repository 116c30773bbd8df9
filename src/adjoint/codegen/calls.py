"""Rules that are one call of another op, such as `lambda g, dim: g.select(dim, 0)`: the core makes such calls itself.

A rule is looked at as it is written. It is such a call if what it calls is an op, by its name or as a method of the
gradient, and every argument is a parameter of the rule, the shape of one, or whether one is_turned().
"""

import ast
import functools
import types

from ..ops.declaration import parameter_names


def calls_of(table, item):
    """The rules of an op that are calls: by argument, the op that is called and where each of its arguments comes from.

    By slot: the name of a parameter of the rule, "name.shape", "name.turned", or "" for a default.
    """
    found = {}
    for argument, rule in item.rules.items():
        call = rule is not None and argument != "tensors" and _call(table, item, rule)
        if call:
            found[argument] = call
    return found


def _call(table, item, rule):
    body = _body(rule)
    if not isinstance(body, ast.Call) or any(keyword.arg is None for keyword in body.keywords):
        return None
    parameters = parameter_names(rule)
    target, first = _target(table, rule, body.func, parameters)
    if target is None:
        return None
    sources = [*first, *(_source(argument, parameters) for argument in body.args)]
    if None in sources or len(sources) > target.positional:
        return None
    slots = dict(zip(target.arguments, sources, strict=False))
    for keyword in body.keywords:
        slots[keyword.arg] = _source(keyword.value, parameters)
    if None in slots.values() or any(name not in slots and name not in target.defaults for name in target.arguments):
        return None
    # What takes all further arguments gets a sequence: a shape, or what such an argument of this op was.
    further = slots.get(target.varargs)
    if further and not further.endswith(".shape") and further != item.varargs:
        return None
    return target.name, [slots.get(name, "") for name in target.arguments]


def _target(table, rule, function, parameters):
    """The op that is called, and what comes before the written arguments; (None, ()) if it is none."""
    if isinstance(function, ast.Name) and function.id not in parameters:
        known = rule.__globals__.get(function.id)
        target = None if isinstance(known, types.FunctionType) else table.ops.get(function.id)
        return (target, ()) if target and target.name == function.id else (None, ())
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "g":
        target = table.ops.get(function.attr)
        if target and target.name == function.attr and target.method and not target.namespace:
            return target, ("g",)
    return None, ()


def _source(argument, parameters):
    """Where an argument comes from; None where it is computed."""
    if isinstance(argument, ast.Name) and argument.id in parameters and argument.id != "gs":
        return argument.id
    match argument:
        case ast.Attribute(value=ast.Name(id=name), attr="shape"):
            what = "shape"
        case ast.Call(func=ast.Name(id="is_turned"), args=[ast.Name(id=name)], keywords=[]):
            what = "turned"
        case _:
            return None
    return f"{name}.{what}" if name in parameters and name.endswith("_meta") else None


def _body(rule):
    """What a rule computes as it is written; None where that is not a single expression, or not known for sure."""
    code = rule.__code__
    written = [
        node.body
        for node in _lambdas(code.co_filename)
        if node.lineno == code.co_firstlineno and tuple(a.arg for a in node.args.args) == parameter_names(rule)
    ]
    alike = {ast.dump(body) for body in written}
    return written[0] if len(alike) == 1 else None


@functools.cache
def _lambdas(path):
    """The functions without a name in a file."""
    try:
        with open(path, encoding="utf-8") as file:
            return [node for node in ast.walk(ast.parse(file.read())) if isinstance(node, ast.Lambda)]
    except OSError:
        return []
