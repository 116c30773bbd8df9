"""An implicit layer (deep equilibrium model): its output z solves z = tanh(W z + U x + b), however deep that is.

The solution is found by iteration, which autograd need not see: by the implicit function theorem, the cotangent g
of the input of that equation solves g = grad + J'g, with the Jacobian J at the solution. A hook on the output solves
it in the same way, by iteration.
"""

from common import arguments, train
from digits import make_digits
from mlp import accuracy, make_step

import adjoint as torch
from adjoint import nn, optim

SIZE, WIDTH = 16, 64
TOLERANCE, MOST = 1e-5, 60  # of the iterations


def fixed_point(f, z):
    """Where f(z) = z, starting from z; and after how many iterations."""
    count, change = 0, 1.0
    while count < MOST and change > TOLERANCE:
        z, before = f(z), z
        count, change = count + 1, (z - before).norm() / (1 + z.norm())
    return z, count


class Equilibrium(nn.Module):
    """The layer z = tanh(W z + U x + b)."""

    def __init__(self, inputs, width):
        super().__init__()
        self.inner = nn.Linear(width, width, bias=False)
        self.outer = nn.Linear(inputs, width)
        self.iterations = 0
        # W shrinks distances at first, so that there is one solution and iteration finds it.
        nn.init.orthogonal_(self.inner.weight, gain=0.5)

    def forward(self, x):
        outside = self.outer(x)
        with torch.no_grad():
            z, self.iterations = fixed_point(lambda z: torch.tanh(self.inner(z) + outside), torch.zeros_like(outside))
        # Once more with a graph: from here, autograd knows the parameters and x, but z only as a constant.
        z = torch.tanh(self.inner(z) + outside)
        if z.requires_grad:
            at = z.detach().requires_grad_()
            again = torch.tanh(self.inner(at) + outside.detach())
            z.register_hook(
                lambda grad: fixed_point(
                    lambda g: grad + torch.autograd.grad(again, at, g, retain_graph=True)[0], torch.zeros_like(grad)
                )[0]
            )
        return z

    def unrolled(self, x, count):
        """The same by so many iterations that autograd sees, to compare with."""
        outside = self.outer(x)
        z = torch.zeros_like(outside)
        for _ in range(count):
            z = torch.tanh(self.inner(z) + outside)
        return z


def largest_difference(layer, x):
    """Of the implicit gradients from those through 60 iterations, relative to the largest."""
    gradients = []
    for z in (layer(x), layer.unrolled(x, MOST)):
        found = torch.autograd.grad((z**2).mean(), layer.parameters())
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
    print(f"{layer.iterations} iterations to the equilibrium; ", end="")
    print(f"gradients differ from those through {MOST} iterations by {difference:.1e} of the largest")


if __name__ == "__main__":
    main()
