"""Attention by sparsemax and entmax, and their losses."""

import torch
from entmax import Entmax15Loss, SparsemaxLoss, entmax15, entmax_bisect, sparsemax
from report import report, train

torch.manual_seed(0)
x, labels = torch.randn(6, 10), torch.randint(0, 5, (6,))
model = torch.nn.Linear(10, 5)


def loss():
    scores = model(x)
    return Entmax15Loss()(scores, labels) + SparsemaxLoss()(scores, labels) + sparsemax(scores).square().sum()


train(model, loss)
alpha = torch.tensor(1.3, requires_grad=True)
entmax_bisect(x, alpha)[:, 0].sum().backward()
report(entmax=entmax15(x, dim=1), alpha=alpha.grad)
