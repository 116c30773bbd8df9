"""Stubs as data: whether a call fits the types that a stub gives its function, and its result the type promised."""

import ast
import collections.abc
import inspect

import adjoint as torch

SIMPLE = {
    "_Any": lambda value: True,
    "_object": lambda value: True,
    "_bool": lambda value: isinstance(value, bool),
    "_int": lambda value: isinstance(value, int),
    "_float": lambda value: isinstance(value, int | float),
    "_Number": lambda value: isinstance(value, int | float | complex),
    "_str": lambda value: isinstance(value, str),
    "_Tensor": lambda value: isinstance(value, torch.Tensor),
    "_Size": lambda value: isinstance(value, torch.Size),
    "_dtype": lambda value: isinstance(value, torch.dtype),
    "_device": lambda value: isinstance(value, torch.device),
    "_layout": lambda value: isinstance(value, torch.layout),
    "_memory_format": lambda value: isinstance(value, torch.memory_format),
    "_Generator": lambda value: isinstance(value, torch.Generator),
    "_DeviceLike": lambda value: value is None or isinstance(value, str | int | torch.device),
    "_Ints": lambda value: isinstance(value, int) or (is_sequence(value) and all(isinstance(v, int) for v in value)),
    "_Self": lambda value: isinstance(value, torch.Tensor),
    "dtype": lambda value: isinstance(value, torch.dtype),
    "Tensor": lambda value: isinstance(value, torch.Tensor),
}


def is_sequence(value):
    """Whether a checker takes the value for a sequence of others; a tensor is none, a string one that nobody means."""
    return isinstance(value, collections.abc.Sequence) and not isinstance(value, str)


def fits(value, node):
    """Whether a value is of the type that an annotation, as a tree, names."""
    match node:
        case ast.Constant(value=None):
            return value is None
        case ast.BinOp(left=left, right=right):
            return fits(value, left) or fits(value, right)
        case ast.Name(id=name):
            return SIMPLE[name](value)
        case ast.Attribute(value=ast.Name(id="_return_types"), attr=name):
            return type(value).__name__.rpartition(".")[2] == name
        case ast.Subscript(value=ast.Name(id="_Literal"), slice=ast.Constant(value=literal)):
            return value is literal or (value == literal and type(value) is type(literal))
        case ast.Subscript(value=ast.Name(id="_tuple"), slice=ast.Tuple(elts=[one, ast.Constant(value=literal)])) if (
            literal is ...
        ):
            return isinstance(value, tuple) and all(fits(item, one) for item in value)
        case ast.Subscript(value=ast.Name(id="_tuple"), slice=ast.Tuple(elts=parts)):
            matches = isinstance(value, tuple) and len(value) == len(parts)
            return matches and all(map(fits, value, parts))
        case ast.Subscript(value=ast.Name(id="_Sequence" | "_Iterable"), slice=one):
            return is_sequence(value) and all(fits(item, one) for item in value)
        case ast.Subscript(value=ast.Name(id="_list"), slice=one):
            return isinstance(value, list) and all(fits(item, one) for item in value)
        case ast.Subscript(value=ast.Name(id="_dict")):
            return isinstance(value, dict)
        case ast.Subscript(value=ast.Name(id="_Callable")):
            return callable(value)
        case ast.Subscript(value=ast.Name(id="_type")):
            return isinstance(value, type)
    raise NotImplementedError(ast.unparse(node))


def parameters(function):
    """The signature of a function of a stub; annotations are trees."""
    arguments, kinds = function.args, inspect.Parameter
    positional = [*arguments.posonlyargs, *arguments.args]
    has_default = [False] * (len(positional) - len(arguments.defaults)) + [True] * len(arguments.defaults)
    made = []
    for i, (argument, default) in enumerate(zip(positional, has_default, strict=True)):
        kind = kinds.POSITIONAL_ONLY if i < len(arguments.posonlyargs) else kinds.POSITIONAL_OR_KEYWORD
        made.append((argument, kind, default))
    if arguments.vararg:
        made.append((arguments.vararg, kinds.VAR_POSITIONAL, False))
    made += [
        (a, kinds.KEYWORD_ONLY, d is not None) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    if arguments.kwarg:
        made.append((arguments.kwarg, kinds.VAR_KEYWORD, False))
    return inspect.Signature(
        [kinds(a.arg, kind, annotation=a.annotation, default=... if d else kinds.empty) for a, kind, d in made]
    )


def accepts(function, args, kwargs):
    """Whether a function of a stub may be called so."""
    signature = parameters(function)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return False
    for name, value in bound.arguments.items():
        parameter = signature.parameters[name]
        values = [value]
        if parameter.kind == parameter.VAR_POSITIONAL:
            values = value
        elif parameter.kind == parameter.VAR_KEYWORD:
            values = value.values()
        if parameter.annotation is not None and not all(fits(one, parameter.annotation) for one in values):
            return False
    return True


def functions(text):
    """The functions of a stub, and of its classes, by name: {"add": [tree], "Tensor.add": [tree, tree]}."""
    found = {}
    for node in ast.parse(text).body:
        members = [(f"{node.name}.", one) for one in node.body] if isinstance(node, ast.ClassDef) else [("", node)]
        for prefix, one in members:
            if isinstance(one, ast.FunctionDef):
                found.setdefault(prefix + one.name, []).append(one)
    return found
