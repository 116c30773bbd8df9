"""Whether a namespace gives what the standard asks for: cases against NumPy, names, signatures and constants."""

import inspect
import operator
import warnings
from pathlib import Path

import numpy as np

from .cases import Values

SIGNATURES = {
    line.split("(")[0]: line[line.index("(") :]
    for line in (Path(__file__).parent / "signatures.txt").read_text().splitlines()
}
UNIQUE_UP_TO = ("linalg.svd", "linalg.eigh", "linalg.qr")  # signs of vectors are free: their product is compared


def find(namespace, name):
    """A function by its name; an operator by that of its method."""
    if name.startswith("__"):
        return getattr(operator, name)
    for part in name.split("."):
        namespace = getattr(namespace, part)
    return namespace


def in_order(x, axis=-1, descending=False, places=False):
    """Sorted as the standard says: NumPy has no `descending`."""
    order = np.argsort(-x.astype(object) if descending else x, axis=axis, stable=True)
    return order if places else np.take_along_axis(x, order, axis)


def expected(case):
    """What NumPy gives."""
    options = case.options
    if case.name in ("sort", "argsort"):
        return in_order(*case.args, **options, places=case.name == "argsort")
    if case.name == "clip" and len(case.args) == 1 and not options:
        return case.args[0]
    if case.name == "can_cast":
        return np.result_type(*case.args) == case.args[1]
    if case.name == "asarray" and isinstance(case.args[0], list | int | bool):
        return np.asarray(*case.args, **options)
    if case.name == "linalg.trace":  # in the type of a sum
        return np.sum(np.linalg.diagonal(*case.args, **options), axis=-1)
    if case.name.endswith("fftfreq") and "dtype" in options:  # which NumPy's does not have
        return find(np, case.name)(*case.args, d=options["d"]).astype(options["dtype"])
    if case.name.startswith("bitwise") and "shift" in case.name:
        first, second = case.args
        if isinstance(first, int):
            first = np.asarray(first, second.dtype)
        return find(np, case.name)(first, second)
    with np.errstate(all="ignore"):
        return find(np, case.name)(*case.args, **options)


def convert(namespace, value):
    """An argument, with arrays and types of the namespace in place of NumPy's."""
    if isinstance(value, np.ndarray | np.generic):
        return namespace.asarray(np.array(value))
    if isinstance(value, np.dtype):
        return getattr(namespace, value.name)
    if isinstance(value, list | tuple) and any(isinstance(one, np.ndarray | np.dtype) for one in value):
        return type(value)(convert(namespace, one) for one in value)
    return value


def is_typed(values):
    """Whether arguments say a type, so that the namespace's default does not matter."""
    return any(
        is_typed(one) if isinstance(one, list | tuple) else hasattr(one, "dtype") or isinstance(one, np.dtype)
        for one in values
    )


def plain(value):
    """A result as NumPy's array, or what it is."""
    if hasattr(value, "resolve_conj"):
        value = value.resolve_conj().resolve_neg()
    return np.asarray(value)


def type_name(dtype):
    return np.dtype(dtype).name if isinstance(dtype, type | np.dtype) else str(dtype).rpartition(".")[2]


# What the standard leaves open: the order of elements that differ, and which of two zeros is greater.
FREE = {
    "unique_values": lambda x: np.sort(plain(x)),
    "maximum": lambda x: plain(x) + np.asarray(0, plain(x).dtype),
    "minimum": lambda x: plain(x) + np.asarray(0, plain(x).dtype),
}


