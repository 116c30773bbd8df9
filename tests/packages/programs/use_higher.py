"""Model-agnostic meta-learning: two inner steps, and the gradient of what they lead to."""

import higher
import torch
from report import report, train

torch.manual_seed(0)
x, y = torch.randn(8, 3), torch.randn(8, 1)
model = torch.nn.Sequential(torch.nn.Linear(3, 10), torch.nn.Tanh(), torch.nn.Linear(10, 1))
inner = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def loss():
    with higher.innerloop_ctx(model, inner) as (copy, steps):
        for _ in range(2):
            steps.step(torch.nn.functional.mse_loss(copy(x[:4]), y[:4]))
        return torch.nn.functional.mse_loss(copy(x[4:]), y[4:])


train(model, loss)
report(before=model(x))
