"""torch.func: grad, vjp, jvp, linearize, Jacobians, Hessians and modules as functions, beside torch."""

import itertools

import pytest

import adjoint

from .compare import OPS, VALUES, Bound, assert_same, numbers, programs, raised, same

program, test_program = programs(OPS)


def values(L, tree):
    """The tensors of a tree without their histories."""
    return L.utils._pytree.tree_map(lambda x: x.detach(), tree)


def complex_numbers(L, *shape):
    return L.complex(numbers(L, *shape), numbers(L, *shape, start=-0.4))


# ---- grad and grad_and_value


@program
def gradients(L):
    grad, x = L.func.grad, numbers(L, 3)
    return grad(lambda x: (x**3).sum())(x), grad(L.sin)(numbers(L)), grad(lambda x: x.exp().prod())(x)


@program
def argnums(L):
    x, y, z = numbers(L, 2), numbers(L, 2, start=3.0), numbers(L, 2, start=-1.0)

    def f(x, y, z):
        return (x * y.exp() * z**2).sum()

    choices = [0, 1, 2, -1, -3, (0,), (0, 1), (2, 0), (-1, 1), (0, 1, 2)]
    return [L.func.grad(f, argnums=choice)(x, y, z) for choice in choices]


@program
def argnums_of_jacobians(L):
    x, y = numbers(L, 2), numbers(L, 3, start=3.0)

    def f(x, y):
        return L.outer(x, y).sin()

    results = []
    for transform in (L.func.jacrev, L.func.jacfwd):
        results += [transform(f, argnums=choice)(x, y) for choice in (0, 1, (0,), (1, 0))]
    return results, [L.func.jacrev(f, argnums=choice)(x, y) for choice in (-1, (0, -1), (-2, 1))]


@program
def argnums_of_hessians(L):
    x, y = numbers(L, 2), numbers(L, 2, start=3.0)

    def f(x, y):
        return (x**2 * y.exp()).sum() * x[0]

    found = [L.func.hessian(f, argnums=choice)(x, y) for choice in (0, 1, (0,), (0, 1), (1, 0))]
    return [values(L, one) for one in found]


@program
def wrong_argnums(L):
    x = numbers(L, 2)
    results = []
    for transform in (L.func.grad, L.func.jacrev, L.func.jacfwd):
        for choice in (1, -2, (0, 0), (0, 3), (), "x", 1.5, [0], (0, "x")):
            results.append(raised(lambda choice=choice, t=transform: t(lambda x: (x**2).sum(), argnums=choice)(x), 24))
    return results


@program
def gradients_and_values(L):
    x = numbers(L, 3)
    return L.func.grad_and_value(lambda x: (x**3).sum())(x), L.func.grad_and_value(L.dot, argnums=(0, 1))(x, x * 2)


@program
def keywords(L):
    def f(x, *, scale, y=None):
        return (x * scale).sum() + (0 if y is None else (x * y).sum())

    x = numbers(L, 3)
    results = [L.func.grad(f)(x, scale=2.0), L.func.grad(f)(x, scale=2.0, y=x), L.func.grad_and_value(f)(x, scale=x)]
    return results


@program
def aux(L):
    x = numbers(L, 3)

    def f(x):
        y = x.sin()
        return y.sum(), (y, {"x": x * 2})

    def vector(x):
        return x.sin(), {"twice": x * 2}

    results = [
        L.func.grad(f, has_aux=True)(x),
        L.func.grad_and_value(f, has_aux=True)(x),
        L.func.jacrev(vector, has_aux=True)(x),
        L.func.jacfwd(vector, has_aux=True)(x),
        L.func.jvp(vector, (x,), (x,), has_aux=True),
    ]
    output, product, extra = L.func.vjp(vector, x, has_aux=True)
    return results, output, product(x), extra


@program
def aux_that_is_no_tensor(L):
    x, results = numbers(L, 3), []
    for other in (3, "text", None, [x, 1.0]):
        f = lambda x, other=other: (x.sum(), other)
        calls = [
            lambda f=f: L.func.grad(f, has_aux=True)(x),
            lambda f=f: L.func.vjp(f, x, has_aux=True),
            lambda f=f: L.func.jvp(f, (x,), (x,), has_aux=True),
            lambda f=f: L.func.jacrev(f, has_aux=True)(x),
            lambda f=f: L.func.jacfwd(f, has_aux=True)(x),
        ]
        results += [raised(call, 45) for call in calls]
    return results


@program
def one_tensor_in_several_places(L):
    x = numbers(L, 3)

    def twice(x):
        y = x.sin()
        return y, [y, x, x]

    output, product = L.func.vjp(lambda x: twice(x)[1][:2], x)
    several = [L.func.jvp(twice, (x,), (x,)), L.func.jvp(lambda x: (x, {"same": x}), (x,), (x,), has_aux=True)]
    return several, output, product([x, x]), L.func.jacfwd(lambda x: twice(x)[1])(x)


