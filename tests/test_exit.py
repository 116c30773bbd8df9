"""A program ends quietly while its daemon threads are in the middle of something."""

import textwrap

import pytest

from .processes import script

THREADS = {
    "products": "a = torch.ones(600, 600)\nwhile True: a @ a",
    "elementwise": "a = torch.ones(1 << 18)\nwhile True: a.exp()",
    "small ops": "a = torch.ones(3, requires_grad=True)\nwhile True: (a * 2).sum().backward()",
    "sorting": "a = torch.rand(1 << 18)\nwhile True: a.sort()",
    "factors": "a = torch.eye(300)\nwhile True: torch.linalg.solve(a, a)",
    "backward": """
a = torch.ones(400, 400, requires_grad=True)
while True: (a @ a).exp().cumsum(0).mean().backward()
""",
    "hooks": """
a = torch.ones(1 << 17, requires_grad=True)
a.register_hook(lambda g: g * 2)
while True: (a * 2).exp().sum().backward()
""",
    "hooks that take long": """
a = torch.ones(3, requires_grad=True)
a.register_hook(lambda g: [time.sleep(0) for _ in range(1000)] and None)
while True: (a * 2).sum().backward()
""",
    "Function": """
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        time.sleep(0)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        time.sleep(0)
        return g * 2

a = torch.ones(3, requires_grad=True)
while True: Double.apply(a).sum().backward()
""",
    "modules": """
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters())
x = torch.ones(512, 64)
while True:
    torch.nn.functional.mse_loss(model(x), x[:, :1]).backward()
    optimizer.step()
""",
    "checkpoints": """
a = torch.ones(1 << 17, requires_grad=True)
while True: torch.utils.checkpoint.checkpoint(lambda x: x.exp().sin(), a, use_reentrant=True).sum().backward()
""",
    "finalizers": """
class Slow:
    def __del__(self):
        time.sleep(0)

while True:
    a = torch.ones(3)
    a.slow = Slow()
    a.grad = torch.ones(3)
    a.grad.slow = Slow()
""",
    "loader": """
data = torch.utils.data.TensorDataset(torch.ones(1000, 100))
while True:
    for (batch,) in torch.utils.data.DataLoader(data, batch_size=10, shuffle=True): batch.exp()
""",
}


@pytest.mark.parametrize("name", THREADS)
def test_daemon_threads(name):
    program = f"""
import threading, time
import adjoint as torch

def work():
{textwrap.indent(THREADS[name], "    ")}

for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.05)
"""
    for _ in range(3):
        run = script(program, timeout=60)
        assert (run.stdout, run.stderr) == ("", "")
