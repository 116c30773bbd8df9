"""Poses as Lie groups: a trajectory fitted by gradient descent and by Levenberg and Marquardt's method."""

import pypose
import torch
from report import report, train

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
aim = pypose.randn_SE3(4, dtype=torch.float64)
start = pypose.Parameter(pypose.randn_SE3(4, dtype=torch.float64))
train({"start": start}, lambda: (start.Inv() @ aim).Log().tensor().square().mean(), torch.optim.SGD([start], lr=0.1))


class Inverse(torch.nn.Module):
    """The pose that undoes another."""

    def __init__(self):
        super().__init__()
        self.pose = pypose.Parameter(pypose.randn_SE3(2, dtype=torch.float64))

    def forward(self, given):
        return (self.pose @ given).Log().tensor()


model = Inverse()
optimizer = pypose.optim.LM(model)
report(errors=[optimizer.step(aim[:2]) for _ in range(3)], pose=model.pose.tensor())
report(moved=aim.Act(torch.randn(4, 3)), adjoint=aim.Adj(pypose.randn_se3(4, dtype=torch.float64)).tensor())
