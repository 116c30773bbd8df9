"""Long chains of objects that own each other are freed without recursion, whatever ties them together."""

import textwrap

import pytest

from .processes import script

CHAINS = {
    "grad": """
x = torch.ones(1)
for _ in range(N):
    y = torch.ones(1)
    y.grad = x
    x = y
""",
    "grad of parameters": """
x = torch.nn.Parameter(torch.ones(1))
for _ in range(N):
    y = torch.nn.Parameter(torch.ones(1))
    y.grad = x
    x = y
""",
    "grad with graph": """
x = torch.ones(1, requires_grad=True)
for _ in range(N):
    y = torch.ones(1, requires_grad=True)
    y.grad = x * 2
    x = y
""",
    "attributes": """
x = torch.ones(1)
for _ in range(N):
    y = torch.ones(1)
    y.before = x
    x = y
""",
    "attributes of a subclass": """
class Named(torch.Tensor):
    pass

x = torch.ones(1).as_subclass(Named)
for _ in range(N):
    y = torch.ones(1).as_subclass(Named)
    y.before = [x]
    x = y
""",
    "views with attributes": """
x = torch.ones(2)
for _ in range(N):
    base = torch.ones(2)
    base.before = x
    x = base[:1]
""",
    "hooks": """
x = torch.ones(1, requires_grad=True)
for _ in range(N):
    y = torch.ones(1, requires_grad=True)
    y.register_hook(lambda g, x=x: g)
    x = y
""",
    "hooks of nodes": """
x = torch.ones(1, requires_grad=True) * 1
for _ in range(N):
    y = torch.ones(1, requires_grad=True) * 1
    y.grad_fn.register_hook(lambda i, o, x=x: None)
    x = y
""",
    "hooks after accumulation": """
x = torch.ones(1, requires_grad=True)
for _ in range(N):
    y = torch.ones(1, requires_grad=True)
    y.register_post_accumulate_grad_hook(lambda t, x=x: None)
    x = y
""",
    "metadata of nodes": """
x = torch.ones(1, requires_grad=True) * 1
for _ in range(N):
    y = torch.ones(1, requires_grad=True) * 1
    y.grad_fn.metadata["before"] = x
    x = y
""",
    "arrays": """
x = torch.ones(1)
for _ in range(N):
    x = torch.from_numpy(x.numpy())
""",
    "buffers": """
x = torch.ones(1)
for _ in range(N):
    x = torch.frombuffer(memoryview(x), dtype=torch.float32)
""",
    "dlpack": """
x = torch.ones(1)
for _ in range(N):
    x = torch.from_dlpack(x)
""",
    "graph": """
x = torch.ones(1, requires_grad=True)
for _ in range(N):
    x = x.sin()
""",
    "graph by changes of views": """
x = torch.ones(2, requires_grad=True) * 1
for _ in range(N):
    x[:1].mul_(1.0)
""",
    "Function": """
class Sine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0].cos()

x = torch.ones(1, requires_grad=True)
for _ in range(N):
    x = Sine.apply(x)
""",
    "attributes of ctx": """
class Sine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, before):
        ctx.before = before
        return x.sin()

    @staticmethod
    def backward(ctx, g):
        return g, None

leaf = torch.ones(1, requires_grad=True)
x = None
for _ in range(N):
    x = Sine.apply(leaf, [x])
""",
    "packed values": """
leaf = torch.ones(1, requires_grad=True)
x = leaf * 1
for _ in range(N):
    with torch.autograd.graph.saved_tensors_hooks(lambda t, x=x: (t, x), lambda pair: pair[0]):
        x = leaf.sin()
""",
    "a cycle": """
first = x = torch.ones(1)
for _ in range(N):
    y = torch.ones(1)
    y.grad = x
    x = y
first.last = x
del first
""",
}


@pytest.mark.parametrize("name", CHAINS)
def test_chains_are_freed(name):
    # The thread has the usual small stack: what works by luck on a large one fails there.
    program = f"""
import gc, threading
import adjoint as torch
gc.disable()  # its visits of all that lives would take most of the time
N = 200_000

def main():
{textwrap.indent(CHAINS[name], "    ")}
    x = y = base = None
    gc.collect()

threading.stack_size(512 * 1024)
thread = threading.Thread(target=main)
thread.start()
thread.join()
print("freed")
"""
    assert script(program).stdout == "freed\n"