@program
def aux_that_is_missing(L):
    x = numbers(L, 3)
    results = [
        raised(lambda: L.func.grad(lambda x: x.sum(), has_aux=True)(x), 60),
        raised(lambda: L.func.grad_and_value(lambda x: (x.sum(), x, x), has_aux=True)(x), 60),
        raised(lambda: L.func.vjp(lambda x: x, x, has_aux=True), 60),
        raised(lambda: L.func.jvp(lambda x: x, (x,), (x,), has_aux=True), 60),
        raised(lambda: L.func.jacrev(lambda x: x, has_aux=True)(x), 30),
        raised(lambda: L.func.jacfwd(lambda x: x, has_aux=True)(x), 30),
    ]
    return results


@program
def trees(L):
    tree = {"w": numbers(L, 2), "more": [numbers(L, 2, start=2.0), (numbers(L),)]}

    def f(tree, x):
        return (tree["w"] * tree["more"][0] * tree["more"][1][0] * x).sum()

    x = numbers(L, 2)
    grads = [L.func.grad(f)(tree, x), L.func.grad(f, argnums=(0, 1))(tree, x)]
    value, product = L.func.vjp(f, tree, x)
    return grads, value, product(numbers(L)), L.func.jvp(f, (tree, x), (tree, x))


@program
def trees_of_jacobians(L):
    tree = {"w": numbers(L, 2), "v": numbers(L, 1)}

    def f(tree):
        return {"a": tree["w"] * tree["v"], "b": [tree["v"].exp()]}

    return L.func.jacrev(f)(tree), L.func.jacfwd(f)(tree)


@program
def wrong_outputs(L):
    x = numbers(L, 3)
    calls = [
        lambda: L.func.grad(lambda x: x)(x),
        lambda: L.func.grad(lambda x: x[:1])(x),
        lambda: L.func.grad(lambda x: 3.0)(x),
        lambda: L.func.grad(lambda x: (x.sum(),))(x),
        lambda: L.func.grad(lambda x: None)(x),
        lambda: L.func.vjp(lambda x: 3.0, x),
        lambda: L.func.vjp(lambda x: (), x),
        lambda: L.func.vjp(lambda x: None, x),
        lambda: L.func.jvp(lambda x: (), (x,), (x,)),
        lambda: L.func.jvp(lambda x: None, (x,), (x,)),
        lambda: L.func.jacfwd(lambda x: ())(x),
        lambda: L.func.jvp(lambda x: 3.0, (x,), (x,)),
        lambda: L.func.jvp(lambda x: (x, None), (x,), (x,)),
        lambda: L.func.jacrev(lambda x: 3.0)(x),
        lambda: L.func.jacfwd(lambda x: 3.0)(x),
        lambda: L.func.hessian(lambda x: 3.0)(x),
    ]
    return [raised(call, 30) for call in calls]


@program
def wrong_inputs(L):
    x = numbers(L, 3)
    calls = [
        lambda: L.func.grad(lambda x: x.sum())(L.arange(3)),
        lambda: L.func.grad(lambda x: x)(3.0),
        lambda: L.func.grad(lambda x: x)("text"),
        lambda: L.func.grad(lambda x: x.sum())(),
        lambda: L.func.vjp(lambda x: x, L.arange(3)),
        lambda: L.func.vjp(lambda x: x, 3.0),
        lambda: L.func.jvp(lambda x: x, x, x),
        lambda: L.func.jvp(lambda x: x, (x,), x),
        lambda: L.func.jvp(lambda x: x, (x,), (x, x)),
        lambda: L.func.jvp(lambda x: x, (), ()),
        lambda: L.func.jvp(lambda x: x, (3.0,), (x,)),
        lambda: L.func.jvp(lambda x: x, (x,), (3.0,)),
        lambda: L.func.jvp(lambda x: x, (x,), (x[:2],)),
        lambda: L.func.jvp(lambda x: x, (L.arange(3),), (x,)),
        lambda: L.func.jvp(lambda x: x, (x,), (L.arange(3),)),
        lambda: L.func.jacfwd(lambda x: x)(L.arange(3)),
        lambda: L.func.jacrev(lambda x: x)(3.0),
        lambda: L.func.jacrev(lambda x: x)(L.arange(3)),
        lambda: L.func.linearize(L.sin, x)[1](x[:2]),
        lambda: L.func.linearize(L.sin, x)[1](x.float()),
        lambda: L.func.linearize(L.sin, x)[1](x, x),
        lambda: L.func.jacrev(lambda x: x, chunk_size=0),
        lambda: L.func.jacrev(lambda x: x, chunk_size=-1)(x),
        lambda: L.func.jacfwd(lambda x: x, randomness="maybe")(x),
    ]
    return [raised(call, 30) for call in calls]


@program
def gradients_of_what_does_not_depend(L):
    x = numbers(L, 3)
    results = [L.func.grad(lambda x: numbers(L))(x), L.func.grad(lambda x, y: x.sum(), argnums=1)(x, x)]
    results += [L.func.jacrev(lambda x: numbers(L, 2))(x), L.func.jacfwd(lambda x: numbers(L, 2))(x)]
    results += [L.func.grad(lambda x: x.detach().sum())(x), L.func.hessian(lambda x: x.sum())(x)]
    return results, L.func.jvp(lambda x: numbers(L, 2), (x,), (x,)), L.func.vjp(lambda x: numbers(L, 2), x)[1](x[:2])


