"""What forward mode, reverse mode and vmap must agree on, for random compositions of ops.

    <w, J t> = <J^T w, t>        both modes compute products with one Jacobian
    jacfwd = jacrev              and so does every column and row of it
    three Hessians               forward over reverse, reverse over reverse, reverse over forward
    sparse = dense               what a pattern leaves out is zero, and the rest is told apart
    vmap(f) = the stack of f     a batch is its elements
    jet = jvp of jvp of ...      Taylor mode has the derivatives of nested forward mode

The programs are seeded, so that they are the same every time.
"""

import random

import pytest

import adjoint as torch

from .compare import Bound, assert_same

SEEDS = range(40)
NEAR = Bound(1e-8, 1e-10)
SIZE = 3


def number(chance):
    return chance.uniform(0.3, 1.5)


# Steps of a program: functions of vectors of SIZE elements (x, y) and a source of chance, smooth and tame.
STEPS = {
    "add": lambda x, y, c: x + number(c) * y,
    "multiply": lambda x, y, c: x * y,
    "divide": lambda x, y, c: x / (1.5 + y * y),
    "sin": lambda x, y, c: x.sin() * y.cos(),
    "tanh": lambda x, y, c: (x - y).tanh(),
    "exp": lambda x, y, c: (-x * x).exp() + y,
    "log": lambda x, y, c: (1.0 + x * x).log() * y,
    "power": lambda x, y, c: (0.5 + x * x) ** (number(c) * 1.3),
    "powers": lambda x, y, c: (0.5 + x * x) ** y.sigmoid(),
    "sqrt": lambda x, y, c: (1.0 + x * x + y * y).sqrt(),
    "atan2": lambda x, y, c: torch.atan2(x, 2.0 + y * y),
    "sigmoid": lambda x, y, c: x.sigmoid() - y,
    "softmax": lambda x, y, c: x.softmax(0) * y,
    "log_softmax": lambda x, y, c: (x + y).log_softmax(-1),
    "logsumexp": lambda x, y, c: x - torch.stack([x, y]).logsumexp(0),
    "sum": lambda x, y, c: x * y.sum() * 0.3,
    "mean and var": lambda x, y, c: (x - x.mean()) / (0.5 + y.var()),
    "norm": lambda x, y, c: x / (1.0 + y.norm()),
    "prod": lambda x, y, c: x + 0.1 * y.prod(),
    "cumsum": lambda x, y, c: x.cumsum(0) * 0.3 + y,
    "flip": lambda x, y, c: x.flip(0) * y,
    "roll": lambda x, y, c: x.roll(1) - y,
    "outer": lambda x, y, c: torch.outer(x, y).sum(c.randrange(2)) * 0.3,
    "matmul": lambda x, y, c: (torch.outer(x, y) @ x) * 0.2,
    "einsum": lambda x, y, c: torch.einsum("i,j,j->i", x, y, y) * 0.2,
    "dot": lambda x, y, c: torch.dot(x, y) * x * 0.2,
    "stack": lambda x, y, c: torch.stack([x, y, x * y]).mean(0),
    "cat": lambda x, y, c: torch.cat([x, y])[c.randrange(SIZE) :][:SIZE],
    "index": lambda x, y, c: x[[2, 0, 0]] * y,
    "gather": lambda x, y, c: x.gather(0, torch.tensor([1, 2, 0])) + y[1],
    "select": lambda x, y, c: torch.stack([x[0] * y[1], y[2], x[1]]),
    "where": lambda x, y, c: torch.where(torch.tensor([True, False, True]), x.sin(), y),
    "masked_fill": lambda x, y, c: x.masked_fill(torch.tensor([False, True, False]), 0.5) * y,
    "pad": lambda x, y, c: torch.nn.functional.pad(x[1:], (0, 1)) + y,
    "view": lambda x, y, c: (x.view(1, -1) * y.view(-1, 1)).t().diagonal(),
    "expand": lambda x, y, c: x.unsqueeze(0).expand(2, -1).sum(0) * 0.4 - y,
    "unfold": lambda x, y, c: torch.cat([x, y[:1]]).unfold(0, 2, 1).sum(-1) * 0.5,
    "linear": lambda x, y, c: torch.nn.functional.linear(x, torch.outer(y, y) * 0.2, y),
    "layer_norm": lambda x, y, c: torch.nn.functional.layer_norm(x, (SIZE,), weight=y),
    "gelu": lambda x, y, c: torch.nn.functional.gelu(x) + y,
    "softplus": lambda x, y, c: torch.nn.functional.softplus(x) * y,
    "solve": lambda x, y, c: torch.linalg.solve(torch.eye(SIZE, dtype=x.dtype) * 3 + torch.outer(x, y) * 0.1, y),
    "det": lambda x, y, c: x * torch.det(torch.eye(SIZE, dtype=x.dtype) * 1.5 + torch.outer(x, y) * 0.1) * 0.2,
    "detach": lambda x, y, c: x * y.detach(),
    "change": lambda x, y, c: (x * x).add_(y).mul_(number(c)),
    "change of a view": lambda x, y, c: changed_view(x, y),
    "complex": lambda x, y, c: torch.view_as_real(torch.complex(x, y) * torch.complex(y, x))[:, 1] * 0.3,
    "abs of complex": lambda x, y, c: torch.complex(x, 1.0 + y * y).abs() * 0.5,
}


