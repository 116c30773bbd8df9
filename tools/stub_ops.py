"""Stubs of ops, of the Tensor class and of the native core: declarations and signatures as lines of Python."""

import ast
import inspect
import keyword
import re

from stub_words import DIMS, PARAMETERS, PROPERTIES, RESULTS

KINDS = inspect.Parameter
BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift")
BINARY += ("div",)
OPERATORS = {f"__{side}{name}__" for name in BINARY for side in ("", "r", "i")}
OPERATORS |= {f"__{name}__" for name in ("eq", "ne", "lt", "le", "gt", "ge", "neg", "pos", "abs", "invert")}
SKIPPED = {"__new__", "__doc__", "__dict__", "__weakref__", "__module__", "__repr__", "__str__", "__init__"}
SKIPPED |= {"__getattribute__", "__setattr__", "__delattr__", "__reduce_ex__", "__format__", "__array_priority__"}
NUMBER = "_Tensor | _Number"
WITHOUT_NUMPY_NAMES = ("norm", "split")  # functions that torch has in Python; its methods know them


def optional(kind):
    """The type with None."""
    return kind if kind in ("_Any", "_DeviceLike") or kind.endswith("None") else f"{kind} | None"


def meaning(keys, parameter, default):
    """The type of a parameter: by the first of the keys that the words know, else by its default."""
    kind = next((PARAMETERS[key] for key in keys if key in PARAMETERS), None)
    if parameter == "dim" and kind in (None, "_int") and (default is None or default in ((), ...)):
        kind = DIMS
    if kind is None or not agrees(kind, default):
        kind = by_default(default)
    return optional(kind) if default is None else kind


def agrees(kind, default):
    """Whether a default is of a type: where it is not, the name means something else."""
    words = {bool: "_bool", str: "_str", float: "_float|_Number", int: "_int|_Ints|_float|_Number"}.get(type(default))
    return words is None or kind == "_Any" or re.search(rf"({words})\b", kind) is not None


def by_default(default):
    """The type that a default tells."""
    if isinstance(default, bool):
        return "_bool"
    if isinstance(default, int):
        return "_int"
    return {float: "_float", str: "_str"}.get(type(default), "_Any")


def render(parameters):
    """A parameter list as text: [(name, kind, type, default or empty)], kinds as in inspect.Parameter."""
    parts, star, only = [], False, False
    for name, kind, annotation, default in parameters:
        if only and kind != KINDS.POSITIONAL_ONLY:
            parts.append("/")
        only = kind == KINDS.POSITIONAL_ONLY
        if kind == KINDS.KEYWORD_ONLY and not star:
            parts.append("*")
        star = star or kind in (KINDS.KEYWORD_ONLY, KINDS.VAR_POSITIONAL)
        mark = {KINDS.VAR_POSITIONAL: "*", KINDS.VAR_KEYWORD: "**"}.get(kind, "")
        value = "" if default is KINDS.empty else f" = {default!r}" if literal(default) else " = ..."
        parts.append(f"{mark}{name}: {annotation}{value}")
    return ", ".join([*parts, "/"] if only else parts)


def definitions(name, parameters, result, own=()):
    """The lines of a function; two where sizes may be given one by one or as a sequence, also by name."""
    forms = [parameters]
    for i, (argument, kind, annotation, _) in enumerate(parameters):
        if kind == KINDS.VAR_POSITIONAL and annotation == "_Ints":
            sequence = (argument, KINDS.POSITIONAL_OR_KEYWORD, "_Sequence[_int]", KINDS.empty)
            single = (argument, kind, "_int", KINDS.empty)
            forms = [[*parameters[:i], one, *parameters[i + 1 :]] for one in (sequence, single)]
    mark = "@_overload\n" if len(forms) > 1 else ""
    texts = (", ".join(part for part in (*own, render(form)) if part) for form in forms)
    return "\n".join(f"{mark}def {name}({text}) -> {result}: ..." for text in texts)


def literal(default):
    """Whether a default can be written down as it is."""
    return default is None or isinstance(default, bool | int | str) or (type(default) is float and abs(default) < 1e300)


