"""What functions under transforms may not do, beside torch.func: the same refusals in the same first words."""

import contextlib
import copy
import importlib
import math

import numpy as np
import pytest

import adjoint

from .compare import VALUES, numbers, opening, same


def refused(call, length=60):
    """Asserts that both libraries refuse call(library), in the same first words."""
    outcome = same(call, look=VALUES, error=opening(length))
    assert outcome.error is not None, "nothing is refused"
    return str(outcome.error)


# ---- What has escaped from a vmap that is over


def escaped(L):
    kept = []
    L.vmap(lambda x: kept.append(x * 2) or x)(numbers(L, 2, 3))
    return kept[0]


USES = {
    "an op": lambda L, x: x + 1,
    "a reduction": lambda L, x: x.sum(),
    "a product": lambda L, x: x @ x,
    "a condition": lambda L, x: bool(x.sum() > 0),
    "a number": lambda L, x: x.sum().item(),
    "a change in place": lambda L, x: x.add_(1),
    "a copy": lambda L, x: x.clone(),
    "written into a tensor": lambda L, x: numbers(L, 3).copy_(x),
    "an element of a tensor": lambda L, x: numbers(L, 3).__setitem__(0, x.max()),
    "another type": lambda L, x: x.float(),
    "without its history": lambda L, x: x.detach() * 2,
    "a layer": lambda L, x: L.nn.functional.linear(x, numbers(L, 2, 3)),
    "random numbers": lambda L, x: L.rand_like(x),
    "backward": lambda L, x: x.sum().backward(),
}


@pytest.mark.parametrize("name", USES)
def test_what_has_escaped_from_a_vmap(name):
    assert "Return it from the function" in refused(lambda L: USES[name](L, escaped(L)))


def test_what_has_escaped_says_where_vmap_was():
    def kept_by(kept):
        return lambda x: kept.append(x * 2) or x.sum()

    line = kept_by([]).__code__.co_firstlineno
    for transform in (adjoint.vmap, lambda f: adjoint.vmap(adjoint.func.grad(f))):
        kept = []
        transform(kept_by(kept))(adjoint.ones(2, 3))
        with pytest.raises(RuntimeError, match=rf"vmap has run: .*<lambda> \(at .*test_func_errors.py:{line}\)$"):
            kept[0] + 1


def test_what_has_escaped_into_another_vmap():
    """In torch it belongs to that one, which has the number of the first."""
    kept = escaped(adjoint)
    with pytest.raises(RuntimeError, match="Either your tensor may have escaped"):
        adjoint.vmap(lambda x: x + kept)(numbers(adjoint, 2, 3))


def test_what_has_escaped_in_an_attribute():
    def call(L):
        module = L.nn.Linear(3, 3)
        L.vmap(lambda x: setattr(module, "kept", x * 2) or x)(numbers(L, 2, 3))
        return module.kept + 1

    refused(call)


def test_what_has_escaped_from_derivatives_is_a_plain_tensor():
    """Of the level that is over it has no tangent, and no gradient is asked for."""

    def call(L):
        kept = []
        L.func.jvp(lambda x: kept.append(x * 2) or x, (numbers(L, 3),), (numbers(L, 3),))
        L.func.grad(lambda x: kept.append(x * 3) or x.sum())(numbers(L, 3))
        fw = importlib.import_module(f"{L.__name__}.autograd.forward_ad")
        with fw.dual_level():
            kept.append(fw.make_dual(numbers(L, 3), numbers(L, 3)) * 4)
        with fw.dual_level():
            again = fw.unpack_dual(kept[2] * 2)
        return [(x + 1).detach() for x in kept], again, fw.unpack_dual(kept[2])

    assert same(call, look=VALUES).error is None


# ---- Programs that depend on values