def differs(got, wanted, default=None, view=plain):
    """Why a result is not what was expected, or None."""
    if isinstance(wanted, np.dtype) or (isinstance(wanted, type) and issubclass(wanted, np.generic)):
        return None if type_name(got) == type_name(wanted) else f"type {type_name(got)}, not {type_name(wanted)}"
    if isinstance(wanted, bool | np.bool) and isinstance(got, bool):
        return None if got == wanted else f"{got}, not {wanted}"
    if isinstance(wanted, tuple | list):
        if not isinstance(got, tuple | list) or len(got) != len(wanted):
            return f"{type(got).__name__}, not a tuple of {len(wanted)}"
        return next((why for a, b in zip(got, wanted, strict=True) if (why := differs(a, b, default, view))), None)
    wanted = np.asarray(wanted)
    name = (default or {}).get(wanted.dtype.name, wanted.dtype.name)
    if tuple(got.shape) != wanted.shape:
        return f"shape {tuple(got.shape)}, not {wanted.shape}"
    if type_name(got.dtype) != name:
        return f"type {type_name(got.dtype)}, not {name}"
    values, wanted = view(got), view(wanted)
    if wanted.dtype.kind not in "fc":
        return None if np.array_equal(values, wanted) else f"{values}, not {wanted}"
    exact = np.finfo(name).eps
    with np.errstate(all="ignore"):
        near = (values == wanted) | (np.isnan(values) & np.isnan(wanted))
        near |= np.abs(values - wanted) <= 200 * exact * np.maximum(1, np.abs(wanted))
        if wanted.dtype.kind == "f":
            near &= (wanted != 0) | (values != 0) | (np.signbit(values) == np.signbit(wanted))
    where = np.flatnonzero(~near)
    return f"{values.flat[where[0]]}, not {wanted.flat[where[0]]}, at {where[0]}" if where.size else None


def failure(namespace, case, default):
    """Why a case fails, or None."""
    wanted = expected(case)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            args = [convert(namespace, value) for value in case.args]
            options = {key: convert(namespace, value) for key, value in case.options.items()}
            got = find(namespace, case.name)(*args, **options)
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    try:
        if case.name in UNIQUE_UP_TO:
            return product_differs(case, got, wanted)
        default = None if is_typed((*case.args, *case.options.values())) else default
        return differs(got, wanted, default, FREE.get(case.name, plain))
    except Exception as error:
        return f"unlike an array: {type(error).__name__}: {error}"


def product_differs(case, got, wanted):
    names = type(wanted)._fields
    if (
        not isinstance(got, tuple)
        or len(got) != len(names)
        or any(got[i] is not getattr(got, n) for i, n in enumerate(names))
    ):
        return f"not a tuple with the names {names}"
    shapes = [tuple(one.shape) for one in got], [one.shape for one in wanted]
    if shapes[0] != shapes[1]:
        return f"shapes {shapes[0]}, not {shapes[1]}"
    parts = [plain(one) for one in got]
    if case.name == "linalg.eigh":
        values, vectors = parts
        product = vectors * values[..., None, :] @ np.conj(np.swapaxes(vectors, -1, -2))
    elif case.name == "linalg.qr":
        product = parts[0] @ parts[1]
    else:
        u, s, vh = parts
        product = u[..., : s.shape[-1]] * s[..., None, :] @ vh[..., : s.shape[-1], :]
    near = np.allclose(product, case.args[0], rtol=1e-3, atol=1e-4)
    return None if near else "the factors do not multiply to the matrix"


def signature_failure(namespace, name):
    """Why the signature of a function is not the standard's, or None; more parameters with defaults are allowed."""
    try:
        function = find(namespace, name)
    except AttributeError:
        return "missing"
    standard = eval(f"lambda {SIGNATURES[name][1:-1]}: None", {"inf": float("inf")})
    try:
        ours = inspect.signature(function)
    except ValueError:
        return "no signature"
    parameters = list(ours.parameters.values())
    for place, wanted in enumerate(inspect.signature(standard).parameters.values()):
        found = ours.parameters.get(wanted.name)
        if wanted.kind is wanted.POSITIONAL_ONLY:
            positional = place < len(parameters) and parameters[place].kind in (
                wanted.POSITIONAL_ONLY,
                wanted.POSITIONAL_OR_KEYWORD,
            )
            if not positional:
                return f"{wanted.name} cannot be given by position"
            found = parameters[place]
        elif wanted.kind is wanted.VAR_POSITIONAL:
            if not any(one.kind is wanted.VAR_POSITIONAL for one in parameters):
                return f"no *{wanted.name}"
            continue
        elif found is None:
            if any(one.kind is wanted.VAR_KEYWORD for one in parameters):
                continue
            return f"no {wanted.name}"
        if wanted.default is not wanted.empty and found.default != wanted.default:
            return f"{wanted.name}={found.default!r}, not {wanted.default!r}"
    return None


def check(namespace, families, default):
    """For each function of the families: how many cases there are, and the failures."""
    report = {}
    for family in families:
        for case in family(Values()):
            count, failures = report.get(case.name, (0, []))
            why = failure(namespace, case, default)
            report[case.name] = (count + 1, failures if why is None else [*failures, (case, why)])
    return report
