"""What torch.func has beyond torch's, against derivatives that are written out or formed whole."""

import pytest

import adjoint
from adjoint.func import functional_call, grad, hessian, hessian_diag, hvp, laplacian, per_sample_grads, vmap
from adjoint.inspect import trace

from .compare import Bound, assert_same

EXACT = Bound(1e-12, 1e-12)


def numbers(*shape, seed=0):
    return adjoint.randn(*shape, dtype=adjoint.float64, generator=adjoint.Generator().manual_seed(seed))


def wave(x):
    return (x.sin() * x.cumsum(-1).tanh()).exp().sum()


def test_products_with_a_hessian():
    x, v = numbers(5), numbers(5, seed=1)
    gradient, product = hvp(wave, x, v)
    assert_same(gradient, grad(wave)(x), bound=EXACT)
    assert_same(product, hessian(wave)(x) @ v, bound=EXACT)


def test_products_of_several_arguments():
    def of_two(x, y):
        return (x.sin() * y.exp()).sum() ** 2

    x, y = numbers(3), numbers(3, seed=1)
    gradient, product = hvp(of_two, (x, y), (y, x))
    blocks = hessian(of_two, argnums=(0, 1))(x, y)
    assert_same(gradient, grad(of_two, (0, 1))(x, y), bound=EXACT)
    assert_same(product, tuple(row[0] @ y + row[1] @ x for row in blocks), bound=EXACT)


@pytest.mark.parametrize("chunk_size", [None, 2])
def test_diagonal_and_trace(chunk_size):
    x = numbers(5)
    whole = hessian(wave)(x)
    assert_same(hessian_diag(wave, x, chunk_size=chunk_size), whole.diagonal(), bound=EXACT)
    assert_same(laplacian(wave, x, chunk_size=chunk_size), whole.trace(), bound=EXACT)


def test_laplacian_of_several_results_at_many_points():
    def field(x):
        return adjoint.stack([(x**2).prod(), x.sin().sum()])

    points = numbers(4, 3)
    expected = vmap(lambda x: hessian(field)(x).diagonal(0, 1, 2).sum(-1))(points)
    assert_same(vmap(lambda x: laplacian(field, x))(points), expected, bound=EXACT)


class Cubed(adjoint.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, g):
        return 3 * g * ctx.saved_tensors[0] ** 2

    @staticmethod
    def jvp(ctx, t):
        return 3 * t * ctx.saved_tensors[0] ** 2


def changed_in_place(x):
    y = x.sin()
    y *= x
    y[1:] += x[:-1] ** 2
    return y.exp().sum()


CURVED = {
    "product": lambda x: (x.sin() * x.exp()).sum(),
    "quotient": lambda x: (x / (1 + x.flip(0) ** 2)).sum(),
    "power": lambda x: ((1 + x**2) ** x).sum(),
    "broadcast": lambda x: (x[:, None].sin() * x).sum(),
    "one against all": lambda x: (x[0] * adjoint.arange(6.0, dtype=x.dtype).reshape(2, 3)).sin().sum(),
    "matrices": lambda x: (x.outer(x) @ x.sin().outer(x)).sum(),
    "softmax": lambda x: (x.softmax(0) * x).sum(),
    "logsumexp": lambda x: x.logsumexp(0) ** 2,
    "norm": lambda x: x.norm(),
    "layer_norm": lambda x: (adjoint.nn.functional.layer_norm(x, (4,)) ** 3).sum(),
    "determinant": lambda x: (x.outer(x) + adjoint.eye(4, dtype=x.dtype)).det(),
    "where": lambda x: adjoint.where(x > 0, x.exp(), x**2).sum(),
    "in place": changed_in_place,
    "a gradient": lambda x: grad(wave)(x).pow(2).sum(),
    "a Function": lambda x: (Cubed.apply(x.sin()) * x).sum(),
    "linear": lambda x: x.sum(),
    "a constant": lambda x: adjoint.ones(2, dtype=x.dtype).sum(),
    "random numbers": lambda x: (adjoint.dropout(adjoint.ones(4, dtype=x.dtype), 0.0, True) * x**2).sum(),
}


@pytest.mark.parametrize("name", CURVED)
def test_laplacian_is_the_trace_of_the_hessian(name):
    x = numbers(4)
    trace = vmap(lambda v: adjoint.func.jvp(lambda x: hvp(CURVED[name], x, v)[0] @ v, (x,), (v,))[1], randomness="same")
    expected = trace(adjoint.eye(4, dtype=x.dtype)).sum()
    assert_same(laplacian(CURVED[name], x), expected, bound=Bound(1e-10, 1e-10))
    points = numbers(3, 4, seed=1)
    each = adjoint.stack([laplacian(CURVED[name], point) for point in points])
    assert_same(vmap(lambda x: laplacian(CURVED[name], x), randomness="same")(points), each, bound=Bound(1e-10, 1e-10))


