"""Ops on lists of tensors, `torch._foreach_add` and its like, which optimizers outside of torch are written with.

    >>> import adjoint as torch
    >>> torch._foreach_add([torch.ones(2), torch.zeros(1)], 2.0)
    (tensor([3., 3.]), tensor([2.]))

Each is its op on one tensor after the other; the forms that end in "_" write into the tensors, and return the list.
"""

import numbers

from . import _C, linalg

Tensor = _C.Tensor
# Of each tensor by itself, with a form in place.
UNARY = (
    *("abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "erfc", "exp", "expm1", "floor", "frac", "lgamma"),
    *("log", "log10", "log1p", "log2", "neg", "reciprocal", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt"),
    *("tan", "tanh", "trunc"),
)
# With a number, a 0-d tensor, a list of numbers or a list of tensors, and the ops that they are.
BINARY = {name: name for name in ("add", "div", "mul", "pow", "sub")}
BINARY |= {"clamp_max": "minimum", "clamp_min": "maximum", "maximum": "maximum", "minimum": "minimum"}
SCALED = ("add", "sub")  # take alpha=
BOUNDS = {"maximum": "clamp_min", "minimum": "clamp_max"}  # the op where the other is a number
TERNARY = ("addcdiv", "addcmul")


def checked(name, tensors):
    """A list of tensors as it was given, after a look at it."""
    if not isinstance(tensors, list | tuple) or not all(isinstance(item, Tensor) for item in tensors):
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got ({type(tensors).__name__}, ...), but "
            "expected a list or tuple of Tensors first"
        )
    if not tensors:
        raise RuntimeError("Tensor list must have at least one tensor.")
    return tensors


def for_each(name, tensors, given):
    """What each of the tensors is combined with: `given` itself, or its items."""
    if isinstance(given, Tensor):
        if given.ndim != 0:
            raise RuntimeError(
                f"scalar tensor expected to be 0 dim but it has {given.ndim} dimensions and {given.numel()} elements."
            )
        return [given] * len(tensors)
    if isinstance(given, numbers.Number):
        return [given] * len(tensors)
    if not isinstance(given, list | tuple) or not all(isinstance(item, Tensor | numbers.Number) for item in given):
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got (list, {type(given).__name__}), but expected "
            "a Number, a Tensor, or a list of either"
        )
    if len(given) == len(tensors):
        return given
    if given and isinstance(given[0], numbers.Number):
        raise RuntimeError("Tensor list must have same number of elements as scalar list.")
    raise RuntimeError(f"Tensor lists must have the same number of tensors, got {len(tensors)} and {len(given)}")


def op(name, in_place):
    """An op as a function of a tensor and what it is combined with."""
    if in_place:
        return lambda tensor, *rest, **options: getattr(tensor, f"{name}_")(*rest, **options)
    return lambda tensor, *rest, **options: getattr(tensor, name)(*rest, **options)


def made(name, body):
    """The two forms of a function of lists, by their names; `body` gives the results for a form."""
    forms = {}
    for shown, in_place in ((f"_foreach_{name}", False), (f"_foreach_{name}_", True)):

        def function(self, *given, _shown=shown, _in_place=in_place, **options):
            results = body(_shown, _in_place, checked(_shown, self), *given, **options)
            return self if _in_place else tuple(results)

        function.__name__ = function.__qualname__ = shown
        function.__doc__ = f"`{name}{'_' * in_place}` of every tensor of a list; see the file that this is in."
        forms[shown] = function
    return forms


def unary(name):
    return made(name, lambda shown, in_place, tensors: [op(name, in_place)(tensor) for tensor in tensors])


def binary(name):
    def body(shown, in_place, tensors, *given, alpha=None, **named):
        other = only(shown, given, named, ("other", "scalar", "scalars", "tensor", "exponent"))
        if alpha is not None and (name not in SCALED or isinstance(other, numbers.Number)):
            raise TypeError(
                f"{shown}() received an invalid combination of arguments - got (list, {type(other).__name__}, "
                f"alpha={type(alpha).__name__}), but expected alpha with Tensors of add and sub alone"
            )
        options = {} if alpha is None else {"alpha": alpha}
        results = []
        for tensor, item in zip(tensors, for_each(shown, tensors, other), strict=True):
            kind = BINARY[name]
            kind = BOUNDS.get(kind, kind) if isinstance(item, numbers.Number) else kind
            if in_place and kind in BOUNDS:  # these have no form in place
                results.append(tensor.copy_(op(kind, False)(tensor, item)))
            else:
                results.append(op(kind, in_place)(tensor, item, **options))
        return results

    return made(name, body)


