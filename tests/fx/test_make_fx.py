"""make_fx: graphs of the ops that a function computes."""

import pytest

import adjoint
from adjoint.fx.experimental.proxy_tensor import get_proxy_mode, make_fx

from .programs import same

F = adjoint.nn.functional


@pytest.mark.parametrize(
    "call",
    [
        "(lambda x, y: x.sin() + y.cos())(a, b)",
        "(lambda x, d: {'a': x * 2, 'b': [d['q'].sum(), 3]})(a, {'q': b})",
        "(lambda x: x + torch.ones(2, 3))(a)",
        "(lambda x: x + c)(a)",
        "(lambda x: x.add_(1).mul(x))(a.clone())",
        "(lambda *xs: xs[0] + xs[1])(a, b)",
        "(lambda x: torch.cat([x, x]).view(-1)[0])(a)",
        "(lambda x, n: x * n)(a, 3)",
        "(lambda x: (x.max(dim=1), x.t()))(a)",
        "(nn.Sequential(nn.ReLU()))(a)",
        "(lambda x: F.relu(x) @ w.t())(a)",
        "(lambda x: torch.rand(2) + x[:, :2])(a)",
    ],
)
def test_ops_are_recorded_under_their_aten_names(call):
    function, _, arguments = call.rpartition(")(")
    same(
        f"""
        a, b, c = (torch.arange(6.0).reshape(2, 3) + k for k in range(3))
        w = nn.Parameter(torch.ones(2, 3))
        gm = module("fx.experimental.proxy_tensor").make_fx({function}))({arguments}
        print(gm.code, type(gm).__name__)
        """
    )


def loss_gradient(x):
    x = x.detach().requires_grad_()
    y = (x * x).sin().sum() + F.cross_entropy(x, adjoint.tensor([0, 1, 2]))
    return adjoint.autograd.grad(y, x)


def own_backward(x):
    x = x.detach().requires_grad_()
    F.layer_norm(x * x, (3,)).exp().sum().backward()
    return x.grad


BELOW = {
    "gradient": loss_gradient,
    "backward": own_backward,
    "grad of grad": lambda x: adjoint.func.grad(lambda y: adjoint.func.grad(lambda z: z.sin().sum())(y).pow(2).sum())(
        x
    ),
    "jvp": lambda x: adjoint.func.jvp(adjoint.sin, (x,), (x,)),
    "vmap": lambda x: adjoint.func.vmap(lambda row: row @ x)(x),
    "hessian": lambda x: adjoint.func.hessian(lambda z: z.sin().sum())(x),
    "layers": lambda x: F.group_norm(F.conv1d(x[None], x[:, :, None]), 1),
    "attention": lambda x: F.scaled_dot_product_attention(x, x, x),
    "random": lambda x: F.dropout(x, 0.5) + adjoint.rand(3),
    "assignment": lambda x: x.clone().index_fill_(0, adjoint.tensor([0]), 1.0),
}


@pytest.mark.parametrize("name", BELOW)
def test_graphs_compute_for_other_values_what_the_function_does(name):
    function = BELOW[name]
    example, other = adjoint.arange(9.0).reshape(3, 3).sin(), adjoint.arange(9.0).reshape(3, 3).cos()
    gm = make_fx(function)(example)
    leaves = adjoint.utils._pytree.tree_leaves
    adjoint.manual_seed(1)
    found = leaves(gm(other))
    adjoint.manual_seed(1)
    expected = leaves(function(other))
    assert len(found) == len(expected)
    assert all(adjoint.allclose(one, two) for one, two in zip(found, expected, strict=True))


def test_a_module_with_a_bias():
    layer = adjoint.nn.Linear(3, 2)
    gm = make_fx(lambda x: layer(x).relu())(adjoint.ones(1, 3))
    x = adjoint.tensor([[1.0, -2.0, 3.0]])
    assert adjoint.equal(gm(x), layer(x).relu())
    assert {name for name, _ in gm.named_parameters()} == {"_param_constant0", "_param_constant1"}


def test_values_cannot_be_read():
    for function in (lambda x: x.sum().item(), lambda x: x if x.sum() > 100 else x * 2):
        with pytest.raises(RuntimeError, match="trying to get value out of a tracing tensor"):
            make_fx(function)(adjoint.ones(2))
    assert get_proxy_mode() is None


def test_ops_are_replaced_by_functions():
    table = {adjoint.ops.aten.relu.default: lambda x: x * (x > 0)}
    gm = make_fx(lambda x: x.relu(), table)(adjoint.ones(2))
    assert [node.name for node in gm.graph.nodes] == ["x_1", "gt", "mul", "output"]


def test_what_there_is_not_is_refused():
    with pytest.raises(AssertionError, match="tracing_mode must be real/fake/symbolic"):
        make_fx(lambda x: x, tracing_mode="unreal")
    for options in ({"tracing_mode": "symbolic"}, {"pre_dispatch": True}):
        with pytest.raises(NotImplementedError, match=r"make_fx.*not supported"):
            make_fx(lambda x: x, **options)
