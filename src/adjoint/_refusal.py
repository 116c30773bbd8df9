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


def _origin(error):
    """Where an error was raised: (whether in a line of this package, whether by a `raise`)."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return False, False
    import opcode  # here, as re: no program that is right needs them

    code = trace.tb_frame.f_code
    deliberate = code.co_code[trace.tb_lasti] == opcode.opmap["RAISE_VARARGS"]
    # What torch._assert raises, the program does.
    inside = code.co_filename.startswith(_PACKAGE) and not code.co_filename.endswith("_assertion.py")
    return inside, deliberate


def is_raised_by_package(error):
    """Whether an error comes from this package: from a line of it, or from an op that a program's line called."""
    inside, deliberate = _origin(error)
    return inside or (not deliberate and isinstance(error, RuntimeError | IndexError | ValueError))


def _is_python_own(error):
    """Whether the interpreter raised an error in a line of this package, rather than a `raise` or the native core."""
    inside, deliberate = _origin(error)
    # The native core raises RuntimeErrors, which say what they have to.
    if not inside or deliberate or isinstance(error, RuntimeError):
        return False
    import re

    return isinstance(error, KeyError | MemoryError) or re.search("|".join(_RAW), str(error)) is not None


# ---- Keywords

# What other libraries call an argument, where its letters alone do not lead to it.
_CALLED_ELSEWHERE = {
    "axes": "dim",
    "axis": "dim",
    "epsilon": "eps",
    "filters": "out_channels",
    "input_dim": "in_features",
    "labels": "target",
    "learning_rate": "lr",
    "logits": "input",
    "n_layers": "num_layers",
    "output_dim": "out_features",
    "rate": "p",
    "units": "out_features",
    "y_pred": "input",
    "y_true": "target",
}


def _meant(word, names):
    """The name of an argument that is nearest to a word, or None."""
    import difflib

    if _CALLED_ELSEWHERE.get(word) in names:
        return _CALLED_ELSEWHERE[word]
    parts = [name for name in names if name in word.split("_")]  # bias, in use_bias
    near = difflib.get_close_matches(word, names, 1) or parts
    return near[0] if near else None


def _keyword_advice(word, name, function, drop=0):
    """What to write for a keyword that a function does not have: the nearest that it has, and all of them.

    So many of its first arguments are not given by callers.
    """
    import inspect
    import re

    try:
        parameters = list(inspect.signature(function).parameters.values())[drop:]
    except ValueError:  # of an op in C++: the first line of its text
        line = (function.__doc__ or "").partition("\n")[0]
        line = re.sub(r", _\w+=[^,)]*", "", line)
        names, signature = re.findall(r"[(,] ?(?:\*, )?(\w+)", line), line[line.find("(") :]
    else:
        parameters = [each.replace(annotation=each.empty) for each in parameters if not each.name.startswith("_")]
        names, signature = [each.name for each in parameters], str(inspect.Signature(parameters))
    meant = _meant(word, names)
    signature = signature.replace("=Ellipsis", "=None").replace("=...", "=None")  # which stand for "not given"
    return f"; did you mean {meant!r}? It is called as {name}{signature}" if meant else f"; it is {name}{signature}"


def _wrong_keyword(error):
    """The keyword that a call was refused for, or None."""
    import re

    found = re.fullmatch(r"[\w.<>]+\(\) got an unexpected keyword argument '(\w+)'", str(error))
    return found and found[1]


def explain_forward(module, error):
    """The text of an error about the arguments of a module's forward, with its signature; None of other errors."""
    if not isinstance(error, TypeError) or error.__traceback__ is not None or "forward() " not in str(error):
        return None
    return f"{error}{_keyword_advice(_wrong_keyword(error) or '', 'forward', module.forward)}"


def explain_keyword(cls, error):
    """Gives the refusal of a keyword by a class's __init__ the nearest name, and the class's own."""
    if (wrong := _wrong_keyword(error)) is not None and error.__traceback__ is None:
        advice = _keyword_advice(wrong, cls.__name__, cls.__init__, drop=1)
        error.args = (f"{cls.__name__}.__init__() got an unexpected keyword argument {wrong!r}{advice}",)


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
        return f"{name}(): expected a Tensor, got {kind}{_conversion(lacking)}"
    else:
        return None
    return f"{name}(): argument {place} must be Tensor, not {kind}{_conversion(lacking)}"


def _conversion(value):
    """How something becomes a tensor, as the end of an error."""
    if isinstance(value, tuple | list) and any(isinstance(item, _C.Tensor) for item in value):
        return f"; it holds {len(value)} values: give one of them"
    return "; convert it with torch.tensor()"


def _with_position(name, function, args, names, error):
    """The refusal of an argument by an op inside, with its place among those of the call; None of other errors."""
    import re

    found = isinstance(error, TypeError) and re.match(r"(\w+)\(\): argument '(\w+)'(?= must be)", str(error))
    if not found or found[1] != name or not hasattr(function, "__code__"):
        return None
    parameters = _parameters(function)
    place = parameters.index(found[2]) if found[2] in parameters else len(args)
    return f"{found[0]} (position {place + 1}){str(error)[found.end() :]}" if place < len(args) - len(names) else None


def _has_no_shape(value, depth=3):
    """Whether an argument is, or holds, a parameter of a lazy module before its first call."""
    if depth and isinstance(value, (tuple, list)):
        return any(_has_no_shape(item, depth - 1) for item in value)
    return getattr(type(value), "is_uninitialized", False)


def _call_advice(name, args, error):
    """The text of an error about the arguments of a call, with what was meant, or None."""
    from .ops import language

    called = getattr(language, name, None) or getattr(language, f"_{name}", None)
    if (wrong := _wrong_keyword(error)) is not None and called is not None:
        return f"{error}{_keyword_advice(wrong, name, called)}"
    if args and isinstance(args[0], _C.Tensor) and name in ("cat", "concat", "concatenate", "stack"):
        return f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not Tensor; write {name}([a, b])"
    return None


def explain(name, function, args, names, error):
    """The error that a call of the composite `name` should end with, or None where `error` says it already.

    `args` are all arguments, the last of them by the keywords `names`. The function is None of an op in C++.
    """
    name = name.removeprefix("_")
    if isinstance(error, TypeError) and error.__traceback__ is None and (text := _call_advice(name, args, error)):
        return TypeError(text)
    if function is None:
        return None
    if any(map(_has_no_shape, args)):
        from .nn.parameter import no_shape

        return no_shape(name)
    text = _no_tensor(name, function, args, names, error) or _with_position(name, function, args, names, error)
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
