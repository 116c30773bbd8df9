"""Normalizing flows of nflows: masked autoregression with rational splines, and coupling."""

import torch
from nflows.distributions import StandardNormal
from nflows.flows import Flow
from nflows.transforms import (
    CompositeTransform,
    MaskedPiecewiseRationalQuadraticAutoregressiveTransform,
    RandomPermutation,
)
from report import report, train

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
x = torch.randn(16, 3)
spline = MaskedPiecewiseRationalQuadraticAutoregressiveTransform(3, 8, num_bins=4, tails="linear", tail_bound=3.0)
flow = Flow(CompositeTransform([spline, RandomPermutation(3)]), StandardNormal([3]))
train(flow, lambda: -flow.log_prob(x).mean())
with torch.no_grad():
    report(samples=flow.sample(5))