def ternary(name):
    def body(shown, in_place, tensors, tensor1, tensor2, *given, **named):
        value = only(shown, given or ((1,) if not named else ()), named, ("value", "scalars"))
        if isinstance(value, list | tuple) and "value" in named:
            raise TypeError(
                f"{shown}() received an invalid combination of arguments - got (value=list), but expected a Number; "
                "give numbers for each as scalars="
            )
        if isinstance(value, Tensor):
            if value.ndim != 1:
                raise RuntimeError(f"Expected packed scalar Tensor to be of dimension 1. Got {value.ndim} instead.")
            if len(value) != len(tensors):
                raise RuntimeError(
                    f"Expected length of scalars to match input of length {len(tensors)} but got {len(value)} instead."
                )
            value = value.tolist()
        lists = (for_each(shown, tensors, checked(shown, items)) for items in (tensor1, tensor2))
        rows = zip(tensors, *lists, for_each(shown, tensors, value), strict=True)
        return [op(name, in_place)(tensor, one, two, value=number) for tensor, one, two, number in rows]

    return made(name, body)


def only(shown, given, named, names):
    """The one argument that was given by place or by one of these names."""
    if len(given) + len(named) != 1 or named.keys() - set(names):
        kinds = [type(item).__name__ for item in given] + [f"{name}={type(named[name]).__name__}" for name in named]
        raise TypeError(
            f"{shown}() received an invalid combination of arguments - got ({', '.join(kinds)}), but expected "
            f"one of {', '.join(names)} after the tensors"
        )
    return given[0] if given else next(iter(named.values()))


def lerp(shown, in_place, tensors, tensors1, *given, **named):
    weights = for_each(shown, tensors, only(shown, given, named, ("weight", "weights", "scalars")))
    ends = for_each(shown, tensors, checked(shown, tensors1))
    return [op("lerp", in_place)(*row) for row in zip(tensors, ends, weights, strict=True)]


def _foreach_pow(self, exponent):
    """`pow` of every tensor of a list, or of a number by each of them."""
    if isinstance(self, numbers.Number):
        return tuple(self**item for item in checked("_foreach_pow", exponent))
    return _powers["_foreach_pow"](self, exponent)


def _foreach_clone(self, *, memory_format=None):
    """A copy of every tensor of a list."""
    options = {} if memory_format is None else {"memory_format": memory_format}
    return tuple(tensor.clone(**options) for tensor in checked("_foreach_clone", self))


def _foreach_copy_(self, src, non_blocking=False):
    """Writes every tensor of a list into the one at its place."""
    sources = for_each("_foreach_copy_", checked("_foreach_copy_", self), checked("_foreach_copy_", src))
    for tensor, source in zip(self, sources, strict=True):
        tensor.copy_(source, non_blocking)
    return self


def _foreach_zero_(self):
    """Sets every tensor of a list to zero."""
    for tensor in checked("_foreach_zero_", self):
        tensor.zero_()
    return self


def _foreach_max(self):
    """The largest element of every tensor of a list."""
    for tensor in checked("_foreach_max", self):
        if tensor.numel() == 0:
            raise RuntimeError(
                "_foreach_max cannot compute the maximum of an empty tensor; max over zero elements is undefined."
            )
    return tuple(tensor.max() for tensor in self)


def _foreach_mm(self, mat2):
    """The product of every matrix of a list with the one at its place in another."""
    others = for_each("_foreach_mm", checked("_foreach_mm", self), checked("_foreach_mm", mat2))
    return tuple(tensor.mm(other) for tensor, other in zip(self, others, strict=True))


def _foreach_norm(self, ord=2, dtype=None):
    """The norm of every tensor of a list, taken for a vector."""
    return tuple(linalg.vector_norm(tensor, ord, dtype=dtype) for tensor in checked("_foreach_norm", self))


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
