"""A small network trained by AdamW and SGD without a schedule."""

import torch
from report import report, steps, train
from schedulefree import AdamWScheduleFree, SGDScheduleFree

torch.manual_seed(0)
x, y = torch.randn(16, 6), torch.randn(16, 2)
model = torch.nn.Sequential(torch.nn.Linear(6, 12), torch.nn.Tanh(), torch.nn.Linear(12, 2))
optimizer = SGDScheduleFree(model.parameters(), lr=0.1, warmup_steps=2)
optimizer.train()
train(model, lambda: torch.nn.functional.mse_loss(model(x), y), optimizer)
optimizer = AdamWScheduleFree(model.parameters(), lr=1e-2, warmup_steps=2)
optimizer.train()
losses = []
for _ in steps():
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    losses.append(loss)
optimizer.eval()
report(adam=losses, averaged=model[0].weight)
