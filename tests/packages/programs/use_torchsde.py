"""A stochastic differential equation with a small network as its drift, in Itô's and Stratonovich's sense."""

import torch
import torchsde
from report import report, train


class Motion(torch.nn.Module):
    """Drift and diagonal noise."""

    noise_type = "diagonal"

    def __init__(self, sde_type):
        super().__init__()
        self.sde_type = sde_type
        self.drift = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
        self.scale = torch.nn.Parameter(torch.full((3,), 0.2))

    def f(self, t, y):
        return self.drift(y)

    def g(self, t, y):
        return self.scale * torch.sigmoid(y)


def path(motion, method, **options):
    noise = torchsde.BrownianInterval(t0=0.0, t1=1.0, size=(4, 3), entropy=7, dtype=torch.float64)
    return torchsde.sdeint(motion, start, times, bm=noise, method=method, dt=0.1, **options)


torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
start, times = torch.randn(4, 3), torch.linspace(0.0, 1.0, 4)
motion = Motion("ito")
train(motion, lambda: path(motion, "milstein").square().mean())
other = Motion("stratonovich")
report(midpoint=path(other, "midpoint"), adaptive=path(other, "midpoint", adaptive=True, rtol=1e-2, atol=1e-2))
noise = torchsde.BrownianInterval(t0=0.0, t1=1.0, size=(4, 3), entropy=7, dtype=torch.float64)
torchsde.sdeint_adjoint(other, start, times, bm=noise, method="midpoint", dt=0.1).square().mean().backward()
report(adjoint=other.drift[0].weight.grad)