def as_method(function):
    """The method that a function of a tensor is: without the tensor, and without out=."""
    method = ast.parse(ast.unparse(function)).body[0]
    arguments = method.args
    first = (arguments.posonlyargs or arguments.args)[0]
    first.arg, first.annotation = "self", None
    kept = [(a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if a.arg != "out"]
    arguments.kwonlyargs, arguments.kw_defaults = [a for a, _ in kept], [d for _, d in kept]
    return method


class Ops:
    """Lines of stubs for ops, whose declarations the package has."""

    def __init__(self, package):
        self.package = package
        self.core = package._C
        self.language = package.ops.language
        self.table = self.language.TABLE

    def declaration(self, function):
        """(declaration, the op itself) of what is called by this name: None where it is a function of ops."""
        while isinstance(function, self.core.Op):
            item = self.table.get(function._table_name()) or self._of_name(function.__name__)
            inner = getattr(function, "__wrapped__", None)
            if inner is None:
                return item
            function = inner
        return None

    def is_declared(self, op):
        """Whether there is an op behind an object: those of ops.language are made for any name."""
        return op._table_name() is not None or getattr(op, "__wrapped__", None) is not None

    def _of_name(self, name):
        for item in self.table.values():
            if name in (item.name, *item.alias, f"{item.name}_", f"{item.shown}_", *(f"{a}_" for a in item.alias)):
                return item
        return None

    def of_declaration(self, item, spelled, namespace):
        """(parameters, result type) of an op."""
        in_place = spelled.endswith("_") and not item.name.endswith("_")
        parameters = []
        for i, name in enumerate(item.arguments):
            default = item.defaults.get(name, KINDS.empty)
            kind = KINDS.POSITIONAL_OR_KEYWORD if i < item.positional else KINDS.KEYWORD_ONLY
            if name == item.varargs:
                kind, default = KINDS.VAR_POSITIONAL, KINDS.empty
            elif any(known[1] == KINDS.VAR_POSITIONAL for known in parameters):
                kind = KINDS.KEYWORD_ONLY
            keys = (f"{namespace}.{spelled}.{name}", f"{spelled}.{name}", f"{item.name}.{name}", f"{item.shown}.{name}")
            if item.kind == "elementwise" and not any(key in PARAMETERS for key in keys):
                numbers = "all" in item.numbers or name in item.numbers
                annotation = "_Number" if name in item.params else NUMBER if numbers else "_Tensor"
            elif item.rules.get(name) is not None and name not in PARAMETERS and not any(k in PARAMETERS for k in keys):
                annotation = "_Tensor | None" if default is None else "_Tensor"
            else:
                annotation = meaning((*keys, f"{namespace}:{name}", name), name, default)
            if name == item.varargs:
                annotation = "_Tensor | _Sequence[_Tensor]" if name == "tensors" else "_Ints"
            # A word of Python cannot be the name of a parameter; such arguments are given by position.
            parameters.append((f"{name}_" if keyword.iskeyword(name) else name, kind, annotation, default))
        named = f"_return_types.{item.result_type.__name__}" if item.outputs and not in_place else None
        if item.out and not in_place and not item.creates:
            kind = f"_tuple[{', '.join(['_Tensor'] * len(item.outputs))}] | None" if named else "_Tensor | None"
            parameters.append(("out", KINDS.KEYWORD_ONLY, kind, None))
        return parameters, named or RESULTS.get(spelled, RESULTS.get(item.name, "_Tensor"))

    def of_function(self, function, name, namespace):
        """(parameters, result type) of a function of ops, or of a native one by its docstring."""
        anything = [
            ("args", KINDS.VAR_POSITIONAL, "_Any", KINDS.empty),
            ("kwargs", KINDS.VAR_KEYWORD, "_Any", KINDS.empty),
        ]
        unknown = "_Tensor" if inspect.isfunction(function) or not name.startswith("_") else "_Any"
        result = RESULTS.get(f"{namespace}.{name}", RESULTS.get(name, unknown))
        composed = getattr(self.package.ops.declaration, "COMPOSITE_FIELDS", {})
        if f"{namespace}_{name}".lstrip("_") in composed or (not namespace and name in composed):
            result = f"_return_types.{f'{namespace}_{name}'.lstrip('_')}"
        try:
            signature = inspect.signature(function)
        except (TypeError, ValueError):
            head = re.match(rf"{re.escape(name)}(\(.*?\)):", function.__doc__ or "")
            try:
                signature = inspect.signature(eval(f"lambda {head[1][1:-1]}: 0", {}))
            except (TypeError, SyntaxError, NameError):
                return anything, result
            # The docstrings name only the arguments that matter.
            signature = signature.replace(
                parameters=[*signature.parameters.values(), KINDS("kwargs", KINDS.VAR_KEYWORD)]
            )
        parameters = []
        for parameter in signature.parameters.values():
            keys = (f"{namespace}.{name}.{parameter.name}", f"{name}.{parameter.name}", f"{namespace}:{parameter.name}")
            annotation = meaning((*keys, parameter.name), parameter.name, parameter.default)
            if parameter.kind == KINDS.VAR_KEYWORD:
                annotation = "_Any"
            elif parameter.kind == KINDS.VAR_POSITIONAL:
                several = {"tensors": "_Tensor | _Sequence[_Tensor]", "matrices": "_Tensor"}
                several |= dict.fromkeys(("size", "repeats", "dims"), "_Ints")
                annotation = several.get(parameter.name, "_Any")
            kind = KINDS.POSITIONAL_OR_KEYWORD if parameter.name == "self" else parameter.kind
            parameters.append((parameter.name, kind, annotation, parameter.default))
        if getattr(function, "has_out", False) and "out" not in signature.parameters:
            parameters.append(("out", KINDS.KEYWORD_ONLY, "_Tensor | None", None))
        return parameters, result

    def signature(self, name, function, namespace=""):
        """(parameters, result type) of anything that can be called."""
        item = self.declaration(function)
        if item is not None:
            parameters, result = self.of_declaration(item, name, namespace)
            return self.with_numpy_names(parameters), result
        is_op = isinstance(function, self.core.Op) and namespace != "nn.functional"
        while isinstance(function, self.core.Op) and getattr(function, "__wrapped__", None) is not None:
            function = function.__wrapped__
        parameters, result = self.of_function(function, name, namespace)
        return self.with_numpy_names(parameters) if is_op else parameters, result

    @staticmethod
    def with_numpy_names(parameters):
        """The parameters, and by NumPy's names those that ops take by them, too."""
        known = {name: (kind, default) for name, _, kind, default in parameters}
        places = [kind for _, kind, _, _ in parameters]
        if "axis" in known or KINDS.VAR_KEYWORD in places or known.get("dim", (None, KINDS.empty))[1] is KINDS.empty:
            return parameters
        more = [("axis", KINDS.KEYWORD_ONLY, known["dim"][0], ...)]
        more += [("keepdims", KINDS.KEYWORD_ONLY, "_bool", ...)] if "keepdim" in known else []
        return [*parameters, *more]

    def function(self, name, function, namespace=""):
        """One `def` of a module."""
        parameters, result = self.signature(name, function, namespace)
        if name in WITHOUT_NUMPY_NAMES:
            parameters = [one for one in parameters if one[0] not in ("axis", "keepdims")]
        return definitions(name, parameters, result)

    def method(self, name, function):
        """One `def` of the Tensor class."""
        static = isinstance(function, staticmethod)
        if static:
            return f"@staticmethod\ndef {name}(*args: _Any, **kwargs: _Any) -> _Any: ..."
        if name in OPERATORS:
            one = name in ("__neg__", "__pos__", "__abs__", "__invert__")
            other = "_Tensor" if "matmul" in name else "_Any" if name in ("__eq__", "__ne__") else NUMBER
            result = "_Self" if name.startswith("__i") and name != "__invert__" else "_Tensor"
            # A tensor compares by element, which is no override of object's.
            ignore = "  # type: ignore[override]" if name in ("__eq__", "__ne__") else ""
            return f"def {name}(self{'' if one else f', other: {other}, /'}) -> {result}: ...{ignore}"
        parameters, result = self.signature(name, function)
        first = bool(parameters) and parameters[0][1] in (KINDS.POSITIONAL_OR_KEYWORD, KINDS.POSITIONAL_ONLY)
        native = not isinstance(function, self.core.Op) and not inspect.isfunction(function)
        rest = parameters[first and (not native or parameters[0][0] == "self") :]
        if name.endswith("_") and not name.endswith("__"):
            result = "_Self"
        return definitions(name, [one for one in rest if one[0] != "out"], result, own=("self",))

    def tensor(self, written, functions):
        """The members of the Tensor class, {name: lines}; `written` and `functions` are what is written by hand."""
        tensor = self.core.Tensor
        members = {}
        for name, value in vars(tensor).items():
            if name in SKIPPED or name in written:
                continue
            if inspect.isdatadescriptor(value):
                members[name] = self._property(name, value)
            elif name in functions and self._is_same(name, value):
                members[name] = "\n".join(ast.unparse(as_method(one)) for one in functions[name])
            elif callable(value) or isinstance(value, staticmethod | classmethod):
                members[name] = self.method(name, value)
        return members

    def _is_same(self, name, method):
        """Whether a method is the function of its name."""
        return isinstance(method, self.core.Op) and hasattr(self.package, name)

    def _property(self, name, value):
        kind = PROPERTIES.get(name, "_Any")
        if name in (
            "data",
            "grad",
            "requires_grad",
            "real",
            "imag",
            "_grad",
            "grad_dtype",
            "_backward_hooks",
            "volatile",
        ):
            return f"{name}: {kind}"
        return f"@property\ndef {name}(self) -> {kind}: ..."
