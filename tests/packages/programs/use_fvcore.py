"""The operations that a network takes counted from its trace, and losses of fvcore."""

import torch
from fvcore.nn import FlopCountAnalysis, giou_loss, parameter_count, sigmoid_focal_loss, smooth_l1_loss
from report import report, train

torch.manual_seed(0)
x, target = torch.randn(4, 3, 8, 8), torch.randint(0, 2, (4, 2)).float()
model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(144, 2))
boxes = torch.tensor([[0.0, 0.0, 2.0, 2.0], [1.0, 1.0, 3.0, 4.0]])


def loss():
    found = model(x)
    focal = sigmoid_focal_loss(found, target, alpha=0.25, reduction="mean")
    return focal + smooth_l1_loss(found, target, beta=0.5, reduction="mean")


train(model, loss)
report(
    boxes=giou_loss(boxes, boxes + 0.5),
    parameters=parameter_count(model)[""],
    operations=FlopCountAnalysis(model, x).total(),
)
