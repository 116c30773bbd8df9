"""Functions of tensors whose annotations are checked when they are called."""

import torch
from beartype import beartype
from beartype.roar import BeartypeCallHintParamViolation
from report import report, train


@beartype
def loss(model: torch.nn.Module, x: torch.Tensor, y: torch.Tensor, power: float = 2.0) -> torch.Tensor:
    """How far the model is from y."""
    return (model(x) - y).abs().pow(power).mean()


torch.manual_seed(0)
x, y = torch.randn(8, 4), torch.randn(8, 2)
model = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.GELU(), torch.nn.Linear(6, 2))
train(model, lambda: loss(model, x, y))
try:
    loss(model, x.numpy(), y)
except BeartypeCallHintParamViolation:
    report(refused=True)
