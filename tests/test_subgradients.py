"""Gradients where a function has no derivative, or several: torch's choice at kinks, ties, zeros and bounds."""

import math

import pytest

from .compare import Bound, check

NAN, INF = math.nan, math.inf


def gradients(torch, function, *values):
    leaves = [torch.tensor(value, dtype=torch.float64, requires_grad=True) for value in values]
    return [g + 0 for g in torch.autograd.grad(function(torch, *leaves).sum(), leaves)]  # zeros without a sign


POINTS = {
    "abs at 0": (lambda t, x: t.abs(x), [0.0, -0.0, 1.0]),
    "sign": (lambda t, x: t.sign(x), [0.0, -2.0]),
    "sgn": (lambda t, x: t.sgn(x), [0.0, -2.0]),
    "relu at 0": (lambda t, x: t.relu(x), [0.0, -0.0, 1.0]),
    "relu6 at its bounds": (lambda t, x: t.nn.functional.relu6(x), [0.0, 6.0, 3.0]),
    "leaky_relu at 0": (lambda t, x: t.nn.functional.leaky_relu(x, 0.1), [0.0, -0.0]),
    "elu at 0": (lambda t, x: t.nn.functional.elu(x), [0.0, -0.0]),
    "hardtanh at its bounds": (lambda t, x: t.nn.functional.hardtanh(x), [-1.0, 1.0, 0.0]),
    "hardsigmoid at its bounds": (lambda t, x: t.nn.functional.hardsigmoid(x), [-3.0, 3.0]),
    "hardswish at its bounds": (lambda t, x: t.nn.functional.hardswish(x), [-3.0, 3.0]),
    "hardshrink at its bounds": (lambda t, x: t.nn.functional.hardshrink(x), [-0.5, 0.5]),
    "softshrink at its bounds": (lambda t, x: t.nn.functional.softshrink(x), [-0.5, 0.5]),
    "threshold": (lambda t, x: t.nn.functional.threshold(x, 0.5, 2.0), [0.5, 0.6]),
    "clamp at its bounds": (lambda t, x: t.clamp(x, -1.0, 1.0), [-1.0, 1.0, 0.0, 2.0, NAN]),
    "clamp with bounds that cross": (lambda t, x: t.clamp(x, 1.0, -1.0), [0.0, 2.0]),
    "sqrt at 0": (lambda t, x: t.sqrt(x), [0.0]),
    "rsqrt at 0": (lambda t, x: t.rsqrt(x), [0.0]),
    "log at 0": (lambda t, x: t.log(x), [0.0]),
    "pow(0, 0)": (lambda t, x: t.pow(x, 0.0), [0.0, 1.0]),
    "pow(0, 1)": (lambda t, x: t.pow(x, 1.0), [0.0]),
    "pow(0, 0.5)": (lambda t, x: t.pow(x, 0.5), [0.0]),
    "pow(0, 2)": (lambda t, x: t.pow(x, 2.0), [0.0]),
    "norm at 0": (lambda t, x: t.norm(x), [0.0, 0.0]),
    "norm 1 at 0": (lambda t, x: t.norm(x, 1), [0.0, -1.0]),
    "norm 3 at 0": (lambda t, x: t.norm(x, 3), [0.0, 0.0]),
    "norm inf with ties": (lambda t, x: t.norm(x, INF), [1.0, -1.0, 0.5]),
    "max with ties": (lambda t, x: t.max(x), [2.0, 1.0, 2.0]),
    "min with ties": (lambda t, x: t.min(x), [1.0, 1.0, 2.0]),
    "amax with ties": (lambda t, x: t.amax(x, 0), [2.0, 1.0, 2.0]),
    "max along a dimension with ties": (lambda t, x: t.max(x, 0).values, [2.0, 1.0, 2.0]),
    "median of an even number": (lambda t, x: t.median(x), [2.0, 1.0, 3.0, 4.0]),
    "cummax with ties": (lambda t, x: t.cummax(x, 0).values, [1.0, 2.0, 2.0, 1.0]),
    "prod with one zero": (lambda t, x: t.prod(x), [0.0, 2.0, 3.0]),
    "prod with two zeros": (lambda t, x: t.prod(x), [0.0, 2.0, 0.0]),
    "cumprod with a zero": (lambda t, x: t.cumprod(x, 0), [2.0, 0.0, 3.0]),
    "std of equal values": (lambda t, x: t.std(x), [1.0, 1.0, 1.0]),
    "logsumexp of -inf": (lambda t, x: t.logsumexp(x, 0), [-INF, 0.0]),
    "round": (lambda t, x: t.round(x), [0.5, 1.5]),
    "frac": (lambda t, x: t.frac(x), [1.0, -0.5]),
    "nan_to_num": (lambda t, x: t.nan_to_num(x), [NAN, INF, 1.0]),
    "where hides nan in its value": (lambda t, x: t.where(x > 0, t.log(x), 0.0), [-1.0, 0.0, 2.0]),
    "masked sqrt": (lambda t, x: t.where(x > 0, x, 1.0).sqrt(), [-1.0, 0.0, 2.0]),
    "sinc at 0": (lambda t, x: t.sinc(x), [0.0, 1.0]),
    "xlogy at 0": (lambda t, x: t.xlogy(x, x), [0.0, 1.0]),
    "l1_loss at 0": (lambda t, x: t.nn.functional.l1_loss(x, t.zeros(2, dtype=t.float64)), [0.0, 1.0]),
    "smooth_l1_loss at beta": (lambda t, x: t.nn.functional.smooth_l1_loss(x, t.zeros(2, dtype=t.float64)), [1.0, 0.0]),
    "normalize at 0": (lambda t, x: t.nn.functional.normalize(x, dim=0), [0.0, 0.0]),
    "asin at 1": (lambda t, x: t.asin(x), [1.0, -1.0]),
    "acosh at 1": (lambda t, x: t.acosh(x), [1.0]),
}

PAIRS = {
    "maximum with ties": (lambda t, x, y: t.maximum(x, y), [1.0, 2.0], [1.0, 3.0]),
    "minimum with ties": (lambda t, x, y: t.minimum(x, y), [1.0, 2.0], [1.0, 3.0]),
    "fmax with nan": (lambda t, x, y: t.fmax(x, y), [NAN, 2.0, 1.0], [1.0, NAN, 1.0]),
    "atan2 at the origin": (lambda t, x, y: t.atan2(x, y), [0.0], [0.0]),
    "hypot at the origin": (lambda t, x, y: t.hypot(x, y), [0.0], [0.0]),
    "pow of tensors at 0": (lambda t, x, y: t.pow(x, y), [0.0, 0.0, 0.0, 2.0], [0.0, 1.0, 2.0, 0.0]),
    "copysign at 0": (lambda t, x, y: t.copysign(x, y), [0.0, 1.0], [-1.0, 0.0]),
    "dist of equal points": (lambda t, x, y: t.dist(x, y), [1.0, 2.0], [1.0, 2.0]),
    "cdist of equal points": (lambda t, x, y: t.cdist(x[None], y[None]), [1.0, 2.0], [1.0, 2.0]),
    "remainder": (lambda t, x, y: t.remainder(x, y), [4.0, -4.0], [2.0, 3.0]),
    "div by 0": (lambda t, x, y: t.div(x, y), [1.0, 0.0], [0.0, 0.0]),
}


@pytest.mark.parametrize("name", [*POINTS, *PAIRS])
def test_choice_is_torchs(name):
    function, *values = (POINTS | PAIRS)[name]
    check(lambda library: gradients(library, function, *values), Bound(1e-12))
