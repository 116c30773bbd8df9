"""torch.autograd.functional: Jacobians, Hessians and their products with vectors, beside torch."""

import pytest

from .compare import raised, same

CALLS = {
    "vjp of one element": lambda F, L, x: F.vjp(lambda x: (x**2).sum(), x),
    "vjp": lambda F, L, x: F.vjp(lambda x: x**2, x, L.ones(2)),
    "vjp of several": lambda F, L, x: F.vjp(lambda x, y: (x * y, x), (x, x + 1), (L.ones(2), x)),
    "vjp with graph": lambda F, L, x: F.vjp(lambda x: x**2, x.requires_grad_(), L.ones(2), create_graph=True),
    "vjp of a constant": lambda F, L, x: F.vjp(lambda x: L.ones(2), x, L.ones(2)),
    "jvp": lambda F, L, x: F.jvp(lambda x: x**2, x, L.tensor([1.0, 3.0])),
    "jvp of several": lambda F, L, x: F.jvp(lambda x, y: (x * y, y.sum()), (x, x + 1), (x, L.ones(2))),
    "jvp of one element": lambda F, L, x: F.jvp(lambda x: x.sum(), x[:1]),
    "jvp of a constant": lambda F, L, x: F.jvp(lambda x: L.ones(2), x, L.ones(2)),
    "vhp": lambda F, L, x: F.vhp(lambda x: (x**3).sum(), x, L.tensor([1.0, 2.0])),
    "vhp of a line": lambda F, L, x: F.vhp(lambda x: x.sum(), x, L.ones(2)),
    "hvp": lambda F, L, x: F.hvp(lambda x: (x**3).sum(), x, L.tensor([1.0, 2.0])),
    "hvp of several": lambda F, L, x: F.hvp(lambda x, y: (x * y**2).sum(), (x, x + 1), (x, L.ones(2))),
    "jacobian": lambda F, L, x: F.jacobian(lambda x: L.outer(x, x**2), x),
    "jacobian of several": lambda F, L, x: F.jacobian(lambda x, y: (x * y, y.sum()), (x, x + 1)),
    "jacobian of a constant": lambda F, L, x: F.jacobian(lambda x: L.ones(2), x),
    "jacobian with graph": lambda F, L, x: [
        t.detach() for t in L.autograd.grad(F.jacobian(lambda y: y**3, x.requires_grad_(), create_graph=True).sum(), x)
    ],
    "jacobian, vectorized": lambda F, L, x: F.jacobian(lambda x: x**2, x, vectorize=True),
    "hessian": lambda F, L, x: F.hessian(lambda x: (x**3).sum() * x[0], x),
    "hessian of several": lambda F, L, x: F.hessian(lambda x, y: (x * y).sum(), (x, x + 1)),
    "hessian, strict": lambda F, L, x: F.hessian(lambda x: (x**3).sum(), x, strict=True),
}
ERRORS = {
    "vjp without a vector": lambda F, L, x: F.vjp(lambda x: x**2, x),
    "vjp, vector of another shape": lambda F, L, x: F.vjp(lambda x: x**2, x, L.ones(3)),
    "vjp, too few vectors": lambda F, L, x: F.vjp(lambda x: (x, x), x, (L.ones(2),)),
    "vjp, output no tensor": lambda F, L, x: F.vjp(lambda x: 3, x),
    "vjp, output holds no tensor": lambda F, L, x: F.vjp(lambda x: (x, 3), x),
    "vjp, input no tensor": lambda F, L, x: F.vjp(lambda x: x, 3),
    "vjp, strict": lambda F, L, x: F.vjp(lambda x: L.ones(2), x, L.ones(2), strict=True),
    "vjp, strict, unused": lambda F, L, x: F.vjp(lambda x, y: x, (x, x), L.ones(2), strict=True),
    "jvp without a vector": lambda F, L, x: F.jvp(lambda x: x**2, x),
    "jvp, strict": lambda F, L, x: F.jvp(lambda x: L.ones(2), x, L.ones(2), strict=True),
    "hvp of two elements": lambda F, L, x: F.hvp(lambda x: x**3, x, L.ones(2)),
    "hvp of two outputs": lambda F, L, x: F.hvp(lambda x: (x.sum(), x.sum()), x, L.ones(2)),
    "hvp, strict": lambda F, L, x: F.hvp(lambda x: x.sum(), x, L.ones(2), strict=True),
    "vhp, strict": lambda F, L, x: F.vhp(lambda x: L.ones(1), x, L.ones(2), strict=True),
    "jacobian, strict": lambda F, L, x: F.jacobian(lambda x: L.ones(2), x, strict=True),
    "jacobian, strict and vectorized": lambda F, L, x: F.jacobian(lambda x: x, x, strict=True, vectorize=True),
    "jacobian, forward": lambda F, L, x: F.jacobian(lambda x: x**2, x, strategy="forward-mode"),
    "jacobian, unknown strategy": lambda F, L, x: F.jacobian(lambda x: x**2, x, strategy="foo"),
    "hessian of two elements": lambda F, L, x: F.hessian(lambda x: x**3, x),
}


@pytest.mark.parametrize("name", CALLS)
def test_values(name):
    assert same(lambda L: CALLS[name](L.autograd.functional, L, L.tensor([1.0, 2.0]))).kind == "value"


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    ours = same(lambda L: raised(lambda: ERRORS[name](L.autograd.functional, L, L.tensor([1.0, 2.0]))))
    assert isinstance(ours.value[0], str)
