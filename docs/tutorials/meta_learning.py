# %% [markdown]
# # Meta-learning: a gradient through a gradient
#
# Some networks learn a new task from a few points because they were *trained to learn*: their loss is what is left
# after one step of gradient descent on the task (MAML). Its gradient goes through that step, and so through a gradient.
#
# ## Tasks
#
# Each task is a sine wave of its own height and phase. Ten points are given to learn from, ten to be judged by.

# %%
import math

import matplotlib.pyplot as plt

import adjoint as torch
from adjoint import nn

torch.manual_seed(0)
INNER_RATE = 0.02


def make_tasks(count):
    height = 0.5 + 3 * torch.rand(count, 1, 1)
    phase = math.pi * torch.rand(count, 1, 1)
    x = 10 * torch.rand(count, 20, 1) - 5
    y = height * torch.sin(x - phase)
    return x[:, :10], y[:, :10], x[:, 10:], y[:, 10:]


model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
parameters = dict(model.named_parameters())

# %% [markdown]
# ## One task
#
# `functional_call` runs a module with parameters that are given to it, so that a step of descent makes *new* parameters
# and leaves the module's own alone. `torch.func.grad` of a function of the parameters is again a function, which can be
# differentiated.


# %%
def loss_of(parameters, x, y):
    return nn.functional.mse_loss(torch.func.functional_call(model, parameters, (x,)), y)


def adapted(parameters, x, y):
    """The parameters after one step of gradient descent on a few points."""
    gradients = torch.func.grad(loss_of)(parameters, x, y)
    return {name: value - INNER_RATE * gradients[name] for name, value in parameters.items()}


def loss_after_learning(parameters, x, y, x_new, y_new):
    return loss_of(adapted(parameters, x, y), x_new, y_new)


# %% [markdown]
# ## Many tasks
#
# `vmap` makes of a function of one task a function of many, with each operation run once for all of them.

# %%
loss_of_tasks = torch.vmap(loss_after_learning, in_dims=(None, 0, 0, 0, 0))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
losses = []
for _ in range(1500):
    loss = loss_of_tasks(parameters, *make_tasks(16)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"loss after learning a task: {losses[0]:.2f} at first, {sum(losses[-50:]) / 50:.2f} at the end")

# %% [markdown]
# ## Learning from ten points
#
# Beside it, a network that was trained in the ordinary way on all tasks at once: it can only learn their average, which
# is no start for any of them.

# %%
ordinary = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(ordinary.parameters(), lr=5e-3)
for _ in range(1500):
    x, y, _, _ = make_tasks(16)
    optimizer.zero_grad()
    nn.functional.mse_loss(ordinary(x), y).backward()
    optimizer.step()


# %% [markdown]
# Both learn the same new wave, 2.5 sin(x - 0.8), by steps of plain gradient descent. On the right, the mean loss
# over 200 new tasks.


# %%
def wave(x):
    return 2.5 * torch.sin(x - 0.8)


x, grid = 10 * torch.rand(10, 1) - 5, torch.linspace(-5, 5, 200)[:, None]
tasks = make_tasks(200)
figure, axes = plt.subplots(1, 3, figsize=(9.5, 3.2))
means = {}
for side, title, start in zip(axes, ("trained to learn", "trained on the average"), (model, ordinary), strict=False):
    now = {name: value.detach() for name, value in start.named_parameters()}
    of_tasks = {name: value.expand(200, *value.shape) for name, value in now.items()}
    means[title] = []
    for step in range(6):
        means[title].append(torch.vmap(loss_of)(of_tasks, *tasks[2:]).mean().item())
        if step in (0, 1, 5):
            side.plot(grid, torch.func.functional_call(model, now, (grid,)), label=f"after {step} steps")
        now = adapted(now, x, wave(x))
        of_tasks = torch.vmap(adapted)(of_tasks, *tasks[:2])
    side.plot(grid, wave(grid), "--", color="gray", linewidth=0.8)
    side.plot(x, wave(x), "k.", label="the ten points")
    side.set(title=title, ylim=(-3.2, 3.2))
    axes[2].plot(means[title], "o-", markersize=3, label=title)
axes[0].legend(fontsize=7)
axes[2].legend(fontsize=7)
axes[2].set(title="mean loss", xlabel="steps of learning", ylim=(0, None))
plt.show()

# %%
assert means["trained to learn"][1] < 0.5 * means["trained on the average"][1]

# %% [markdown]
# The same with `create_graph=True` instead of `torch.func` is `examples/maml.py`.
