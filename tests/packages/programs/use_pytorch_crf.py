"""A conditional random field over labels of words: its likelihood, and the best sequences."""

import torch
from report import report, train
from torchcrf import CRF

torch.manual_seed(0)
x, labels = torch.randn(3, 5, 4), torch.randint(0, 4, (3, 5))
mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 1, 1, 1, 0]], dtype=torch.bool)
model = torch.nn.Sequential(torch.nn.Linear(4, 4))
crf = CRF(4, batch_first=True)
model.add_module("crf", crf)
train(model, lambda: -crf(model[0](x), labels, mask=mask))
report(best=[len(path) for path in crf.decode(model[0](x), mask=mask)], last=crf.decode(model[0](x))[0])
