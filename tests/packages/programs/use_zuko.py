"""Normalizing flows: neural splines, masked autoregression and a continuous flow, fitted to points."""

import torch
import zuko
from report import report, train

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
x, context = torch.randn(16, 3), torch.randn(16, 2)
flow = zuko.flows.NSF(3, 2, transforms=2, hidden_features=(16, 16))
train(flow, lambda: -flow(context).log_prob(x).mean())
with torch.no_grad():
    report(samples=flow(context).sample())
for kind in (zuko.flows.MAF, zuko.flows.CNF):
    other = kind(3, 2, hidden_features=(16, 16))
    loss = -other(context).log_prob(x).mean()
    loss.backward()
    report(**{f"{kind.__name__} loss": loss, f"{kind.__name__} gradient": next(other.parameters()).grad})
