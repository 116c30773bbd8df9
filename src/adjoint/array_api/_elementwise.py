"""Functions of each element: one row for each, with what it says of itself and an example.

They are torch's ops with the standard's promotion: arrays of no dimensions count as any other, and of a number and an
array the array's type decides.
"""

from ._types import WIDE_UNSIGNED, array, in_numpy, pair, torch


def _documented(function, name, summary, call, result):
    function.__name__ = function.__qualname__ = name
    function.__module__ = __package__
    function.__doc__ = f"{summary}\n\n    >>> from adjoint import array_api as xp\n    >>> {call}\n    {result}\n    "
    return function


def _unary(name, summary, values, result, op=None):
    op = op or getattr(torch, name)

    def function(x, /):
        if array(name, x).dtype in WIDE_UNSIGNED:
            return in_numpy(name, x)
        return op(x)

    return _documented(function, name, summary, f"xp.{name}(xp.asarray({values}))", result)


def _binary(name, summary, values, result, op=None):
    op = op or getattr(torch, name)

    def function(x1, x2, /):
        x1, x2 = pair(name, x1, x2)
        if x1.dtype in WIDE_UNSIGNED:
            return in_numpy(name, x1, x2)
        return op(x1, x2)

    first, second = values
    return _documented(function, name, summary, f"xp.{name}(xp.asarray({first}), {second})", result)


def _rounding(op):
    """Integers are whole already; of complex numbers both parts are rounded."""

    def rounded(x):
        if x.dtype.is_complex:
            return torch.complex(op(x.real), op(x.imag))
        return op(x) if x.dtype.is_floating_point else x.clone()

    return rounded


def _sign(x):
    if x.dtype.is_complex:
        return torch.sgn(x)
    return torch.where(torch.isnan(x), x, torch.sign(x)) if x.dtype.is_floating_point else torch.sign(x)


def _real(x):
    return torch.real(x) if x.dtype.is_complex else x


def _imag(x):
    return torch.imag(x) if x.dtype.is_complex else torch.zeros_like(x)


def _remainder(x1, x2):
    result = torch.remainder(x1, x2)
    if not result.dtype.is_floating_point:
        return result
    # Zeros have the sign of x2, and their gradient is that of any other.
    zeros = torch.copysign(torch.zeros_like(result), x2.detach()) - (result.detach() - result)
    return torch.where(result == 0, zeros, result)


abs = _unary("abs", "The absolute value of each element.", [-1, 2], "tensor([1, 2])")
acos = _unary("acos", "The angle whose cosine is each element.", [1.0, 0.0], "tensor([0.0000, 1.5708])")
acosh = _unary("acosh", "The inverse hyperbolic cosine.", [1.0, 2.0], "tensor([0.0000, 1.3170])")
asin = _unary("asin", "The angle whose sine is each element.", [0.0, 1.0], "tensor([0.0000, 1.5708])")
asinh = _unary("asinh", "The inverse hyperbolic sine.", [0.0, 1.0], "tensor([0.0000, 0.8814])")
atan = _unary("atan", "The angle whose tangent is each element.", [0.0, 1.0], "tensor([0.0000, 0.7854])")
atanh = _unary("atanh", "The inverse hyperbolic tangent.", [0.0, 0.5], "tensor([0.0000, 0.5493])")
bitwise_invert = _unary(
    "bitwise_invert", "The bits of each element inverted.", [0, 5], "tensor([-1, -6])", torch.bitwise_not
)
ceil = _unary("ceil", "The smallest integer not below each element.", [0.5], "tensor([1.])", _rounding(torch.ceil))
conj = _unary("conj", "The complex conjugate.", [1 + 2j], "tensor([1.-2.j])", torch.conj_physical)
cos = _unary("cos", "The cosine of each element, in radians.", [0.0, 1.0], "tensor([1.0000, 0.5403])")
cosh = _unary("cosh", "The hyperbolic cosine.", [0.0, 1.0], "tensor([1.0000, 1.5431])")
exp = _unary("exp", "e to the power of each element.", [0.0, 1.0], "tensor([1.0000, 2.7183])")
expm1 = _unary("expm1", "exp(x) - 1, exact near zero, too.", [0.0, 1.0], "tensor([0.0000, 1.7183])")
floor = _unary("floor", "The largest integer not above each element.", [0.5], "tensor([0.])", _rounding(torch.floor))
imag = _unary("imag", "The imaginary part.", [1 + 2j], "tensor([2.])", _imag)
isfinite = _unary("isfinite", "Whether each element is a finite number.", [1.0], "tensor([True])")
isinf = _unary("isinf", "Whether each element is an infinity.", [1.0], "tensor([False])")
isnan = _unary("isnan", "Whether each element is not a number.", [1.0], "tensor([False])")
log = _unary("log", "The natural logarithm.", [1.0, 2.0], "tensor([0.0000, 0.6931])")
log10 = _unary("log10", "The logarithm to base 10.", [1.0, 10.0], "tensor([0., 1.])")
log1p = _unary("log1p", "log(1 + x), exact near zero, too.", [0.0, 1.0], "tensor([0.0000, 0.6931])")
log2 = _unary("log2", "The logarithm to base 2.", [1.0, 8.0], "tensor([0., 3.])")
logical_not = _unary("logical_not", "Whether each element is zero.", [True, False], "tensor([False,  True])")
negative = _unary("negative", "Each element with the other sign.", [1, -2], "tensor([-1,  2])", torch.neg)
positive = _unary("positive", "The elements as they are.", [1, -2], "tensor([ 1, -2])", lambda x: x.clone())
real = _unary("real", "The real part.", [1 + 2j], "tensor([1.])", _real)
reciprocal = _unary("reciprocal", "1 / x.", [2.0, 4.0], "tensor([0.5000, 0.2500])")
round = _unary(
    "round", "The nearest integer, of two the even one.", [0.5, 1.5], "tensor([0., 2.])", _rounding(torch.round)
)
sign = _unary("sign", "-1, 0 or 1; of complex numbers x / |x|.", [-3.0, 0.0, 2.0], "tensor([-1.,  0.,  1.])", _sign)
signbit = _unary("signbit", "Whether the sign bit is set.", [-0.0, 0.0], "tensor([ True, False])")
sin = _unary("sin", "The sine of each element, in radians.", [0.0, 1.0], "tensor([0.0000, 0.8415])")
sinh = _unary("sinh", "The hyperbolic sine.", [0.0, 1.0], "tensor([0.0000, 1.1752])")
sqrt = _unary("sqrt", "The square root.", [4.0, 2.0], "tensor([2.0000, 1.4142])")
square = _unary("square", "The square.", [-3, 2], "tensor([9, 4])")
tan = _unary("tan", "The tangent of each element, in radians.", [0.0, 1.0], "tensor([0.0000, 1.5574])")
tanh = _unary("tanh", "The hyperbolic tangent.", [0.0, 1.0], "tensor([0.0000, 0.7616])")
trunc = _unary("trunc", "The integer next towards zero.", [-1.5, 1.5], "tensor([-1.,  1.])", _rounding(torch.trunc))

