# %% [markdown]
# # A neural ordinary differential equation
#
# We see how something moves and want the law behind it: the function f in dy/dt = f(y). A network takes the place of f,
# a solver follows it in time, and the loss compares the motion with what was seen. The gradient goes through every
# step of the solver: thousands of operations on small tensors.
#
# ## The motion
#
# A pendulum with friction, seen from three starts, with errors of measurement.

# %%
import matplotlib.pyplot as plt

import adjoint as torch
from adjoint import nn

torch.manual_seed(1)
DT, STEPS = 0.1, 60


def pendulum(y):
    angle, speed = y.unbind(-1)
    return torch.stack([speed, -2 * torch.sin(angle) - 0.2 * speed], dim=-1)


def follow(law, start, steps):
    """The states at all times, by the classical Runge-Kutta method."""
    states = [start]
    for _ in range(steps):
        y = states[-1]
        k1 = law(y)
        k2 = law(y + DT / 2 * k1)
        k3 = law(y + DT / 2 * k2)
        k4 = law(y + DT * k3)
        states.append(y + DT / 6 * (k1 + 2 * k2 + 2 * k3 + k4))
    return torch.stack(states)


starts = torch.tensor([[1.0, 0.0], [-2.0, 0.0], [0.0, 2.2]])
with torch.no_grad():
    motion = follow(pendulum, starts, STEPS)
    seen = motion + 0.03 * torch.randn_like(motion)
seen.shape

# %% [markdown]
# ## The law as a network
#
# That speed is the derivative of the angle is known; the network need only learn the acceleration. What one knows is
# best built in.


# %%
class Law(nn.Module):
    def __init__(self):
        super().__init__()
        self.acceleration = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 1))

    def forward(self, y):
        return torch.cat([y[..., 1:], self.acceleration(y)], dim=-1)


law = Law()
loss = (follow(law, starts, STEPS) - seen).square().mean()
torch.inspect.graph(loss).summary()

# %% [markdown]
# ## Training on pieces
#
# Over a long time small errors of the law grow, and the gradient with them. So it learns from pieces of ten steps that
# begin anywhere in what was seen.

# %%
optimizer = torch.optim.Adam(law.parameters(), lr=2e-2)
schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.994)
pieces = seen.unfold(0, 11, 1).permute(3, 0, 1, 2).reshape(11, -1, 2)  # (times, pieces, 2)
losses = []
for _ in range(500):
    some = pieces[:, torch.randint(pieces.shape[1], (32,))]
    loss = (follow(law, some[0], 10) - some).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
    losses.append(loss.item())
print(f"loss {losses[0]:.3f} at first, {sum(losses[-20:]) / 20:.5f} at the end")

# %% [markdown]
# ## Trajectories, drawn
#
# From the three starts, and from a fourth that the network has never seen, twice as long as anything it learned from.

# %%
with torch.no_grad():
    new = torch.cat([starts, torch.tensor([[1.8, -1.0]])])
    true, found = follow(pendulum, new, 2 * STEPS), follow(law, new, 2 * STEPS)
    figure, (plane, time) = plt.subplots(1, 2, figsize=(8.5, 3.6))
    plane.plot(seen[..., 0], seen[..., 1], ".", color="gray", markersize=2)
    times = DT * torch.arange(2 * STEPS + 1)
    for number in range(4):
        (line,) = plane.plot(found[:, number, 0], found[:, number, 1], linewidth=1)
        if number in (1, 3):
            time.plot(times, found[:, number, 0], color=line.get_color())
            time.plot(times, true[:, number, 0], "--", color="black", linewidth=0.7)
    plane.set(xlabel="angle", ylabel="speed", title="learned; dots: what was seen")
    time.set(xlabel="time", ylabel="angle", title="learned, and the true motion (dashed)")
    plt.show()
missed = (true - found).norm(dim=-1).mean().item()
print(f"on average {missed:.3f} off the true motion")

# %%
assert missed < 0.25

# %% [markdown]
# Backpropagation keeps every step of the solver. Where that is too much memory, the adjoint method integrates the
# gradient backwards in time instead: `examples/neural_ode.py` has it as a custom Function. With an adaptive solver of
# SciPy: [how to](../scipy.md#ode-solvers).
