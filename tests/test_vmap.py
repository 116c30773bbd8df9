"""torch.vmap: dimensions, containers, randomness, in-place changes, nesting and errors, beside torch."""

import copy
import io
import itertools
import re

import pytest

import adjoint

from .compare import LIBRARIES, OPS, assert_same, numbers, programs, raised, same

program, test_program = programs(OPS)


# ---- Dimensions


@program
def dimensions_of_arguments(L):
    x, y = numbers(L, 2, 3, 4), numbers(L, 3)
    results = [L.vmap(lambda x: x.sum(0), in_dims=dim)(x) for dim in (0, 1, 2, -1, -2, -3, (0,), (-1,))]
    pairs = [((1, 0), x, y), ((1, None), x, y[0]), ((None, 0), x, y), ((-2, -1), x, y)]
    return results, [L.vmap(lambda x, y: x * y, in_dims=dims)(a, b) for dims, a, b in pairs]


@program
def dimensions_of_results(L):
    x = numbers(L, 2, 3, 4)
    return [L.vmap(lambda x: x.exp(), out_dims=dim)(x) for dim in (0, 1, 2, -1, -2, -3)]


@program
def dimensions_of_several_results(L):
    x = numbers(L, 2, 3)
    f = L.vmap(lambda x: (x, x * 2), out_dims=(0, 1))(x)
    g = L.vmap(lambda x: (x, (x * 2, x + 1)), out_dims=(1, (0, -1)))(x)
    h = L.vmap(lambda x: {"a": x, "b": [x, x]}, out_dims=1)(x)
    i = L.vmap(lambda x: {"a": x, "b": [x, x * 2]}, out_dims={"a": 0, "b": [1, 0]})(x)
    return f, g, h, i, L.vmap(lambda x: x, out_dims=(1,))(x), L.vmap(lambda x: (x,), out_dims=(1,))(x)


@program
def containers_of_arguments(L):
    x, y = numbers(L, 2, 3), numbers(L, 3, 2)
    tree = {"a": x, "b": [y, (x, 3)]}

    def f(tree):
        return tree["a"].sum() + tree["b"][0].prod() * tree["b"][1][1] + tree["b"][1][0].max()

    results = [L.vmap(f, in_dims=({"a": 0, "b": [1, (0, None)]},))(tree)]
    results += [L.vmap(lambda t: t["a"] * t["c"], in_dims=(0,))({"a": x, "c": x})]
    results += [L.vmap(lambda t: t["a"] * t["c"], in_dims=({"a": 0, "c": None},))({"a": x, "c": x[0]})]
    results += [L.vmap(lambda pair, z: pair[0] * pair[1] + z, in_dims=((0, None), 1))((x, x[0]), y)]
    return results, L.vmap(lambda xs: xs[0] + xs[1], in_dims=([0, 1],))([x, y])


@program
def arguments_that_are_no_tensors(L):
    x = numbers(L, 2, 3)
    f = L.vmap(lambda x, n, s: x.sum() * n if s == "yes" else x, in_dims=(0, None, None))
    return f(x, 3, "yes"), f(x, None, "no")


@program
def keywords_are_mapped_along_zero(L):
    x, y = numbers(L, 2, 3), numbers(L, 2)
    return L.vmap(lambda x, *, y: x * y)(x, y=y)


@program
def results_that_are_not_batched(L):
    x, c = numbers(L, 2, 3), numbers(L, 2)
    shared = L.vmap(lambda x: (x, c), out_dims=(0, None))(x)
    return L.vmap(lambda x: c * 1)(x), shared, raised(lambda: L.vmap(lambda x: x, out_dims=None)(x), 60)


@program
def wrong_dimensions(L):
    x = numbers(L, 2, 3)
    identity = lambda x: x
    calls = [
        lambda: L.vmap(identity, in_dims=2)(x),
        lambda: L.vmap(identity, in_dims=-3)(x),
        lambda: L.vmap(identity, in_dims=0.5)(x),
        lambda: L.vmap(identity, in_dims="0")(x),
        lambda: L.vmap(identity, in_dims=None)(x),
        lambda: L.vmap(identity, in_dims=(None,))(x),
        lambda: L.vmap(identity, in_dims=[0])(x),
        lambda: L.vmap(identity, in_dims=(0, 0))(x),
        lambda: L.vmap(identity, in_dims=({"a": 0},))(x),
        lambda: L.vmap(identity, in_dims=("0",))(x),
        lambda: L.vmap(identity)(3.0),
        lambda: L.vmap(identity)(L.ones(())),
        lambda: L.vmap(lambda: 1)(),
        lambda: L.vmap(lambda x, y: x)(x, numbers(L, 3)),
        lambda: L.vmap(lambda x, y: x)(x, 3),
        lambda: L.vmap(identity, out_dims=2)(x),
        lambda: L.vmap(identity, out_dims=-3)(x),
        lambda: L.vmap(identity, out_dims=(0, 1))(x),
        lambda: L.vmap(identity, out_dims="0")(x),
        lambda: L.vmap(identity, out_dims=1.5)(x),
        lambda: L.vmap(lambda x: (x, x), out_dims=(0,))(x),
        lambda: L.vmap(lambda x: 3)(x),
        lambda: L.vmap(lambda x: None)(x),
        lambda: L.vmap(lambda x: (x, "text"))(x),
        lambda: L.vmap(identity, chunk_size=0)(x),
        lambda: L.vmap(identity, chunk_size=-2)(x),
        lambda: L.vmap(identity, randomness="maybe")(x),
        lambda: L.vmap(3)(x),
    ]
    return [raised(call, 24) for call in calls]