add = _binary("add", "x1 + x2.", ([1, 2], 3), "tensor([4, 5])")
atan2 = _binary("atan2", "The angle of the point (x2, x1).", ([0.0, 1.0], 1.0), "tensor([0.0000, 0.7854])")
bitwise_and = _binary("bitwise_and", "x1 & x2.", ([6, 5], 3), "tensor([2, 1])")
bitwise_left_shift = _binary("bitwise_left_shift", "x1 << x2.", ([1, 2], 3), "tensor([ 8, 16])")
bitwise_or = _binary("bitwise_or", "x1 | x2.", ([6, 5], 1), "tensor([7, 5])")
bitwise_right_shift = _binary("bitwise_right_shift", "x1 >> x2.", ([8, 9], 2), "tensor([2, 2])")
bitwise_xor = _binary("bitwise_xor", "x1 ^ x2.", ([6, 5], 1), "tensor([7, 4])")
copysign = _binary("copysign", "The size of x1 with the sign of x2.", ([1.0, -2.0], -0.0), "tensor([-1., -2.])")
divide = _binary("divide", "x1 / x2.", ([1.0, 2.0], 2), "tensor([0.5000, 1.0000])")
equal = _binary("equal", "Whether x1 == x2, for each element.", ([1, 2], 2), "tensor([False,  True])", torch.eq)
floor_divide = _binary("floor_divide", "x1 / x2, rounded down.", ([7, -7], 2), "tensor([ 3, -4])")
greater = _binary("greater", "Whether x1 > x2.", ([1, 2], 1), "tensor([False,  True])")
greater_equal = _binary("greater_equal", "Whether x1 >= x2.", ([1, 2], 2), "tensor([False,  True])")
hypot = _binary("hypot", "sqrt(x1² + x2²), without overflow.", ([3.0, 5.0], 4.0), "tensor([5.0000, 6.4031])")
less = _binary("less", "Whether x1 < x2.", ([1, 2], 2), "tensor([ True, False])")
less_equal = _binary("less_equal", "Whether x1 <= x2.", ([1, 2], 1), "tensor([ True, False])")
logaddexp = _binary("logaddexp", "log(exp(x1) + exp(x2)).", ([0.0, 1.0], 0.0), "tensor([0.6931, 1.3133])")
logical_and = _binary("logical_and", "Whether both are true.", ([True, False], True), "tensor([ True, False])")
logical_or = _binary("logical_or", "Whether one is true.", ([True, False], False), "tensor([ True, False])")
logical_xor = _binary("logical_xor", "Whether just one is true.", ([True, False], True), "tensor([False,  True])")
maximum = _binary("maximum", "The greater of x1 and x2.", ([1, 3], 2), "tensor([2, 3])")
minimum = _binary("minimum", "The lesser of x1 and x2.", ([1, 3], 2), "tensor([1, 2])")
multiply = _binary("multiply", "x1 * x2.", ([1, 2], 3), "tensor([3, 6])")
nextafter = _binary("nextafter", "The number next to x1 towards x2.", ([0.0], 1.0), "tensor([1.4013e-45])")
not_equal = _binary("not_equal", "Whether x1 != x2, for each element.", ([1, 2], 2), "tensor([ True, False])")
pow = _binary("pow", "x1 to the power of x2.", ([2, 3], 2), "tensor([4, 9])")
remainder = _binary("remainder", "What is left of x1 / x2, with x2's sign.", ([7, -7], 3), "tensor([1, 2])", _remainder)
subtract = _binary("subtract", "x1 - x2.", ([1, 2], 3), "tensor([-2, -1])")


def clip(x, /, min=None, max=None):
    """x held between two bounds, each a number, an array or none; the type is x's.

    >>> from adjoint import array_api as xp
    >>> xp.clip(xp.asarray([1, 5, 9]), 2, 8)
    tensor([2, 5, 8])
    """
    array("clip", x)
    if x.dtype in WIDE_UNSIGNED:
        for bound, op in ((min, maximum), (max, minimum)):
            x = x if bound is None else op(x, bound).to(x.dtype)
        return x.clone()
    low, high = (None if bound is None else pair("clip", x, bound)[1].to(x.dtype) for bound in (min, max))
    if low is None and high is None:
        return x.clone()
    return torch.clamp(x, low, high)
