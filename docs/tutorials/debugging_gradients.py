# %% [markdown]
# # Debugging gradients
#
# A wrong gradient seldom raises an error. It is None, or zero, or nan, and the training goes nowhere. This page goes
# through the usual cases with the tools that find them. All are in `torch.inspect`, and cost nothing until used.
#
# ## None: the graph was cut
#
# `explain_grad` follows the gradient from the loss to the parameter and says where it ends.

# %%
import textwrap
import warnings

import matplotlib.pyplot as plt

import adjoint as torch
from adjoint import nn

torch.manual_seed(0)


def say(text):
    """Prints a long text in lines."""
    print("\n".join(textwrap.fill(line, 100, break_on_hyphens=False) for line in str(text).splitlines()))


weight = torch.ones(8, requires_grad=True)
scale = torch.tensor(2.0, requires_grad=True)
x = torch.randn(8)


def normalised(x, scale):
    spread = (x * scale).std().item()  # a number: what it was made from is forgotten
    return x / spread


loss = (normalised(x, scale) * weight).square().sum()
loss.backward()
print("weight:", weight.grad is not None, " scale:", scale.grad is not None)

# %%
loss = (normalised(x, scale) * weight).square().sum()
say(torch.inspect.explain_grad(loss, scale).text)

# %% [markdown]
# `item()` leaves the graph, and so do `detach()`, `.data`, `numpy()`, `torch.tensor(x)` and casts to integers. The
# cure is to stay with tensors: `spread = (x * scale).std()`.
#
# ## Zero: something is flat

# %%
layer = nn.Linear(3, 4)
with torch.no_grad():
    layer.bias.fill_(-10)  # a bad start: every unit is below zero
out = torch.relu(layer(torch.rand(16, 3)))
say(torch.inspect.explain_grad(out.sum(), layer.weight).text)

# %% [markdown]
# ## nan: the branch that was not taken
#
# `where` computes both of its sides. The gradient of the side that is not taken is multiplied by zero, and zero times
# infinity is nan:

# %%
x = torch.tensor([0.0, 1.0, 4.0], requires_grad=True)
y = torch.where(x > 0, x.sqrt(), 0.0)
why = torch.inspect.explain_grad(y.sum(), x)
say(why.text)

# %% [markdown]
# `where_safe` gives the function a harmless value where it is not asked for:

# %%
torch.func.where_safe(x > 0, torch.sqrt, x).sum().backward()
x.grad

# %% [markdown]
# Where nan appears somewhere in a long program, anomaly detection stops at the first operation whose gradient has one
# and names the line that recorded it:

# %%
x = torch.tensor([0.0, 1.0], requires_grad=True)
try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it also prints the traceback of the line, as a warning
        with torch.autograd.detect_anomaly():
            (x.sqrt() * x).sum().backward()
except RuntimeError as error:
    say(error)

# %% [markdown]
# ## An error: a value was overwritten
#
# `exp` needs its result for the gradient. When it is changed in place before, the error names both lines.

# %%
x = torch.tensor([0.0, 1.0], requires_grad=True)
y = torch.exp(x)
y += 1
try:
    y.sum().backward()
except RuntimeError as error:
    say(error)

# %% [markdown]
# ## Too small or too large: look at the norms
#
# Gradients of deep networks shrink or grow from layer to layer. A hook on each parameter sees its gradient as it is
# made; here for two ways to start the weights of twenty layers.


# %%
def norms(gain):
    model = nn.Sequential(*[part for _ in range(20) for part in (nn.Linear(32, 32), nn.Tanh())])
    for module in model:
        if isinstance(module, nn.Linear):
            nn.init.xavier_normal_(module.weight, gain=gain)
    model(torch.randn(64, 32)).square().mean().backward()
    return [module.weight.grad.norm().item() for module in model if isinstance(module, nn.Linear)]


figure, axes = plt.subplots()
for gain in (0.5, 1.0, 5 / 3, 3.0):
    axes.semilogy(norms(gain), "o-", markersize=3, label=f"gain {gain:.2f}")
axes.set(xlabel="layer", title="norm of the gradient of each layer's weight")
axes.legend()
plt.show()

# %% [markdown]
# ## Is my gradient right at all?
#
# For your own backward, `gradcheck` compares with differences, in float64:


# %%
class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x**2 * g  # should be 3


x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
try:
    torch.autograd.gradcheck(Wrong.apply, x)
except RuntimeError as error:
    print(error)

# %% [markdown]
# ## Where does the memory go?
#
# What the graph keeps for backward, by the line that made it:

# %%
x = torch.randn(500, 200)
model = nn.Sequential(nn.Linear(200, 400), nn.GELU(), nn.Linear(400, 10))
print(torch.inspect.saved_tensors(model(x).softmax(1).sum()))

# %% [markdown]
# More: [looking into the graph](../inspect.md), and [every error of autograd with its cure](../errors.md).
