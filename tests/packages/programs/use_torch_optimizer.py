"""A small network trained by optimizers of torch-optimizer, one after the other."""

import torch
import torch_optimizer
from report import report, steps

KINDS = (
    *("AdaBound", "AdaMod", "AdamP", "AggMo", "DiffGrad", "Lamb", "NovoGrad", "PID"),
    *("QHAdam", "RAdam", "SGDP", "SWATS", "Yogi", "Apollo", "MADGRAD"),
)
for kind in KINDS:
    torch.manual_seed(0)
    x, y = torch.randn(16, 6), torch.randn(16, 2)
    model = torch.nn.Sequential(torch.nn.Linear(6, 12), torch.nn.Tanh(), torch.nn.Linear(12, 2))
    optimizer = getattr(torch_optimizer, kind)(model.parameters(), lr=1e-2)
    losses = []
    for _ in steps():
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach().clone())
    report(**{f"loss of {kind}": losses, f"weight of {kind}": model[0].weight})
