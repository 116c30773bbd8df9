"""A neural controlled differential equation along a spline through irregular data."""

import torch
import torchcde
from report import report, train


class Field(torch.nn.Module):
    """A matrix for every state."""

    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 12))

    def forward(self, t, z):
        return self.net(z).reshape(-1, 4, 3)


torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
data = torch.randn(2, 6, 3)
data[0, 2, 1] = float("nan")
data[..., 0] = torch.arange(6.0)
path = torchcde.CubicSpline(torchcde.natural_cubic_coeffs(data))
field, start = Field(), torch.randn(2, 4)


def solve():
    return torchcde.cdeint(
        X=path, func=field, z0=start, t=path.interval, method="rk4", adjoint=False, options={"step_size": 1.0}
    )


train(field, lambda: solve().square().mean())
report(path=path.evaluate(torch.tensor(1.5)), signature=torchcde.linear_interpolation_coeffs(data))
