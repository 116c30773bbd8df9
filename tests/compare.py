"""Adjoint beside torch: a call run in both libraries, and why what came of it is not the same.

    same(lambda L: L.ones(2) + 1)                   # in every respect but strides; floats but for their last bits
    same(call, look=VALUES, bound=Bound(1e-6))      # less of it, or less exactly
    assert_same(ours, theirs, bound=OPS)            # results that are there already

What is seen of a result is plain data (`plain`), so that it can be compared, or kept while its tensors change.
"""

import dataclasses
import math
import sys
import warnings

import numpy as np
import pytest
import torch

import adjoint

LIBRARIES = (torch, adjoint)
Tensor = torch.Tensor | adjoint.Tensor
FLOATS = ("float64", "float32", "float16", "bfloat16")
COMPLEX = ("complex128", "complex64")
DTYPES = ["float32", "float64", "float16", "bfloat16", "complex64", "complex128"]
DTYPES += ["int64", "int32", "int16", "int8", "uint8", "bool"]


# ---- How exact: all bounds that several suites share


@dataclasses.dataclass(frozen=True)
class Bound:
    """How far a number may lie from torch's: `relative` to it, plus `absolute` times the largest of its tensor.

    The largest is held within `largest`; at (1, 1), `absolute` is what it says. Without an absolute part, zeros keep
    their sign, and the parts of complex numbers are compared each for itself.
    """

    relative: float = 0.0
    absolute: float = 0.0
    largest: tuple = (1.0, 1.0)

    def __mul__(self, slack):
        return dataclasses.replace(self, relative=self.relative * slack, absolute=self.absolute * slack)


EXACT = Bound()
# Functions of the C library round the last bits in another way than torch's: four units in the last place. In these
# tables, "number" stands for the floats of Python; types that are not listed are compared exactly.
CLOSE = dict.fromkeys(("float64", "complex128"), Bound(1e-15))
CLOSE |= dict.fromkeys(("float32", "float16", "bfloat16", "complex64", "number"), Bound(5e-7))
# Every op of the table.
OPS = dict.fromkeys(("float64", "complex128"), Bound(1e-7, 1e-7))
OPS |= dict.fromkeys(("float32", "complex64"), Bound(1.3e-6, 1e-5))
OPS |= {"float16": Bound(1e-3, 1e-5), "bfloat16": Bound(1.6e-2, 1e-5)}
# Every entry of torch's operator database: sums may be taken in another order.
SUMS = dict.fromkeys(("float64", "complex128"), Bound(1e-7, 1e-7, (1.0, 1e4)))
SUMS |= dict.fromkeys(("float32", "complex64"), Bound(2e-5, 2e-5, (1.0, 1e4)))
SUMS |= {"float16": Bound(2e-3, 2e-3, (1.0, 1e4)), "bfloat16": Bound(1.6e-2, 1.6e-2, (1.0, 1e4))}
SUMS |= {"number": Bound(1e-6, 1e-6)}


def in_tensors(bound):
    """The bound for tensors of every type; numbers beside them are compared exactly."""
    return dict.fromkeys(FLOATS + COMPLEX, bound)


