"""A moving average of a network's parameters, and one with a power for its decay."""

import torch
from ema_pytorch import EMA
from report import report, steps

torch.manual_seed(0)
x, y = torch.randn(16, 6), torch.randn(16, 2)
model = torch.nn.Sequential(torch.nn.Linear(6, 12), torch.nn.BatchNorm1d(12), torch.nn.Tanh(), torch.nn.Linear(12, 2))
mean = EMA(model, beta=0.99, update_after_step=1, update_every=1, power=0.75)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
losses = []
for _ in steps():
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    mean.update()
    losses.append(loss)
report(loss=losses, **mean.ema_model.state_dict())
