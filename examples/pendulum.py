"""Finds a pendulum's length and friction from its observed motion, by gradient descent through the simulation.

Every step of the simulation is a handful of operations on single numbers: the framework's overhead is the run time.
"""

import math

from common import arguments, train

import adjoint as torch
from adjoint import nn, optim

STEPS, DT = 150, 0.02


class Pendulum(nn.Module):
    def __init__(self, length, friction):
        super().__init__()
        self.length = nn.Parameter(torch.tensor(length))
        self.friction = nn.Parameter(torch.tensor(friction))

    def forward(self):
        """The angles of a pendulum that starts at rest at 60 degrees, one for each time step."""
        angle, speed = torch.tensor(math.pi / 3), 0.0
        angles = []
        for _ in range(STEPS):
            speed = speed - DT * (9.81 / self.length * torch.sin(angle) + self.friction * speed)
            angle = angle + DT * speed
            angles.append(angle)
        return torch.stack(angles)


def main():
    options = arguments(__doc__, steps=300)
    with torch.no_grad():
        observed = Pendulum(length=1.3, friction=0.25)()
    pendulum = Pendulum(length=0.8, friction=0.0)
    optimizer = optim.Adam(pendulum.parameters(), lr=0.02, betas=(0.9, 0.99))

    def step():
        loss = nn.functional.mse_loss(pendulum(), observed)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    train(step, options, pendulum=pendulum, optimizer=optimizer)
    print(f"found: length {pendulum.length.item():.4f}, friction {pendulum.friction.item():.4f}")
    print("the observed motion was made with length 1.3, friction 0.25")


if __name__ == "__main__":
    main()
