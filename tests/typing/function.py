"""Functions with their own backward, and hooks on tensors, modules and nodes."""

from typing import Any, assert_type

import adjoint as torch
from adjoint import Tensor, nn
from adjoint.autograd import Function
from adjoint.autograd.function import FunctionCtx, once_differentiable
from adjoint.utils.hooks import RemovableHandle


class Exp(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor, scale: float = 1.0) -> Tensor:
        result = (x * scale).exp()
        ctx.save_for_backward(result)
        ctx.scale = scale
        return result

    @staticmethod
    def backward(ctx: FunctionCtx, g: Tensor) -> tuple[Tensor | None, None]:
        (result,) = ctx.saved_tensors
        assert_type(result, Tensor)
        return g * result * ctx.scale if ctx.needs_input_grad[0] else None, None


class Cube(Function):
    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return x**3

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, g: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return 3 * x**2 * g


x = torch.randn(3, requires_grad=True)
y: Tensor = Exp.apply(x, 2.0)
z: Tensor = Cube.apply(x)


def double(grad: Tensor) -> Tensor:
    return 2 * grad


def show(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
    print(type(module).__name__, [i.shape for i in inputs], output.shape)


handle = x.register_hook(double)
assert_type(handle, RemovableHandle)
handle.remove()
x.register_hook(lambda g: g.clamp(-1, 1))
x.register_post_accumulate_grad_hook(lambda p: None)
assert_type(nn.Linear(2, 3).register_forward_hook(show), RemovableHandle)
with nn.Linear(2, 3).register_forward_pre_hook(lambda module, args: None, with_kwargs=False):
    pass
if y.grad_fn is not None:
    assert_type(y.grad_fn.name(), str)
    for node, _ in y.grad_fn.next_functions:
        print(node)
    y.grad_fn.register_hook(lambda inputs, outputs: None)

(gx,) = torch.autograd.grad(y.sum(), x, create_graph=True)
assert_type(gx, Tensor)
assert_type(torch.autograd.grad(y.sum(), [x], allow_unused=True), tuple[Tensor | None, ...])
torch.autograd.backward([y, z], [torch.ones(3), None])
assert torch.autograd.gradcheck(Cube.apply, (x,))
with torch.autograd.detect_anomaly(), torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
    pass

x.register_hook(3)  # error: mypy[arg-type] pyright[reportArgumentType]
torch.autograd.grad(y)  # error: mypy[call-overload] pyright[reportCallIssue]
