"""An implicit layer (deep equilibrium model): its output z solves z = tanh(W z + U x + b), however deep that is.

The solution is found by iteration, which autograd need not see: `torch.func.implicit_root` has its gradient by the
implicit function theorem, from the equation alone. The equation is that of one image; vmap makes it one of a batch.
"""

from common import arguments, train
from digits import make_digits
from mlp import accuracy, make_step

import adjoint as torch
from adjoint import nn, optim

SIZE, WIDTH = 16, 64
CONTRACTION = 0.8  # by which an iteration brings any two z closer, at least
ITERATIONS = 60


def following(z, weight, outside):
    """What z would be one layer further."""
    return torch.tanh(weight @ z + outside)


def repeated(weight, outside):
    """Where z comes to rest, starting from 0."""
    z = torch.zeros_like(outside)
    for _ in range(ITERATIONS):
        z = following(z, weight, outside)
    return z


equilibrium = torch.func.implicit_root(lambda z, *given: following(z, *given) - z, repeated)


class Equilibrium(nn.Module):
    """The layer z = tanh(W z + U x + b), by a function that solves this."""

    def __init__(self, inputs, width):
        super().__init__()
        self.inner = nn.Linear(width, width, bias=False)
        self.outer = nn.Linear(inputs, width)

    def forward(self, x, solve=equilibrium):
        # With rows as short as this there is one solution, and iteration finds it.
        lengths = self.inner.weight.abs().sum(1, keepdim=True)
        weight = self.inner.weight * (CONTRACTION / lengths).clamp(max=1)
        return torch.vmap(solve, in_dims=(None, 0))(weight, self.outer(x))


def largest_difference(layer, x):
    """Of the implicit gradients from those through all iterations, relative to the largest."""
    gradients = []
    for solve in (equilibrium, repeated):
        found = torch.autograd.grad((layer(x, solve) ** 2).mean(), layer.parameters())
        gradients.append(torch.cat([gradient.flatten() for gradient in found]))
    return ((gradients[0] - gradients[1]).abs().max() / gradients[1].abs().max()).item()


def main():
    options = arguments(__doc__, steps=300)
    torch.manual_seed(options.seed)
    images, labels = make_digits(3000, SIZE, options.seed)
    layer = Equilibrium(SIZE * SIZE, WIDTH)
    model = nn.Sequential(nn.Flatten(), layer, nn.Linear(WIDTH, 10))
    optimizer = optim.Adam(model.parameters(), lr=2e-3)
    step = make_step(model, optimizer, images[:2000], labels[:2000])
    train(step, options, model=model, optimizer=optimizer)
    print(f"accuracy on 1000 images not trained on: {accuracy(model, images[2000:], labels[2000:]):.1%}")
    difference = largest_difference(layer, images[:20].flatten(1))
    print(f"gradients differ from those through {ITERATIONS} iterations by {difference:.1e} of the largest")


if __name__ == "__main__":
    main()
