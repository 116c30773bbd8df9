"""Schemas: what an op takes and returns, as torch writes it: `mylib::f(Tensor x, float y=2.) -> Tensor`.

Read from text, inferred from a function's annotations, and checked against the arguments of a call.
"""

import ast
import dataclasses
import inspect
import re
import types
import typing

from . import _C

REQUIRED = inspect.Parameter.empty


@dataclasses.dataclass
class Argument:
    """One argument, or one result, of a schema."""

    name: str
    type: str
    default_value: object = REQUIRED
    kwarg_only: bool = False
    is_write: bool = False
    alias: str = ""

    def has_default_value(self):
        """Whether a call may leave it out."""
        return self.default_value is not REQUIRED

    @property
    def real_type(self):
        return self.type

    def __str__(self):
        marked = self.type.replace("Tensor", f"Tensor({self.alias})", 1) if self.alias else self.type
        text = f"{marked} {self.name}".strip()
        return text if self.default_value is REQUIRED else f"{text}={default_text(self.default_value)}"


class FunctionSchema:
    """The name, the arguments and the results of an op."""

    def __init__(self, name, arguments, returns):
        base, _, overload = name.partition(".")
        self.name, self.overload_name = base, overload
        self.arguments, self.returns = arguments, returns

    @property
    def is_mutable(self):
        """Whether it changes one of its arguments."""
        return any(argument.is_write for argument in self.arguments)

    def signature(self):
        """Without the name: (Tensor x) -> Tensor."""
        taken, keywords = [], False
        for argument in self.arguments:
            if argument.kwarg_only and not keywords:
                taken.append("*")
                keywords = True
            taken.append(str(argument))
        given = [str(value) for value in self.returns]
        result = given[0] if len(given) == 1 else f"({', '.join(given)})"
        return f"({', '.join(taken)}) -> {result}"

    def __str__(self):
        overload = f".{self.overload_name}" if self.overload_name else ""
        return f"{self.name}{overload}{self.signature()}"

    __repr__ = __str__

    def __eq__(self, other):
        return isinstance(other, FunctionSchema) and str(self) == str(other)

    def __hash__(self):
        return hash(str(self))

    # ---- Calls

    def bind(self, args, kwargs):
        """All arguments of a call in order, checked; torch's words for what is wrong."""
        positional = [argument for argument in self.arguments if not argument.kwarg_only]
        if len(args) > len(positional):
            raise RuntimeError(
                f"{self.name}() expected at most {len(positional)} argument(s) but received {len(args)} argument(s). "
                f"Declaration: {self}"
            )
        given = dict(zip((argument.name for argument in positional), args, strict=False))
        for name, value in kwargs.items():
            if name not in {argument.name for argument in self.arguments}:
                raise RuntimeError(f"Unknown keyword argument '{name}' for operator '{self.name}'. Schema: {self}")
            if name in given:
                raise RuntimeError(f"{self.name}() got multiple values for argument '{name}'. Declaration: {self}")
            given[name] = value
        return [self._value(place, argument, given) for place, argument in enumerate(self.arguments)]

    def _value(self, place, argument, given):
        if argument.name not in given:
            if argument.default_value is REQUIRED:
                raise RuntimeError(
                    f"{self.name}() is missing value for argument '{argument.name}'. Declaration: {self}"
                )
            return argument.default_value
        value = given[argument.name]
        if not accepts(argument.type, value):
            raise RuntimeError(
                f"{self.name}() Expected a value of type '{argument.type}' for argument '{argument.name}' but instead "
                f"found type '{type(value).__name__}'.\nPosition: {place}\nValue: {value!r}\nDeclaration: {self}"
            )
        return value


def default_text(value):
    """A default as torch writes it."""
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, float):
        return f"{value:.0f}." if value.is_integer() else repr(value)
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(default_text, value))}]"
    return str(value)


_KINDS = {
    "Tensor": lambda value: isinstance(value, _C.Tensor),
    "int": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "float": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "bool": lambda value: isinstance(value, bool),
    "str": lambda value: isinstance(value, str),
    "Scalar": lambda value: isinstance(value, int | float | complex | _C.Tensor),
    "complex": lambda value: isinstance(value, int | float | complex),
    "ScalarType": lambda value: isinstance(value, _C.dtype),
    "Device": lambda value: isinstance(value, _C.device | str),
}
_KINDS["SymInt"] = _KINDS["int"]


def accepts(kind, value):
    """Whether a value is of a type of a schema; unknown types take anything."""
    if kind.endswith("?"):
        return value is None or accepts(kind[:-1], value)
    if listed := re.fullmatch(r"(.+)\[(\d*)\]", kind):
        if listed[2] and accepts(listed[1], value):  # int[2] takes one int
            return True
        return isinstance(value, list | tuple) and all(accepts(listed[1], item) for item in value)
    return kind not in _KINDS or _KINDS[kind](value)


# ---- From text


def parse(text):
    """Reads `name(arguments) -> results`."""
    found = re.fullmatch(r"\s*([\w:.]+)\s*\((.*)\)\s*->\s*(.+?)\s*", text, re.DOTALL)
    if not found:
        raise RuntimeError(
            f"expected a schema such as 'f(Tensor x, int n=1) -> Tensor', got {text!r}; name, arguments in "
            "parentheses, an arrow and the type of what is returned"
        )
    name, taken, given = found.groups()
    arguments, keywords = [], False
    for part in _split(taken):
        if part == "*":
            keywords = True
        else:
            arguments.append(_argument(part, keywords))
    inner = given[1:-1] if given.startswith("(") and given.endswith(")") else given
    return FunctionSchema(name, arguments, [_argument(part, False, named=False) for part in _split(inner)])


