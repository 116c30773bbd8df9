"""Stochastic variational inference of a small model of Pyro, and a chain of the No-U-Turn Sampler."""

import pyro
import pyro.distributions as dist
import torch
from pyro.infer import MCMC, NUTS, SVI, Trace_ELBO
from pyro.infer.autoguide import AutoNormal
from report import report, steps

torch.set_default_dtype(torch.float64)
pyro.set_rng_seed(0)
x = torch.randn(20, 3)
y = x @ torch.tensor([1.0, -2.0, 0.5]) + 0.1 * torch.randn(20)


def model(x, y):
    weight = pyro.sample("weight", dist.Normal(torch.zeros(3), 1.0).to_event(1))
    scale = pyro.sample("scale", dist.LogNormal(0.0, 1.0))
    with pyro.plate("data", len(x)):
        pyro.sample("y", dist.Normal(x @ weight, scale), obs=y)


guide = AutoNormal(model)
inference = SVI(model, guide, pyro.optim.Adam({"lr": 0.01}), Trace_ELBO())
report(loss=[inference.step(x, y) for _ in steps()])
report(**dict(pyro.get_param_store().items()))
pyro.clear_param_store()
chain = MCMC(NUTS(model), num_samples=5, warmup_steps=5, disable_progbar=True)
chain.run(x, y)
report(samples=chain.get_samples()["weight"])
