"""torch.autograd.functional: Jacobians, Hessians and their products with vectors, beside torch."""

import functools

import pytest

import adjoint

from .compare import OPS, VALUES, assert_same, raised, same

FORWARD = {"vectorize": True, "strategy": "forward-mode"}
OUTER = {"vectorize": True, "outer_jacobian_strategy": "forward-mode"}
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
    "jacobian, forward and strict": lambda F, L, x: F.jacobian(lambda x: x, x, strict=True, **FORWARD),
    "jacobian, forward with graph": lambda F, L, x: F.jacobian(lambda x: x, x, create_graph=True, **FORWARD),
    "jacobian, forward, integers": lambda F, L, x: F.jacobian(lambda x: x * 2, x.long(), **FORWARD),
    "jacobian, forward, input no tensor": lambda F, L, x: F.jacobian(lambda x: x, 3, **FORWARD),
    "jacobian, integers": lambda F, L, x: F.jacobian(lambda x: x * 2, x.long()),
    "jacobian, vectorized, integers": lambda F, L, x: F.jacobian(lambda x: x * 2, x.long(), vectorize=True),
    "jacobian, forward": lambda F, L, x: F.jacobian(lambda x: x**2, x, strategy="forward-mode"),
    "jacobian, unknown strategy": lambda F, L, x: F.jacobian(lambda x: x**2, x, strategy="foo"),
    "hessian, forward": lambda F, L, x: F.hessian(lambda x: x.sum(), x, outer_jacobian_strategy="forward-mode"),
    "hessian, unknown strategy": lambda F, L, x: F.hessian(lambda x: x.sum(), x, outer_jacobian_strategy="foo"),
    "hessian, forward and strict": lambda F, L, x: F.hessian(lambda x: x.sum(), x, strict=True, **OUTER),
    "hessian, forward with graph": lambda F, L, x: F.hessian(lambda x: x.sum(), x, create_graph=True, **OUTER),
    "hessian of two elements, vectorized": lambda F, L, x: F.hessian(lambda x: x**3, x, vectorize=True),
    "hessian of two elements": lambda F, L, x: F.hessian(lambda x: x**3, x),
}


@pytest.mark.parametrize("name", CALLS)
def test_values(name):
    assert same(lambda L: CALLS[name](L.autograd.functional, L, L.tensor([1.0, 2.0]))).kind == "value"


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    ours = same(lambda L: raised(lambda: ERRORS[name](L.autograd.functional, L, L.tensor([1.0, 2.0]))), warned=None)
    assert isinstance(ours.value[0], str)


# ---- All rows, or all columns, at once

# Functions of two vectors of two elements.
FUNCTIONS = {
    "a product": lambda L, x, y: x * y.exp(),
    "a matrix": lambda L, x, y: L.outer(x, y).sin(),
    "a number": lambda L, x, y: (x**3 * y).sum(),
    "several": lambda L, x, y: (x * y, (x @ y).tanh(), L.outer(x, x)),
    "a tuple of one": lambda L, x, y: (x * y,),
    "one unused": lambda L, x, y: x**2,
    "a constant": lambda L, x, y: L.ones(2),
    "a constant among them": lambda L, x, y: (L.ones(3), x * y),
    "integers among them": lambda L, x, y: (x.long(), x * y),
    "the input itself": lambda L, x, y: (x, y.view(2, 1)),
    "one input twice": lambda L, x, y: x + x + y * x,
    "in place": lambda L, x, y: x.clone().mul_(y).add_(x),
    "rows": lambda L, x, y: L.stack([x, y])[:, 1:],
    "complex": lambda L, x, y: L.complex(x, y).abs(),
    "of other strides": lambda L, x, y: L.outer(x, y).t().exp(),
    "empty": lambda L, x, y: (x * y)[:0].sum(),
    "double": lambda L, x, y: x.double() * y,
    "captured": lambda L, x, y: x * y * L.tensor([3.0, 4.0], requires_grad=True),
}
WAYS = {
    "row by row": {},
    "vectorized": {"vectorize": True},
    "vectorized with graph": {"vectorize": True, "create_graph": True},
    "with graph": {"create_graph": True},
    "forward": FORWARD,
}
LOOK = (*VALUES, "requires_grad")


def look_of(way):
    """In forward mode torch multiplies by zeros where there is no tangent, and lets the result require grad by them."""
    return VALUES if "forward-mode" in way.values() else LOOK


@pytest.mark.parametrize("wants", [False, True])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_all_ways(name, way, wants):
    def call(L):
        x, y = L.tensor([0.5, 2.0], requires_grad=wants), L.tensor([1.5, -1.0])
        both = L.autograd.functional.jacobian(lambda x, y: FUNCTIONS[name](L, x, y), (x, y), **WAYS[way])
        one = L.autograd.functional.jacobian(lambda x: FUNCTIONS[name](L, x, y), x, **WAYS[way])
        return both, one

    assert same(call, look_of(WAYS[way]), OPS, warned=None).kind == "value"


SECOND = {
    "row by row": {},
    "with graph": {"create_graph": True},
    "vectorized": {"vectorize": True},
    "vectorized with graph": {"vectorize": True, "create_graph": True},
    "forward": OUTER,
}


