"""Metric learning: triplets mined in a batch, contrastive, proxy and angular losses."""

import torch
from pytorch_metric_learning import distances, losses, miners
from report import report, train

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)  # exponentials of 80 times a similarity make much of the last bits
x, labels = torch.randn(12, 6), torch.arange(12) % 3
model = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
triplet = losses.TripletMarginLoss(distance=distances.CosineSimilarity())
mine, contrast = miners.MultiSimilarityMiner(), losses.NTXentLoss(temperature=0.2)


def loss():
    found = model(x)
    return triplet(found, labels, mine(found, labels)) + contrast(found, labels) + losses.CircleLoss()(found, labels)


train(model, loss)
arc = losses.ArcFaceLoss(3, 4)
value = arc(model(x), labels)
value.backward()
report(arc=value, proxies=arc.W.grad)
