"""Ops on lists of tensors, `torch._foreach_add` and its like, which optimizers outside of torch are written with.

    >>> import adjoint as torch
    >>> torch._foreach_add([torch.ones(2), torch.zeros(1)], 2.0)
    (tensor([3., 3.]), tensor([2.]))

Each is its op on one tensor after the other, in one native pass over the lists; the forms that end in "_" write into
the tensors, and return the list.
"""

import numbers

from . import _C
from .ops.language import TABLE

Tensor = _C.Tensor
# Of each tensor by itself, with a form in place.
UNARY = (
    *("abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "erfc", "exp", "expm1", "floor", "frac", "lgamma"),
    *("log", "log10", "log1p", "log2", "neg", "reciprocal", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt"),
    *("tan", "tanh", "trunc"),
)
# With a number, a 0-d tensor, a list of numbers or a list of tensors, and the ops that they are.
BINARY = {name: name for name in ("add", "clamp_max", "clamp_min", "div", "mul", "pow", "sub")}
BINARY |= {"maximum": "clamp_min", "minimum": "clamp_max"}
SCALED = ("add", "sub")  # take alpha=
# How the argument after the tensors may be called, by what it is; pow has one name for all.
NAMES = {"other": Tensor | list | tuple, "scalar": numbers.Number, "scalars": list | tuple}
TERNARY = ("addcdiv", "addcmul")


def each(name, in_place, *arguments):
    """An op of the table for each place of the lists among its arguments: the results, or None in place."""
    results = _C._for_each(_C.op_object(name), in_place, *arguments)
    return overridden(name, in_place, arguments) if results is NotImplemented else results


def overridden(name, in_place, arguments):
    """The same one by one, where types or modes take calls over."""
    declared, results = TABLE[name], []
    count = next(len(given) for given in arguments if isinstance(given, list | tuple))
    columns = [given if isinstance(given, list | tuple) else [given] * count for given in arguments]
    written = in_place and declared.inplace
    function = _C.op_object(f"{name}_" if written else name)
    for row in zip(*columns, strict=True):
        named = dict(zip(declared.arguments[declared.positional :], row[declared.positional :], strict=False))
        result = function(*row[: declared.positional], **named)
        results.append(row[0].copy_(result) if in_place and not written else result)
    return tuple(results)


def kind(value):
    """What an argument is, as errors say it."""
    return "Tensor" if isinstance(value, Tensor) else type(value).__name__


def invalid(name, given, named, expected):
    """The error of arguments that fit nothing."""
    came = [kind(value) for value in given] + [f"{key}={kind(value)}" for key, value in named.items()]
    return TypeError(
        f"{name}() received an invalid combination of arguments - got ({', '.join(came)}), but expected {expected}"
    )


def checked(name, tensors):
    """A list of tensors as it was given, after a look at it."""
    if not isinstance(tensors, list | tuple):
        raise TypeError(f"{name}(): argument 'self' (position 1) must be tuple of Tensors, not {kind(tensors)}")
    if not tensors:
        raise RuntimeError("Tensor list must have at least one tensor.")
    return tensors


def is_list(value):
    """Whether a value is a list of tensors or of numbers, by its first item."""
    return isinstance(value, list | tuple) and (not value or isinstance(value[0], Tensor | numbers.Number))


def same_length(tensors, other):
    """Refuses lists of other lengths."""
    if len(other) == len(tensors):
        return
    if not other or isinstance(other[0], numbers.Number):
        raise RuntimeError("Tensor list must have same number of elements as scalar list.")
    raise RuntimeError(f"Tensor lists must have the same number of tensors, got {len(tensors)} and {len(other)}")


def of_tensors(name, place, tensors, others):
    """Another list of tensors, as long as the first."""
    if not isinstance(others, list | tuple):
        raise TypeError(f"{name}(): argument {place} must be tuple of Tensors, not {kind(others)}")
    if len(others) != len(tensors):
        raise RuntimeError(f"Tensor lists must have the same number of tensors, got {len(tensors)} and {len(others)}")
    return others


def made(name, body):
    """The two forms of a function of lists, by their names; `body` gives the results for a form."""
    forms = {}
    for shown, in_place in ((f"_foreach_{name}", False), (f"_foreach_{name}_", True)):

        def function(self, *given, _shown=shown, _in_place=in_place, **options):
            results = body(_shown, _in_place, self, *given, **options)
            return self if _in_place else results

        function.__name__ = function.__qualname__ = shown
        function.__doc__ = f"`{name}{'_' * in_place}` of every tensor of a list; see the file that this is in."
        forms[shown] = function
    return forms


def unary(name):
    form = name if name in TABLE else f"{name}_whole"

    def body(shown, in_place, tensors, *given, **named):
        if given or named:
            raise TypeError(f"{shown}() takes 1 positional argument but {1 + len(given) + len(named)} were given")
        return each(form, in_place, checked(shown, tensors))

    return made(name, body)


def binary(name):
    expected = "a Number, a Tensor, or a list of either after the tensors" + ", alpha= with Tensors" * (name in SCALED)

    def body(shown, in_place, tensors, *given, **named):
        options = {key: value for key, value in named.items() if key == "alpha"}
        other = only(name, given, {key: value for key, value in named.items() if key != "alpha"})
        fits = is_list(tensors) and (isinstance(other, Tensor | numbers.Number) or is_list(other))
        scaled = isinstance(other, Tensor) or (is_list(other) and other and isinstance(other[0], Tensor))
        if not fits or (options and (name not in SCALED or not scaled)):
            raise invalid(shown, (tensors, *given), named, expected)
        checked(shown, tensors)
        if isinstance(other, list | tuple):
            same_length(tensors, other)
        elif isinstance(other, Tensor) and other.ndim:
            raise RuntimeError(
                f"scalar tensor expected to be 0 dim but it has {other.ndim} dimensions and {other.numel()} elements."
            )
        if BINARY[name] != name and _C.is_grad_enabled() and recorded(tensors, other):
            return each(name, in_place, tensors, like_each(tensors, other))
        return each(BINARY[name], in_place, tensors, other, *options.values())

    return made(name, body)


def recorded(tensors, other):
    """Whether gradients may be asked for: equal elements share that of maximum() evenly, and not that of clamp()."""
    others = other if isinstance(other, list | tuple) else [other]
    found = [value for value in (*tensors, *others) if isinstance(value, Tensor) and value.requires_grad]
    return bool(found) and not any(value.is_complex() for value in found)


def like_each(tensors, other):
    """Tensors in the place of numbers, which maximum() does not take."""
    others = other if isinstance(other, list | tuple) else [other] * len(tensors)
    return [
        value if isinstance(value, Tensor) else _C.tensor(value, dtype=_C.result_type(tensor, value))
        for tensor, value in zip(tensors, others, strict=True)
    ]


def only(name, given, named):
    """The one argument after the tensors, given by place or by its name; None where there is none, or another."""
    if len(given) + len(named) != 1:
        return None
    if given:
        return given[0]
    ((key, value),) = named.items()
    fits = key == "exponent" if name == "pow" else isinstance(value, NAMES.get(key, ()))
    return value if fits else None


def ternary(name):
    def body(shown, in_place, tensors, tensor1, tensor2, *given, **named):
        checked(shown, tensors)
        lists = [of_tensors(shown, f"'tensor{i}'", tensors, items) for i, items in enumerate((tensor1, tensor2), 1)]
        value = only("pow", given, {}) if given else next(iter(named.values()), 1)
        is_number = isinstance(value, numbers.Number)
        if len(given) + len(named) > 1 or not (
            (is_number and named.keys() <= {"value"})
            or (isinstance(value, list | tuple | Tensor) and named.keys() <= {"scalars"})
        ):
            raise invalid(shown, (tensors, tensor1, tensor2, *given), named, "value, a Number, or scalars for each")
        if isinstance(value, Tensor):
            if value.ndim != 1:
                raise RuntimeError(f"Expected packed scalar Tensor to be of dimension 1. Got {value.ndim} instead.")
            if len(value) != len(tensors):
                raise RuntimeError(
                    f"Expected length of scalars to match input of length {len(tensors)} but got {len(value)} instead."
                )
            value = value.tolist()
        elif not is_number:
            same_length(tensors, value)
        return each(name, in_place, tensors, *lists, value)

    return made(name, body)


def lerp(shown, in_place, tensors, tensors1, *given, **named):
    weight = given[0] if len(given) == 1 and not named else next(iter(named.values()), None)
    fits = named.keys() <= {"weight", "weights", "scalars"} and len(given) + len(named) == 1
    if not fits or not (isinstance(weight, numbers.Number) or is_list(weight)):
        raise invalid(shown, (tensors, tensors1, *given), named, "weight, a Number, or weights or scalars for each")
    ends = of_tensors(shown, "'tensors1'", checked(shown, tensors), tensors1)
    if not isinstance(weight, numbers.Number):
        same_length(tensors, weight)
    return each("lerp", in_place, tensors, ends, weight)


def _foreach_pow(self, exponent):
    """`pow` of every tensor of a list, or of a number by each of them."""
    if isinstance(self, numbers.Number):
        return each("pow", False, self, checked("_foreach_pow", exponent))
    return _powers["_foreach_pow"](self, exponent)


def _foreach_clone(self, *, memory_format=None):
    """A copy of every tensor of a list."""
    return each("clone", False, checked("_foreach_clone", self), memory_format)


def _foreach_copy_(self, src, non_blocking=False):
    """Writes every tensor of a list into the one at its place."""
    each("copy", True, self, of_tensors("_foreach_copy_", "'src'", checked("_foreach_copy_", self), src), non_blocking)
    return self


def _foreach_zero_(self):
    """Sets every tensor of a list to zero."""
    each("zero", True, checked("_foreach_zero_", self))
    return self


def _foreach_max(self):
    """The largest element of every tensor of a list."""
    for tensor in checked("_foreach_max", self):
        if isinstance(tensor, Tensor) and tensor.numel() == 0:
            raise RuntimeError(
                "_foreach_max cannot compute the maximum of an empty tensor; max over zero elements is undefined."
            )
    return each("max_all", False, self)


def _foreach_mm(self, mat2):
    """The product of every matrix of a list with the one at its place in another."""
    if not self:
        raise RuntimeError("_foreach_mm requires non-empty tensor lists")
    return each("mm", False, self, of_tensors("_foreach_mm", "'mat2'", checked("_foreach_mm", self), mat2))


def _foreach_norm(self, ord=2, dtype=None):
    """The norm of every tensor of a list, taken for a vector."""
    if not isinstance(ord, numbers.Number):
        raise TypeError(f"_foreach_norm(): argument 'ord' (position 2) must be Number, not {kind(ord)}")
    if ord == float("inf") and any(isinstance(x, Tensor) and x.numel() == 0 for x in checked("_foreach_norm", self)):
        raise RuntimeError(
            "_foreach_norm cannot compute the infinity norm on an empty tensor because the operation does not have an "
            "identity"
        )
    return each("vector_norm", False, checked("_foreach_norm", self), ord, None, False, dtype)


def _foreach_powsum(self, ord=2, dtype=None):
    """The sum of the powers of the magnitudes of every tensor of a list."""
    return tuple(tensor.abs().pow(ord).sum(dtype=dtype) for tensor in checked("_foreach_powsum", self))


_powers = binary("pow")
_foreach_pow_ = _powers["_foreach_pow_"]
for _name in UNARY:
    globals().update(unary(_name))
for _name in BINARY.keys() - {"pow"}:
    globals().update(binary(_name))
for _name in TERNARY:
    globals().update(ternary(_name))
globals().update(made("lerp", lerp))
