# %% [markdown]
# # Per-sample gradients
#
# `backward()` gives the gradient of a batch, the mean over its examples. Sometimes the single ones are wanted: to cut
# them before they are added up (training with differential privacy), to find the examples that a model learns most
# from, to measure how much a gradient is noise. There is no need for a loop over the batch.

# %%
import matplotlib.pyplot as plt

import adjoint as torch
from adjoint import nn

torch.manual_seed(0)
x = torch.randn(500, 2)
y = (x[:, 0] * x[:, 1] > 0).float()  # a chessboard of four fields
wrong = torch.arange(500) < 15
y[wrong] = 1 - y[wrong]  # fifteen labels are mistaken

model = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
for _ in range(150):
    loss = nn.functional.binary_cross_entropy_with_logits(model(x)[:, 0], y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
loss.item()

# %% [markdown]
# ## In one call
#
# Write the loss of *one* example; `per_sample_grads` runs it for all of them at once.


# %%
def loss_of(model, x, y):
    return nn.functional.binary_cross_entropy_with_logits(model(x)[0], y)


gradients = torch.func.per_sample_grads(model, loss_of, x, y)
{name: tuple(gradient.shape) for name, gradient in gradients.items()}

# %% [markdown]
# Their mean is the gradient of the batch:

# %%
optimizer.zero_grad()
nn.functional.binary_cross_entropy_with_logits(model(x)[:, 0], y).backward()
for name, parameter in model.named_parameters():
    torch.testing.assert_close(gradients[name].mean(0), parameter.grad)

# %% [markdown]
# ## By hand
#
# It is `vmap` of `grad`: the parameters are shared (`None`), the examples are not (`0`). This is the form that works
# for anything, not for modules alone, and the same as in JAX.


# %%
def loss_by_parameters(parameters, x, y):
    return nn.functional.binary_cross_entropy_with_logits(torch.func.functional_call(model, parameters, (x,))[0], y)


parameters = {name: value.detach() for name, value in model.named_parameters()}
by_hand = torch.vmap(torch.func.grad(loss_by_parameters), in_dims=(None, 0, 0))(parameters, x, y)
torch.testing.assert_close(by_hand, gradients)

# %% [markdown]
# ## What it is good for: mistaken labels
#
# Late in training most examples pull hardly at all. Those with a wrong label still pull hard.

# %%
lengths = torch.cat([gradient.flatten(1) for gradient in gradients.values()], dim=1).norm(dim=1)
figure, (plane, bars) = plt.subplots(1, 2, figsize=(8.5, 3.4))
shown = plane.scatter(*x.T, c=lengths, s=8 + 30 * (lengths > lengths.quantile(0.97)), cmap="viridis")
plane.plot(*x[wrong].T, "rx", markersize=7, label="label is wrong")
plane.set(title="length of each example's gradient")
plane.legend(fontsize=7)
figure.colorbar(shown, ax=plane)
bars.hist([lengths[~wrong].numpy(), lengths[wrong].numpy()], bins=25, stacked=True, color=["tab:gray", "tab:red"])
bars.set(yscale="log", xlabel="length", title="all examples; wrong labels in red")
plt.show()

suspects = lengths.topk(30).indices
found = wrong[suspects].sum().item()
print(f"{found} of the 15 wrong labels are among the 30 longest gradients")

# %%
assert found >= 10

# %% [markdown]
# `memory=` bounds what the gradients of a large batch take:
# [functions of functions](../transforms.md#per_sample_grads).
# Training with differential privacy, with an account of it, is `examples/dp_sgd.py`.
