# pyright: standard
"""Functions in one line: what a checker cannot infer of them must not be an error."""

import adjoint as torch
from adjoint.func import grad, hessian, jacrev, vmap

x = torch.randn(3)
print(vmap(lambda a, b: a * b)(x, x), vmap(lambda a: a.sum())(x), vmap(vmap(lambda a: a + 1))(x))
print(grad(lambda p: p["w"].sum())({"w": x}), grad(lambda a, b: (a * b).sum(), argnums=(0, 1))(x, x))
print(grad(grad(lambda a: a.sin()))(x), hessian(lambda a: a.sin().sum())(x), jacrev(jacrev(lambda a: a.sin()))(x))
print(vmap(grad(lambda a: a.sin()))(x), jacrev(lambda a, b: (a, b))(x, x), torch.func.vjp(lambda a: a * 2, x)[0])


def main() -> None:
    print(vmap(lambda a, b: a * b)(x, x), vmap(grad(lambda a: a.sin()))(x))
    print(grad(lambda p: p["w"].sum())({"w": x}), grad(lambda a, b: (a * b).sum(), argnums=(0, 1))(x, x))
