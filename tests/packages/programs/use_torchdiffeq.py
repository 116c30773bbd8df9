"""A neural ODE: dopri5 and rk4, with gradients through the solver and by the adjoint method."""

import torch
from report import report, train
from torchdiffeq import odeint, odeint_adjoint


class Field(torch.nn.Module):
    """The right-hand side, a small network."""

    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2))

    def forward(self, t, y):
        return self.net(y**3)


torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
start, times = torch.tensor([[2.0, 0.0], [1.0, -0.5]]), torch.linspace(0.0, 1.0, 8)
target = torch.randn(8, 2, 2)
field = Field()
train(field, lambda: (odeint(field, start, times, method="dopri5", rtol=1e-5, atol=1e-6) - target).square().mean())
field.zero_grad()
odeint_adjoint(field, start, times, method="rk4").square().mean().backward()
report(adjoint=field.net[0].weight.grad)