@program
def integers_among_the_outputs(L):
    x = numbers(L, 3)
    calls = [
        lambda: L.func.vjp(lambda x: x.long(), x),
        lambda: L.func.vjp(lambda x: (x * 2, x.long()), x),
        lambda: L.func.jacrev(lambda x: (x * 2, x.long()))(x),
        lambda: L.func.grad(lambda x: x.long().sum())(x),
    ]
    return L.func.jvp(lambda x: (x.argmax(), x * 2), (x,), (x,)), [raised(call, 60) for call in calls]


# ---- vjp, jvp, linearize


@program
def products(L):
    x, y = numbers(L, 2), numbers(L, 2, start=3.0)
    value, product = L.func.vjp(lambda x, y: (x * y, {"s": x.sin()}), x, y)
    first = product((x, {"s": y}))
    again = product((x, {"s": y}), retain_graph=True, create_graph=False)
    return value, first, again, L.func.jvp(lambda x, y: (x * y, {"s": x.sin()}), (x, y), (y, x))


@program
def wrong_cotangents(L):
    x = numbers(L, 2)
    _, product = L.func.vjp(lambda x: (x * 2, x.sin()), x)
    return raised(lambda: product(x), 50), raised(lambda: product((x, x, x)), 50), raised(lambda: product([x, x]), 50)


@program
def strict_products(L):
    x = numbers(L, 2)
    constant = lambda x: numbers(L, 2)
    return [
        L.func.jvp(constant, (x,), (x,)),
        raised(lambda: L.func.jvp(constant, (x,), (x,), strict=True), 40),
        L.func.jvp(lambda x: x * 2, (x,), (x,), strict=True),
    ]


@program
def linear_functions(L):
    x, y = numbers(L, 2), numbers(L, 2, start=3.0)
    value, product = L.func.linearize(lambda x, y: x * y.sin(), x, y)
    results = [value, product(x, y), product(y, x), product(L.zeros_like(x), y)]
    tree_value, tree_product = L.func.linearize(lambda t: {"out": t["a"] * t["b"]}, {"a": x, "b": y})
    return results, tree_value, tree_product({"a": y, "b": y})


@program
def derivatives_of_linearized_functions(L):
    """The tangents are differentiated by; the point, and what the function has captured, are constants."""
    x, t, w = numbers(L, 3).requires_grad_(), numbers(L, 3, start=2.0).requires_grad_(), L.ones(3).requires_grad_()
    _, product = L.func.linearize(lambda x: (x.sin() * w, x.sum()), x)
    found = product(t)
    gradients = L.autograd.grad([*found], (x, t, w), [L.ones_like(y) for y in found], allow_unused=True)
    basis = L.eye(3, dtype=L.float64)
    x, w = x.detach(), w.detach()
    _, product = L.func.linearize(lambda x: x.sin() * w, x)
    t = t.detach()
    return (
        [y.requires_grad for y in found], gradients, L.vmap(product)(basis), L.func.jvp(product, (t,), (x,)),
        L.func.grad(lambda t: product(t).sum())(t), L.func.jacrev(product)(t), L.func.jacfwd(product)(t),
    )  # fmt: skip


def test_linearized_functions_in_levels():
    """Beside Jacobians: in torch such products are constants, or refused."""
    func, vmap = adjoint.func, adjoint.vmap
    f = lambda x: x.sin() * x.sum()
    x, t = numbers(adjoint, 3), numbers(adjoint, 3, start=2.0)
    J, product = func.jacrev(f)(x), func.linearize(f, x)[1]
    both = adjoint.stack([x, t])
    jacobians = vmap(func.jacrev(f))(both)
    cube = lambda t: (product(t) ** 3).sum()
    pairs = [
        (vmap(lambda x: func.linearize(f, x)[1](t))(both), jacobians @ t),
        (func.jvp(lambda t: product(t) ** 2, (t,), (x,))[1], 2 * (J @ t) * (J @ x)),
        (func.grad(cube)(t), J.T @ (3 * (J @ t) ** 2)),
        (func.hessian(cube)(t), J.T @ adjoint.diag(6 * (J @ t)) @ J),
        (vmap(func.grad(cube))(both), adjoint.stack([J.T @ (3 * (J @ each) ** 2) for each in both])),
    ]
    for found, expected in pairs:
        assert_same(found, expected, bound=OPS)


@program
def histories_of_linear_functions(L):
    x = numbers(L, 2).requires_grad_()
    value, product = L.func.linearize(lambda x: x**3, x)
    along = product(numbers(L, 2)).detach()
    constant = L.func.linearize(lambda x: x**3, x.detach())[1](numbers(L, 2))
    return value.requires_grad, along, constant.requires_grad, L.autograd.grad(value.sum(), x)


@program
def linearize_integers(L):
    return raised(lambda: L.func.linearize(lambda x: x * 2, L.ones(2, dtype=L.int64)), 60)


@program
def linearize_what_is_linear(L):
    x = numbers(L, 2)
    value, product = L.func.linearize(lambda x: x * 2, x)
    return value, product(x)


# ---- Jacobians and Hessians


