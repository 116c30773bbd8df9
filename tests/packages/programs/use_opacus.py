"""Gradient descent with differential privacy: gradients of each sample, clipped, with noise."""

import torch
from opacus import GradSampleModule
from opacus.accountants import RDPAccountant
from opacus.optimizers import DPOptimizer
from report import report, steps

torch.manual_seed(0)
x, labels = torch.randn(8, 1, 8, 8), torch.randint(0, 3, (8,))
net = torch.nn.Sequential(
    torch.nn.Conv2d(1, 4, 3), torch.nn.GroupNorm(2, 4), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(144, 3)
)
model = GradSampleModule(net)
inner = torch.optim.SGD(model.parameters(), lr=0.1)
optimizer = DPOptimizer(inner, noise_multiplier=1.0, max_grad_norm=1.0, expected_batch_size=8)
accountant = RDPAccountant()
losses = []
for _ in steps():
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(x), labels)
    loss.backward()
    samples = net[0].weight.grad_sample.clone()
    optimizer.step()
    accountant.step(noise_multiplier=1.0, sample_rate=0.1)
    losses.append(loss)
report(loss=losses, samples=samples, weight=net[0].weight, epsilon=accountant.get_epsilon(1e-5))
