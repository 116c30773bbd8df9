"""A small network trained by Prodigy, which finds its own step."""

import torch
from prodigyopt import Prodigy
from report import train

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
x, y = torch.randn(16, 6), torch.randn(16, 2)
model = torch.nn.Sequential(torch.nn.Linear(6, 12), torch.nn.Tanh(), torch.nn.Linear(12, 2))
train(model, lambda: torch.nn.functional.mse_loss(model(x), y), Prodigy(model.parameters(), weight_decay=0.01), count=6)
