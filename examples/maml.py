"""Meta-learning (MAML): a network that learns a new sine wave from ten points with a single step of gradient descent.

The loss is what is left after that step, and its gradient goes through the step: a gradient of a gradient, which
`create_graph=True` makes possible. Every task gets its own changed parameters, used by `functional_call`.
"""

import math

from common import arguments, train

import adjoint as torch
from adjoint import nn, optim

POINTS = 10
TASKS = 8  # of a training step
INNER_RATE = 0.02


def make_task():
    """Points of a sine wave of random height and phase: ten to learn from, ten to be judged by."""
    height, phase = 0.5 + 3 * torch.rand(1), math.pi * torch.rand(1)
    x = 10 * torch.rand(2 * POINTS, 1) - 5
    y = height * torch.sin(x - phase)
    return (x[:POINTS], y[:POINTS]), (x[POINTS:], y[POINTS:])


def make_model():
    return nn.Sequential(nn.Linear(1, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 1))


def loss_of(model, parameters, points):
    x, y = points
    return nn.functional.mse_loss(torch.func.functional_call(model, parameters, (x,)), y)


def adapt(model, parameters, points, create_graph=False):
    """The parameters after one step of gradient descent on these points."""
    gradients = torch.autograd.grad(loss_of(model, parameters, points), parameters.values(), create_graph=create_graph)
    return {
        name: value - INNER_RATE * gradient
        for (name, value), gradient in zip(parameters.items(), gradients, strict=True)
    }


def judge(model, tasks, steps):
    """The mean loss over the tasks after each of so many steps of learning them, from before the first one on."""
    totals = [0.0] * (steps + 1)
    for learned_from, judged_by in tasks:
        parameters = dict(model.named_parameters())
        for number in range(steps + 1):
            totals[number] += loss_of(model, parameters, judged_by).item() / len(tasks)
            parameters = adapt(model, parameters, learned_from)
    return totals


def main():
    options = arguments(__doc__, steps=1500)
    torch.manual_seed(options.seed)
    tasks = [make_task() for _ in range(50)]
    model = make_model()
    optimizer = optim.Adam(model.parameters(), lr=3e-3)

    def step():
        parameters = dict(model.named_parameters())
        loss = 0.0
        for _ in range(TASKS):
            learned_from, judged_by = make_task()
            loss = loss + loss_of(model, adapt(model, parameters, learned_from, create_graph=True), judged_by)
        loss = loss / TASKS
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    untrained = judge(model, tasks, 3)
    train(step, options, model=model, optimizer=optimizer)
    print("loss on 50 new tasks after 0, 1, 2, 3 steps of learning them:")
    print("  before meta-learning:", "  ".join(f"{loss:.3f}" for loss in untrained))
    print("  after meta-learning: ", "  ".join(f"{loss:.3f}" for loss in judge(model, tasks, 3)))


if __name__ == "__main__":
    main()
