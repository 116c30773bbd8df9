"""Attention of linear cost, trained for a few steps."""

import torch
from linformer import Linformer
from report import train

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
x, y = torch.randn(2, 12, 8), torch.randn(2, 12, 8)
model = Linformer(dim=8, seq_len=12, depth=2, heads=2, k=4)
train(model, lambda: torch.nn.functional.mse_loss(model(x), y))
