"""Channels of a convolutional network removed, with all that depends on them, and the rest trained."""

import torch
import torch_pruning
from report import report, train

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
images, labels = torch.randn(2, 3, 8, 8), torch.tensor([0, 2])
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Conv2d(8, 8, 3, padding=1),
    torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(8, 3),
)  # fmt: skip
importance = torch_pruning.importance.MagnitudeImportance(p=2)
pruner = torch_pruning.pruner.MagnitudePruner(model, images, importance, pruning_ratio=0.5, ignored_layers=[model[-1]])
pruner.step()
report(sizes=[model[0].out_channels, model[3].in_channels, model[3].out_channels, model[7].in_features])
train(model, lambda: torch.nn.functional.cross_entropy(model(images), labels))
