"""Programs as tutorials show them: the same source runs with torch and with adjoint, and prints the same."""

import contextlib
import io
import warnings

import pytest
import torch

import adjoint

PROGRAMS = {
    "tracking": """
x = torch.tensor([2.0, 3.0], requires_grad=True)
print(f"Requires grad: {x.requires_grad}")
print(f"Gradient attribute: {x.grad}")
y = torch.tensor([4.0, 5.0])
y.requires_grad_(True)
print(f"After enabling: {y.requires_grad}")
print(torch.tensor([1.0, 2.0], requires_grad=False).requires_grad)
""",
    "building a graph": """
x = torch.tensor([3.0], requires_grad=True)
y = x ** 2
z = y * 2 + 1
print(f"x: {x}")
print(f"y: {y}")
print(f"z: {z}")
print(y.grad_fn.name(), z.grad_fn.name())
""",
    "backward": """
x = torch.tensor([2.0], requires_grad=True)
y = x ** 2 + 3 * x + 2
y.backward()
print(f"dy/dx = {x.grad}")
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = (x ** 2).sum()
y.backward()
print(f"Gradients for vector: {x.grad}")
""",
    "accumulation": """
x = torch.tensor([2.0], requires_grad=True)
y = x ** 2
y.backward()
print(f"First gradient: {x.grad}")
z = x ** 3
z.backward()
print(f"After second backward: {x.grad}")
x.grad.zero_()
print(f"After zero: {x.grad}")
""",
    "vector outputs": """
x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
y = x ** 2
y.backward(torch.ones_like(y))
print(f"Gradients from vector backward:\\n{x.grad}")
x.grad.zero_()
y = x ** 2
loss1 = y.sum()
loss1.backward(retain_graph=True)
print(f"After first backward: {x.grad}")
loss2 = (y * 2).sum()
loss2.backward()
print(f"After second backward: {x.grad}")
""",
    "detaching": """
x = torch.tensor([2.0], requires_grad=True)
y = x ** 2
y_detached = y.detach()
print(f"Original y requires grad: {y.requires_grad}")
print(f"Detached y requires grad: {y_detached.requires_grad}")
z = y_detached + 1
print(f"z.grad_fn: {z.grad_fn}")
with torch.no_grad():
    predictions = []
    for input_batch in range(5):
        predictions.append(input_batch ** 2)
print(predictions)

@torch.no_grad()
def inference_function(x):
    return x ** 2 + 1

result = inference_function(torch.tensor([3.0], requires_grad=True))
print(f"Result from decorated function requires grad: {result.requires_grad}")
""",
    "training loop": """
w = torch.tensor([0.5], requires_grad=True)
b = torch.tensor([0.1], requires_grad=True)
x_data = torch.tensor([1.0, 2.0, 3.0])
y_true = torch.tensor([2.0, 4.0, 6.0])
learning_rate = 0.01
for epoch in range(3):
    y_pred = w * x_data + b
    loss = ((y_pred - y_true) ** 2).mean()
    print(f"Epoch {epoch}: Loss = {loss.item():.4f}")
    loss.backward()
    print(f" w.grad = {w.grad.item():.4f}, b.grad = {b.grad.item():.4f}")
    with torch.no_grad():
        w -= learning_rate * w.grad
        b -= learning_rate * b.grad
    w.grad.zero_()
    b.grad.zero_()
print(w, b)
""",
    "leaves": """
x = torch.tensor([2.0], requires_grad=True)
print(f"x.is_leaf: {x.is_leaf}")
print(f"x.grad_fn: {x.grad_fn}")
y = x ** 2
print(f"y.is_leaf: {y.is_leaf}")
print(y.grad_fn.name())
y.backward()
print(f"x.grad: {x.grad}")
print(f"y.grad: {y.grad}")
""",
    "scalars": """
x = torch.tensor(2.0, requires_grad=True)
y = x * x + torch.sin(x)
y.backward()
print(x.grad)
w = torch.ones(10, requires_grad=True)
b = torch.zeros(10, requires_grad=True)
loss = (w * 2 + b).sum()
loss.backward()
print(w.grad, b.grad, loss)
""",
    "second derivative": """
x = torch.tensor(2.0, requires_grad=True)
y = x ** 3
dy_dx = torch.autograd.grad(y, x, create_graph=True)[0]
d2y_dx2 = torch.autograd.grad(dy_dx, x)[0]
print(dy_dx, d2y_dx2)
""",
    "custom function": """
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x
    @staticmethod
    def backward(ctx, grad_out):
        (x,) = ctx.saved_tensors
        return grad_out * 2 * x

x = torch.tensor([1.0, -3.0], requires_grad=True)
y = Square.apply(x)
print(y)
y.sum().backward()
print(x.grad)
""",
    "in-place": """
x = torch.ones(3)
x.add_(1.0)
print(x, x._version)
""",
    "two variables": """
x = torch.tensor(2.0, requires_grad=True)
y = torch.tensor(3.0, requires_grad=True)
z = x * y + y ** 2
z.backward()
print(f"dz/dx: {x.grad}")
print(f"dz/dy: {y.grad}")
""",
}


def printed(source, library):
    """What a program prints, and the beginnings of the warnings that it gives."""
    text = io.StringIO()
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(text):
        warnings.simplefilter("always")
        exec(compile(source, "<tutorial>", "exec"), {"torch": library})
    return text.getvalue(), [str(w.message)[:80] for w in caught]


@pytest.mark.parametrize("name", PROGRAMS)
def test_prints_what_torch_prints(name):
    ours = printed(PROGRAMS[name], adjoint)
    assert ours == printed(PROGRAMS[name], torch)
    assert ours[0]
