"""Custom Functions under transforms, beside torch.func: their jvp, their vmap, the vmap that is made of them."""

import math

import pytest

import adjoint

from .compare import Bound, assert_same, opening, same


def functions(L):
    """A cube with everything written by hand, with the vmap made for it, and variants that lack something."""

    class Cube(L.autograd.Function):
        @staticmethod
        def forward(x, factor):
            return x**3 * factor, x**2

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, factor = inputs
            ctx.save_for_backward(x, output[1])
            ctx.save_for_forward(x, output[1])
            ctx.factor = factor

        @staticmethod
        def backward(ctx, g, g_square):
            x, square = ctx.saved_tensors
            return g * 3 * square * ctx.factor + g_square * 2 * x, None

        @staticmethod
        def jvp(ctx, t, _):
            x, square = ctx.saved_tensors
            return t * 3 * square * ctx.factor, t * 2 * x

    class Generated(Cube):
        generate_vmap_rule = True

    class ByHand(Cube):
        @staticmethod
        def vmap(info, in_dims, x, factor):
            assert info.batch_size > 0
            assert info.randomness == "error"
            cube, square = ByHand.apply(x.movedim(in_dims[0], 0), factor)
            return (cube, square), (0, 0)

    class WithoutJvp(L.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x.sin()

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0].cos()

    class Product(L.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x, y):
            return x @ y

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return g @ y.mT, x.mT @ g

    class Together(L.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    class Both(ByHand):
        generate_vmap_rule = True

    class Misplaced(WithoutJvp):
        generate_vmap_rule = False

        @staticmethod
        def vmap(info, in_dims, x):
            return x.sin(), (0, 0)

    return Cube, Generated, ByHand, WithoutJvp, Product, Together, Both, Misplaced


def numbers(L, *shape):
    return L.linspace(0.5, 1.5, steps=math.prod(shape), dtype=L.float64).reshape(shape)


def sum_of(F):
    return lambda x: sum(y.sum() for y in F.apply(x, 2.0))


COMPOSITIONS = {
    "jvp": lambda L, F, x: L.func.jvp(lambda x: F.apply(x, 2.0), (x,), (x.cos(),)),
    "grad": lambda L, F, x: L.func.grad(sum_of(F))(x),
    "grad of grad": lambda L, F, x: L.func.grad(lambda x: L.func.grad(sum_of(F))(x).sum())(x),
    "jvp of grad": lambda L, F, x: L.func.jvp(L.func.grad(sum_of(F)), (x,), (x.cos(),)),
    "grad of jvp": lambda L, F, x: L.func.grad(lambda x: L.func.jvp(sum_of(F), (x,), (x.cos().detach(),))[1])(x),
    "jacrev": lambda L, F, x: L.func.jacrev(lambda x: F.apply(x, 2.0)[0])(x[0]),
}
BATCHED = {
    "vmap": lambda L, F, x: L.func.vmap(lambda x: F.apply(x, 2.0))(x),
    "vmap of columns": lambda L, F, x: L.func.vmap(lambda x: F.apply(x, 2.0), in_dims=1, out_dims=1)(x),
    "vmap of vmap": lambda L, F, x: L.func.vmap(L.func.vmap(lambda x: F.apply(x, 2.0)))(x),
    "vmap of grad": lambda L, F, x: L.func.vmap(L.func.grad(sum_of(F)))(x),
    "grad of vmap": lambda L, F, x: L.func.grad(lambda x: L.func.vmap(sum_of(F))(x).sum())(x),
    "vmap of grad of grad": lambda L, F, x: L.func.vmap(L.func.grad(lambda x: L.func.grad(sum_of(F))(x).sum()))(x),
}


@pytest.mark.parametrize("name", COMPOSITIONS)
@pytest.mark.parametrize("which", [0, 1, 2])
def test_compositions(which, name):
    same(lambda L: COMPOSITIONS[name](L, functions(L)[which], numbers(L, 2, 3)), warned=None)


@pytest.mark.parametrize("which", [0, 1, 2])
def test_tangent_of_a_tangent(which):
    """Of which torch says that it is zero."""
    value = sum_of(functions(adjoint)[which])
    x = numbers(adjoint, 2, 3)
    _, second = adjoint.func.jvp(lambda x: adjoint.func.jvp(value, (x,), (x,))[1], (x,), (x.cos(),))
    assert_same(second, ((18 * x**2 + 4 * x) * x.cos()).sum(), bound=Bound(1e-14))


@pytest.mark.parametrize("name", BATCHED)
@pytest.mark.parametrize("which", [1, 2])
def test_batches(which, name):
    same(lambda L: BATCHED[name](L, functions(L)[which], numbers(L, 2, 3)))


@pytest.mark.parametrize("dims", [(0, 0), (0, None), (None, 0)])
def test_products_of_batches(dims):
    def call(L):
        product = functions(L)[4].apply
        x = numbers(L, 4, 2, 3) if dims[0] == 0 else numbers(L, 2, 3)
        y = numbers(L, 4, 3, 2) if dims[1] == 0 else numbers(L, 3, 2)
        mapped = L.func.vmap(product, in_dims=dims)
        gradients = L.func.grad(lambda x, y: mapped(x, y).cos().sum(), argnums=(0, 1))(x, y)
        inner = L.func.vmap(L.func.grad(lambda x, y: product(x, y).cos().sum(), argnums=(0, 1)), in_dims=dims)(x, y)
        return mapped(x, y), gradients, inner

    same(call, bound=Bound(1e-12))


def test_under_dual_levels():
    def call(L):
        fw = L.autograd.forward_ad
        with fw.dual_level():
            x = fw.make_dual(numbers(L, 3), numbers(L, 3).cos())
            return [tuple(fw.unpack_dual(y)) for y in functions(L)[0].apply(x, 2.0)]

    same(call)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("no vmap", lambda L, F: L.func.vmap(lambda x: F[0].apply(x, 2.0))(L.ones(2, 3))),
        ("no jvp", lambda L, F: L.func.jvp(F[3].apply, (L.ones(2),), (L.ones(2),))),
        ("both", lambda L, F: L.func.vmap(lambda x: F[6].apply(x, 2.0))(L.ones(2, 3))),
        ("one forward with ctx", lambda L, F: L.func.vmap(F[5].apply)(L.ones(2, 3))),
        ("one forward with ctx, forward mode", lambda L, F: L.func.jvp(F[5].apply, (L.ones(2),), (L.ones(2),))),
        ("out_dims that do not fit", lambda L, F: L.func.vmap(F[7].apply)(L.ones(2, 3))),
    ],
)
def test_refusals(name, call):
    same(lambda L: call(L, functions(L)), error=opening(60))