DEPENDING = {
    "if": lambda L, x: x if x.sum() > 0 else -x,
    "and": lambda L, x: x.sum() > 0 and x,
    "not": lambda L, x: not x.sum(),
    "max() of Python": lambda L, x: max(x[0], x[1]),
    "item()": lambda L, x: x.sum().item(),
    "float()": lambda L, x: float(x[0]),
    "int()": lambda L, x: int(x[0]),
    "complex()": lambda L, x: complex(x[0]),
    "an index of a list": lambda L, x: [1, 2, 3][x[0].int()],
    "a function of math": lambda L, x: math.sin(x[0]),
    "a bound of a slice": lambda L, x: x[: x[0].int()],
    "tolist()": lambda L, x: x.tolist(),
    "numpy()": lambda L, x: x.numpy(),
    "an array": lambda L, x: np.asarray(x),
    "data_ptr()": lambda L, x: x.data_ptr(),
    "deepcopy()": lambda L, x: copy.deepcopy(x),
    "untyped_storage()": lambda L, x: x.untyped_storage(),
    "nonzero()": lambda L, x: x.nonzero(),
    "where() of one argument": lambda L, x: L.where(x > 0),
    "a mask as an index": lambda L, x: x[x > 0],
    "masked_select()": lambda L, x: x.masked_select(x > 0),
    "unique()": lambda L, x: x.unique(),
    "one_hot() of unknown classes": lambda L, x: L.nn.functional.one_hot(x.long()),
}


@pytest.mark.parametrize("name", DEPENDING)
def test_programs_that_depend_on_values(name):
    refused(lambda L: L.vmap(lambda x: DEPENDING[name](L, x))(numbers(L, 2, 3)), 38)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: adjoint.repeat_interleave(x, x.int()),
        lambda x: x.long().bincount(),
    ],
)
# The loop over the batch, which finds out, says that it is slow.
@pytest.mark.filterwarnings("ignore:vmap. there is a performance drop")
def test_sizes_that_depend_on_values(call):
    with pytest.raises(RuntimeError, match="vmap: We do not support batching operators that can output dynamic shape"):
        adjoint.vmap(call)(numbers(adjoint, 2, 3))


def test_what_does_not_depend_on_values():
    def call(L):
        def f(x):
            flags = [x.shape == (3,), x.dim() == 1, x.dtype == L.float64, len(x), x.is_floating_point(), x is not None]
            return L.where(x > 1.5, x, 0.0) * sum(flags) + L.repeat_interleave(x, L.tensor([1, 1, 1]))

        return L.vmap(f)(numbers(L, 2, 3))

    assert same(call).error is None


# ---- Random numbers, and changes of what is shared

RANDOM = {
    "rand": lambda L, x: x + L.rand(3),
    "randn_like": lambda L, x: L.randn_like(x),
    "randperm": lambda L, x: L.randperm(3),
    "randint": lambda L, x: L.randint(0, 3, (3,)),
    "dropout": lambda L, x: L.nn.functional.dropout(x),
    "bernoulli": lambda L, x: (x / 10).bernoulli(),
    "multinomial": lambda L, x: x.multinomial(1),
    "normal_": lambda L, x: x.clone().normal_(),
    "gumbel_softmax": lambda L, x: L.nn.functional.gumbel_softmax(x),
}


@pytest.mark.parametrize("name", RANDOM)
def test_random_numbers_without_a_choice(name):
    refused(lambda L: L.vmap(lambda x: RANDOM[name](L, x))(numbers(L, 2, 3)), 150)


def test_random_numbers_in_a_jacobian():
    refused(lambda L: L.func.jacfwd(lambda x: x * L.rand(3))(numbers(L, 3)), 150)
    refused(lambda L: L.func.jacfwd(lambda x: x, randomness="none")(numbers(L, 3)))