@program
def sizes_of_the_batch(L):
    return [L.vmap(lambda x: (x.sin(), x.sum(), x[0]))(numbers(L, n, 3)) for n in (1, 2)], L.vmap(L.sin)(numbers(L, 1))


@program
def an_empty_batch(L):
    x = numbers(L, 0, 3)
    calls = [lambda x: x * 2, lambda x: x.sum(), lambda x: x @ x, lambda x: x[1:], lambda x: L.stack([x, x])]
    return [raised(lambda f=f: L.vmap(f)(x), 10) for f in calls]


# ---- Chunks


@program
def chunks(L):
    x, y = numbers(L, 5, 3), numbers(L, 3, 5)
    f = lambda x, y: (x * y, (x @ y, {"s": x.sum()}))
    whole = L.vmap(f, in_dims=(0, 1), out_dims=(1, 0))(x, y)
    return whole, [L.vmap(f, in_dims=(0, 1), out_dims=(1, 0), chunk_size=size)(x, y) for size in (1, 2, 3, 5, 7)]


@program
def the_size_of_chunks(L):
    seen = []
    L.vmap(lambda x: seen.append(1) or x * 2, chunk_size=2)(numbers(L, 5))
    return len(seen)


# ---- Inside


@program
def shapes_inside(L):
    seen = []

    def f(x):
        seen.append((tuple(x.shape), x.dim(), x.size(0), x.numel(), len(x), x.ndim, x.dtype is L.float64, x.is_leaf))
        return x

    L.vmap(f, in_dims=1)(numbers(L, 4, 2, 3))
    return seen


@program
def a_program_of_many_ops(L):
    def f(x):
        y = x.t() @ x
        z = L.cat([y, y * 2], 1).softmax(-1)
        z = L.where(z > 0.1, z, z.exp())
        i = z.argmax(-1)
        w = z.gather(1, i[:, None]).squeeze(1)
        return {"w": w, "i": i, "sorted": z.sort(-1).values, "norm": z.norm(), "std": z.std(0), "cum": z.cumsum(0)}

    return L.vmap(f)(numbers(L, 3, 4, 2, start=-2.0) * 0.1)


@program
def closures(L):
    x, c = numbers(L, 2, 3), numbers(L, 3)
    return L.vmap(lambda x: x * c + c.sum() - L.outer(c, x)[0])(x)


@program
def indexing_inside(L):
    x = numbers(L, 2, 3, 4)
    i = L.tensor([[0, 2], [1, 1]])
    plain = [L.vmap(f)(x) for f in (lambda x: x[1], lambda x: x[:, 1:3], lambda x: x[..., None], lambda x: x[[0, 2]])]
    batched = [L.vmap(lambda x, i: x[i])(x, i), L.vmap(lambda x, i: x[:, i])(x, i), L.vmap(lambda i: x[0, i])(i)]
    return plain, batched, L.vmap(lambda x: x[L.tensor([True, False, True])])(x)


@program
def views_inside(L):
    def f(x):
        return [x.t(), x.view(-1), x.unsqueeze(0), x.expand(2, 2, 3), x.diagonal(), x.T, x.reshape(3, 2), x.flatten()]

    return L.vmap(f)(numbers(L, 2, 2, 3)), L.vmap(lambda x: x.unbind()[1])(numbers(L, 2, 2, 3))


@program
def creation_inside(L):
    def f(x):
        return [
            L.zeros_like(x),
            x.new_ones(2),
            L.full_like(x, 2.0),
            x.new_full((2,), 3.0),
            L.eye(2, dtype=x.dtype) * x.sum(),
        ]

    return L.vmap(f)(numbers(L, 2, 3))


@program
def types_inside(L):
    x = numbers(L, 2, 3)
    f = lambda x: [x.float(), x.long(), x.to(L.complex128), x > 1.5, x.half() + 1, x.type_as(x.float())]
    return L.vmap(f)(x)


@program
def elements_without_dimensions_give_way(L):
    """In an element, a number of a batch is a tensor without dimensions, which gives way to one with dimensions."""
    x, n = numbers(L, 2, 3).float(), numbers(L, 2)
    k = L.arange(2)
    f = lambda x, n, k: [
        x * n,
        n * x,
        x + k,
        k + x,
        n * k,
        n + 1,
        k + 1.5,
        k * True,
        n.float() * n,
    ]
    return (
        L.vmap(f)(x, n, k),
        L.vmap(lambda n: n * L.ones(2))(n),
        L.vmap(lambda x: x * n[0])(x),
        L.vmap(lambda k: k * 2.5)(k),
    )


@program
def comparisons_and_choices(L):
    x, y = numbers(L, 2, 3), numbers(L, 2, 3, start=1.5).flip(0)
    f = lambda x, y: [x == y, L.maximum(x, y), x.clamp(1.2, 2.0), x.masked_fill(y > 2, 0.0), (x > y).any(), x.isnan()]
    return L.vmap(f)(x, y)


