"""Functions of functions: the result takes what the function takes, and gives what the transform makes of it."""

from typing import assert_type

import adjoint as torch
from adjoint import Tensor, nn
from adjoint.func import functional_call, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap


def energy(x: Tensor, scale: float = 1.0) -> Tensor:
    return scale * (x**2).sum()


def loss(params: dict[str, Tensor], x: Tensor) -> Tensor:
    return (params["w"] * x).sum()


def with_extra(x: Tensor) -> tuple[Tensor, int]:
    return x.sum(), 3


def curve(x: Tensor) -> Tensor:
    return x.sin()


x = torch.randn(3)
assert_type(grad(energy)(x), Tensor)
assert_type(grad(energy)(x, 2.0), Tensor)
assert_type(grad(loss)({"w": x}, x), dict[str, Tensor])
assert_type(grad_and_value(energy)(x), tuple[Tensor, Tensor])
assert_type(vmap(grad(energy))(x), Tensor)
assert_type(vmap(curve, in_dims=0, out_dims=0, randomness="same")(x), Tensor)
assert_type(vmap(energy, in_dims=(0, None))(x, 2.0), Tensor)
assert_type(jacrev(curve)(x), Tensor)
assert_type(jacfwd(jacrev(curve))(x), Tensor)
assert_type(hessian(energy)(x), Tensor)
value, tangent = jvp(curve, (x,), (x,))
assert_type(value, Tensor)
assert_type(tangent, Tensor)
out, pull = vjp(curve, x)
assert_type(out, Tensor)
(back,) = pull(x)
result, push = linearize(curve, x)
assert_type(push(x), Tensor)
model = nn.Linear(3, 2)
y: Tensor = functional_call(model, dict(model.named_parameters()), (x,))
twice: Tensor = grad(grad(energy))(x)
first, second = torch.func.grad(loss, argnums=(0, 1))({"w": x}, x)
gradient, extra = grad(with_extra, has_aux=True)(x)
assert_type(gradient, Tensor)
assert_type(extra, int)

grad(energy)(x, "two")  # error: mypy[arg-type] pyright[reportArgumentType]
vmap(curve)(x, x)  # error: mypy[call-arg] pyright[reportCallIssue]
grad(3)  # error: mypy[call-overload] pyright[reportArgumentType]