@pytest.mark.parametrize("chunk_size", [0, -1, 1.5])
def test_chunks_of_a_laplacian(chunk_size):
    with pytest.raises(ValueError, match="laplacian: expected a chunk_size of 1 or more, or None, got"):
        laplacian(wave, numbers(2), chunk_size=chunk_size)


def test_laplacian_of_no_tensor():
    with pytest.raises(TypeError, match="laplacian: expected a tensor from func, got tuple"):
        laplacian(lambda x: (x, x), numbers(2))


def changed(x):
    y = x * x
    y[1:].sin_()
    return y.mul_(x.flip(0)).sum()


@pytest.mark.parametrize(
    "function",
    [
        changed,
        lambda x: x.sum(),  # whose second derivatives are zero
        lambda x: grad(lambda x: (x.sin() * x.flip(0)).sum())(x).prod(),
        lambda x: vmap(adjoint.dot)(adjoint.outer(x, x.sin()), adjoint.outer(x, x)).sum(),
        lambda x: adjoint.softmax(x, 0)[1] + x.var() + adjoint.outer(x, x.exp()).logsumexp((0, 1)),
        lambda x: adjoint.linalg.det(adjoint.outer(x, x.cos()) + adjoint.diag(x)),
    ],
)
def test_laplacians_of_many_functions(function):
    points = numbers(2, 3)
    for x in points:
        assert_same(laplacian(function, x), hessian(function)(x).trace(), bound=EXACT)
    assert_same(
        vmap(lambda x: laplacian(function, x))(points),
        adjoint.stack([laplacian(function, x) for x in points]),
        bound=EXACT,
    )


def test_laplacian_of_a_laplacian():
    x = numbers(3)
    once = lambda x: hessian(wave)(x).trace()
    assert_same(laplacian(lambda x: laplacian(wave, x), x), hessian(once)(x).trace(), bound=Bound(1e-10, 1e-10))


def test_laplacian_in_inference_mode():
    x = numbers(3)
    with adjoint.inference_mode():
        assert_same(laplacian(wave, x), laplacian(wave, x.clone()))
    assert_same(laplacian(wave, x), hessian(wave)(x).trace(), bound=EXACT)


def test_cost_of_a_laplacian():
    """A layer multiplies a matrix of first derivatives, but of values and of second derivatives one vector each."""
    weight = numbers(4, 8)
    with trace() as seen:
        laplacian(lambda x: (weight @ (weight.t() @ x.sin()).tanh()).sum(), numbers(4, seed=1))
    ops = [event.op for event in seen.events]
    assert (ops.count("mm"), ops.count("mv")) == (2, 4)


def test_gradient_of_a_laplacian():
    x = numbers(3)
    assert_same(grad(lambda x: laplacian(lambda x: (x**4).sum(), x))(x), 24 * x, bound=EXACT)


def test_diagonal_of_what_is_no_number():
    with pytest.raises(RuntimeError, match=r"expected func\(x\) without dimensions, got shape \(2,\)"):
        hessian_diag(lambda x: x**2, numbers(2))


def model():
    layers = [adjoint.nn.Linear(3, 4), adjoint.nn.Tanh(), adjoint.nn.Linear(4, 2, bias=False)]
    return adjoint.nn.Sequential(*layers).double()


def squares(module, x, y):
    return ((module(x) - y) ** 2).sum()


@pytest.mark.parametrize("memory", [2**30, 1])
def test_gradients_of_each_example(memory):
    module, x, y = model(), numbers(5, 3), numbers(5, 2, seed=1)
    found = per_sample_grads(module, squares, x, y, memory=memory)
    parameters = dict(module.named_parameters())
    assert list(found) == list(parameters)
    for i in range(5):
        one = adjoint.autograd.grad(squares(module, x[i], y[i]), list(parameters.values()))
        assert_same(tuple(found[name][i] for name in parameters), one, bound=EXACT)
    assert all(not gradients.requires_grad for gradients in found.values())


def test_frozen_parameters_have_no_gradients():
    module = model()
    module[0].requires_grad_(False)
    assert list(per_sample_grads(module, squares, numbers(5, 3), numbers(5, 2))) == ["2.weight"]


def test_what_has_no_examples():
    with pytest.raises(ValueError, match="expected a module with parameters that are not frozen"):
        per_sample_grads(adjoint.nn.Tanh(), squares, numbers(5, 3), numbers(5, 2))
    with pytest.raises(ValueError, match=r"one size of the first dimension, got \[4, 5\]"):
        per_sample_grads(model(), squares, numbers(5, 3), numbers(4, 2))


def test_parameters_as_arguments():
    module, x = model(), numbers(5, 3)
    new = {name: p.detach() * 2 for name, p in module.named_parameters()}
    assert_same(vmap(lambda x: functional_call(module, new, (x,)))(x), functional_call(module, new, (x,)), bound=EXACT)