@program
def products_inside(L):
    A, B, v = numbers(L, 2, 3, 3), numbers(L, 2, 3, 3, start=-1.0), numbers(L, 2, 3)
    f = lambda A, B, v: [
        A @ B,
        A @ v,
        v @ A,
        L.dot(v, v),
        L.outer(v, v),
        L.einsum("ij,jk->ki", A, B),
        L.linalg.solve(A + 9 * L.eye(3, dtype=A.dtype), v),
    ]
    shared = L.vmap(lambda v: [A[0] @ v, v @ B[0], L.outer(v, A[0, 0])])(v)
    return (
        L.vmap(f)(A, B, v),
        shared,
        L.vmap(lambda A: A @ v[0])(A),
        L.vmap(lambda A: L.linalg.inv(A + 9 * L.eye(3)))(A),
    )


@program
def products_of_wrong_shapes(L):
    rows, matrices, batches = numbers(L, 3, 2), numbers(L, 3, 2, 2), numbers(L, 3, 2, 2, 2)
    results = []
    for name in ("mm", "bmm", "mv", "dot", "vdot"):
        product = getattr(L, name)
        given = [(batches, rows), (rows, batches), (rows, matrices)]
        results += [raised(lambda f=product, g=g: L.vmap(f)(*g), 21) for g in given]
        results += [raised(lambda f=product: L.vmap(f, in_dims=(0, None))(rows, matrices[0]), 21)]
        results += [raised(lambda f=product: L.vmap(f, in_dims=(None, 0))(matrices[0], batches), 21)]
    return results


FRACTIONS = {"beta": 2.6, "alpha": 1.7}


@pytest.mark.parametrize(
    "product",
    [
        lambda x: adjoint.addmm(x, x, x, **FRACTIONS),
        lambda x: adjoint.addmv(x[0], x, x[1], **FRACTIONS),
        lambda x: adjoint.baddbmm(x[None], x[None], x[None], **FRACTIONS),
        lambda x: adjoint.addbmm(x, x[None], x[None], **FRACTIONS),
    ],
)
def test_products_of_integers_and_fractions(product):
    """torch's batch rules give floats, its ops do not."""
    x = adjoint.arange(12).reshape(3, 2, 2)
    assert_same(adjoint.vmap(product)(x), adjoint.stack([product(one) for one in x]))


@program
def vectors_that_do_not_fit(L):
    x, y = numbers(L, 3, 1), numbers(L, 3, 2)
    return [raised(lambda f=f, y=y: L.vmap(f)(x, y), 0) for f in (L.dot, L.vdot) for y in (y, x.float())]