def wrong(ours, theirs, bound):
    """Where numbers of two arrays do not agree: nan agrees with nan, an infinity with its like."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    if theirs.dtype.kind not in "fc":
        return ours != theirs
    each_part = theirs.dtype.kind == "c" and not bound.absolute
    if each_part:
        return wrong(ours.real, theirs.real, bound) | wrong(ours.imag, theirs.imag, bound)
    with np.errstate(all="ignore"):
        size = np.abs(theirs)
        scale = np.clip(size[np.isfinite(size)].max(initial=0.0), *bound.largest)
        near = np.isfinite(size) & (np.abs(ours - theirs) <= bound.relative * size + bound.absolute * scale)
        near |= (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
        if theirs.dtype.kind == "c" and not near.all():  # one part is infinite or nan
            near |= ~(wrong(ours.real, theirs.real, bound) | wrong(ours.imag, theirs.imag, bound))
    if not bound.absolute:
        near &= (theirs != 0) | (np.signbit(ours) == np.signbit(theirs))
    return ~near


# ---- What is seen of a result


def array(tensor):
    """A copy of the values; floats and complex numbers in double precision, and all elements of a sparse tensor."""
    tensor = tensor.detach() if str(tensor.layout) == "torch.strided" else tensor.detach().to_dense()
    if isinstance(tensor, torch.Tensor) and tensor._is_zerotensor():  # a stand-in for zeros, without memory to read
        tensor = torch.zeros(tensor.shape, dtype=tensor.dtype)
    name = str(tensor.dtype).removeprefix("torch.")
    if name.startswith(("bfloat16", "float8")):
        tensor = tensor.float()
    if name == "complex32":  # by way of its parts: the conversion is what some tests are about
        values = np.empty(tuple(tensor.shape), np.complex128)
        values.real, values.imag = tensor.real.numpy(force=True), tensor.imag.numpy(force=True)
        return values
    values = tensor.numpy(force=True)
    return values.astype({"f": np.float64, "c": np.complex128}.get(values.dtype.kind, values.dtype))


ASPECTS = {
    "shape": lambda t: tuple(t.shape),
    "dtype": lambda t: str(t.dtype).removeprefix("torch."),
    "device": lambda t: str(t.device),
    "strides": lambda t: tuple(t.stride()),
    "requires_grad": lambda t: t.requires_grad,
    "leaf": lambda t: t.is_leaf,
    "node": lambda t: t.grad_fn and t.grad_fn.name(),
    "values": lambda t: None if t.device.type == "meta" else array(t),
}
FORM = ("shape", "dtype", "device")
VALUES = (*FORM, "values")
ALL = (*FORM, "requires_grad", "leaf", "node", "values")


class Seen(dict):
    """A tensor as plain data: the aspects that were looked at, by name."""


class Named(dict):
    """A named tuple as plain data."""


def plain(value, look=ALL):
    """A result as plain data: tensors as `Seen`, named tuples as `Named`."""
    if isinstance(value, Tensor):
        return Seen({name: ASPECTS[name](value) for name in look})
    if isinstance(value, np.ndarray):
        return Seen(shape=value.shape, dtype=str(value.dtype), values=value.copy())
    if isinstance(value, dict):
        return {key: plain(item, look) for key, item in value.items()}
    if isinstance(value, torch.Size | adjoint.Size):
        return repr(value)
    if isinstance(value, list | tuple):
        items = [plain(item, look) for item in value]
        if names := fields(value):
            return Named(zip(names, items, strict=True))
        return items if isinstance(value, list) else tuple(items)
    return value


def tensors_in(value):
    """All tensors of nested data, in order."""
    if isinstance(value, Tensor):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return [tensor for item in items for tensor in tensors_in(item)]


def fields(value):
    """The names of a named tuple's fields."""
    kind = type(value)
    if kind.__module__ == "torch.return_types":
        return getattr(kind, "__match_args__", None) or [name for name in vars(kind) if not name.startswith("_")]
    return getattr(kind, "_fields", ())


def outline(value):
    """Plain data in a few words."""
    if isinstance(value, Seen):
        return "Tensor"
    if isinstance(value, tuple | list | dict):
        return f"{type(value).__name__} of {len(value)}"
    return type(value).__name__


# ---- Why it is not the same


def difference(ours, theirs, bound=CLOSE, truth=None, where=""):
    """Why plain data is not that of torch, or None.

    `bound` is one for all numbers or a table of them by type. `truth` is torch's result in double precision: elements
    that lie no farther from it than the farthest of torch's agree.
    """
    if isinstance(theirs, Seen) and isinstance(ours, Seen):
        return tensor_difference(ours, theirs, bound, truth, where)
    if isinstance(theirs, float | complex) and type(ours) is type(theirs):
        apart = wrong(ours, theirs, bound_of(bound, "number"))
        return f"value: {theirs} expected, got {ours}{where}" if apart else None
    if isinstance(theirs, list | tuple | dict) or isinstance(ours, list | tuple | dict):
        return structure_difference(ours, theirs, bound, truth, where)
    return None if repr(ours) == repr(theirs) else f"value: {theirs!r} expected, got {ours!r}{where}"


