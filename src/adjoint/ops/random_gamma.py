"""Gamma and Dirichlet numbers with gradients: a number keeps its place in the distribution when the parameters move."""

from .language import _dirichlet_grad, _standard_gamma_grad, op

# fmt: off

INTERNAL = {"method": False}


def _refused(name):
    return f"the derivative for '{name}' is not implemented."


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
op("_sample_dirichlet(input, generator=None)", native="sample_dirichlet", **INTERNAL,
   input=_dirichlet_rule,
   jvp=_dirichlet_tangent,
   doc="Points of the simplex: the shares of gamma numbers in their sum.")
