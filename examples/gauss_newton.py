"""Gauss-Newton with a sparse Jacobian: a robot's path and a map of landmarks, from what it measured on its way.

A measurement depends on one pose and one landmark, or on two poses that follow each other: 99 of 100 entries of the
Jacobian are zero. Which are not is found once, and then each step (of Levenberg and Marquardt) takes a few products
with the Jacobian, however long the path is, and the solution of sparse linear equations, by SciPy.
"""

import math

from common import arguments, train
from scipy.sparse import diags_array
from scipy.sparse.linalg import spsolve

import adjoint as torch
from adjoint import nn

LAP, LAPS = 120, 2  # poses in a lap
LANDMARKS, SIGHTS = 40, 6  # all of them, and those that are seen at a time
POSES = LAP * LAPS
NOISE = 0.05


def seen_from(poses, points):
    """Points as a robot sees them: poses are (x, y, heading), one for each point."""
    ahead = points - poses[:, :2]
    c, s = poses[:, 2].cos(), poses[:, 2].sin()
    return torch.stack([c * ahead[:, 0] + s * ahead[:, 1], c * ahead[:, 1] - s * ahead[:, 0]], 1)


class World:
    """A path, landmarks, and noisy measurements: how the robot moved from pose to pose, and what it saw."""

    def __init__(self):
        t = torch.arange(POSES).double() * (2 * math.pi / LAP)
        self.poses = torch.stack([5 * t.sin(), 3 * (2 * t).sin(), 0.2 * torch.cumsum(torch.cos(3 * t), 0)], 1)
        self.landmarks = self.poses[: LAP : LAP // LANDMARKS, :2] + torch.randn(LANDMARKS, 2).double()
        self.who = torch.arange(POSES).repeat_interleave(SIGHTS)
        self.which = (self.who % LAP * LANDMARKS // LAP + torch.arange(SIGHTS).repeat(POSES)) % LANDMARKS
        self.moves, self.turns, self.sights = self.measured(self.poses, self.landmarks)
        for noisy in (self.moves, self.turns, self.sights):
            noisy += NOISE * torch.randn(*noisy.shape).double()

    def measured(self, poses, landmarks):
        """(the way to each next pose, the turn to it, the landmarks as they are seen)."""
        moves = seen_from(poses[:-1], poses[1:, :2])
        return moves, poses[1:, 2] - poses[:-1, 2], seen_from(poses[self.who], landmarks[self.which])

    def residual(self, unknowns):
        """How far measurements are from what poses and landmarks would give, in units of the noise."""
        poses, landmarks = unknowns[: 3 * POSES].view(-1, 3), unknowns[3 * POSES :].view(-1, 2)
        moves, turns, sights = self.measured(poses, landmarks)
        start = poses[0] - self.poses[0]  # is known, since measurements are relative to each other
        parts = (moves - self.moves, turns - self.turns, sights - self.sights, start)
        return torch.cat([part.flatten() for part in parts]) / NOISE

    def first_guess(self):
        """Poses that follow the measured moves, whose errors add up; landmarks where they were first seen."""
        poses = [self.poses[0]]
        for move, turn in zip(self.moves, self.turns, strict=True):
            c, s = poses[-1][2].cos(), poses[-1][2].sin()
            step = torch.stack([c * move[0] - s * move[1], s * move[0] + c * move[1], turn])
            poses.append(poses[-1] + step)
        poses = torch.stack(poses)
        landmarks = torch.zeros(LANDMARKS, 2, dtype=torch.float64)
        for i, which in reversed(list(enumerate(self.which.tolist()))):
            x, y, heading = poses[self.who[i]]
            c, s, (ahead, left) = heading.cos(), heading.sin(), self.sights[i]
            landmarks[which] = torch.stack([x + c * ahead - s * left, y + s * ahead + c * left])
        return torch.cat([poses.flatten(), landmarks.flatten()])


class Fit(nn.Module):
    """Levenberg-Marquardt: steps of Gauss-Newton, shortened by a damping that grows when a step does not help."""

    def __init__(self, residual, guess):
        super().__init__()
        self.residual = residual
        self.pattern = torch.func.sparsity(residual, guess)
        self.register_buffer("unknowns", guess)
        self.register_buffer("damping", torch.tensor(1e-3, dtype=torch.float64))

    def jacobian(self):
        return torch.func.sparse_jacobian(self.residual, self.unknowns, self.pattern)

    def loss(self, unknowns):
        """The mean square of the residuals: 1 is what the noise alone makes of it, at the most."""
        return self.residual(unknowns).pow(2).mean().item()

    def step(self):
        jacobian, before = self.jacobian(), self.loss(self.unknowns)
        normal = jacobian.T @ jacobian
        damped = normal + self.damping.item() * diags_array(normal.diagonal())
        change = spsolve(damped.tocsc(), jacobian.T @ self.residual(self.unknowns).numpy())
        unknowns = self.unknowns - torch.tensor(change)
        after = self.loss(unknowns)
        if after < before:
            self.unknowns.copy_(unknowns)
            self.damping /= 10
        else:
            self.damping *= 10
        return min(before, after)


def main():
    options = arguments(__doc__, steps=10)
    torch.manual_seed(options.seed)
    world = World()
    guess = world.first_guess()
    fit = Fit(world.residual, guess.clone())
    jacobian, products = fit.jacobian(), fit.pattern.coloring.passes
    rows, columns = jacobian.shape
    print(f"Jacobian of {rows} residuals by {columns} unknowns: ", end="")
    print(f"{jacobian.nnz / (rows * columns):.1%} of the entries, in {products} products")
    first = fit.loss(guess)
    losses = train(fit.step, options, fit=fit)
    print(f"mean square of the residuals: {first:.3g} at first, {losses[-1]:.3g} now; 1 is the noise")
    error = (fit.unknowns - torch.cat([world.poses.flatten(), world.landmarks.flatten()])).abs().mean().item()
    print(f"mean error of poses and landmarks: {error:.3f}")
    if losses[-1] > 0.5 * first:
        raise SystemExit("the residuals did not fall")


if __name__ == "__main__":
    main()
