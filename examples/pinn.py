"""A physics-informed network is the motion of a drum: it solves the wave equation, u_tt = u_xx + u_yy, on a square.

The network is a function of one place and one time, as on paper. `torch.func.laplacian` has the sum of its second
derivatives by place, `torch.func.jet` its derivatives along time, and vmap asks for both at many points at once. The
loss is by how much they miss the equation; that the drum is held at its rim, and how it starts, is built in. This drum
has an exact solution to compare with.
"""

import math

from common import arguments, train

import adjoint as torch
from adjoint import nn, optim

END = 0.7  # of time, half a swing of the slower mode; the square is from 0 to 1
POINTS = 128  # of a step
DECAY = 0.9985  # of the learning rate, with every step
MODES = [(1, 1, 1.0), (2, 1, 0.5)]  # how many waves along x and along y, and how high


def wave(x, y, number_x, number_y):
    return torch.sin(number_x * math.pi * x) * torch.sin(number_y * math.pi * y)


def exact(place, t):
    """Each mode swings at its own pitch, so that their sum never repeats."""
    x, y = place.unbind(-1)
    return sum(h * wave(x, y, m, n) * torch.cos(math.pi * math.hypot(m, n) * t) for m, n, h in MODES)


class Drum(nn.Module):
    """The height at one place (x, y) and one time; or at many."""

    def __init__(self):
        super().__init__()
        self.network = nn.Sequential(
            nn.Linear(3, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 1)
        )

    def forward(self, place, t):
        change = self.network(torch.cat([place, t[..., None]], -1))[..., 0]
        x, y = place.unbind(-1)
        rim = wave(x, y, 1, 1)  # 0 there
        return exact(place, torch.zeros_like(t)) + t * t * rim * change  # at rest when t = 0


def residual(u, place, t):
    """By how much u misses the wave equation at one point."""
    _, _, acceleration = torch.func.jet(lambda t: u(place, t), t, 2)
    return acceleration - torch.func.laplacian(lambda place: u(place, t), place)


def random_points(count):
    return torch.rand(count, 2), END * torch.rand(count)


def error(u, count=2000):
    """The relative error of the solution, in the mean square."""
    place, t = random_points(count)
    with torch.no_grad():
        return ((u(place, t) - exact(place, t)).norm() / exact(place, t).norm()).item()


def main():
    options = arguments(__doc__, steps=2500)
    torch.manual_seed(options.seed)
    u = Drum()
    optimizer = optim.Adam(u.parameters(), lr=5e-3)
    schedule = optim.lr_scheduler.ExponentialLR(optimizer, DECAY)

    def step():
        missed = torch.vmap(lambda place, t: residual(u, place, t))(*random_points(POINTS))
        loss = (missed**2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        return loss.item()

    train(step, options, u=u, optimizer=optimizer, schedule=schedule)
    print(f"relative error beside the exact solution: {error(u):.1e}")


if __name__ == "__main__":
    main()