@program
def jacobians(L):
    functions = [
        lambda x: x**3,
        lambda x: L.outer(x, x).tanh(),
        lambda x: x.sum(),
        lambda x: (x.sin(), L.outer(x, x)),
        lambda x: x.softmax(0),
        lambda x: x.cumsum(0) * x.flip(0),
        lambda x: L.stack([x[0] * x[1], x.prod()]),
        lambda x: x,
        lambda x: x.view(1, -1),
    ]
    return [(L.func.jacrev(f)(numbers(L, 3)), L.func.jacfwd(f)(numbers(L, 3))) for f in functions]


@program
def jacobians_of_matrices(L):
    x = numbers(L, 2, 2)
    functions = [lambda x: x @ x, lambda x: x.t().exp(), lambda x: x.det(), lambda x: x.inverse(), lambda x: x.sum(0)]
    return [(L.func.jacrev(f)(x), L.func.jacfwd(f)(x)) for f in functions]


@program
def chunks(L):
    x = numbers(L, 5)

    def f(x):
        return x.sin() * x.sum(), L.outer(x, x)[:2]

    results = [L.func.jacrev(f, chunk_size=size)(x) for size in (1, 2, 3, 15, 100, None)]
    return results, L.func.jacfwd(f)(x)


@program
def preallocated_chunks(L):
    x = numbers(L, 5)
    return [L.func.jacrev(L.sin, chunk_size=size, _preallocate_and_copy=True)(x) for size in (1, 2, 5)]


@program
def jacobians_of_several_types(L):
    x, y = numbers(L, 2).float(), numbers(L, 2, start=3.0)
    f = lambda x, y: (x * y, x.sum())
    return L.func.jacrev(f, argnums=(0, 1))(x, y), L.func.jacfwd(f)(x, y)


@program
def hessians(L):
    functions = [
        lambda x: (x**3).sum(),
        lambda x: x.prod().exp(),
        lambda x: (L.outer(x, x) @ x).tanh().sum(),
        lambda x: x.softmax(0)[1],
        lambda x: x.norm(),
        lambda x: x.sin() * x.sum(),
    ]
    return [values(L, L.func.hessian(f)(numbers(L, 3, start=0.2))) for f in functions]


@program
def complex_inputs(L):
    z = complex_numbers(L, 2)
    results = [L.func.grad(lambda z: z.abs().sum())(z), L.func.grad(lambda z: (z * z).real.sum())(z)]
    results += [L.func.vjp(lambda z: z * z, z)[1](z)[0], L.func.jvp(lambda z: z * z.exp(), (z,), (z * 2,))]
    refused = [lambda: L.func.grad(lambda z: z.sum())(z)]
    for transform in (L.func.jacrev, L.func.jacfwd, L.func.hessian):
        refused.append(lambda t=transform: t(lambda z: z * z)(z))
        refused.append(lambda t=transform: t(lambda z: z.abs())(z))
        refused.append(lambda t=transform: t(lambda x: x * 1j)(z.real))
        refused.append(lambda t=transform: t(lambda x, z: x)(z.real, z))
    return results, [raised(call, 60) for call in refused]


@program
def random_numbers_in_jacobians(L):
    x = numbers(L, 3)
    return raised(lambda: L.func.jacfwd(lambda x: x * L.rand(3))(x), 40)


@program
def empty_inputs(L):
    x = numbers(L, 0)
    return (
        L.func.grad(lambda x: x.sum())(x),
        L.func.jvp(lambda x: x * 2, (x,), (x,)),
        L.func.vjp(lambda x: x * 2, x)[1](x),
    )


# ---- Nesting


TRANSFORMS = {
    "grad": lambda L, f: lambda x: L.func.grad(lambda x: f(x).sum())(x),
    "vjp": lambda L, f: lambda x: L.func.vjp(f, x)[1](x * 0.5)[0],
    "jvp": lambda L, f: lambda x: L.func.jvp(f, (x,), (L.ones_like(x),))[1],
    "jacrev": lambda L, f: lambda x: L.func.jacrev(f)(x).sum(0),
    "jacfwd": lambda L, f: lambda x: L.func.jacfwd(f)(x).sum(0),
    "vmap": lambda L, f: lambda x: L.vmap(lambda s: f(x * s))(L.ones(2, dtype=x.dtype)).sum(0),
}


def function(x):
    return x.sin() * (x * x).sum() + (x[:1] * 0.3).exp()


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_nesting(depth):
    for names in itertools.product(TRANSFORMS, repeat=depth):

        def call(L, names=names):
            f = function
            for name in names:
                f = TRANSFORMS[name](L, f)
            return f(numbers(L, 2, start=0.3))

        assert same(call, VALUES, OPS, warned=None).kind == "value", names


DEEP = [
    "grad jvp grad jvp",
    "jvp jvp jvp jvp",
    "grad grad grad grad",
    "vmap grad jvp vmap",
    "jacfwd jacrev jacfwd jacrev",
]
DEEP += [
    "vjp jvp vmap grad",
    "jacrev jacrev jacfwd jacfwd",
    "vmap vmap vmap jvp",
    "jvp vmap jvp vmap",
    "grad vjp jvp jacfwd",
]


@pytest.mark.parametrize("names", DEEP)
def test_deep_nesting(names):
    def call(L):
        f = function
        for name in names.split():
            f = TRANSFORMS[name](L, f)
        return f(numbers(L, 2, start=0.3))

    assert same(call, VALUES, OPS, warned=None).kind == "value"


