"""A generative adversarial network learns eight clusters on a ring: a Wasserstein GAN with gradient penalty.

The critic's scores of real and generated points estimate how far apart the two are, as long as its slope is about 1.
The penalty that keeps it there has the gradient of the critic in it: its own gradient is a second derivative, which
`create_graph=True` makes possible.
"""

import math

from common import arguments, train

import adjoint as torch
from adjoint import nn, optim

CLUSTERS, SPREAD = 8, 0.05
NOISE, WIDTH = 4, 64
BATCH = 128
CRITIC_STEPS = 4  # for each step of the generator
PENALTY = 1.0


def centres():
    angles = 2 * math.pi * torch.arange(CLUSTERS) / CLUSTERS
    return torch.stack([angles.cos(), angles.sin()], 1)


def real_points(count):
    return centres()[torch.randint(CLUSTERS, (count,))] + SPREAD * torch.randn(count, 2)


def network(inputs, outputs):
    return nn.Sequential(
        nn.Linear(inputs, WIDTH),
        nn.LeakyReLU(0.1),
        nn.Linear(WIDTH, WIDTH),
        nn.LeakyReLU(0.1),
        nn.Linear(WIDTH, outputs),
    )


def slope_penalty(critic, real, fake):
    """How far the slope of the critic is from 1 on the way from real points to generated ones."""
    part = torch.rand(len(real), 1)
    between = (part * real + (1 - part) * fake).requires_grad_()
    (slope,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
    return ((slope.norm(dim=1) - 1) ** 2).mean()


def covered(points):
    """How many clusters have their share of the points (at least a third of it), and the part of points near one."""
    distance, nearest = torch.cdist(points, centres()).min(1)
    near = distance < 4 * SPREAD
    counts = torch.bincount(nearest[near], minlength=CLUSTERS)
    return (counts > len(points) / CLUSTERS / 3).sum().item(), near.float().mean().item()


def main():
    options = arguments(__doc__, steps=3000)
    torch.manual_seed(options.seed)
    generator, critic = network(NOISE, 2), network(2, 1)
    generator_optimizer = optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.9))
    critic_optimizer = optim.Adam(critic.parameters(), lr=2e-3, betas=(0.5, 0.9))

    def generate(count):
        return generator(torch.randn(count, NOISE))

    def step():
        for _ in range(CRITIC_STEPS):
            real, fake = real_points(BATCH), generate(BATCH).detach()
            distance = critic(real).mean() - critic(fake).mean()
            loss = -distance + PENALTY * slope_penalty(critic, real, fake)
            critic_optimizer.zero_grad()
            loss.backward()
            critic_optimizer.step()
        generator_optimizer.zero_grad()
        (-critic(generate(BATCH)).mean()).backward()
        generator_optimizer.step()
        return distance.item()  # as the critic sees it

    train(
        step,
        options,
        generator=generator,
        critic=critic,
        generator_optimizer=generator_optimizer,
        critic_optimizer=critic_optimizer,
    )
    with torch.no_grad():
        found, near = covered(generate(2000))
    print(f"{found} of {CLUSTERS} clusters found; {near:.0%} of the generated points lie in one")


if __name__ == "__main__":
    main()
