"""A network of leaky neurons that fire, with surrogate gradients."""

import snntorch
import torch
from report import report, train
from snntorch import functional, surrogate

torch.manual_seed(0)


class Net(torch.nn.Module):
    """Two layers of neurons over a few steps of time."""

    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(4, 8), torch.nn.Linear(8, 3)
        gradient = surrogate.fast_sigmoid(slope=5)
        self.fires = snntorch.Leaky(beta=0.9, spike_grad=gradient, learn_beta=True)
        self.counts = snntorch.Leaky(beta=0.8, spike_grad=gradient)

    def forward(self, x):
        states = self.fires.init_leaky(), self.counts.init_leaky()
        spikes, potentials = [], []
        for _ in range(5):
            spike, one = self.fires(self.first(x), states[0])
            spike, two = self.counts(self.second(spike), states[1])
            states = one, two
            spikes.append(spike)
            potentials.append(two)
        return torch.stack(spikes), torch.stack(potentials)


x, labels = torch.randn(6, 4), torch.randint(0, 3, (6,))
model = Net()
loss = functional.ce_rate_loss()
train(model, lambda: loss(model(x)[1], labels))
report(spikes=model(x)[0], accuracy=functional.accuracy_rate(model(x)[0], labels))
