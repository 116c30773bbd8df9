"""A moving average of parameters, put in their place and back."""

import torch
from report import report, train
from torch_ema import ExponentialMovingAverage

torch.manual_seed(0)
x, y = torch.randn(16, 6), torch.randn(16, 2)
model = torch.nn.Sequential(torch.nn.Linear(6, 12), torch.nn.Tanh(), torch.nn.Linear(12, 2))
average = ExponentialMovingAverage(model.parameters(), decay=0.9)


def loss():
    """The loss of a step, before which the average is taken."""
    average.update()
    return torch.nn.functional.mse_loss(model(x), y)


train(model, loss)
with average.average_parameters():
    report(averaged=model(x))
report(back=model(x), shadows=average.state_dict()["shadow_params"][0])
