"""Bayesian optimization: a Gaussian process fitted, and the next point by expected improvement."""

import torch
from botorch.acquisition import LogExpectedImprovement, qExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from botorch.sampling import SobolQMCNormalSampler
from gpytorch.mlls import ExactMarginalLogLikelihood
from report import report, steps

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
x = torch.rand(8, 2)
y = -((x - 0.4) ** 2).sum(-1, keepdim=True)
model = SingleTaskGP(x, y)
for _ in steps(1):
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
improvement = LogExpectedImprovement(model, best_f=y.max())
bounds = torch.tensor([[0.0, 0.0], [1.0, 1.0]])
point, value = optimize_acqf(improvement, bounds, q=1, num_restarts=2, raw_samples=16)
sampled = qExpectedImprovement(model, best_f=y.max(), sampler=SobolQMCNormalSampler(torch.Size([64]), seed=1))
# Two points apart: the covariance of a point with itself is singular, and rounding decides how it is factored.
pair = torch.tensor([[[0.3, 0.3], [0.6, 0.5]]])
report(mean=model.posterior(x).mean, point=point, value=value, sampled=sampled(pair))
