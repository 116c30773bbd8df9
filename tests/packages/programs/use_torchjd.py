"""Two losses at once: their gradients aggregated without conflict, by UPGrad."""

import torch
from report import report, steps
from torchjd.aggregation import UPGrad
from torchjd.autojac import backward, jac_to_grad

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
x, y = torch.randn(16, 6), torch.randn(16, 2)
model = torch.nn.Sequential(torch.nn.Linear(6, 12), torch.nn.Tanh(), torch.nn.Linear(12, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
losses = []
for _ in steps():
    errors = (model(x) - y).square().mean(0)
    optimizer.zero_grad()
    backward(errors)
    jac_to_grad(model.parameters(), UPGrad())
    optimizer.step()
    losses.append(errors)
report(loss=losses, gradient=model[0].weight.grad)
