# %% [markdown]
# # A first gradient
#
# Adjoint computes derivatives of programs. You write an ordinary computation with tensors; the library notes each step
# while it runs, and `backward()` goes through the notes from the end to the beginning and applies the chain rule.
# The names are PyTorch's, so that the package is imported under torch's name.

# %%
import matplotlib.pyplot as plt

import adjoint as torch

x = torch.tensor(2.0, requires_grad=True)
y = x**3 - 4 * x
y

# %% [markdown]
# `y` knows that it was made by a subtraction (`grad_fn`). The derivative is 3x² - 4, which at 2 is 8:

# %%
y.backward()
x.grad

# %% [markdown]
# ## Many points at once
#
# The gradient is of *one* number. To see a derivative at many points, sum over the points: each summand depends on its
# own `x` alone, so that the gradient of the sum has the derivative at each of them.

# %%
x = torch.linspace(-3, 3, 200, requires_grad=True)
y = torch.sin(x) * torch.exp(-x * x / 4)
y.sum().backward()

figure, axes = plt.subplots()
axes.plot(x.detach(), y.detach(), label="y = sin(x) exp(-x²/4)")
axes.plot(x.detach(), x.grad, label="dy/dx, from backward()")
axes.axhline(0, color="black", linewidth=0.5)
axes.legend()
plt.show()

# %% [markdown]
# `detach()` gives the values without the notes; a tensor that requires grad is not silently turned into an array.
#
# ## What was recorded
#
# `torch.inspect.graph` draws the notes: one node for each operation, with the line of Python that made it.

# %%
x = torch.tensor([0.5, 1.0], requires_grad=True)
y = (torch.sin(x) * x).sum()
torch.inspect.graph(y, names={"x": x})

# %% [markdown]
# ## Gradients add up
#
# `backward()` *adds* to `.grad`. That is what one wants when a loss is made of parts, and a trap in a loop: clear it
# before the next step.

# %%
x = torch.tensor(1.0, requires_grad=True)
(x**2).backward()
(x**2).backward()
print("after two calls:", x.grad)
x.grad = None
(x**2).backward()
print("after clearing: ", x.grad)

# %% [markdown]
# ## Derivatives of derivatives
#
# `torch.autograd.grad` returns gradients and leaves `.grad` alone. With `create_graph=True` the gradient is recorded as
# well, and can be differentiated again, to any order.

# %%
x = torch.linspace(-3, 3, 200, requires_grad=True)
curves = [torch.exp(-x * x)]
for _ in range(3):
    (slope,) = torch.autograd.grad(curves[-1].sum(), x, create_graph=True)
    curves.append(slope)

figure, axes = plt.subplots()
for order, curve in enumerate(curves):
    axes.plot(x.detach(), curve.detach(), label=f"derivative {order}" if order else "exp(-x²)")
axes.legend()
plt.show()

# %% [markdown]
# ## Going down a hill
#
# With a gradient, a minimum can be found by small steps against it. `no_grad()` says that the step itself is not part
# of the computation to be differentiated.

# %%
place = torch.tensor([-1.5, 1.5], requires_grad=True)
path = [place.tolist()]
for _ in range(60):
    a, b = place
    height = (1 - a) ** 2 + 4 * (b - a * a) ** 2
    (slope,) = torch.autograd.grad(height, place)
    with torch.no_grad():
        place -= 0.02 * slope
    path.append(place.tolist())

a, b = torch.meshgrid(torch.linspace(-2, 2, 100), torch.linspace(-1, 3, 100), indexing="xy")
figure, axes = plt.subplots()
axes.contour(a, b, ((1 - a) ** 2 + 4 * (b - a * a) ** 2).sqrt(), levels=15, linewidths=0.6)
axes.plot(*zip(*path, strict=True), "o-", markersize=2.5)
axes.set_title("60 steps along the valley of (1 - a)² + 4 (b - a²)²")
plt.show()

# %% [markdown]
# Next: [train a network](train_a_network.md), where an optimizer takes these steps.