def changed_view(x, y):
    z = x * y
    z[1:].add_(x[1:])
    return z


def program(seed):
    """A function of a vector: six steps, each on two of the values there are."""
    chance = random.Random(seed)
    steps = [(chance.choice(list(STEPS)), chance.random(), chance.random(), chance.random()) for _ in range(6)]

    def run(x):
        values = [x, x * 0.5 + 0.3]
        for name, first, second, own in steps:
            one, other = (values[-1 - int(p * p * len(values))] for p in (first, second))
            values.append(STEPS[name](one, other, random.Random(own)))
        return values[-1] + 0.1 * values[-2]

    run.steps = [name for name, *_ in steps]
    return run


def point(seed, *shape):
    chance = random.Random(f"point {seed}")
    count = 1
    for size in shape:
        count *= size
    return torch.tensor([chance.uniform(-1.0, 1.0) for _ in range(count)], dtype=torch.float64).view(*shape)


@pytest.mark.parametrize("name", STEPS)
def test_each_step(name):
    """All of the identities for one op: x -> step(x, a function of x)."""

    def f(x):
        return STEPS[name](x, x * 0.7 + x.flip(0) * 0.2 + 0.1, random.Random(1))

    check_products(f, name)
    check_jacobians(f, name)
    check_hessians(lambda x: (f(x) * f(x)).sum(), name)
    check_sparse(f, name)
    check_batches(f, name)
    check_jets(f, name, 4)


