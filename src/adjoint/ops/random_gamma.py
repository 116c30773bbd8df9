"""Gamma and Dirichlet numbers with gradients: a number keeps its place in the distribution when the parameters move."""

from .language import _dirichlet_grad, _standard_gamma, _standard_gamma_grad, float32, float64, op

# fmt: off

INTERNAL = {"method": False}


def _refused(name):
    return f"the derivative for '{name}' is not implemented."


# The least normal number of each type, and the greatest below 1.
OPEN_INTERVAL = {float32: (2.0**-126, 1 - 2.0**-24), float64: (2.0**-1022, 1 - 2.0**-53)}


def _draw_dirichlet(input, generator):
    draws = _standard_gamma(input.to(float64), generator)
    return (draws / draws.sum(-1, keepdim=True)).to(input.dtype).clamp(*OPEN_INTERVAL[input.dtype])


def _dirichlet_rule(g, input, out):
    total = input.sum(-1, keepdim=True).expand_as(input)
    return _dirichlet_grad(out, input, total) * (g - (out * g).sum(-1, keepdim=True))


def _dirichlet_tangent(input, input_t, out):
    total = input.sum(-1, keepdim=True).expand_as(input)
    moved = _dirichlet_grad(out, input, total) * input_t
    return moved - out * moved.sum(-1, keepdim=True)


op("_standard_gamma(input, generator=None)", native="standard_gamma", **INTERNAL,
   input=lambda g, input, out: g * _standard_gamma_grad(input, out),
   jvp=lambda input, input_t, out: input_t * _standard_gamma_grad(input, out),
   doc="Gamma numbers of these shapes, with rate 1.")
op("_standard_gamma_grad(input, output)", native="standard_gamma_grad", batch="...", **INTERNAL,
   input=_refused("_standard_gamma_grad"),
   output=_refused("_standard_gamma_grad"),
   doc="The derivative of gamma numbers by their shapes.")
op("_dirichlet_grad(x, alpha, total)", native="dirichlet_grad", batch="...", **INTERNAL,
   x=_refused("_dirichlet_grad"),
   alpha=_refused("_dirichlet_grad"),
   total=_refused("_dirichlet_grad"),
   doc="The derivative of beta numbers x by the first parameter, divided by 1 - x; total is the sum of both.")
op("_sample_dirichlet(input, generator=None)", forward=_draw_dirichlet, **INTERNAL,
   input=_dirichlet_rule,
   jvp=_dirichlet_tangent,
   doc="Points of the simplex: the shares of gamma numbers in their sum.")
