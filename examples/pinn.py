"""A physics-informed network solves Burgers' equation, u_t + u u_x = ν u_xx, from the equation alone.

The network is the solution: a function of x and t. Its derivatives, the second one too, come from autograd, and the
loss is by how much it misses the equation at random points, and the known values at the start and at the borders.
A wave runs to the right; this one has an exact solution to compare with.
"""

from common import arguments, train

import adjoint as torch
from adjoint import nn, optim

VISCOSITY = 0.1
LEFT, RIGHT, END = -1.0, 2.0, 2.0  # x from LEFT to RIGHT, t from 0 to END
INSIDE, BORDER = 256, 64  # points of a step
DECAY = 0.998  # of the learning rate, with every step


def exact(x, t):
    """A front from 1 on the left to 0 on the right that moves with speed 1/2."""
    return 0.5 * (1 - torch.tanh((x - 0.5 * t) / (4 * VISCOSITY)))


class Solution(nn.Module):
    def __init__(self):
        super().__init__()
        self.network = nn.Sequential(
            nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1)
        )

    def forward(self, x, t):
        return self.network(torch.stack([x, t], 1))[:, 0]


def derivative(y, x):
    """dy/dx at every point, as a function of x that can be differentiated again."""
    return torch.autograd.grad(y.sum(), x, create_graph=True)[0]


def residual(u, x, t):
    """By how much u misses Burgers' equation at the points (x, t)."""
    x, t = x.requires_grad_(), t.requires_grad_()
    value = u(x, t)
    slope = derivative(value, x)
    return derivative(value, t) + value * slope - VISCOSITY * derivative(slope, x)


def random_points(count):
    return LEFT + (RIGHT - LEFT) * torch.rand(count), END * torch.rand(count)


def border_points(count):
    """Points at the start, t = 0, and at both ends of x."""
    x, t = random_points(3 * count)
    t[:count] = 0.0
    x[count : 2 * count] = LEFT
    x[2 * count :] = RIGHT
    return x, t


def error(u, count=60):
    """The relative error of the solution on a grid, in the mean square."""
    x, t = torch.meshgrid(torch.linspace(LEFT, RIGHT, count), torch.linspace(0, END, count), indexing="ij")
    x, t = x.flatten(), t.flatten()
    with torch.no_grad():
        return ((u(x, t) - exact(x, t)).norm() / exact(x, t).norm()).item()


def main():
    options = arguments(__doc__, steps=1500)
    torch.manual_seed(options.seed)
    u = Solution()
    optimizer = optim.Adam(u.parameters(), lr=5e-3)
    schedule = optim.lr_scheduler.ExponentialLR(optimizer, DECAY)

    def step():
        x, t = border_points(BORDER)
        loss = (residual(u, *random_points(INSIDE)) ** 2).mean() + ((u(x, t) - exact(x, t)) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        return loss.item()

    train(step, options, u=u, optimizer=optimizer, schedule=schedule)
    print(f"relative error beside the exact solution: {error(u):.1e}")


if __name__ == "__main__":
    main()
