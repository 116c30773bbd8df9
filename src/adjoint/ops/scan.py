"""Scans along one dimension: running sums, products and extremes."""

from .language import cat, conj, cumsum, exp, full_like, linear_recurrence, op, put_back, reverse_cumsum
from .out_words import CUMULATIVE

INF = float("inf")


def delayed(x, dim, first):
    """The elements one place later along `dim`, beginning with `first`."""
    if x.numel() == 0:
        return x
    if x.ndim == 0:
        return full_like(x, first)
    return cat([full_like(x.narrow(dim, 0, 1), first), x.narrow(dim, 0, x.shape[dim] - 1)], dim)


op("cumsum(input, dim, *, dtype=None)", autocast="none, float32", loop="cumsum_out_cpu", widened="unsigned",
   native="cumsum", linear="input", inplace=True, out="exact typed",
   whole=("input",),
   input=lambda g, dim: reverse_cumsum(g, dim),
   doc="The sums of all elements up to each place.",
   batch="dim")  # fmt: skip
op("reverse_cumsum(input, dim)", native="reverse_cumsum", linear="input", public=False,
   node="CumsumBackward0",
   input=lambda g, dim: cumsum(g, dim),
   doc="The sums of all elements from each place on.",
   batch="dim")  # fmt: skip

# y[i] = x[i] + w[i] y[i-1], or in reverse y[i] = x[i] + w[i+1] y[i+1]. Each is the other's transpose, so that the rules
# close: scans whose quotients would divide by zero or overflow are differentiated through it, at any order.
op("linear_recurrence(input, weight, dim, reverse=False)", native="linear_recurrence", public=False,
   linear="input",
   input=lambda g, weight, dim, reverse: linear_recurrence(g, conj(weight), dim, not reverse),
   weight=lambda g, weight, out, dim, reverse: _recurrence_weight(g, weight, out, dim, reverse),
   batch="dim")  # fmt: skip


def _recurrence_weight(g, weight, out, dim, reverse):
    arriving = linear_recurrence(g, conj(weight), dim, not reverse)
    if reverse:
        return delayed(arriving, dim, 0) * conj(out)
    return arriving * conj(delayed(out, dim, 0))


# dL/dx[i] = y[i-1] s[i] with s[i] = sum over k >= i of g[k] x[i+1] ... x[k]: no division, so zeros do no harm.
op("cumprod(input, dim, *, dtype=None)", autocast="none, float32", loop="cumprod_out_cpu", widened="unsigned",
   native="cumprod", inplace=True, out="exact typed", whole=("input",),
   input=lambda g, input, out, dim: conj(delayed(out, dim, 1)) * linear_recurrence(g, conj(input), dim, True),
   doc="The products of all elements up to each place.",
   batch="dim")  # fmt: skip

# dL/dx[i] = exp(x[i] - y[i]) s[i] with s[i] = sum over k >= i of g[k] exp(y[i] - y[k]); of real numbers y never falls,
# so that no exponential exceeds 1.
op("logcumsumexp(input, dim)", loop="logcumsumexp_out_cpu",
   native="logcumsumexp", out="exact", out_words=CUMULATIVE, whole=("input",),
   input=lambda g, input, out, dim:
       conj(exp(input - out)) * linear_recurrence(g, conj(exp(delayed(out, dim, -INF) - out)), dim, True),
   doc="The logarithm of the sums of exponentials up to each place.",
   batch="dim")  # fmt: skip

op("cummax(input, dim)", loop="cummax_cpu",
   native="cummax", outputs=("values", "indices"), out="exact", out_words=CUMULATIVE,
   input=lambda g_values, indices, input_meta, dim: put_back(g_values, indices, input_meta.shape, dim),
   doc="The greatest element up to each place, and where it is.",
   batch="dim")  # fmt: skip
op("cummin(input, dim)", loop="cummin_cpu",
   native="cummin", outputs=("values", "indices"), out="exact", out_words=CUMULATIVE,
   input=lambda g_values, indices, input_meta, dim: put_back(g_values, indices, input_meta.shape, dim),
   doc="The least element up to each place, and where it is.",
   batch="dim")  # fmt: skip
