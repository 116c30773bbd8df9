"""A small network trained by MADGRAD."""

import torch
from madgrad import MADGRAD
from report import train

torch.manual_seed(0)
x, y = torch.randn(16, 6), torch.randn(16, 2)
model = torch.nn.Sequential(torch.nn.Linear(6, 12), torch.nn.Tanh(), torch.nn.Linear(12, 2))
optimizer = MADGRAD(model.parameters(), lr=1e-2, weight_decay=1e-3)
train(model, lambda: torch.nn.functional.mse_loss(model(x), y), optimizer)
