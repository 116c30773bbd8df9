"""A batch of initial value problems by Dopri5, Tsit5 and Heun, with gradients through the solvers."""

import torch
import torchode
from report import report, train

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
model = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2))
start, times = torch.randn(3, 2), torch.linspace(0.0, 1.0, 5).repeat(3, 1)


def solver(kind):
    term = torchode.ODETerm(lambda t, y: model(y))
    controller = torchode.IntegralController(atol=1e-5, rtol=1e-4, term=term)
    return torchode.AutoDiffAdjoint(kind(term=term), controller)


problem = torchode.InitialValueProblem(y0=start, t_eval=times)
train(model, lambda: solver(torchode.Dopri5).solve(problem).ys.square().mean())
for kind in (torchode.Tsit5, torchode.Heun):
    model.zero_grad()
    solution = solver(kind).solve(problem)
    solution.ys.square().mean().backward()
    name = kind.__name__
    report(**{f"{name} ends": solution.ys, f"{name} steps": solution.stats["n_steps"]})
    report(**{f"{name} gradient": model[0].weight.grad})