@program
def perturbations_are_not_confused(L):
    """d/dx (x d/dy (x + y)) at 1 is 1: the inner derivative is not one by x."""
    x, one = numbers(L), L.ones((), dtype=L.float64)

    def push(f, x):
        return L.func.jvp(f, (x,), (one,))[1]

    return [
        push(lambda x: x * push(lambda y: x + y, one), x),
        L.func.grad(lambda x: x * L.func.grad(lambda y: x + y)(one))(x),
        push(lambda x: x * L.func.grad(lambda y: x + y)(one), x),
        L.func.grad(lambda x: x * push(lambda y: x + y, one))(x),
        push(lambda x: x * push(lambda y: x * y * y, x), x),
        L.func.grad(lambda x: x * push(lambda y: x * y * y, x))(x),
    ]


@program
def products_of_hessians_by_all_routes(L):
    x, v = numbers(L, 3), numbers(L, 3, start=-0.5)
    f = lambda x: (x.sin() * x.sum()).prod()
    return [
        L.func.jvp(L.func.grad(f), (x,), (v,))[1],
        L.func.grad(lambda x: L.func.jvp(f, (x,), (v,))[1])(x),
        L.func.grad(lambda x: L.dot(L.func.grad(f)(x), v))(x),
        L.func.vjp(L.func.grad(f), x)[1](v)[0],
        L.func.hessian(f)(x) @ v,
    ]


# ---- Modes, and tensors from outside


@program
def no_grad_inside(L):
    x = numbers(L, 3)

    def f(x):
        with L.no_grad():
            y = x**2
        return (y * x).sum()

    return (
        L.func.grad(f)(x),
        L.func.jvp(f, (x,), (x,)),
        L.func.grad(L.func.grad(lambda x: f(x[0] * x)))(x[:1].expand(3)),
    )


@program
def no_grad_outside(L):
    x = numbers(L, 3)
    with L.no_grad():
        f = lambda x: (x**3).sum()
        results = [L.func.grad(f)(x), L.func.hessian(f)(x), L.func.jvp(f, (x,), (x,)), L.func.vjp(f, x)[1](x[0])]
        results += [L.func.jacrev(lambda x: x**2)(x), L.func.jacfwd(lambda x: x**2)(x)]
        results += [L.func.grad(lambda x: L.func.grad(f)(x).sum())(x)]
    return results


def in_inference_mode(transform, inside=True, recorded=False):
    """What a transform gives in the middle of inference mode: its values, and whether they are of that mode."""

    def call(L):
        x = numbers(L, 3).requires_grad_(recorded)
        with L.inference_mode():
            results = transform(L, lambda x: x.sin() * x.sum(), numbers(L, 3) if inside else x)
        return [(y, y.is_inference()) for y in L.utils._pytree.tree_leaves(results)]

    return call


IN_INFERENCE_MODE = {
    "grad": lambda L, f, x: L.func.grad(lambda x: f(x).sum())(x),
    "grad_and_value": lambda L, f, x: L.func.grad_and_value(lambda x: f(x).sum())(x),
    "grad of grad": lambda L, f, x: L.func.grad(lambda x: L.func.grad(lambda x: f(x).sum())(x).sum())(x),
    "vjp": lambda L, f, x: L.func.vjp(f, x)[1](L.ones_like(x)),
    "jvp": lambda L, f, x: L.func.jvp(f, (x,), (L.ones_like(x),)),
    "jacrev": lambda L, f, x: L.func.jacrev(f)(x),
    "jacfwd": lambda L, f, x: L.func.jacfwd(f)(x),
    "hessian": lambda L, f, x: L.func.hessian(f)(x),
    "vmap": lambda L, f, x: L.vmap(f)(x),
    "vmap of grad": lambda L, f, x: L.vmap(L.func.grad(lambda x: f(x).sum()))(L.stack([x, x])),
    "a change in place": lambda L, f, x: L.func.grad(lambda x: x.clone().mul_(x).sum())(x),
    "the modes inside": lambda L, f, x: L.func.grad(
        lambda x: x.sum() * (2 if L.is_grad_enabled() and not L.is_inference_mode_enabled() else 3)
    )(x),
}


@pytest.mark.parametrize("place", [(True, False), (False, False), (False, True)])
@pytest.mark.parametrize("name", IN_INFERENCE_MODE)
def test_derivatives_in_inference_mode(name, place):
    """They leave it, also for tensors that were made in it."""
    assert same(in_inference_mode(IN_INFERENCE_MODE[name], *place), bound=OPS).error is None


@program
def inference_mode_inside(L):
    def f(x):
        with L.inference_mode():
            constant = numbers(L, 3) + 1
        return (constant.clone() * x).sum()

    x = numbers(L, 3)
    return L.func.grad(f)(x), L.func.jvp(f, (x,), (x,))


@program
def no_grad_between(L):
    x = numbers(L, 3)

    def inner(x):
        with L.no_grad():
            return L.func.grad(lambda x: (x**3).sum())(x)

    return L.func.grad(lambda x: (inner(x) * x).sum())(x), L.func.jvp(inner, (x,), (x,))


