"""Polynomials in the place of tensors: the coefficients of an op's result, from those of its arguments.

Along a curve every tensor is a polynomial y(t) = y_0 + y_1 t + y_2 t^2 + ..., whose coefficients are tensors. What ops
declare is enough to find them, at a cost that grows with the square of the order:

    linear ops           the op itself, of coefficients, as its formula says
    products, quotients  sums of products of coefficients
    others               their own rule for y' = f'(x) x', run on polynomials: y_k is the coefficient k - 1 of y', by k

A rule may use the result that it is a rule for, since the coefficient k of y needs those of y' below k alone. So each
coefficient is found when it is first asked for. The same op of the same polynomials is one polynomial: sin and cos lead
to each other, and not to ever more of them.
"""

import functools
import math

from .. import _C
from ..ops.batching import call
from ..ops.checks import holds
from ..ops.declaration import parameter_names
from ..ops.language import (
    TABLE,
    addcmul,
    cat,
    conj,
    exp,
    keep_dims,
    ones_like,
    sqrt,
    sum_dim,
    where,
    zeros_like,
)
from ..ops.softmax import chosen_dim
from .forward import jvp


class Series:
    """The coefficients of a polynomial, each found when it is first asked for; None stands for zero."""

    def __init__(self, first, following=lambda power: None):
        self.known = [first]
        self.following = following

    def __getitem__(self, power):
        while len(self.known) <= power:
            self.known.append(self.following(len(self.known)))
        return self.known[power]


# ---- Products and quotients


def plus_product(total, a, b):
    """total + a * b."""
    if a is None or b is None:
        return total
    if total is None:
        return a * b
    return addcmul(total, a, b) if total.dtype == a.dtype == b.dtype else total + a * b


def cauchy(a, b, power, first=0):
    """The sum of a_j * b_(power - j), with j from `first` on."""
    total = None
    for j in range(first, power + 1):
        total = plus_product(total, a[j], b[power - j] if a[j] is not None else None)
    return total


