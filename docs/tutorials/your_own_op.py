# %% [markdown]
# # Write your own op
#
# Most functions need no rule of their own: what is made of tensor operations has a gradient. Write one where the
# gradient is known to be simpler than the way there, where a step is no tensor code at all, or where a function is not
# differentiable and you choose what to put in the place of its gradient. From the easiest to the fastest:

# %%
import matplotlib.pyplot as plt
import numpy as np

import adjoint as torch

# %% [markdown]
# ## A Function: forward and backward
#
# log(1 + eˣ) overflows for large x when it is written down as it stands; the gradient is the logistic function. What
# `save_for_backward` keeps is checked: if somebody changes it in place before backward, that is an error.


# %%
class Softplus(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.clamp(x, min=0) + torch.log1p(torch.exp(-x.abs()))

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * torch.sigmoid(x)


x = torch.tensor([-1000.0, 0.0, 1000.0], requires_grad=True)
y = Softplus.apply(x)
y.sum().backward()
print(y.tolist(), x.grad.tolist())

# %% [markdown]
# Check it against differences, first and second derivatives. `backward` is written with operations that are recorded,
# so that the second derivative needs nothing more.

# %%
x = torch.linspace(-3, 3, 7, dtype=torch.float64, requires_grad=True)
torch.autograd.gradcheck(Softplus.apply, x), torch.autograd.gradgradcheck(Softplus.apply, x)

# %% [markdown]
# ## A gradient that you choose
#
# Rounding is flat: its gradient is zero, and nothing before it learns. The *straight-through* estimator pretends in
# backward that it was not there. Here a line is fitted whose outputs are rounded.


# %%
class Round(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, g):
        return g


torch.manual_seed(0)
inputs = torch.linspace(-2, 2, 80)
target = (1.7 * inputs + 0.4).round()
fits = {}
for name, rounding in (("torch.round", torch.round), ("straight through", Round.apply)):
    w = torch.tensor([0.3, 0.0], requires_grad=True)
    losses = []
    for _ in range(150):
        loss = (rounding(w[0] * inputs + w[1]) - target).square().mean()
        (gradient,) = torch.autograd.grad(loss, w)
        with torch.no_grad():
            w -= 0.05 * gradient
        losses.append(loss.item())
    fits[name] = losses

figure, axes = plt.subplots()
for name, losses in fits.items():
    axes.plot(losses, label=name)
axes.set(xlabel="step", title="loss of a line with rounded outputs")
axes.legend()
plt.show()

# %%
assert fits["straight through"][-1] < 0.1 < fits["torch.round"][-1]

# %% [markdown]
# ## An op around foreign code
#
# `torch.library.custom_op` makes an op of a function that autograd must not look into: NumPy, a solver, a library in C.
# Here the eigenvalues of a symmetric matrix by NumPy, whose gradient is known: dλᵢ = vᵢᵀ dA vᵢ.


# %%
@torch.library.custom_op("tutorial::eigenvalues", mutates_args=())
def eigenvalues(a: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(np.linalg.eigvalsh(a.numpy()))


def setup(ctx, inputs, output):
    ctx.save_for_backward(inputs[0])


def backward(ctx, g):
    (a,) = ctx.saved_tensors
    vectors = torch.from_numpy(np.linalg.eigh(a.detach().numpy())[1])
    return (vectors * g) @ vectors.T


eigenvalues.register_autograd(backward, setup_context=setup)

# %% [markdown]
# Used: a chain of masses and springs, whose springs are to be such that it sounds at given pitches. The op stands in
# the middle of ordinary tensor code.

# %%
springs = torch.linspace(0.8, 1.2, 5, dtype=torch.float64, requires_grad=True)
wanted = torch.tensor([0.4, 1.0, 2.0, 3.4], dtype=torch.float64)
between = torch.eye(5, 4, dtype=torch.float64) - torch.diag(torch.ones(4, dtype=torch.float64), -1)[:, :4]
optimizer = torch.optim.Adam([springs], lr=0.05)
pitches = []
for _ in range(300):
    found = eigenvalues(between.T @ torch.diag(springs) @ between)
    loss = (found - wanted).square().sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    pitches.append(found.detach())

figure, axes = plt.subplots()
axes.plot(torch.stack(pitches))
for value in wanted:
    axes.axhline(value.item(), color="black", linewidth=0.5, linestyle="--")
axes.set(xlabel="step", title="eigenvalues, and what they should be (dashed)")
plt.show()
print("springs:", springs.detach())

# %%
assert loss < 1e-3

# %% [markdown]
# ## An op of the library
#
# An elementwise op is one declaration in the op table, from which loops for every type, the fused gradient, second
# derivatives, tangents and batching are generated: [add an op](../add_an_op.md).