def structure_difference(ours, theirs, bound, truth, where):
    if isinstance(ours, Named) and isinstance(theirs, tuple):  # names that torch does not give
        ours = tuple(ours.values())
    if type(ours) is not type(theirs) or len(ours) != len(theirs):
        return f"structure: {outline(theirs)} expected, got {outline(ours)}{where}"
    if isinstance(theirs, dict) and list(ours) != list(theirs):
        return f"structure: {list(theirs)} expected, got {list(ours)}{where}"
    alike = type(truth) is type(theirs) and len(truth) == len(theirs)
    for key in theirs if isinstance(theirs, dict) else range(len(theirs)):
        inside = f"{where or ' in '}[{key!r}]"
        exact = truth[key] if alike and (not isinstance(truth, dict) or key in truth) else None
        if reason := difference(ours[key], theirs[key], bound, exact, inside):
            return reason
    return None


def tensor_difference(ours, theirs, bound, truth, where):
    for name, expected in theirs.items():
        if name != "values" and ours.get(name) != expected:
            return f"{name}: {expected} expected, got {ours.get(name)}{where}"
    expected, got = theirs.get("values"), ours.get("values")
    if expected is None or got is None:
        return None if expected is got else f"structure: {outline(theirs)} expected, got {outline(ours)}{where}"
    apart = wrong(got, expected, bound_of(bound, theirs["dtype"]))
    if isinstance(truth, Seen) and truth["shape"] == theirs["shape"] and theirs["dtype"] in FLOATS + COMPLEX:
        with np.errstate(all="ignore"):
            error = np.abs(expected - truth["values"])
            apart &= ~(np.abs(got - truth["values"]) <= error[np.isfinite(error)].max(initial=0.0))
    if not apart.any():
        return None
    at = tuple(int(i) for i in np.argwhere(apart)[0])
    place = f"at {at} of {expected.shape} ({int(apart.sum())} of {expected.size} differ)"
    return f"value: {expected[at]} expected, got {got[at]} {place}{where}"


def bound_of(bound, kind):
    return bound if isinstance(bound, Bound) else bound.get(kind, EXACT)


def assert_same(ours, theirs, look=VALUES, bound=CLOSE, what="result"):
    """Asserts that a result is torch's."""
    reason = difference(plain(ours, look), plain(theirs, look), bound)
    assert reason is None, f"{what}: {reason}"


# ---- Running a call in both


@dataclasses.dataclass
class Outcome:
    """What came of a call: a value, or the exception that it raised; and the warnings on the way."""

    value: object = None
    error: Exception | None = None
    warnings: list = dataclasses.field(default_factory=list)

    @property
    def kind(self):
        """ "value", or the name of the exception."""
        return "value" if self.error is None else type(self.error).__name__

    @property
    def message(self):
        return "" if self.error is None else str(self.error)


