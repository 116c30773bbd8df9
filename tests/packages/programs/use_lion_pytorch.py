"""A small network trained by Lion."""

import torch
from lion_pytorch import Lion
from report import train

torch.manual_seed(0)
x, y = torch.randn(16, 6), torch.randn(16, 2)
model = torch.nn.Sequential(torch.nn.Linear(6, 12), torch.nn.Tanh(), torch.nn.Linear(12, 2))
optimizer = Lion(model.parameters(), lr=1e-2, weight_decay=1e-2)
train(model, lambda: torch.nn.functional.mse_loss(model(x), y), optimizer)
