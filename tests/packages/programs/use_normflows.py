"""Normalizing flows of normflows: real-valued non-volume preserving coupling with ActNorm."""

import normflows
import torch
from report import report, train

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
x = torch.randn(16, 2)
layers = []
for _ in range(2):
    layers.append(normflows.flows.AffineCouplingBlock(normflows.nets.MLP([1, 8, 2], init_zeros=False)))
    layers += [normflows.flows.Permute(2, mode="swap"), normflows.flows.ActNorm(2)]
model = normflows.NormalizingFlow(normflows.distributions.DiagGaussian(2, trainable=False), layers)
train(model, lambda: model.forward_kld(x))
with torch.no_grad():
    report(samples=model.sample(4)[0])