def product(power, y, a, b):
    """y = a b."""
    if a is not b:
        return cauchy(a, b, power)
    total = None
    for j in range((power + 1) // 2):
        total = plus_product(total, a[j], a[power - j])
    total = None if total is None else 2 * total
    return total if power % 2 else plus_product(total, a[power // 2], a[power // 2])


def quotient(power, y, a, b):
    """y b = a."""
    rest = cauchy(b, y, power, first=1)
    if rest is None:
        return None if a[power] is None else a[power] / b[0]
    return (-rest if a[power] is None else a[power] - rest) / b[0]


RECURRENCES = {"mul": product, "div": quotient}


# ---- Ops whose rules lead to ever new functions, or cannot be run on polynomials


def power(input, exponent):
    """By squaring, which is right at zero, too; powers that are not whole have a rule of their own, below."""
    if isinstance(exponent, complex) or exponent < 1 or not float(exponent).is_integer():
        return NotImplemented
    if exponent == 1:
        return input * 1
    half, odd = divmod(int(exponent), 2)
    root = input**half
    return root * root * input if odd else root * root


def prod_dim(input, dim, keepdim, dtype):
    """By halves: the first times the second, until one is left."""
    input = input.to(dtype or input.dtype)
    if input.dim() == 0 or input.shape[dim] == 0:
        return input * 1
    while (size := input.shape[dim]) > 1:
        both = input.narrow(dim, 0, size // 2) * input.narrow(dim, size // 2, size // 2)
        input = cat([both, input.narrow(dim, size - 1, 1)], dim) if size % 2 else both
    return input if keepdim else input.squeeze(dim)


# What an op is made of.
DEFINITIONS = {
    "squared": lambda input: input * input,
    "cubed": lambda input: input * input * input,
    "rooted": sqrt,
    "power": power,
    "addcdiv": lambda input, tensor1, tensor2, value: input + value * tensor1 / tensor2,
    "prod_all": lambda input, dtype: prod_dim(input.reshape(-1), 0, False, dtype),
    "prod_dim": prod_dim,
}


def power_rule(g, input, exponent, out):
    """Of x^p: y' = p x^(p - 1) x' = p y x' / x, of which the second form needs no other power; where x is not 0."""
    return g * conj(exponent * out / input)


def logsumexp_tangent(input, input_t, out, dim, keepdim):
    return sum_dim(input_t * exp(input - keep_dims(out, dim, input.dim())), dim, keepdim)


def softmax_tangent(input_t, out, dim):
    dim = chosen_dim(dim, out.dim())
    return out * (input_t - (input_t * out).sum(dim, True))


def log_softmax_tangent(input_t, out, dim):
    return input_t - (input_t * exp(out)).sum(chosen_dim(dim, out.dim()), True)


def var_tangent(input, input_t, out, dim, correction, keepdim):
    dim = tuple(range(input.dim())) if dim is None else dim
    products = conj(input - input.mean(dim, True)) * input_t
    total = sum_dim(products.real if products.is_complex() else products, dim, keepdim)
    freedom = input.numel() // max(out.numel(), 1) - correction
    return total * (2 / freedom if freedom > 0 else math.nan)


def std_tangent(input, input_t, out, dim, correction, keepdim):
    return where(out == 0, 0, var_tangent(input, input_t, out, dim, correction, keepdim) / (2 * out))


# y' as a function of x', as in the declarations of ops that have `jvp`.
TANGENTS = {
    "_logsumexp": logsumexp_tangent,
    "_softmax": softmax_tangent,
    "_log_softmax": log_softmax_tangent,
    "var_dim": var_tangent,
    "std_dim": std_tangent,
}

POWERS = ("pow", "power")
# Functions of complex numbers that are no power series of them.
NOT_ANALYTIC = ("abs", "angle", "sgn")


# ---- Any op


class Polynomials:
    """Tensors that are polynomials, and ops on them: a handler for a level."""

    def __init__(self):
        self.series = {}  # by the id of its tensor: (Series, the tensor)
        self.results = {}  # by an op and its polynomials: (the result, the arguments)

    def place(self, tensor, series):
        self.series[id(tensor)] = series, tensor

    def close(self):
        """Forgets all of them. They know each other, and their tensors would wait for the garbage collector."""
        for series, _ in self.series.values():
            series.following = None
        self.series.clear()
        self.results.clear()

    def of(self, value):
        """The polynomial of a tensor, None if it is a constant."""
        return self.series[id(value)][0] if id(value) in self.series else None

    def moves(self, value):
        """Whether an argument is a polynomial, or a sequence with one in it."""
        return any(map(self.moves, value)) if isinstance(value, tuple | list) else id(value) in self.series

    def handle(self, op, arguments, in_place):
        if not self.moves(arguments):
            return _C._call_slots(op, arguments, in_place)
        if in_place:
            raise NotImplementedError(f"jet: the rule of an op changes a polynomial in place, by {op.__name__}_()")
        key = op.__name__, self.key(arguments)
        if key not in self.results:
            self.results[key] = call(op, *arguments), arguments
            self.follow(op, *self.results[key])
        return self.results[key][0]

    def key(self, value):
        """What is equal for equal arguments: of numbers their value, of tensors which they are."""
        if isinstance(value, tuple | list):
            return tuple(map(self.key, value))
        if isinstance(value, int | float | complex):
            return type(value), value
        return id(self.of(value) or value)

    def follow(self, op, result, arguments):
        """Gives the results of an op their polynomials."""
        declaration = TABLE[op.__name__]
        outputs = outputs_of(result)
        if not declaration.rules or any(y is value for y in outputs for value in arguments):
            return
        if not any(map(is_differentiable, outputs)):
            return
        self.place_all(outputs, self.rows(declaration, op, arguments, outputs))

    def place_all(self, outputs, row):
        """Outputs with a function of a power that gives the coefficients of all."""
        rows = Series(outputs, row)
        for i, output in enumerate(outputs):
            if is_differentiable(output):
                self.place(output, Series(output, lambda power, i=i: rows[power][i]))

    def rows(self, declaration, op, arguments, outputs):
        """A function of a power: the coefficients of all results."""
        name, moving = declaration.name, tuple(map(self.moves, arguments))
        if name in RECURRENCES and moving[1] and (moving[0] or name == "div"):
            return self.by_recurrence(RECURRENCES[name], arguments, outputs[0])
        if is_linear(declaration, moving):
            return self.by_formula(declaration, op, arguments, moving, len(outputs))
        if name in DEFINITIONS and (made := self.run(DEFINITIONS[name], *arguments)) is not NotImplemented:
            series = self.of(made)
            return lambda power: (series[power],)
        if has_rules(declaration, arguments, moving):
            return self.by_rules(declaration, arguments, moving, outputs[0])
        if tangent := TANGENTS.get(name, declaration.jvp):
            return self.by_tangent(tangent, declaration, arguments, outputs)
        return self.by_forward_mode(lambda *given: call(op, *given), arguments, outputs)

    def run(self, function, *arguments):
        """The function, with each op in it run on polynomials."""
        level = _C._open_handled(self.handle)
        try:
            return function(*arguments)
        finally:
            _C._close_level(level)

    def as_series(self, value):
        """The same, of a constant one that ends at once."""
        return self.of(value) or Series(value)

    def by_recurrence(self, recurrence, arguments, output):
        terms = [self.as_series(value) for value in arguments]
        return lambda power: (recurrence(power, self.of(output), *terms),)

    # -- Linear ops

    def by_formula(self, declaration, op, arguments, moving, count):
        """Sums of products: calls with coefficients in the place of arguments."""
        place_of = {name: place for place, name in enumerate(declaration.arguments)}
        terms = [tuple(place_of[name] for name in term) for term in declaration.linear]
        factors = {term: [place for place in term if moving[place]] for term in terms}
        single = [term for term in terms if len(factors[term]) == 1]
        several = [term for term in terms if len(factors[term]) > 1]

        def calls(power):
            """The terms of a call, and the coefficients in it."""
            together = [factors[term][0] for term in single]
            yield single, {place: self.coefficient(arguments[place], power) for place in together}
            for term in several:
                for powers in splits(factors[term], power):
                    found = {place: self.coefficient(arguments[place], one) for place, one in powers.items()}
                    yield [term], {} if any(value is None for value in found.values()) else found

        def row(power):
            total = (None,) * count
            for chosen, values in calls(power):
                if any(value is not None for value in values.values()):
                    answer = call(op, *substituted(arguments, values, terms, chosen))
                    total = map(plus, total, outputs_of(answer))
            return tuple(total)

        return row

    def coefficient(self, value, power):
        """That of a tensor; of a sequence a tuple, or None if all of its are zero."""
        if not isinstance(value, tuple | list):
            return self.as_series(value)[power]
        found = [self.coefficient(item, power) for item in value]
        if all(item is None for item in found):
            return None
        return tuple(zeros(x) if item is None else item for x, item in zip(value, found, strict=True))

    # -- Ops that follow from their derivative

    def by_rules(self, declaration, arguments, moving, output):
        """Elementwise ops: for them a rule for gradients, which multiplies by the derivative, is one for tangents."""
        named = dict(zip(declaration.arguments, arguments, strict=True), out=output)
        for name in declaration.operands:
            if not isinstance(named[name], _C.Tensor):
                named[name] = _C.tensor(named[name], dtype=output.dtype, device=output.device)
        chosen = [name for name, moves in zip(declaration.arguments, moving, strict=True) if moves]

        def tangent(*along):
            total = None
            for name, g in zip(chosen, along, strict=True):
                rule, uses = declaration.rules[name], declaration.uses[name]
                if declaration.name in POWERS and name == "input" and holds(named["input"] != 0):
                    rule, uses = power_rule, parameter_names(power_rule)
                given = named | {"g": conj(g.to(output.dtype))}
                found = conj(rule(**{used: given[used] for used in uses}))
                total = plus(total, found if output.is_complex() or not found.is_complex() else found.real)
            return total

        return self.by_derivative(tangent, lambda: [self.derivative_of(named[name]) for name in chosen], (output,))

    def by_tangent(self, tangent, declaration, arguments, outputs):
        """Other ops: y' as a function of x, y and x'."""
        named = dict(zip(declaration.arguments, arguments, strict=True))
        named.update(zip(declaration.outputs or ("out",), outputs, strict=True))

        def value(name):
            if name.endswith("_t"):
                return self.derivative_of(named[name.removesuffix("_t")])
            return named[name]

        return self.by_derivative(tangent, lambda: map(value, parameter_names(tangent)), outputs)

    def by_derivative(self, tangent, values, outputs):
        """From a function that gives y', to be run on polynomials when it is first asked for."""
        slopes = []

        def term(power, output, slope):
            found = slope and slope[power - 1]
            return None if found is None else fitted(found / power if power > 1 else found, output)

        def row(power):
            if not slopes:
                found = outputs_of(self.run(tangent, *values()))
                slopes.extend(None if slope is None else self.as_series(slope) for slope in found)
                slopes.extend([None] * (len(outputs) - len(found)))  # the last results may have no tangent
            return tuple(term(power, *pair) for pair in zip(outputs, slopes, strict=True))

        return row

    def derivative_of(self, value):
        """x' of an argument x: a polynomial, or zeros."""
        if isinstance(value, tuple | list):
            return tuple(map(self.derivative_of, value))
        series = self.of(value)
        if series is None:
            return zeros(value)
        first = zeros(value) if series[1] is None else series[1].clone()
        self.place(first, Series(first, lambda power: times(power + 1, series[power + 1])))
        return first

    def at(self, value, t, power):
        """The polynomial of an argument up to a power, at a number."""
        if isinstance(value, tuple | list):
            return tuple(self.at(item, t, power) for item in value)
        total, series = None, self.as_series(value)
        for k in reversed(range(power + 1)):
            total = plus(times(t, total), series[k])
        return total

    def by_forward_mode(self, function, arguments, outputs):
        """Any function: derivatives of its results along the polynomials of its arguments, by nested forward mode."""
        first = next(y for y in outputs if is_differentiable(y))
        zero = _C.tensor(0.0, dtype=first.dtype.to_real(), device=first.device)

        def row(power):
            def along(t):
                return function(*(self.at(value, t, power) for value in arguments))

            for _ in range(power):
                along = differentiated(along)
            found = outputs_of(along(zero))
            return tuple(y / math.factorial(power) if is_differentiable(y) else None for y in found)

        return row


# ---- Helpers


def outputs_of(result):
    return result if isinstance(result, tuple) else (result,)


def is_differentiable(value):
    return isinstance(value, _C.Tensor) and (value.is_floating_point() or value.is_complex())


@functools.cache
def is_linear(declaration, moving):
    """Whether an op is linear in the arguments that move."""
    linear = {name for term in declaration.linear for name in term}
    return all(name in linear for name, moves in zip(declaration.arguments, moving, strict=True) if moves)


def has_rules(declaration, arguments, moving):
    """Whether an op has rules that multiply by a derivative, for all arguments that move."""
    if declaration.kind != "elementwise" or (declaration.name in NOT_ANALYTIC and arguments[0].is_complex()):
        return False
    return all(declaration.rules[name] for name, moves in zip(declaration.arguments, moving, strict=True) if moves)


def zeros(value):
    """Zeros in the place of an argument."""
    if isinstance(value, tuple | list):
        return tuple(map(zeros, value))
    return zeros_like(value) if isinstance(value, _C.Tensor) else value if value is None else 0


def plus(a, b):
    return b if a is None else a if b is None else a + b


def times(a, b):
    return None if a is None or b is None else a * b


def fitted(term, output):
    """A coefficient in the type and the sizes of the result."""
    term = term if term.dtype == output.dtype else term.to(output.dtype)
    return term if term.shape == output.shape else term.expand(output.shape)


def splits(places, power):
    """The ways to spread a power over factors, by their places."""
    first, *rest = places
    if not rest:
        yield {first: power}
        return
    for own in range(power + 1):
        for others in splits(rest, power - own):
            yield {first: own, **others}


def substituted(arguments, values, terms, chosen):
    """The arguments with coefficients in their place, and zeros in the terms that are not chosen."""
    given = list(arguments)
    for place, value in values.items():
        given[place] = zeros(given[place]) if value is None else value
    kept = {place for term in chosen for place in term}
    for term in terms:
        if term not in chosen:
            place = next(place for place in term if place not in kept)
            given[place] = zeros(given[place])
    return given


def differentiated(function):
    """The derivative of a function of one number."""
    return lambda t: jvp(function, (t,), (ones_like(t),))[1]