@pytest.mark.parametrize("seed", SEEDS)
def test_products_agree(seed):
    check_products(program(seed), seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_jacobians_agree(seed):
    check_jacobians(program(seed), seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_hessians_agree(seed):
    f = program(seed)
    check_hessians(lambda x: (f(x) * 0.5).sin().sum(), seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_sparse_and_dense_agree(seed):
    check_sparse(program(seed), seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_batches_are_their_elements(seed):
    check_batches(program(seed), seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_jets_agree(seed):
    check_jets(program(seed), seed, 3)


def close(a, b, what):
    assert_same(a.detach(), b.detach(), bound=NEAR, what=what)


def check_products(f, seed):
    x, t, w = (point(f"{seed} {what}", SIZE) for what in ("x", "t", "w"))
    value, pushed = torch.func.jvp(f, (x,), (t,))
    also, pull = torch.func.vjp(f, x)
    close(value, f(x), "the value of jvp")
    close(also, f(x), "the value of vjp")
    close(torch.dot(w, pushed), torch.dot(pull(w)[0], t), "<w, Jt> and <J^T w, t>")
    _, product = torch.func.linearize(f, x)
    close(product(t), pushed, "linearize and jvp")
    if "detach" not in getattr(f, "steps", [seed]):
        difference = (f(x + 1e-6 * t) - f(x - 1e-6 * t)) / 2e-6
        assert_same(pushed.detach(), difference, bound=Bound(1e-4, 1e-6), what="jvp and a difference")


def check_jacobians(f, seed):
    x = point(f"{seed} x", SIZE)
    rows = torch.func.jacrev(f)(x)
    close(torch.func.jacfwd(f)(x), rows, "jacfwd and jacrev")
    functional = torch.autograd.functional.jacobian
    close(functional(f, x), rows, "row by row")
    close(functional(f, x, vectorize=True), rows, "vectorized")
    close(functional(f, x, vectorize=True, strategy="forward-mode"), rows, "forward")
    close(torch.func.jacrev(f, chunk_size=2)(x), rows, "in chunks")


def check_hessians(f, seed):
    x, v = point(f"{seed} x", SIZE), point(f"{seed} v", SIZE)
    jacrev, jacfwd = torch.func.jacrev, torch.func.jacfwd
    expected = torch.autograd.functional.hessian(f, x)
    close(jacfwd(jacrev(f))(x), expected, "forward over reverse")
    close(jacrev(jacrev(f))(x), expected, "reverse over reverse")
    close(jacrev(jacfwd(f))(x), expected, "reverse over forward")
    close(jacfwd(jacfwd(f))(x), expected, "forward over forward")
    close(torch.func.jvp(torch.func.grad(f), (x,), (v,))[1], expected @ v, "a product, forward over reverse")
    close(
        torch.func.grad(lambda x: torch.func.jvp(f, (x,), (v,))[1])(x), expected @ v, "a product, reverse over forward"
    )


def check_sparse(f, seed):
    """Of two points, which are inputs of one function, next to each other: the blocks off the diagonal are zero."""
    x = point(f"{seed} xs", 2, SIZE)

    def both(x):
        return torch.stack([f(x[0]), f(x[1])])

    def energy(x):
        return (both(x) * 0.5).sin().sum()

    for sparse, dense in (
        (torch.func.sparse_jacobian(both, x, check=True), torch.func.jacrev(both)(x)),
        (torch.func.sparse_hessian(energy, x, check=True), torch.func.hessian(energy)(x)),
    ):
        assert sparse.nnz <= 2 * SIZE * SIZE
        close(torch.tensor(sparse.toarray()), dense.reshape(sparse.shape), "sparse and dense")


def check_batches(f, seed):
    xs, ts = point(f"{seed} xs", 4, SIZE), point(f"{seed} ts", 4, SIZE)

    def each(g, *inputs):
        return torch.stack([g(*one) for one in zip(*inputs, strict=True)])

    def slope(x):
        return torch.func.grad(lambda x: f(x).sum())(x)

    def pushed(x, t):
        return torch.func.jvp(f, (x,), (t,))[1]

    close(torch.vmap(f)(xs), each(f, xs), "vmap")
    close(torch.vmap(f, in_dims=1, out_dims=1)(xs.t()), each(f, xs).t(), "vmap along the other dimension")
    close(torch.vmap(slope)(xs), each(slope, xs), "vmap of grad")
    close(torch.vmap(pushed)(xs, ts), each(pushed, xs, ts), "vmap of jvp")
    close(torch.vmap(torch.vmap(f))(xs.view(2, 2, SIZE)), each(f, xs).view(2, 2, SIZE), "vmap of vmap")
    wanted = xs.clone().requires_grad_()
    (by_batch,) = torch.autograd.grad(torch.vmap(f)(wanted).sum(), wanted)
    close(by_batch, each(slope, xs), "backward through vmap")


def nested_derivatives(f, x, direction, order):
    """The derivatives along a direction by forward mode in forward mode."""
    found = [f(x)]
    for _ in range(order):
        f = (lambda inner: lambda x: torch.func.jvp(inner, (x,), (direction,))[1])(f)
        found.append(f(x))
    return found


def check_jets(f, seed, order):
    xs, v = point(f"{seed} xs", 2, SIZE), point(f"{seed} v", SIZE)

    def derivatives(x):
        return torch.stack(torch.func.jet(f, x, order, direction=v))

    close(derivatives(xs[0]), torch.stack(nested_derivatives(f, xs[0], v, order)), "jet and nested jvp")
    close(torch.vmap(derivatives)(xs), torch.stack([derivatives(x) for x in xs]), "vmap of jet")
    _, along = torch.func.jvp(derivatives, (xs[0],), (v,))
    close(along[:-1], derivatives(xs[0])[1:], "jvp of jet")
    slopes = torch.func.jacrev(derivatives)(xs[0])
    close(slopes @ v, along, "gradients of jet")