@program
def inference_mode_outside(L):
    f = lambda x: (x**3).sum()
    seen, results = [], []

    def watched(x):
        seen.append((L.is_grad_enabled(), L.is_inference_mode_enabled(), x.is_inference(), (x * 2).is_inference()))
        return f(x)

    given = numbers(L, 3)
    with L.inference_mode():
        for x in (given, numbers(L, 3)):
            value, product = L.func.vjp(watched, x)
            results += [L.func.grad(watched)(x), L.func.jvp(watched, (x,), (x,)), value, product(value)]
            results += [L.func.jacrev(f)(x), L.func.jacfwd(f)(x), L.func.hessian(f)(x), L.vmap(L.func.grad(f))(x)]
            results += [one.is_inference() for one in (value, product(value)[0], L.func.grad(f)(x))]
    return results, seen


@program
def inputs_that_require_grad(L):
    x = numbers(L, 3).requires_grad_()
    f = lambda x: (x**3).sum()
    gradient = L.func.grad(f)(x)
    again = L.autograd.grad(gradient.sum(), x)
    value, product = L.func.vjp(lambda x: x**3, x)
    through = L.autograd.grad(product(L.ones_like(x))[0].sum() + value.sum(), x)
    pushed = L.func.jvp(lambda x: x**3, (x,), (L.ones_like(x),))[1]
    return gradient.detach(), gradient.requires_grad, again, through, L.autograd.grad(pushed.sum(), x)


@program
def captured_tensors_that_require_grad(L):
    x, w = numbers(L, 3), numbers(L, 3, start=2.0).requires_grad_()
    f = lambda x: (x**2 * w**2).sum()
    results = []
    for transform in (L.func.grad, L.func.jacrev, L.func.jacfwd):
        got = transform(f)(x)
        results += [got.detach(), got.requires_grad, *L.autograd.grad(got.sum(), w)]
    value, pushed = L.func.jvp(f, (x,), (x,))
    results += [value.requires_grad, pushed.requires_grad, *L.autograd.grad(value + pushed, w)]
    gradient, value = L.func.grad_and_value(f)(x)
    return results, value.requires_grad, L.autograd.grad(value + gradient.sum(), w)


@program
def backward_through_a_transform(L):
    w = numbers(L, 3).requires_grad_()
    L.func.grad(lambda x: (x**2 * w).sum())(numbers(L, 3)).sum().backward()
    return w.grad


@program
def nothing_is_left_behind(L):
    x = numbers(L, 3)
    results = [L.func.grad(lambda x: (x**2).sum())(x), *L.func.jvp(L.sin, (x,), (x,)), L.func.jacrev(L.sin)(x)]
    return x.requires_grad, x.grad, [(y.requires_grad, y.is_leaf) for y in results]


@program
def in_place_inside(L):
    x = numbers(L, 3)

    def f(x):
        y = x * 2
        y.mul_(x)
        y[0] = y[1] * x[2]
        return y.sum()

    def into_zeros(x):
        y = L.zeros_like(x)
        y += x**2
        return y.sum()

    return [
        L.func.grad(f)(x),
        L.func.grad(into_zeros)(x),
        L.func.jvp(into_zeros, (x,), (x,)),
        L.func.hessian(into_zeros)(x),
    ]


@program
def histories_of_hessians(L):
    """A gradient that is not recorded has a tangent that is."""
    x = numbers(L, 3)
    return L.func.hessian(lambda x: x.exp().sum())(x), L.func.jvp(L.func.grad(lambda x: x.tanh().sum()), (x,), (x,))


@program
def copies_inside_forward_mode(L):
    def f(x):
        y = x * 2
        y[0] = y[1] * x[2]
        z = L.zeros_like(x)
        z[1:] = x[1:] ** 2
        return y * z

    x = numbers(L, 3)
    return L.func.jvp(f, (x,), (x,)), L.func.jacfwd(f)(x)


@program
def in_place_under_forward_over_reverse(L):
    x = numbers(L, 3)
    return L.func.hessian(lambda x: (x * 2).mul_(x).sum())(x)


@program
def detach_inside(L):
    x = numbers(L, 3)
    f = lambda x: (x * x.detach()).sum()
    return L.func.grad(f)(x), L.func.jvp(f, (x,), (x,)), L.func.hessian(f)(x)


@program
def requires_grad_inside(L):
    x = numbers(L, 3)
    seen = []

    def f(x):
        seen.append((x.requires_grad, (x * 2).requires_grad, x.detach().requires_grad))
        return (x**2).sum()

    L.func.grad(f)(x), L.func.vjp(f, x), L.func.jvp(f, (x,), (x,))
    return seen[0], seen[1]


@program
def hooks_inside(L):
    seen = []

    def f(x):
        y = x**2
        y.register_hook(lambda g: seen.append(1) or g * 3)
        return y.sum()

    return L.func.grad(f)(numbers(L, 3)), len(seen)