def outcome(call, library, look=ALL):
    """What comes of call(library), as plain data; with look=None as it is."""
    # Some warnings torch gives once in a process: which of two tests sees one would depend on their order.
    torch.set_warn_always(True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = call(library)
            result = Outcome(value if look is None else plain(value, look))
        except Exception as error:  # whatever it is, it is compared
            result = Outcome(error=error)
    torch.set_warn_always(False)
    told = [(w.category.__name__, str(w.message)) for w in caught]
    # torch warns that create_graph=True leaks; here the cycle is collected, and there is nothing to warn of. Of itself
    # it warns when forward mode is first used, of how it linearizes, of ops that it has no batch rule for, and that
    # its complex32 is young.
    own = ("with create_graph=True will create a reference cycle", "`torch.jit.script` is deprecated")
    own += ("Attempted to insert a get_attr Node", "There is a performance drop because we have not yet implemented")
    own += ("ComplexHalf support is experimental",)
    result.warnings = [w for w in told if not any(words in w[1] for words in own)]
    return result


# How two exceptions are compared.


def of_one_kind(ours, theirs):
    """The same class, by name."""
    return type(ours).__name__ == type(theirs).__name__


def related(ours, theirs):
    """One class is a kind of the other."""
    return isinstance(ours, type(theirs)) or isinstance(theirs, type(ours))


def any_error(ours, theirs):
    return True


def opening(length):
    """The same class, and so many characters of the message; it may go on where torch's ends."""
    return lambda ours, theirs: of_one_kind(ours, theirs) and str(ours).startswith(str(theirs)[:length])


def words(count):
    """The same class, and so many words of the message."""

    def first(error):
        return [word.rstrip(";,.") for word in str(error).split()[:count]]

    def agree(ours, theirs):
        return of_one_kind(ours, theirs) and first(ours)[: len(first(theirs))] == first(theirs)

    return agree


OPENING = opening(40)
WHOLE = sys.maxsize  # of a warning


def errors_agree(ours, theirs, error):
    """Whether both calls gave a value, or raised exceptions that agree."""
    if ours.error is None or theirs.error is None:
        return ours.error is theirs.error
    return error(ours.error, theirs.error)


def outcome_difference(ours, theirs, bound=CLOSE, error=OPENING, warned=60):
    """Why an outcome is not that of torch, or None. Of each warning `warned` characters count; None: no warnings."""
    if not errors_agree(ours, theirs, error):
        return f"torch: {shown(theirs)}\nadjoint: {shown(ours)}"
    if reason := difference(ours.value, theirs.value, bound):
        return reason
    if warned is not None:
        told, expected = ([(kind, text[:warned]) for kind, text in each.warnings] for each in (ours, theirs))
        return None if told == expected else f"warnings: {expected} expected, got {told}"
    return None


def shown(outcome):
    """An outcome in a line or two."""
    if outcome.error is None:
        text = " ".join(repr(outcome.value).split())
        return text if len(text) < 300 else f"{text[:300]}..."
    return f"{outcome.kind}: {outcome.message[:300]}"


def same(call, look=ALL, bound=CLOSE, error=OPENING, warned=60):
    """Asserts that call(library) has the same outcome in both libraries; returns that of Adjoint."""
    ours, theirs = outcome(call, adjoint, look), outcome(call, torch, look)
    if reason := outcome_difference(ours, theirs, bound, error, warned):
        raise AssertionError(reason) from ours.error
    return ours


def check(call, bound=EXACT, error=of_one_kind):
    """`same` of calls whose words are free: values to the last bit and types count, of an exception its class."""
    return same(call, (*VALUES, "requires_grad"), bound, error, warned=None)


def check_text(text, bound=EXACT, **names):
    """`check` of an expression in which `torch` is the library."""
    code = compile(text, "<call>", "eval")
    return check(lambda library: eval(code, {"torch": library, "np": np, **names}), bound)


def programs(bound=CLOSE, warned=60):
    """`program, test_program = programs()`: a decorator that collects programs, and the test that runs each of them."""
    collected = {}

    def program(function):
        assert collected.setdefault(function.__name__, function) is function, f"two programs {function.__name__}"
        return function

    @pytest.mark.parametrize("name", collected)
    def test_program(name):
        same(collected[name], bound=bound, warned=warned)

    return program, test_program


# ---- What programs are made of


def raised(call, length=24):
    """The class and the first words of what a call raises, or its result."""
    try:
        return call()
    except Exception as error:
        return type(error).__name__, str(error)[:length]


def leaf(L, *values):
    return L.tensor(list(values), requires_grad=True)


def numbers(L, *shape, start=1.0):
    """Different numbers that are no whole ones, in double precision."""
    return (L.arange(math.prod(shape), dtype=L.float64) * 0.37 + start).reshape(shape)


def lines(text):
    """The calls of a block of text, one a line."""
    return [line.strip() for line in text.strip().splitlines() if line.strip()]
