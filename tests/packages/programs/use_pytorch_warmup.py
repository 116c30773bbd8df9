"""A learning rate that is warmed up and then follows a cosine."""

import pytorch_warmup as warmup
import torch
from report import report, steps

torch.manual_seed(0)
x, y = torch.randn(16, 6), torch.randn(16, 2)
model = torch.nn.Sequential(torch.nn.Linear(6, 12), torch.nn.Tanh(), torch.nn.Linear(12, 2))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=20)
warm = warmup.UntunedLinearWarmup(optimizer)
losses, rates = [], []
for _ in steps(6):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    with warm.dampening():
        schedule.step()
    losses.append(loss.detach().clone())
    rates.append(optimizer.param_groups[0]["lr"])
report(loss=losses, rate=rates, **dict(model.named_parameters()))
