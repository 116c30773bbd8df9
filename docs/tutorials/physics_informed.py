# %% [markdown]
# # A physics-informed network
#
# A network can solve a differential equation: it stands for the unknown function, and the loss is by how much it misses
# the equation at random points. The derivatives in the equation are those of the network itself, exact, and the
# gradient of the loss goes through them. So there are derivatives of derivatives in every step, of a small network:
# this is where a library that costs little per operation helps.
#
# The equation here is Burgers', for the speed u(t, x) of a fluid that runs into itself:
#
# > u_t + u u_x = ν u_xx, with u = -sin(πx) at the start, u = 0 at the walls x = -1 and x = 1.
#
# Fast fluid catches up with slow fluid, and in the middle a steep front arises, whose width the friction ν sets.

# %%
import math

import matplotlib.pyplot as plt

import adjoint as torch
from adjoint import nn

torch.manual_seed(0)
FRICTION = 0.05
network = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))


def u(t, x):
    """The start and the walls are built in: whatever the network says, both hold."""
    change = network(torch.stack([t, x], dim=-1))[..., 0]
    return -torch.sin(math.pi * x) + t * (1 - x * x) * change


# %% [markdown]
# ## By how much the equation is missed
#
# `u` is written for one point or many. `torch.func.jet` gives a function's value and derivatives along one variable in
# a single pass: up to the first along t, up to the second along x.


# %%
def residual(t, x):
    _, by_t = torch.func.jet(lambda t: u(t, x), t, 1)
    value, by_x, by_xx = torch.func.jet(lambda x: u(t, x), x, 2)
    return by_t + value * by_x - FRICTION * by_xx


residual(torch.tensor(0.3), torch.tensor(0.5))

# %% [markdown]
# ## Training
#
# New points in every step, so that nothing can be learned by heart. A third of them is drawn near the middle, where the
# front will be.

# %%
optimizer = torch.optim.Adam(network.parameters(), lr=8e-3)
schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9985)
losses = []
for _ in range(2000):
    t = torch.rand(192)
    x = 2 * torch.rand(192) - 1
    x[:64] *= 0.2
    loss = residual(t, x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
    losses.append(loss.item())
print(f"mean square of the residual: {losses[0]:.3f} at first, {losses[-1]:.1e} at the end")

# %% [markdown]
# ## A solution to compare with
#
# Differences on a fine grid with small steps in time, which need no network. These are ordinary tensors under
# `no_grad()`.

# %%
with torch.no_grad():
    grid = torch.linspace(-1, 1, 401, dtype=torch.float64)
    h, dt = 2 / 400, 1e-4
    speed = -torch.sin(math.pi * grid)
    solution = {0.0: speed.clone()}
    for step in range(1, 10_001):
        left, here, right = speed[:-2], speed[1:-1], speed[2:]
        slope = (right**2 - left**2) / (4 * h)
        speed[1:-1] = here + dt * (FRICTION * (right - 2 * here + left) / h**2 - slope)
        if step % 2500 == 0:
            solution[step / 10_000] = speed.clone()

# %% [markdown]
# ## The solution, drawn

# %%
with torch.no_grad():
    figure, (whole, cuts) = plt.subplots(1, 2, figsize=(8.5, 3.4))
    across, down = torch.meshgrid(torch.linspace(0, 1, 100), torch.linspace(-1, 1, 100), indexing="xy")
    shown = whole.pcolormesh(across, down, u(across, down), cmap="RdBu_r", shading="gouraud", rasterized=True)
    figure.colorbar(shown, ax=whole)
    whole.set(xlabel="t", ylabel="x", title="u, as the network has it")
    worst = 0.0
    for time, exact in solution.items():
        found = u(torch.full((401,), time), grid.float())
        worst = max(worst, (found - exact).abs().max().item())
        (line,) = cuts.plot(grid, found, label=f"t = {time}")
        cuts.plot(grid[::10], exact[::10], ".", color=line.get_color(), markersize=3)
    cuts.set(xlabel="x", title="lines: network; dots: differences")
    cuts.legend(fontsize=7)
    plt.show()
print(f"largest difference: {worst:.3f}, of speeds up to 1")

# %%
assert worst < 0.1

# %% [markdown]
# The same for a drum in two dimensions, with `torch.func.laplacian`, is `examples/pinn.py`.
# [Functions of functions](../transforms.md) says what such derivatives cost.
