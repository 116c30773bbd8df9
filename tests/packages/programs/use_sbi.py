"""Simulation-based inference: a posterior of two parameters estimated by a mixture density network."""

import torch
from report import report, steps
from sbi.inference import NPE
from sbi.utils import BoxUniform

torch.manual_seed(0)
prior = BoxUniform(-2 * torch.ones(2), 2 * torch.ones(2))
theta = prior.sample((64,))
x = theta + 0.1 * torch.randn(64, 2)
for _ in steps(2):  # the first also imports what torch's optimizers need
    inference = NPE(prior, density_estimator="mdn", show_progress_bars=False)
    network = inference.append_simulations(theta, x).train(max_num_epochs=2, training_batch_size=16)
posterior = inference.build_posterior(network)
report(density=posterior.log_prob(theta[:4], x=x[:1]), weight=next(network.parameters()))