@program
def hooks_are_called_for_the_innermost_derivative_alone(L):
    grad, x, seen = L.func.grad, numbers(L, 3), []

    def hooked(y):
        y.register_hook(lambda g: seen.append(1) or g * 2)
        return y

    def of_input(x):
        return (hooked(x) ** 3).sum()

    def of_outer(x):
        return grad(lambda z: (hooked(x) * z**2).sum())(x * 2).sum()

    def again(x):
        y = hooked(x.sin())
        return L.autograd.grad((y**2).sum(), x, create_graph=True)[0].sum()

    calls = [
        lambda: grad(of_input)(x),
        lambda: grad(lambda x: grad(of_input)(x).sum())(x),
        lambda: grad(lambda x: grad(of_input)(x).sum() + of_input(x))(x),
        lambda: grad(lambda x: grad(lambda y: grad(of_input)(y).sum())(x).sum())(x),
        lambda: grad(of_outer)(x),
        lambda: grad(again)(x),
        lambda: L.vmap(grad(lambda x: grad(of_input)(x).sum()))(numbers(L, 2, 3)),
        lambda: L.func.jacrev(L.func.jacrev(of_input))(x),
        lambda: L.func.hessian(of_input)(x),
    ]
    found = []
    for call in calls:
        found.append((call(), len(seen)))
        seen.clear()
    return found


@program
def hooks_inside_are_none_of_recording_around(L):
    w, seen = numbers(L, 3).requires_grad_(), []

    def f(x):
        y = x * w
        y.register_hook(lambda g: seen.append(1) or g * 2)
        return (y**2).sum()

    gradient = L.func.grad(f)(numbers(L, 3))
    gradient.sum().backward()
    _, product = L.func.vjp(f, numbers(L, 3))
    products = product(L.tensor(1.0, dtype=L.float64)), product(L.tensor(2.0, dtype=L.float64))
    return gradient, w.grad, products, len(seen)


@program
def autograd_grad_inside(L):
    def f(x):
        y = (x**3).sum()
        (g,) = L.autograd.grad(y, x, create_graph=True)
        return (g * x).sum()

    return L.func.grad(f)(numbers(L, 3))


def transforms_of(L):
    return [
        L.func.grad,
        L.vmap,
        lambda f: lambda x: L.func.jvp(f, (x,), (x,)),
        lambda f: lambda x: L.func.vjp(f, x),
        lambda f: L.vmap(L.func.grad(f)),
        L.func.jacrev,
        L.func.jacfwd,
    ]


@program
def what_functions_may_not_do(L):
    """Nor may they in a function that is called by another one of them."""
    x, F = numbers(L, 3), L.autograd.functional
    f = lambda x: x.sin().sum()
    attempts = [
        lambda x: f(x).backward(),
        lambda x: L.autograd.backward(f(x)),
        lambda x: F.jacobian(f, x),
        lambda x: F.hessian(f, x),
        lambda x: F.vjp(f, x),
        lambda x: F.jvp(f, x, x),
        lambda x: F.hvp(f, x, x),
        lambda x: F.vhp(f, x, x),
    ]
    return [raised(lambda t=t, a=a: t(a)(x), 50) for t in transforms_of(L) for a in attempts]


@program
def printing_inside(L):
    seen, captured = [], L.ones(2)

    def f(x):
        y = x * 2
        seen.extend((repr(x), repr(y), repr(captured), str(y)))
        return y.sum()

    x = numbers(L, 2, 2)
    for once in transforms_of(L):
        once(f)(x)
        for twice in (L.vmap, L.func.jacrev, L.func.jacfwd):
            twice(lambda x, once=once: once(f)(x)[0])(x)
    L.func.grad(f)(x.clone().requires_grad_())
    return seen


@program
def per_example_gradients(L):
    w, xs = numbers(L, 3), numbers(L, 4, 3, start=-1.0)
    loss = lambda w, x: (w @ x).tanh()
    hessians = L.vmap(L.func.hessian(loss), (None, 0))(w, xs)
    return L.vmap(L.func.grad(loss), in_dims=(None, 0))(w, xs).detach(), hessians.detach()


@program
def names_of_functions(L):
    def named(x):
        """What it says."""
        return x.sum()

    transforms = (L.func.grad, L.func.grad_and_value, L.func.jacrev, L.func.jacfwd, L.func.vmap)
    return [(transform(named).__name__, transform(named).__doc__) for transform in transforms]


# ---- Modules


def network(L):
    net = L.nn.Sequential(L.nn.Linear(3, 4), L.nn.Tanh(), L.nn.Linear(4, 2)).double()
    with L.no_grad():
        for i, parameter in enumerate(net.parameters()):
            parameter.copy_(numbers(L, *parameter.shape, start=-1.0 + 0.3 * i) * 0.3)
    return net


@program
def modules_as_functions(L):
    net = network(L)
    parameters = {name: p.detach() for name, p in net.named_parameters()}
    x = numbers(L, 5, 3, start=-0.5)
    loss = lambda p, x: (L.func.functional_call(net, p, x) ** 2).sum()
    return [
        L.func.functional_call(net, parameters, (x,)),
        L.func.functional_call(net, {"0.bias": parameters["0.bias"] * 0}, x).detach(),
        L.func.functional_call(net, (parameters, {}), x),
        L.func.grad(loss)(parameters, x),
        values(L, L.vmap(L.func.grad(loss), in_dims=(None, 0))(parameters, x)),
        L.func.jvp(lambda p: loss(p, x), (parameters,), (parameters,)),
        L.func.jacrev(lambda p: L.func.functional_call(net, p, x[0]))(parameters),
        L.func.jacfwd(lambda p: L.func.functional_call(net, p, x[0]))(parameters),
    ]