@pytest.mark.parametrize("wants", [False, True])
@pytest.mark.parametrize("way", SECOND)
@pytest.mark.parametrize("name", ["a number", "unused", "a line", "a constant", "a product", "a tuple of one"])
def test_all_ways_to_hessians(name, way, wants):
    function = {
        "a number": lambda L, x, y: (x**3 * y.exp()).sum(),
        "unused": lambda L, x, y: (x**3).sum(),
        "a line": lambda L, x, y: x.sum(),
        "a constant": lambda L, x, y: L.ones(()),
        "a product": lambda L, x, y: (L.outer(x, y) @ x).norm(),
        "a tuple of one": lambda L, x, y: (x * y)[1:],
    }[name]

    def call(L):
        x, y = L.tensor([0.5, 2.0], requires_grad=wants), L.tensor([1.5, -1.0])
        both = L.autograd.functional.hessian(lambda x, y: function(L, x, y), (x, y), **SECOND[way])
        one = L.autograd.functional.hessian(lambda x: function(L, x, y), x, **SECOND[way])
        return both, one

    assert same(call, look_of(SECOND[way]), OPS, warned=None).kind == "value"


def test_a_graph_through_all_rows():
    def call(L):
        x = L.tensor([0.5, 2.0], requires_grad=True)
        rows = L.autograd.functional.jacobian(lambda x: (x**3, x.prod()), x, create_graph=True, vectorize=True)
        again = L.autograd.grad(sum(row.pow(2).sum() for row in rows), x, create_graph=True)[0]
        return again, L.autograd.grad(again.sum(), x)

    same(call, LOOK)


@pytest.mark.parametrize("result", [3, "(x, 3)"])
def test_outputs_of_forward_mode_must_be_tensors(result):
    def function(x):
        return (x, 3) if result == "(x, 3)" else result

    def call(L):
        return raised(lambda: L.autograd.functional.jacobian(function, L.ones(2), **FORWARD), 20)

    same(call)


def test_complex_inputs():
    def jacobian(L, function, way):
        return L.autograd.functional.jacobian(function, L.tensor([1 + 2j, 3.0]), **way)

    for function in (lambda z: z * z, lambda z: z.abs(), lambda z: z.real, lambda z: z.exp()):
        for way in (WAYS["vectorized"], FORWARD):
            same(functools.partial(jacobian, function=function, way=way), LOOK, OPS)


def test_no_grad_outside():
    def call(L):
        x = L.tensor([0.5, 2.0], requires_grad=True)
        with L.no_grad():
            return [L.autograd.functional.jacobian(lambda x: x**2, x, **way) for way in WAYS.values()]

    same(call, LOOK)


def test_empty_inputs_and_outputs():
    x = adjoint.ones(2)
    for way in WAYS.values():
        assert adjoint.autograd.functional.jacobian(lambda x: x[:0], x, **way).shape == (0, 2)
        assert adjoint.autograd.functional.jacobian(lambda x: x * 2, x[:0], **way).shape == (0, 0)


def test_duals():
    """Jacobians at points that carry a tangent."""
    x, fw = adjoint.tensor([0.5, 2.0]), adjoint.autograd.forward_ad
    f = lambda x: x**3 * x.sum()
    along = adjoint.func.jvp(adjoint.func.jacrev(f), (x,), (adjoint.ones(2),))[1]
    for name in ("with graph", "vectorized with graph", "forward"):
        with fw.dual_level():
            got = adjoint.autograd.functional.jacobian(f, fw.make_dual(x, adjoint.ones(2)), **WAYS[name])
            assert_same(fw.unpack_dual(got).tangent, along, what=name)


REFUSED = {
    "curved": lambda x, y: (x**3 * y**2).sum(),
    "of one alone": lambda x, y: (x**3).sum(),
    "bent and straight": lambda x, y: (x**3 + y).sum(),
    "apart": lambda x, y: (x**3 + y**3).sum(),
    "straight": lambda x, y: (x + y).sum(),
    "constant": lambda x, y: (x + y).sum().detach(),
    "several": lambda x, y: (x * y, x * x, x.sum()),
    "no tensor": lambda x, y: (x, 3),
}


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("vectorize", [False, True])
@pytest.mark.parametrize("name", REFUSED)
def test_what_strict_mode_refuses(name, vectorize, create_graph):
    def call(L):
        F, x, y = L.autograd.functional, L.tensor([1.0, 2.0]), L.tensor([3.0, 4.0])
        how = {"strict": True, "vectorize": vectorize, "create_graph": create_graph}
        calls = [
            lambda: F.jacobian(REFUSED[name], (x, y), **how),
            lambda: F.jacobian(REFUSED[name], (x, y), strategy="forward-mode", **how),
            lambda: F.jacobian(REFUSED[name], 3, strategy="forward-mode", **how),
            lambda: F.jacobian(REFUSED[name], (x, 3), **how),
            lambda: F.hessian(REFUSED[name], (x, y), **how),
            lambda: F.hessian(REFUSED[name], (x, y), outer_jacobian_strategy="forward-mode", **how),
        ]
        return [raised(call, 100) for call in calls]

    same(call, look=VALUES)