REFUSED = {
    "index_add of more": lambda L, x, i: x.index_add(0, i, x[:, :1].expand(5, 5)),
    "index_copy of more": lambda L, x, i: x.index_copy(0, i, x),
    "index_copy by int32": lambda L, x, i: x.index_copy(0, i.int(), x[:2]),
    "index_add of another type": lambda L, x, i: x.index_add(0, i, x[:2].float()),
    "index_select by floats": lambda L, x, i: x.index_select(0, i.double()),
    "index_fill by int32": lambda L, x, i: x.index_fill(0, i.int(), 1.0),
    "put of more": lambda L, x, i: x.put(i, x[0]),
    "take by int32": lambda L, x, i: x.take(i.int()),
    "addmm of another type": lambda L, x, i: L.addmm(x.float(), x, x),
    "addmm of too many dimensions": lambda L, x, i: L.addmm(x[None], x, x),
    "linear with another bias": lambda L, x, i: L.nn.functional.linear(x, x, x[0].float()),
    "conv1d with another bias": lambda L, x, i: L.nn.functional.conv1d(x[None], x[:, :, None], x[0, :1]),
    "layer_norm with another weight": lambda L, x, i: L.nn.functional.layer_norm(x, (5,), x),
    "masked_fill by a row": lambda L, x, i: x.masked_fill(x > 2, x[0]),
    "masked_scatter by numbers": lambda L, x, i: x.masked_scatter(i[:1], x),
    "masked_scatter of another type": lambda L, x, i: x.masked_scatter(x > 2, x.float()),
    "expand by nothing": lambda L, x, i: x.expand(-1, 5, 5),
    "t of three": lambda L, x, i: x[None].t(),
    "unbind of a number": lambda L, x, i: x[0, 0].unbind(),
    "a loss of another kind": lambda L, x, i: L.nn.functional.huber_loss(x, x, reduction="most"),
    "cat of nothing": lambda L, x, i: L.cat([x, None]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_an_op_refuses_its_batch_rule_does(name):
    """torch's lets some of it pass."""
    f = lambda x, i: REFUSED[name](adjoint, x, i)
    x, i = numbers(adjoint, 3, 5, 5), adjoint.tensor([[0, 1], [2, 0], [4, 4]])
    with pytest.raises((RuntimeError, ValueError, TypeError, IndexError)) as alone:
        f(x[0], i[0])
    with pytest.raises(alone.type):
        adjoint.vmap(f)(x, i)


@program
def layers_inside(L):
    F = L.nn.functional
    x, w, b = numbers(L, 2, 4, 3), numbers(L, 5, 3, start=-1.0), numbers(L, 5)
    f = lambda x: [
        F.linear(x, w, b),
        F.relu(x - 2),
        F.gelu(x),
        F.softmax(x, -1),
        F.layer_norm(x, (3,)),
        F.log_softmax(x, 0),
    ]
    losses = L.vmap(lambda x, t: [F.mse_loss(x, x * 2), F.cross_entropy(x, t), F.smooth_l1_loss(x, x + 1)])
    return (
        L.vmap(f)(x),
        losses(x, L.tensor([[0, 1, 2, 0], [1, 1, 0, 2]])),
        L.vmap(lambda w: F.linear(x[0], w))(w[:4].view(2, 2, 3)),
    )


@program
def convolutions_inside(L):
    F = L.nn.functional
    x, w = numbers(L, 2, 3, 4, 8) * 0.1, numbers(L, 5, 4, 3, start=-1.0) * 0.1
    both = L.vmap(lambda x, w: F.conv1d(x, w))(x, L.stack([w, w * 2]))
    return L.vmap(lambda x: F.conv1d(x, w))(x), both, L.vmap(lambda w: F.conv1d(x[0], w))(L.stack([w, w * 2]))


@program
def modules_inside(L):
    layer = L.nn.Linear(3, 2).double()
    with L.no_grad():
        layer.weight.copy_(numbers(L, 2, 3)), layer.bias.copy_(numbers(L, 2))
    return L.vmap(layer)(numbers(L, 4, 3)).detach(), L.vmap(lambda x: layer(x))(numbers(L, 4, 5, 3)).detach()


# ---- In place


@program
def changes_of_batched_tensors(L):
    def f(x):
        y = x * 1
        y.add_(1).mul_(x)
        y[0] = 5.0
        y[1:].mul_(2)
        y.t_() if y.dim() == 2 else y
        z = y.clone()
        z += x
        return y, z, y.clone().exp_(), y.clone().masked_fill_(y > 4, 0.0), y.clone().copy_(x * 2)

    return L.vmap(f)(numbers(L, 2, 3))


@program
def changes_reach_the_argument(L):
    x = numbers(L, 2, 3)
    y = numbers(L, 2, 3)
    L.vmap(lambda x: x.mul_(2))(x)
    L.vmap(lambda y: y[1:].add_(1))(y)
    z = numbers(L, 3, 2)
    L.vmap(lambda z: z.exp_(), in_dims=1)(z[:, :1])
    return x, y, z


@program
def zeros_in_place(L):
    return L.vmap(lambda x: x.clone().zero_() + x)(numbers(L, 2, 3))


@program
def fillings_in_place(L):
    return L.vmap(lambda x: [x.clone().fill_(2.0), x.clone().fill_(x[0])])(numbers(L, 2, 3))


@program
def changes_by_batched_values(L):
    def f(x, i):
        y = L.zeros_like(x)
        y[0] = x[1]
        y[1:] += x[:2]
        w = x.new_zeros(3)
        w.index_add_(0, i, x)
        s = x.clone().scatter_(0, i, x * 2)
        return y, w, s, x.clone().index_put_((i,), x), x.clone().index_fill_(0, i, 0.5)

    return L.vmap(f)(numbers(L, 2, 3), L.tensor([[0, 1, 2], [2, 0, 1]]))


@program
def changes_of_what_is_shared(L):
    c = numbers(L, 3)
    x = numbers(L, 2, 3)
    allowed = L.vmap(lambda x: c.add_(1) * x)(x)
    refused = [
        raised(lambda: L.vmap(lambda x: c.add_(x))(x), 0),
        raised(lambda: L.vmap(lambda x: c.clone().mul_(x))(x), 0),
        raised(lambda: L.vmap(lambda x: L.zeros(3, dtype=L.float64).copy_(x))(x), 10),
    ]
    return allowed, refused, c


@program
def setting_elements_of_what_is_shared(L):
    x = numbers(L, 2, 3)

    def f(x):
        y = L.zeros(3, dtype=L.float64)
        y[0] = x[0]
        return y

    return raised(lambda: L.vmap(f)(x), 10)


@program
def types_stay_in_place(L):
    x = numbers(L, 2, 3).float()
    return L.vmap(lambda x, n: x.clone().mul_(n))(x, numbers(L, 2)), raised(
        lambda: L.vmap(lambda k: k.add_(0.5))(L.arange(2)), 30
    )


@program
def changed_sizes(L):
    x = numbers(L, 2, 3)
    return L.vmap(lambda x: x.clone().unsqueeze_(0))(x), raised(
        lambda: L.vmap(lambda x: x.clone().add_(L.ones(2, 3)))(x), 12
    )


# ---- What has no one value


@program
def values_of_batched_tensors(L):
    x = numbers(L, 2, 3)
    calls = [
        lambda x: x.sum().item(),
        lambda x: float(x[0]),
        lambda x: x if x.sum() > 0 else -x,
        lambda x: bool(x[0]),
        lambda x: x.tolist(),
        lambda x: x.numpy(),
        lambda x: x.data_ptr(),
    ]
    return [raised(lambda f=f: L.vmap(f)(x), 40) for f in calls]


@program
def memory_of_batched_tensors(L):
    looks = [
        lambda x: x.untyped_storage(),
        lambda x: x.share_memory_(),
        lambda x: x.is_shared(),
        lambda x: copy.deepcopy(x),
        lambda x: L.save(x, io.BytesIO()),
    ]
    return [raised(lambda look=look: L.vmap(look)(numbers(L, 3, 2)), 42) for look in looks]


@program
def what_escapes(L):
    kept = []
    L.vmap(lambda x: kept.append(x) or x * 2)(numbers(L, 2, 3))
    return [raised(lambda f=f: f(kept[0]), 1) for f in (lambda x: x + 1, lambda x: x.sum().item(), lambda x: x.sin())]


@program
def iteration(L):
    weighted = L.vmap(lambda x: sum(row * i for i, row in enumerate(x)))
    return weighted(numbers(L, 2, 3, 4)), L.vmap(lambda x: L.stack([*x]))(numbers(L, 2, 3))


# ---- Random numbers


@program
def random_numbers_are_refused(L):
    x = numbers(L, 3, 4)
    calls = [
        lambda x: x + L.randn(4),
        lambda x: L.nn.functional.dropout(x),
        lambda x: L.bernoulli(x * 0.1),
        lambda x: x.normal_(),
    ]
    calls += [lambda x: L.rand_like(x), lambda x: L.randperm(4), lambda x: L.randint(0, 3, (2,))]
    return [raised(lambda f=f: L.vmap(f)(x), 66) for f in calls]


def drawn(L, f, x, randomness):
    L.manual_seed(0)
    result = L.vmap(f, randomness=randomness)(x)
    return result if isinstance(result, tuple) else (result,)


RANDOM = {
    "rand": lambda L, x: L.rand(4),
    "randn": lambda L, x: L.randn(4) * x,
    "randint": lambda L, x: L.randint(0, 1000, (4,)),
    "randperm": lambda L, x: L.randperm(50),
    "rand_like": lambda L, x: L.rand_like(x),
    "normal_": lambda L, x: x.clone().normal_(),
    "uniform_": lambda L, x: L.empty_like(x).uniform_(),
    "bernoulli": lambda L, x: L.bernoulli(x * 0 + 0.5),
    "dropout": lambda L, x: L.nn.functional.dropout(x, 0.5),
    "shared bernoulli": lambda L, x: L.bernoulli(L.full((40,), 0.5)),
    "two": lambda L, x: (L.rand(4), L.rand(4)),
    "dropout of what is shared": lambda L, x: L.nn.functional.dropout(L.ones(40)),
    "channels that are shared": lambda L, x: L.nn.functional.dropout1d(L.ones(2, 40, 1)),
    "alpha_dropout of what is shared": lambda L, x: L.nn.functional.alpha_dropout(L.ones(40), training=True),
    "multinomial": lambda L, x: L.multinomial(x, 20),
    "multinomial with replacement": lambda L, x: L.multinomial(x, 20, replacement=True),
    "shared multinomial": lambda L, x: L.multinomial(L.ones(40), 20),
}


@pytest.mark.parametrize("randomness", ["same", "different"])
@pytest.mark.parametrize("name", RANDOM)
def test_randomness(name, randomness):
    """Numbers are torch's own choice; which of them are equal, and the shapes, are compared."""

    def call(L):
        x = L.ones(3, 40)
        results = drawn(L, lambda x: RANDOM[name](L, x), x[:, :4] if name in ("randn",) else x, randomness)
        return [(tuple(r.shape), str(r.dtype), bool((r[0] == r[1]).all()), bool((r[1] == r[2]).all())) for r in results]

    same(call, error=lambda ours, theirs: type(ours).__name__ == type(theirs).__name__, warned=None)


@program
def numbers_drawn_without_replacement(L):
    y = L.vmap(lambda x: L.multinomial(L.ones(50), 20), randomness="different")(numbers(L, 2))
    return (
        tuple(y.shape),
        bool((y[0] == y[1]).all()),
        raised(lambda: L.vmap(lambda x: L.multinomial(L.ones(5), 2))(y), 60),
    )


def test_slopes_drawn_at_random():
    """torch has no rrelu() under vmap."""
    for tensors in (lambda x: x, lambda x: adjoint.full((40,), -1.0)):
        f = lambda x, tensors=tensors: adjoint.nn.functional.rrelu(tensors(x), 0.25, 0.5, training=True)
        same_for_all = adjoint.vmap(f, randomness="same")(-adjoint.ones(2, 40))
        different = adjoint.vmap(f, randomness="different")(-adjoint.ones(2, 40))
        assert bool((same_for_all[0] == same_for_all[1]).all())
        assert not bool((different[0] == different[1]).any())
        for slopes in (-same_for_all, -different):
            assert bool(((slopes >= 0.25) & (slopes <= 0.5)).all())


@program
def parameters_as_many_as_elements_of_the_batch(L):
    return tuple(L.vmap(lambda x: L.bernoulli(L.full((2,), 0.5)), randomness="different")(numbers(L, 2)).shape)


@pytest.mark.parametrize("randomness", ["same", "different"])
def test_random_numbers_are_those_of_the_seed(randomness):
    def call():
        adjoint.manual_seed(3)
        return adjoint.vmap(lambda x: x + adjoint.randn(3), randomness=randomness)(adjoint.zeros(4, 3))

    first, second = call(), call()
    assert first.tolist() == second.tolist()
    adjoint.manual_seed(3)
    expected = adjoint.randn(4, 3) if randomness == "different" else adjoint.randn(3).expand(4, 3)
    assert first.tolist() == expected.tolist()


@program
def chunks_draw_other_numbers(L):
    L.manual_seed(0)
    y = L.vmap(lambda x: x + L.rand(3), randomness="different", chunk_size=2)(L.zeros(4, 3))
    return bool((y[0] == y[2]).all()), bool((y[0] == y[1]).all())


@program
def chunks_draw_the_same_numbers(L):
    L.manual_seed(0)
    y = L.vmap(lambda x: x + L.rand(3), randomness="same", chunk_size=2)(L.zeros(5, 3))
    return y, L.rand(2)


# ---- Nesting


@program
def nested(L):
    x, y = numbers(L, 2, 3), numbers(L, 4, 3, start=-1.0)
    return [
        L.vmap(lambda x: L.vmap(lambda y: x * y)(y))(x),
        L.vmap(lambda x: L.vmap(lambda y: L.dot(x, y))(y))(x),
        L.vmap(lambda y: L.vmap(lambda x: L.dot(x, y), in_dims=0)(x), out_dims=1)(y),
        L.vmap(L.vmap(L.sin))(x),
        L.vmap(L.vmap(lambda x, y: x * y, in_dims=(0, None)), in_dims=(0, 0))(x, y[:2, 0]),
        L.vmap(lambda x: L.vmap(lambda y: y + x.sum())(y) * x)(x),
        L.vmap(L.vmap(L.vmap(lambda a: a * 2, in_dims=1), out_dims=1), in_dims=2)(numbers(L, 2, 3, 4, 2)),
    ]


@program
def distances_of_all_pairs(L):
    x = numbers(L, 3, 2)
    return L.vmap(lambda a: L.vmap(lambda b: (a - b).norm())(x))(x)


@program
def outer_variables_change_inside(L):
    def f(x):
        y = x * 1
        L.vmap(lambda z: y.add_(1) + z)(L.ones(2, dtype=L.float64))
        return y

    return L.vmap(f)(numbers(L, 2, 3))


@program
def outer_variables_and_inner_values(L):
    def f(x):
        y = x * 1
        return L.vmap(lambda z: y.add_(z))(L.ones(2, dtype=L.float64))

    return raised(lambda: L.vmap(f)(numbers(L, 2, 3)), 0)


# ---- Gradients and modes


@program
def gradients_through_vmap(L):
    x, w = numbers(L, 2, 3).requires_grad_(), numbers(L, 3, start=2.0).requires_grad_()
    y = L.vmap(lambda x: (x * w).sin().sum())(x)
    return (
        y.detach(),
        y.requires_grad,
        L.autograd.grad(y.sum(), (x, w), retain_graph=True),
        L.autograd.grad((y**2).sum(), x),
    )


@program
def gradients_inside_vmap(L):
    x = numbers(L, 2, 3)

    def f(x):
        y = (x**3).sum()
        return L.func.grad(lambda x: (x**3).sum())(x) * y

    return L.vmap(f)(x), L.vmap(lambda x: L.func.jvp(L.sin, (x,), (x,)))(x)


@program
def what_requires_grad_inside(L):
    seen = []
    x = numbers(L, 2, 3).requires_grad_()

    def f(x):
        seen.append((x.requires_grad, x.detach().requires_grad, (x * 2).requires_grad))
        with L.no_grad():
            seen.append((x * 2).requires_grad)
        return x * 2

    return L.vmap(f)(x).requires_grad, seen


@program
def in_place_and_gradients(L):
    x = numbers(L, 2, 3).requires_grad_()

    def f(x):
        y = x * 2
        y.mul_(x)
        y[1:].add_(x[:2])
        return y.sum()

    y = L.vmap(f)(x)
    return y.detach(), L.autograd.grad(y.sum(), x)


@program
def no_grad_around(L):
    x = numbers(L, 2, 3).requires_grad_()
    with L.no_grad():
        y = L.vmap(lambda x: x * 2)(x)
    return y


@program
def autocast_inside(L):
    x, w = numbers(L, 2, 3, 4).float(), numbers(L, 4, 3).float()

    def f(x):
        with L.autocast("cpu", dtype=L.bfloat16):
            return x @ w, x + 1

    with L.autocast("cpu", dtype=L.bfloat16):
        outside = L.vmap(lambda x: (x @ w, x.sum()))(x)
    return [str(y.dtype) for y in L.vmap(f)(x)], [str(y.dtype) for y in outside]


@program
def hooks_on_saved_tensors(L):
    x = numbers(L, 2, 3).requires_grad_()
    with L.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t):
        y = L.vmap(lambda x: (x**3).sum())(x)
    return L.autograd.grad(y.sum(), x)


@program
def hooks_on_gradients(L):
    x = numbers(L, 2, 3).requires_grad_()
    y = L.vmap(lambda x: x**3)(x)
    y.register_hook(lambda g: g * 2)
    return L.autograd.grad(y.sum(), x)


@program
def batches_of_gradients(L):
    x = numbers(L, 3).requires_grad_()
    y, g = x**3, numbers(L, 4, 3)
    return L.vmap(lambda g: L.autograd.grad(y, x, g, retain_graph=True)[0])(g), L.autograd.grad(
        y, x, g, is_grads_batched=True
    )


@program
def batches_of_several_gradients(L):
    x, w = numbers(L, 3).requires_grad_(), numbers(L, 3).requires_grad_()
    y, z = x**3, (x * x).sum()
    g, h = numbers(L, 4, 3), numbers(L, 4)
    how = {"is_grads_batched": True, "retain_graph": True}
    return [
        L.autograd.grad((y, z), x, (g, h), **how),
        L.autograd.grad(y, (x, w), g, allow_unused=True, **how),
        L.autograd.grad(y, (x, w), g, materialize_grads=True, **how),
        [t.detach() for t in L.autograd.grad(y, x, g, create_graph=True, is_grads_batched=True)],
        raised(lambda: L.autograd.grad(y, (x, w), g, **how), 40),
        raised(lambda: L.autograd.grad(y, x, g[0], **how), 40),
        raised(lambda: L.autograd.grad(y, x, **how), 54),
        raised(lambda: L.autograd.grad(z, x, **how), 60),
        raised(lambda: L.autograd.grad((y, z), x, (g, h[:2]), **how), 40),
        raised(lambda: L.autograd.grad(y, x, g, is_grads_batched=True) and L.autograd.grad(y, x, g[0]), 40),
    ]


@program
def second_gradients_of_batches(L):
    x = numbers(L, 3).requires_grad_()
    (g,) = L.autograd.grad((x**3).exp().log(), x, L.eye(3, dtype=L.float64), is_grads_batched=True, create_graph=True)
    return g.detach(), L.autograd.grad(g.sum(), x)


# ---- Printing, names


@program
def names_of_mapped_functions(L):
    def named(x):
        """What it says."""
        return x

    return L.vmap(named).__name__, L.vmap(named).__doc__


@program
def printing(L):
    texts = []
    L.vmap(lambda x: texts.append(repr(x)) or x)(L.ones(2, 3))
    L.vmap(lambda x: L.vmap(lambda y: texts.append(str(x * y)) or y)(x))(L.ones(2, 3))
    L.vmap(lambda x: texts.append(f"{x}") or x)(L.arange(6).view(2, 3))
    return texts, raised(lambda: L.vmap(lambda x: f"{x.sum()}")(L.ones(2)), 40)


# ---- What torch has no equal of


def test_checkpoint_inside():
    from adjoint.utils.checkpoint import checkpoint

    def f(x):
        return checkpoint(lambda x: x.sin().exp(), x, use_reentrant=False).sum()

    x = numbers(adjoint, 2, 3)
    expected = adjoint.func.grad(lambda x: x.sin().exp().sum())(x)
    assert_same(adjoint.vmap(adjoint.func.grad(f))(x), expected, bound=OPS)


def test_results_of_chunks_that_are_not_batched():
    c = numbers(adjoint, 2)
    got = adjoint.vmap(lambda x: (x, c), out_dims=(0, None), chunk_size=2)(numbers(adjoint, 5))
    assert_same(got, (numbers(adjoint, 5), c))


def test_choices_of_numbers_give_way():
    """In torch under vmap the number does not."""
    x, n = adjoint.ones(2, 3), numbers(adjoint, 2)
    assert adjoint.vmap(lambda x, n: adjoint.where(x > 1, x, n))(x, n).dtype is adjoint.float32


def test_sizes_that_differ():
    with pytest.raises(RuntimeError, match="vmap: We do not support batching operators that can support dynamic shape"):
        adjoint.vmap(lambda x: x[x > 1])(numbers(adjoint, 2, 3) * adjoint.tensor([[-1.0], [2.0]]))


def test_hooks_inside():
    seen = []

    def f(x):
        y = x**2
        y.register_hook(lambda g: seen.append(tuple(g.shape)) or g * 2)
        return y.sum()

    got = adjoint.vmap(adjoint.func.grad(f))(adjoint.ones(4, 3))
    assert got.tolist() == [[4.0] * 3] * 4
    assert seen == [(3,)]


def test_an_error_inside_closes_the_level():
    with pytest.raises(KeyError):
        adjoint.vmap(lambda x: {}["no"])(adjoint.ones(2))
    assert adjoint.randn(2).shape == (2,)  # no level refuses random numbers


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_mapped_functions_are_stacks(depth):
    """Over all dimensions, in all orders of in_dims and out_dims."""
    L = adjoint
    x = numbers(L, 2, 3, 4)
    for dims in itertools.product((0, -1), repeat=depth):
        f = L.sin
        for dim in dims:
            f = L.vmap(f, in_dims=dim, out_dims=dim)
        assert_same(f(x), x.sin(), bound=OPS)


@program
def chances_that_differ_from_element_to_element(L):
    p = L.tensor([[0.0, 0.0], [1.0, 1.0]])
    fills = [
        lambda p: L.zeros_like(p).bernoulli_(p),
        lambda p: L.zeros_like(p).bernoulli_(p[0]),
        lambda p: L.zeros(2, 2).add(p).bernoulli_(p),
        lambda p: p.clone().bernoulli_(L.tensor([1.0, 0.0])),
    ]
    refused = raised(lambda: L.vmap(fills[0], randomness="same")(p), 60)
    return [L.vmap(fill, randomness="different")(p) for fill in fills], L.vmap(fills[3], randomness="same")(p), refused


NO_TENSORS = {
    "a number for an index": lambda L, x: L.index_select(x, 0, 5),
    "a list for an index": lambda L, x: L.gather(x, 0, [1]),
    "a list for a matrix": lambda L, x: L.baddbmm([x], x, x),
    "a number for a matrix": lambda L, x: L.addmm(x, 3, x),
    "a number for matrices": lambda L, x: x.bmm(float("nan")),
    "a tuple for a source": lambda L, x: L.index_copy(x, 0, x.long(), (0, 1)),
    "a number for an index, in place": lambda L, x: x.clone().index_copy_(0, 3, x),
    "a word for a dimension": lambda L, x: x.transpose("x", 1),
    "an object for a dimension": lambda L, x: L.logcumsumexp(x, object()),
    "a tuple for a tensor": lambda L, x: L.flip((), x),
    "a number among tensors": lambda L, x: L.cat([x, 3]),
}


@pytest.mark.parametrize("count", [2, 0])
@pytest.mark.parametrize("name", NO_TENSORS)
def test_what_is_no_tensor_is_refused_as_by_the_op(name, count):
    """Batch rules take arguments for what they should be."""
    words = []
    for call in (NO_TENSORS[name], lambda L, x: L.vmap(lambda x: NO_TENSORS[name](L, x))(L.ones(count, 2, 2))):
        with pytest.raises(TypeError) as refused:
            call(adjoint, adjoint.ones(2, 2))
        words.append(re.sub(r"_(?=\(\))| \(position \d\)", "", str(refused.value)))
    assert words[0] == words[1]


@pytest.mark.parametrize("indices", [(), [None], set()])
def test_no_indices_are_refused_as_by_the_op(indices):
    words = []
    for call in (lambda x: x.index_put(indices, x), adjoint.vmap(lambda x: x.index_put(indices, x))):
        with pytest.raises((IndexError, TypeError)) as refused:
            call(adjoint.ones(2, 2))
        words.append(str(refused.value))
    assert words[0] == words[1]


def test_sums_of_products_of_what_are_no_matrices():
    with pytest.raises(RuntimeError, match="batch1 must be a 3D tensor"):
        adjoint.vmap(lambda x: adjoint.addbmm(x, adjoint.ones(2, 3), x[None]))(adjoint.ones(2, 3, 4))


@pytest.mark.parametrize("call", [lambda L, x, w: L.mm([x], w), lambda L, x, w: L.mv((x,), w[0])])
def test_products_of_lists_are_refused(call):
    for L in LIBRARIES:
        with pytest.raises(TypeError, match=r"must be Tensor, not (list|tuple)"):
            L.vmap(lambda x, L=L: call(L, x, L.ones(2, 2)))(L.ones(3, 2, 2))


EMPTY = {
    "sizes left open": lambda L, x: (x.reshape(-1), x.view(2, -1), x.unflatten(1, (3, -1)), x.reshape(-1, 3)),
    "group_norm": lambda L, x: L.nn.functional.group_norm(x, 1),
    "several weights": lambda L, x: L.nn.functional.conv1d(x[None], x[None]),
    "attention": lambda L, x: L.nn.functional.scaled_dot_product_attention(x[None], x[None], x[None]),
    "least squares": lambda L, x: L.linalg.lstsq(x.mT, x.mT, driver="gels")[:2],
    "random numbers": lambda L, x: (L.randn_like(x), L.randperm(3)),
}


@pytest.mark.parametrize("randomness", ["same", "different"])
@pytest.mark.parametrize("name", EMPTY)
def test_batches_of_no_elements(name, randomness):
    """Results have the sizes that those of one element have."""
    one = EMPTY[name](adjoint, numbers(adjoint, 2, 3))
    found = adjoint.vmap(lambda x: EMPTY[name](adjoint, x), randomness=randomness)(adjoint.empty(0, 2, 3))
    pairs = zip(found, one, strict=True) if isinstance(one, tuple) else [(found, one)]
    assert [tuple(y.shape) for y, _ in pairs] == [(0, *y.shape) for y in (one if isinstance(one, tuple) else (one,))]


def test_gradients_over_batches_of_no_elements_are_zeros():
    """Also of what all elements share."""
    weight = numbers(adjoint, 2, 2, 2).requires_grad_()
    conv = adjoint.vmap(lambda x, w: adjoint.nn.functional.conv1d(x, w).reshape(-1), in_dims=(0, 0))
    conv(adjoint.empty(0, 2, 3, dtype=adjoint.float64), weight.expand(0, 2, 2, 2)).sum().backward()
    assert weight.grad.tolist() == [[[0.0] * 2] * 2] * 2


@program
def jacobians_of_numbers(L):
    x = L.tensor(2.0, dtype=L.float64)
    return [transform(lambda x: x.unfold(0, 1, 1))(x) for transform in (L.func.jacrev, L.func.jacfwd)]