@program
def wrong_parameters(L):
    net, x = network(L), numbers(L, 3)
    weight = {"0.weight": numbers(L, 4, 3)}
    calls = [
        lambda: L.func.functional_call(net, weight, x, strict=True),
        lambda: L.func.functional_call(net, {"nothing": x}, x, strict=True),
        lambda: L.func.functional_call(net, {"nothing": x}, x),
        lambda: L.func.functional_call(net, 3, x),
        lambda: L.func.functional_call(net, (weight, weight), x),
        lambda: L.func.functional_call(net, (weight, 3), x),
    ]
    return [raised(call, 30) for call in calls[:2] + calls[3:]]


@program
def tied_weights(L):
    class Tied(L.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = L.nn.Parameter(numbers(L, 2))
            self.b = self.a

        def forward(self, x):
            return self.a * x + self.b

    net, x = Tied(), numbers(L, 2)
    call = L.func.functional_call
    return call(net, {"a": x}, x), call(net, {"a": x}, x, tie_weights=False).detach(), call(net, {"a": x, "b": x}, x)


@program
def stacked_modules(L):
    nets = [network(L) for _ in range(3)]
    for i, net in enumerate(nets):
        with L.no_grad():
            for parameter in net.parameters():
                parameter.mul_(i + 1)
    parameters, buffers = L.func.stack_module_state(nets)
    x = numbers(L, 2, 3)
    base = network(L)
    ensemble = L.vmap(lambda p, b, x: L.func.functional_call(base, (p, b), (x,)), in_dims=(0, 0, None))
    kinds = {name: (type(p).__name__, p.requires_grad, p.is_leaf) for name, p in parameters.items()}
    return kinds, buffers, ensemble(parameters, buffers, x).detach()


@program
def stacked_modules_with_buffers(L):
    nets = [L.nn.BatchNorm1d(2) for _ in range(2)]
    parameters, buffers = L.func.stack_module_state(nets)
    return {k: v.detach() for k, v in parameters.items()}, buffers


@program
def modules_that_cannot_be_stacked(L):
    a, b = L.nn.Linear(2, 2), L.nn.Linear(2, 2).eval()
    frozen = L.nn.Linear(2, 2).requires_grad_(False)
    calls = [[], [a, b], [a, L.nn.Tanh()], [a, frozen]]
    return [raised(lambda models=models: L.func.stack_module_state(models), 40) for models in calls]


# ---- What torch has no equal of


def test_arguments_from_the_end():
    """torch gives zeros."""
    L = adjoint
    x, y = numbers(L, 2), numbers(L, 2, start=3.0)
    f = lambda x, y: x * y
    assert_same(L.func.jacfwd(f, argnums=-1)(x, y), L.func.jacfwd(f, argnums=1)(x, y))
    assert_same(L.func.jacfwd(f, argnums=(0, -1))(x, y), L.func.jacfwd(f, argnums=(0, 1))(x, y))


def test_forward_mode_in_chunks_and_with_keywords():
    L, x = adjoint, numbers(adjoint, 5)

    def f(x, scale=1.0):
        return x.sin() * x.sum() * scale, L.outer(x, x)[:2]

    for size in (1, 2, 3, 5, 100):
        assert_same(L.func.jacfwd(f, chunk_size=size)(x, scale=2.0), L.func.jacrev(f)(x, scale=2.0), bound=OPS)


def test_gradients_of_functions_with_hooks_on_saved_tensors():
    seen = []

    def pack(x):
        seen.append(x.shape)
        return x

    with adjoint.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        got = adjoint.func.grad(lambda x: (x**3).sum())(adjoint.ones(2))
    assert got.tolist() == [3.0, 3.0]
    assert seen


def test_tangents_of_tangents_have_no_history():
    def along(function):
        return lambda x: adjoint.func.jvp(function, (x,), (x,))[1]

    x = numbers(adjoint, 3)
    found = along(along(lambda x: adjoint.complex(x, x * x).abs()))(x)
    assert_same(found, along(along(lambda x: (x**2 + x**4).sqrt()))(x), bound=Bound(1e-12, 1e-12))
    assert not found.requires_grad


@program
def views_of_what_is_changed_in_place_along_tangents(L):
    def whole(x):
        y = x * x
        part = y[1:]
        y.mul_(x)
        return part * 1

    def through(x):
        y = x * x
        other = y[:2]
        y[1:].exp_()
        return y * 1, other * 1

    x, v = numbers(L, 3), numbers(L, 3, start=0.5)
    found = [L.func.jacrev(lambda x, f=f: L.func.jvp(f, (x,), (v,)))(x) for f in (whole, through)]
    return found, [L.func.hessian(lambda x, f=f: L.cat(f(x)).sum())(x) for f in (through,)]


@program
def derivatives_of_powers_of_whole_numbers(L):
    x = numbers(L, start=0.4).requires_grad_()
    found = [L.autograd.grad(f(x), x, create_graph=True)[0] for f in (lambda x: 2**x, lambda x: 3 / (x + 1))]
    return [g.detach() for g in found], [L.autograd.grad(g, x)[0] for g in found]