CHANGES = {
    **{name: lambda L, shared, x, name=name: getattr(shared, name)(x) for name in (
        "add_", "sub_", "mul_", "div_", "pow_", "fmod_", "remainder_", "atan2_", "copysign_", "copy_", "eq_", "lt_",
        "logical_and_", "hypot_", "nextafter_", "floor_divide_", "xlogy_", "true_divide_", "multiply_", "resize_as_",
        "set_", "igamma_", "clamp_min_", "clamp_max_", "clamp_",
    )},
    **{name: lambda L, shared, x, name=name: getattr(shared, name)(x, x) for name in ("addcmul_", "addcdiv_", "addr_")},
    "lerp_": lambda L, shared, x: shared.lerp_(x, 0.5),
    "fill_": lambda L, shared, x: shared.fill_(x[0]),
    "x[0] =": lambda L, shared, x: shared.__setitem__(0, x[0]),
    "x[indices] =": lambda L, shared, x: shared.__setitem__(L.tensor([0, 1, 2]), x),
    "masked_fill_": lambda L, shared, x: shared.masked_fill_(x > 1, 1.0),
    "masked_scatter_": lambda L, shared, x: shared.masked_scatter_(x > 1, shared),
    "index_add_": lambda L, shared, x: shared.index_add_(0, L.tensor([0, 1, 2]), x),
    "index_copy_": lambda L, shared, x: shared.index_copy_(0, L.tensor([0, 1, 2]), x),
    "index_fill_": lambda L, shared, x: shared.index_fill_(0, x.long() * 0, 1.0),
    "scatter_": lambda L, shared, x: shared.scatter_(0, L.tensor([0, 1, 2]), x),
    "scatter_add_": lambda L, shared, x: shared.scatter_add_(0, L.tensor([0, 1, 2]), x),
    "scatter_reduce_": lambda L, shared, x: shared.scatter_reduce_(0, L.tensor([0, 1, 2]), x, "sum"),
    "put_": lambda L, shared, x: shared.put_(L.tensor([0, 1, 2]), x),
    "bitwise_or_": lambda L, shared, x: shared.long().bitwise_or_(x.long()),
    "gcd_": lambda L, shared, x: shared.long().gcd_(x.long()),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:There is a performance drop")  # torch's, of put_
@pytest.mark.parametrize("name", CHANGES)
def test_changes_of_what_is_shared(name):
    def call(L):
        return L.vmap(lambda x: CHANGES[name](L, L.zeros(3, dtype=L.float64), x))(numbers(L, 2, 3))

    words = refused(call, 250)
    assert "make it of one that is batched, as x.new_zeros() does" in words


def test_changes_of_what_is_shared_name_the_level():
    def call(L):
        inner = L.vmap(lambda z: L.zeros(3).pow_(z))
        return L.vmap(L.func.grad(lambda y: inner(y).sum()))(L.ones(2, 4, 3))

    assert "not being vmapped over at level 3" in refused(call, 250)


@pytest.mark.parametrize("randomness", ["same", "different"])
def test_draws_of_chances_that_differ_into_what_is_shared(randomness):
    refused(lambda L: L.vmap(lambda p: L.zeros(3).bernoulli_(p), randomness=randomness)(L.ones(2, 3)), 60)


RESULTS_IN_PLACE = {
    "sin": lambda L, x, out: L.sin(x, out=out),
    "cat": lambda L, x, out: L.cat([x], out=out),
    "mv": lambda L, x, out: L.mv(L.ones(3, 3, dtype=x.dtype), x, out=out),
    "eq": lambda L, x, out: L.eq(x, x, out=out),
}


@pytest.mark.parametrize("name", RESULTS_IN_PLACE)
def test_results_in_place(name):
    call = RESULTS_IN_PLACE[name]
    refused(lambda L: L.vmap(lambda x: call(L, x, L.empty_like(x)))(numbers(L, 2, 3)), 40)
    refused(
        lambda L: L.func.jvp(lambda x: call(L, x, L.empty(3, dtype=L.float64)), (numbers(L, 3),), (numbers(L, 3),)), 90
    )


@pytest.mark.parametrize("change", [
    lambda L, x: x.clone().resize_(2), lambda L, x: x.clone().resize_as_(L.ones(2)),
    lambda L, x: x.clone().set_(L.ones(3, dtype=x.dtype)), lambda L, x: L.ones(3, dtype=x.dtype).set_(x),
])  # fmt: skip
def test_changes_of_memory_that_has_a_tangent(change):
    refused(lambda L: L.func.jvp(lambda x: change(L, x), (numbers(L, 3),), (numbers(L, 3),)), 40)


# ---- Calls of transforms

CALLS = {
    "batches of two sizes": lambda L, x: L.vmap(L.add)(x, x.mT),
    "batches of two sizes in a dict": lambda L, x: L.vmap(lambda t: t["a"])({"a": x, "b": x.mT}),
    "a dimension that is not there": lambda L, x: L.vmap(L.sin, in_dims=2)(x),
    "a dimension that is a word": lambda L, x: L.vmap(L.sin, in_dims="a")(x),
    "a dimension that is no whole number": lambda L, x: L.vmap(L.sin, in_dims=(0.5,))(x),
    "dimensions in a list": lambda L, x: L.vmap(L.sin, in_dims=[0])(x),
    "no dimension": lambda L, x: L.vmap(L.sin, in_dims=(None,))(x),
    "too many dimensions": lambda L, x: L.vmap(L.sin, in_dims=(0, 0))(x),
    "a dimension of a number": lambda L, x: L.vmap(L.add)(x, 3),
    "a tensor without dimensions": lambda L, x: L.vmap(L.sin)(x[0, 0]),
    "no arguments": lambda L, x: L.vmap(lambda: x)(),
    "keywords alone": lambda L, x: L.vmap(lambda x: x)(x=x),
    "a place that is not there": lambda L, x: L.vmap(L.sin, out_dims=3)(x),
    "a place that is a word": lambda L, x: L.vmap(L.sin, out_dims="a")(x),
    "too many places": lambda L, x: L.vmap(L.sin, out_dims=(0, 0))(x),
    "too few places": lambda L, x: L.vmap(lambda x: (x, x), out_dims=(0,))(x),
    "no place": lambda L, x: L.vmap(L.sin, out_dims=None)(x),
    "a result that is no tensor": lambda L, x: L.vmap(lambda x: 3.0)(x),
    "another randomness": lambda L, x: L.vmap(L.sin, randomness="some")(x),
    "chunks of nothing": lambda L, x: L.vmap(L.sin, chunk_size=0)(x),
    "the gradient of a vector": lambda L, x: L.func.grad(L.sin)(x[0]),
    "the gradient of one element": lambda L, x: L.func.grad(lambda x: x.sum().reshape(1))(x),
    "the gradient of nothing": lambda L, x: L.func.grad(lambda x: None)(x),
    "the gradient of a pair": lambda L, x: L.func.grad(lambda x: (x.sum(), x.sum()))(x),
    "the gradient of a float": lambda L, x: L.func.grad(lambda x: 3.0)(x),
    "the gradient of a complex number": lambda L, x: L.func.grad(lambda x: x.sum() * 1j)(x),
    "the gradient by whole numbers": lambda L, x: L.func.grad(lambda x: x.sum())(L.arange(3)),
    "the gradient by a float": lambda L, x: L.func.grad(lambda x: x)(3.0),
    "the gradient by a keyword": lambda L, x: L.func.grad(lambda x: x.sum())(x=x),
    "vjp of whole numbers": lambda L, x: L.func.vjp(lambda x: x.int(), x),
    "vjp of a word": lambda L, x: L.func.vjp(lambda x: "a", x),
    "a cotangent of another shape": lambda L, x: L.func.vjp(L.sin, x)[1](x[0]),
    "a cotangent in a tuple": lambda L, x: L.func.vjp(L.sin, x)[1]((x,)),
    "a tangent of another shape": lambda L, x: L.func.jvp(L.sin, (x,), (x[0],)),
    "a tangent of whole numbers": lambda L, x: L.func.jvp(L.sin, (x,), (x.int(),)),
    "a tangent that is missing": lambda L, x: L.func.jvp(L.add, (x, x), (x,)),
    "a tangent that is no tensor": lambda L, x: L.func.jvp(L.sin, (x,), (None,)),
    "primals that are no tuple": lambda L, x: L.func.jvp(L.sin, x, x),
    "no primals": lambda L, x: L.func.jvp(lambda: x, (), ()),
    "jvp of nothing": lambda L, x: L.func.jvp(lambda x: None, (x,), (x,)),
    "jvp of a word": lambda L, x: L.func.jvp(lambda x: "a", (x,), (x,)),
    "jvp of a constant, which is not allowed": lambda L, x: L.func.jvp(lambda y: x, (x,), (x,), strict=True),
    "jacrev of whole numbers": lambda L, x: L.func.jacrev(lambda x: x.int())(x),
    "jacrev in chunks of nothing": lambda L, x: L.func.jacrev(L.sin, chunk_size=0)(x),
    "jacfwd by whole numbers": lambda L, x: L.func.jacfwd(L.sin)(L.arange(3)),
    "hessian by whole numbers": lambda L, x: L.func.hessian(lambda x: x.sum())(L.arange(3)),
    "linearize along another shape": lambda L, x: L.func.linearize(L.sin, x)[1](x[0]),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_of_transforms(name):
    refused(lambda L: CALLS[name](L, numbers(L, 2, 3)), 50)


# ---- Dual tensors


def test_arguments_that_are_no_tensors():
    fw = importlib.import_module("adjoint.autograd.forward_ad")
    x = numbers(adjoint, 3)
    with fw.dual_level():
        for tensor, tangent, name in ((x, None, "tangent"), (1.0, x, "tensor")):
            with pytest.raises(TypeError, match=f"make_dual.*argument '{name}' must be Tensor, not"):
                fw.make_dual(tensor, tangent)

    def unpack(L):
        fw = importlib.import_module(f"{L.__name__}.autograd.forward_ad")
        with fw.dual_level():
            fw.unpack_dual(1.0)

    refused(unpack)


# ---- What is left behind

AROUND = {
    "grad": lambda func, f: func.grad(lambda x: f(x).sum()),
    "vjp": lambda func, f: lambda x: func.vjp(f, x)[1](x)[0],
    "jvp": lambda func, f: lambda x: func.jvp(f, (x,), (x,))[1],
    "vmap": lambda func, f: lambda x: func.vmap(f)(x[None])[0],
    "chunks": lambda func, f: lambda x: func.vmap(f, chunk_size=1)(adjoint.stack([x, x]))[0],
    "jacrev": lambda func, f: lambda x: func.jacrev(f)(x).sum(0),
    "jacfwd": lambda func, f: lambda x: func.jacfwd(f)(x).sum(0),
    "linearize": lambda func, f: lambda x: func.linearize(f, x)[1](x),
    "functionalize": lambda func, f: func.functionalize(f),
    "safe_branches": lambda func, f: func.safe_branches()(f),
    "inference_mode": lambda func, f: adjoint.inference_mode()(f),
}


@pytest.mark.parametrize("place", ["forward", "backward"])
@pytest.mark.parametrize("outer", AROUND)
@pytest.mark.parametrize("inner", AROUND)
def test_errors_leave_nothing_behind(inner, outer, place):
    def fail(g):
        raise KeyError

    def function(x):
        y = x.sin()
        if place == "forward":
            fail(y)
        if y.requires_grad:
            y.register_hook(fail)
        return y * x

    transformed = AROUND[outer](adjoint.func, AROUND[inner](adjoint.func, function))
    before = adjoint._C._mode_flags()
    with contextlib.suppress(KeyError):
        transformed(numbers(adjoint, 3))
    assert adjoint._C._open_levels() == []
    assert adjoint._C._mode_flags() == before
    assert adjoint._C._forward_enabled()


def retained(L, x):
    (x * 2).retain_grad()


def with_other_data(L, x):
    (x * 2).data = L.ones(2)


FORBIDDEN = {
    "requires_grad_": lambda L, x: x.requires_grad_(),
    "requires_grad_(False)": lambda L, x: x.requires_grad_(False),
    "requires_grad_ of another": lambda L, x: L.ones(2).requires_grad_(),
    "retain_grad": retained,
    "data": lambda L, x: x.data,
    "other data": with_other_data,
}
RUNNING = {
    "vmap": lambda L, f: L.vmap(f)(L.ones(2)),
    "grad": lambda L, f: L.func.grad(lambda x: f(x).sum())(L.ones(2)),
    "vjp": lambda L, f: L.func.vjp(f, L.ones(2))[0],
    "jvp": lambda L, f: L.func.jvp(f, (L.ones(2),), (L.ones(2),))[0],
    "vmap of grad": lambda L, f: L.vmap(L.func.grad(lambda x: f(x).sum()))(L.ones(2, 2)),
    "grad of vmap": lambda L, f: L.func.grad(lambda x: L.vmap(f)(x).sum())(L.ones(2)),
}


@pytest.mark.parametrize("around", RUNNING)
@pytest.mark.parametrize("name", FORBIDDEN)
def test_what_functions_in_transforms_may_not_do(name, around):
    same(lambda L: RUNNING[around](L, lambda x: (FORBIDDEN[name](L, x), x)[1]), error=opening(40))
    x = adjoint.ones(2).requires_grad_()  # outside, it may again
    x.data = adjoint.zeros(2)
    assert x.data.tolist() == [0.0, 0.0]


def test_what_functions_in_transforms_may_do():
    def f(x):
        weight = adjoint.ones(2)
        weight.requires_grad = True
        return x * adjoint.hann_window(2) * adjoint.fft.fftfreq(2) * weight

    assert adjoint.vmap(f)(adjoint.ones(2, 2)).shape == (2, 2)
