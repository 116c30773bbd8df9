# %% [markdown]
# # Train a network
#
# A network is a function with many parameters; training changes them along the gradient of a loss. This page has the
# whole of it: data, a module, a loss, an optimizer, a loop, and a look at what was learned.
#
# ## Data
#
# Two spirals, each of 200 points. To say which of them a point belongs to takes a curved border.

# %%
import math
import tempfile

import matplotlib.pyplot as plt

import adjoint as torch
from adjoint import nn
from adjoint.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
t = torch.linspace(0.2, 1, 200)
arm = torch.stack([t * torch.cos(2.5 * math.pi * t), t * torch.sin(2.5 * math.pi * t)], dim=1)
points = torch.cat([arm, -arm]) + 0.03 * torch.randn(400, 2)
labels = torch.cat([torch.zeros(200), torch.ones(200)]).long()

# %% [markdown]
# Every fourth point is put aside. The network never sees these, and they tell whether it has learned the spirals or
# only remembers points.

# %%
aside = torch.arange(400) % 4 == 0
training = TensorDataset(points[~aside], labels[~aside])
loader = DataLoader(training, batch_size=50, shuffle=True)
len(training), len(loader)

# %% [markdown]
# ## A module
#
# `nn.Module` finds the parameters of the layers that are set as attributes.


# %%
class Classifier(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.first = nn.Linear(2, width)
        self.second = nn.Linear(width, width)
        self.last = nn.Linear(width, 2)

    def forward(self, x):
        x = torch.tanh(self.first(x))
        x = torch.tanh(self.second(x))
        return self.last(x)  # a score for each class; the loss makes probabilities of them


model = Classifier()
print(model)
print(sum(p.numel() for p in model.parameters()), "parameters")

# %% [markdown]
# ## The loop
#
# Four lines do the work: compute the loss, clear old gradients, compute new ones, take a step.

# %%
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=100)
losses = []
for epoch in range(100):
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    schedule.step()
    if epoch % 25 == 24:
        print(f"epoch {epoch + 1:3}: loss {loss.item():.4f}")

# %% [markdown]
# ## What was learned
#
# `eval()` switches layers such as dropout to their use after training (there are none here, but the habit is good), and
# under `no_grad()` nothing is recorded.

# %%
model.eval()
with torch.no_grad():
    right = model(points[aside]).argmax(dim=1) == labels[aside]
    grid = torch.linspace(-1.2, 1.2, 120)
    across, up = torch.meshgrid(grid, grid, indexing="xy")
    chance = model(torch.stack([across, up], dim=-1)).softmax(dim=-1)[..., 1]
print(f"right for {right.float().mean().item():.1%} of the points that were put aside")

figure, (left, middle) = plt.subplots(1, 2, figsize=(8, 3.4))
left.semilogy(losses, linewidth=0.8)
left.set(xlabel="step", title="loss")
middle.contourf(across, up, chance, levels=20, cmap="RdBu", alpha=0.8)
for kind, color in ((0, "darkred"), (1, "darkblue")):
    middle.plot(*points[labels == kind].T, ".", color=color, markersize=2.5)
middle.set(title="probability of the second spiral", aspect="equal")
plt.show()

# %%
assert right.float().mean() > 0.95

# %% [markdown]
# ## Keep it
#
# `state_dict()` has all parameters by name. The file is one that PyTorch reads, and
# [loading runs nothing](../saving.md) that stands in it.

# %%
path = f"{tempfile.mkdtemp()}/spirals.pt"
torch.save(model.state_dict(), path)
again = Classifier()
again.load_state_dict(torch.load(path))
bool((again(points) == model(points)).all())

# %% [markdown]
# Next: a network whose loss is [an equation instead of data](physics_informed.md). Larger programs are in
# [examples](../examples.md).
