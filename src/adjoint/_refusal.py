"""Errors of Python's own, met inside a composite, in the words of the call that caused them.

A composite takes its arguments for what its signature means. Given something else, it fails somewhere inside with
"'NoneType' object is not iterable": true, but no help. The native core hands such errors to `explain`.
"""

import os

from . import _C

_PACKAGE = os.path.dirname(__file__)
# What Python says of operators, attributes, loops, unpacking and built-in functions that do not fit.
_RAW = (
    r"not supported between|unsupported operand|bad operand|can't multiply|can only concatenate|by zero",
    r"not iterable|not subscriptable|not callable|to unpack|unpack non-iterable|has no len|has no attribute",
    r"'[\w.]+' object|object does not support|(tuple|list) index out of|indices must be|unhashable",
    r"zip\(\) argument|(float|int|complex)\(\) argument|invalid literal|must be (a )?real number",
    r"empty (sequence|iterable)|arg is an empty|expected str instance|unknown format code",
    r"cannot access local|too large to convert|cannot convert float",
)


class Words(str):
    """A text whose repr is the text: a KeyError shows the repr, quoted and without line breaks."""

    def __repr__(self):
        return str(self)


def missing(name, text):
    """A KeyError that begins as Python's own, with the name in quotes, and goes on in words."""
    return KeyError(Words(f"{name!r}: missing {text}"))


def _shown(value, depth=3):
    """An argument as errors name it: its type, the sizes of a tensor, and the items of a list, but not for ever."""
    if isinstance(value, _C.Tensor):
        return f"Tensor{list(value.shape)}"
    if depth and isinstance(value, (tuple, list)) and value and len(value) <= 4:
        return f"{type(value).__name__} of ({', '.join(_shown(item, depth - 1) for item in value)})"
    return type(value).__name__


def _signature(function):
    """The names of a function's arguments, those with a default in brackets."""
    names = _parameters(function)
    function = getattr(function, "__wrapped__", function)
    needed = function.__code__.co_argcount - len(function.__defaults__ or ())
    return ", ".join(name if i < needed else f"[{name}]" for i, name in enumerate(names))


def _is_python_own(error):
    """Whether the interpreter raised an error in a line of this package, rather than a `raise` or the native core."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or not trace.tb_frame.f_code.co_filename.startswith(_PACKAGE):
        return False
    import opcode  # here, as re: no program that is right needs them
    import re

    # The native core raises RuntimeErrors, which say what they have to.
    if isinstance(error, RuntimeError):
        return False
    deliberate = trace.tb_frame.f_code.co_code[trace.tb_lasti] == opcode.opmap["RAISE_VARARGS"]
    speechless = isinstance(error, KeyError | MemoryError)
    return not deliberate and (speechless or re.search("|".join(_RAW), str(error)) is not None)


def _parameters(function):
    """The names of a function's arguments, in order."""
    code = getattr(function, "__wrapped__", function).__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def _no_tensor(name, function, args, names, error):
    """Torch's words for an argument that lacks an attribute of tensors; None where it is none of the arguments."""
    lacking = getattr(error, "obj", None)
    if not isinstance(error, AttributeError) or isinstance(lacking, _C.Tensor):
        return None
    kind = type(lacking).__name__
    places = [i for i, value in enumerate(args) if value is lacking]
    plain = len(args) - len(names)
    if len(places) == 1 and places[0] < plain and places[0] < len(_parameters(function)):
        place = f"'{_parameters(function)[places[0]]}' (position {places[0] + 1})"
    elif len(places) == 1 and places[0] >= plain:
        place = f"'{names[places[0] - plain]}'"
    elif places or any(item is lacking for value in args if isinstance(value, (tuple, list)) for item in value):
        return f"{name}(): expected a Tensor, got {kind}; convert it with torch.tensor()"
    else:
        return None
    return f"{name}(): argument {place} must be Tensor, not {kind}; convert it with torch.tensor()"


def _has_no_shape(value, depth=3):
    """Whether an argument is, or holds, a parameter of a lazy module before its first call."""
    if depth and isinstance(value, (tuple, list)):
        return any(_has_no_shape(item, depth - 1) for item in value)
    return getattr(type(value), "is_uninitialized", False)


def explain(name, function, args, names, error):
    """The error that a call of the composite `name` should end with, or None where `error` says it already.

    `args` are all arguments, the last of them by the keywords `names`.
    """
    name = name.removeprefix("_")
    if any(map(_has_no_shape, args)):
        from .nn.parameter import no_shape

        return no_shape(name)
    text = _no_tensor(name, function, args, names, error)
    if text is not None:
        return TypeError(text)
    # The outermost composite is the one that was called: what was explained inside of it is explained anew.
    cause = getattr(error, "explained", None) or error
    if cause is error and not _is_python_own(error):
        return None
    plain = len(args) - len(names)
    came = [_shown(value) for value in args[:plain]]
    came += [f"{key}={_shown(value)}" for key, value in zip(names, args[plain:], strict=True)]
    # Torch has an IndexError for dimensions that are not there, a TypeError for things that are no tensors or numbers.
    wrong_kind = isinstance(cause, TypeError | AttributeError | KeyError)
    kind = TypeError if wrong_kind else IndexError if isinstance(cause, IndexError) else RuntimeError
    explained = kind(
        f"{name}() received an invalid combination of arguments - got ({', '.join(came)}), but "
        f"expected ({_signature(function)}) that fit together: {cause or type(cause).__name__}"
    )
    explained.__cause__ = explained.explained = cause
    return explained