def _split(text):
    """At commas that are in no brackets and in no quotes."""
    parts = re.findall(r"""(?:[^,\[\]()'"]|\[[^\]]*\]|\([^)]*\)|"[^"]*"|'[^']*')+""", text)
    return [part.strip() for part in parts if part.strip()]


def _argument(text, keyword, named=True):
    declared, _, default = text.partition("=")
    kind, _, name = declared.strip().rpartition(" ") if named or " " in declared.strip() else (declared.strip(), "", "")
    alias = re.search(r"\((\w+)(!?)(?:[^)]*)\)", kind)
    plain = re.sub(r"\([^)]*\)", "", kind)
    value = _literal(default.strip()) if default else REQUIRED
    written = bool(alias and alias[2])
    return Argument(name, plain, value, keyword, written, (alias[1] + alias[2]) if alias else "")


def _literal(text):
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text  # a name, such as contiguous_format


# ---- From annotations

_ANNOTATED = {
    _C.Tensor: "Tensor",
    int: "SymInt",
    float: "float",
    bool: "bool",
    str: "str",
    complex: "complex",
    int | float | bool: "Scalar",
    _C.dtype: "ScalarType",
    _C.device: "Device",
}


def _type_text(annotation, what, function_signature):
    """The type of a schema for an annotation."""
    if annotation in _ANNOTATED:
        return _ANNOTATED[annotation]
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType) and type(None) in inner and len(inner) == 2:
        other = inner[0] if inner[1] is type(None) else inner[1]
        return f"{_type_text(other, what, function_signature)}?"
    if origin in (typing.Union, types.UnionType) and set(inner) <= {int, float, bool, complex}:
        return "Scalar"
    if origin in (list, typing.Sequence, typing.get_origin(typing.Sequence[int])) and inner:
        return f"{_type_text(inner[0], what, function_signature)}[]"
    raise ValueError(
        f"infer_schema(func): {what} has unsupported type {annotation}. The valid types are: Tensor, int, float, bool, "
        "str, complex, number, dtype, device, and Optional and Sequence of these. Got func with signature "
        f"{function_signature})"
    )


def infer(function, mutates_args, name=""):
    """The schema that the annotations of a function stand for."""
    signature = inspect.signature(function)
    hints = typing.get_type_hints(function)
    written = (
        set() if mutates_args == "unknown" else {mutates_args} if isinstance(mutates_args, str) else set(mutates_args)
    )
    unknown = written - set(signature.parameters)
    if unknown:
        raise ValueError(
            f"infer_schema(func): {unknown} in mutates_args were not found in the custom op's signature. mutates_args "
            "should contain the names of all args that the custom op mutates, or just the string 'unknown' if you "
            f"don't know. Got func with signature {signature})"
        )
    arguments = []
    for parameter in signature.parameters.values():
        told = parameter.name in written
        if told and not _type_text(hints[parameter.name], f"Parameter {parameter.name}", signature).startswith(
            "Tensor"
        ):
            raise ValueError(
                f"infer_schema(func): Parameter {parameter.name} is in mutable_args but only Tensors or collections of "
                f"Tensors can be mutated Got func with signature {signature})"
            )
        arguments.append(_inferred(parameter, hints, signature, mutates_args == "unknown" or told))
    return FunctionSchema(name, arguments, _inferred_returns(hints, signature))


def _inferred(parameter, hints, signature, written):
    if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        raise ValueError(
            "infer_schema(func): We do not support positional-only args, varargs, or varkwargs. Got func with "
            f"signature {signature})"
        )
    if parameter.annotation is parameter.empty:
        raise ValueError(
            f"infer_schema(func): Parameter {parameter.name} must have a type annotation. Got func with signature "
            f"{signature})"
        )
    kind = _type_text(hints[parameter.name], f"Parameter {parameter.name}", signature)
    written = written and kind.startswith("Tensor")
    alias = f"a{list(signature.parameters).index(parameter.name)}!" if written else ""
    default = parameter.default if parameter.default is not parameter.empty else REQUIRED
    return Argument(parameter.name, kind, default, parameter.kind is parameter.KEYWORD_ONLY, written, alias)


def _inferred_returns(hints, signature):
    if "return" not in hints:
        raise ValueError(
            "infer_schema(func): No return type annotation was provided. Please add one. Got func with signature "
            f"{signature})"
        )
    result = hints["return"]
    if result is type(None):
        return []
    kinds = typing.get_args(result) if typing.get_origin(result) is tuple else (result,)
    return [Argument("", _type_text(kind, "Return", signature)) for kind in kinds]


def of_function(name, function):
    """The schema of a function of the package, as far as its signature tells: all that is known of it."""
    from .overrides import signature

    arguments = []
    for parameter in signature(function).parameters.values():
        default = parameter.default if parameter.default is not parameter.empty else REQUIRED
        kind = "Tensor" if parameter.name in ("input", "self", "other", "mat2", "weight") else "Any"
        arguments.append(Argument(parameter.name, kind, default, parameter.kind is parameter.KEYWORD_ONLY))
    return FunctionSchema(name, arguments, [Argument("", "Tensor")])
