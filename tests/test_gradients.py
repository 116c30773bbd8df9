"""What backward() and grad() promise, against torch: arguments, undefined gradients, .grad's memory, types, complex."""

import functools
import warnings

import numpy as np
import pytest

from .compare import leaf, programs, raised, same

program, test_program = programs()


def cases(table):
    """A test that runs each program of a table, by name."""

    @pytest.mark.parametrize("name", table)
    def test(name):
        same(table[name])

    return test


def rounded(values, digits):
    """Without the sign of zeros."""
    return (np.round(values, digits) + 0.0).tolist()


def without_warnings(program):
    """Of torch's warnings that come once in a process, the order of the tests would decide which test sees them."""

    def run(L):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return program(L)

    return run


def a_graph(L):
    """Two leaves, an intermediate, a result, and an unused leaf."""
    x, y = leaf(L, 1.0, 2.0, 3.0), leaf(L, 4.0, 5.0, 6.0)
    m = x * y
    return x, y, m, (m * m).sum(), leaf(L, 7.0)


# ---- arguments of grad()

GRAD = {
    "one": lambda L, x, y, m, out, u: L.autograd.grad(out, x),
    "list": lambda L, x, y, m, out, u: L.autograd.grad([out], [x, y]),
    "tuple": lambda L, x, y, m, out, u: L.autograd.grad((out,), (y, x)),
    "generator": lambda L, x, y, m, out, u: L.autograd.grad(out, (t for t in (x, y))),
    "set": lambda L, x, y, m, out, u: L.autograd.grad(out, {x}),
    "duplicates": lambda L, x, y, m, out, u: L.autograd.grad(out, [x, x, y, x]),
    "duplicates are one": lambda L, x, y, m, out, u: (lambda g: g[0] is g[1])(L.autograd.grad(out, [x, x])),
    "intermediate": lambda L, x, y, m, out, u: L.autograd.grad(out, m),
    "intermediate and leaf": lambda L, x, y, m, out, u: L.autograd.grad(out, [m, x]),
    "of itself": lambda L, x, y, m, out, u: L.autograd.grad(out, out),
    "of itself and others": lambda L, x, y, m, out, u: L.autograd.grad(out, [out, m, y]),
    "leaf of itself": lambda L, x, y, m, out, u: L.autograd.grad(u, u),
    "leaf of another": lambda L, x, y, m, out, u: L.autograd.grad(u, x),
    "leaf of itself, given": lambda L, x, y, m, out, u: L.autograd.grad(x, x, L.tensor([1.0, 0.0, 2.0])),
    "given is returned": lambda L, x, y, m, out, u: (lambda g: L.autograd.grad(x, x, g)[0] is g)(L.ones(3)),
    "no inputs": lambda L, x, y, m, out, u: L.autograd.grad(out, []),
    "no inputs, tuple": lambda L, x, y, m, out, u: L.autograd.grad(out, ()),
    "None input": lambda L, x, y, m, out, u: L.autograd.grad(out, None),
    "None in inputs": lambda L, x, y, m, out, u: L.autograd.grad(out, [x, None]),
    "number in inputs": lambda L, x, y, m, out, u: L.autograd.grad(out, [x, 3]),
    "no outputs": lambda L, x, y, m, out, u: L.autograd.grad([], [x]),
    "no outputs, allow": lambda L, x, y, m, out, u: L.autograd.grad([], [x], allow_unused=True),
    "None output": lambda L, x, y, m, out, u: L.autograd.grad(None, [x]),
    "number output": lambda L, x, y, m, out, u: L.autograd.grad(3.0, [x]),
    "constant input": lambda L, x, y, m, out, u: L.autograd.grad(out, L.ones(3)),
    "constant output": lambda L, x, y, m, out, u: L.autograd.grad(L.ones(1), x),
    "constant among outputs": lambda L, x, y, m, out, u: L.autograd.grad([out, L.ones(1)], x),
    "detached": lambda L, x, y, m, out, u: L.autograd.grad(out.detach(), x),
    "unused": lambda L, x, y, m, out, u: L.autograd.grad(out, u),
    "unused second": lambda L, x, y, m, out, u: L.autograd.grad(out, [x, u]),
    "unused, allow": lambda L, x, y, m, out, u: L.autograd.grad(out, [x, u, y], allow_unused=True),
    "unused, allow=None": lambda L, x, y, m, out, u: L.autograd.grad(out, [u], allow_unused=None),
    "unused, disallowed": lambda L, x, y, m, out, u: L.autograd.grad(out, [u], allow_unused=False),
    "materialize": lambda L, x, y, m, out, u: L.autograd.grad(out, [x, u], materialize_grads=True),
    "materialize, create": lambda L, x, y, m, out, u: L.autograd.grad(
        out, [x, u], materialize_grads=True, create_graph=True
    ),
    "materialize, allow": lambda L, x, y, m, out, u: L.autograd.grad(
        out, [u], materialize_grads=True, allow_unused=True
    ),
    "materialize, disallow": lambda L, x, y, m, out, u: L.autograd.grad(
        out, [u], materialize_grads=True, allow_unused=False
    ),
    "materialize, non-leaf": lambda L, x, y, m, out, u: L.autograd.grad(u * 2, [m], materialize_grads=True),
    "not scalar": lambda L, x, y, m, out, u: L.autograd.grad(m, x),
    "not scalar, None": lambda L, x, y, m, out, u: L.autograd.grad(m, x, None),
    "not scalar, [None]": lambda L, x, y, m, out, u: L.autograd.grad(m, x, [None]),
    "scalar, [None]": lambda L, x, y, m, out, u: L.autograd.grad(out, x, [None]),
    "one element": lambda L, x, y, m, out, u: L.autograd.grad(out.reshape(1, 1), x),
    "no elements": lambda L, x, y, m, out, u: L.autograd.grad(m[:0], x),
    "no elements, given": lambda L, x, y, m, out, u: L.autograd.grad(m[:0], x, L.ones(0)),
    "given": lambda L, x, y, m, out, u: L.autograd.grad(m, x, L.tensor([1.0, 2.0, 3.0])),
    "given, list": lambda L, x, y, m, out, u: L.autograd.grad([m], [x], [L.tensor([1.0, 2.0, 3.0])]),
    "given too short": lambda L, x, y, m, out, u: L.autograd.grad([m, out], [x], [L.ones(3)]),
    "given too long": lambda L, x, y, m, out, u: L.autograd.grad([m], [x], [L.ones(3), L.ones(3)]),
    "given too long, None": lambda L, x, y, m, out, u: L.autograd.grad([out], [x], [None, None]),
    "given empty": lambda L, x, y, m, out, u: L.autograd.grad([out], [x], []),
    "given for several": lambda L, x, y, m, out, u: L.autograd.grad([m, out], [x, y], [L.ones(3), None]),
    "None for several": lambda L, x, y, m, out, u: L.autograd.grad([m, out], [x, y], [None, None]),
    "same output twice": lambda L, x, y, m, out, u: L.autograd.grad([out, out], x),
    "output of output": lambda L, x, y, m, out, u: L.autograd.grad([out, m.sum()], [x, m]),
    "wrong shape": lambda L, x, y, m, out, u: L.autograd.grad(m, x, L.ones(2)),
    "wrong shape, 2d": lambda L, x, y, m, out, u: L.autograd.grad(m, x, L.ones(1, 3)),
    "wrong shape, scalar": lambda L, x, y, m, out, u: L.autograd.grad(m, x, L.tensor(1.0)),
    "wrong shape for a scalar": lambda L, x, y, m, out, u: L.autograd.grad(out, x, L.ones(1)),
    "float64": lambda L, x, y, m, out, u: L.autograd.grad(m, x, L.ones(3, dtype=L.float64)),
    "float16": lambda L, x, y, m, out, u: L.autograd.grad(m, x, L.ones(3, dtype=L.float16)),
    "int64": lambda L, x, y, m, out, u: L.autograd.grad(m, x, L.ones(3, dtype=L.int64)),
    "bool": lambda L, x, y, m, out, u: L.autograd.grad(m, x, L.ones(3, dtype=L.bool)),
    "complex": lambda L, x, y, m, out, u: L.autograd.grad(m, x, L.ones(3, dtype=L.complex64)),
    "numbers": lambda L, x, y, m, out, u: L.autograd.grad(m, x, 1.0),
    "list of number": lambda L, x, y, m, out, u: L.autograd.grad(out, x, [1.0]),
    "tuple of tuple": lambda L, x, y, m, out, u: L.autograd.grad(m, x, ((L.ones(3),),)),
    "numpy": lambda L, x, y, m, out, u: L.autograd.grad(m, x, np.ones(3, dtype=np.float32)),
    "string": lambda L, x, y, m, out, u: L.autograd.grad(m, x, "abc"),
    "requires grad": lambda L, x, y, m, out, u: L.autograd.grad(m, x, L.ones(3, requires_grad=True)),
    "requires grad, create": lambda L, x, y, m, out, u: L.autograd.grad(
        m, x, L.ones(3, requires_grad=True), create_graph=True
    ),
    "expanded": lambda L, x, y, m, out, u: L.autograd.grad(m, x, L.ones(1).expand(3)),
    "meta": lambda L, x, y, m, out, u: L.autograd.grad(m, x, L.ones(3, device="meta")),
    "twice": lambda L, x, y, m, out, u: (L.autograd.grad(out, x), L.autograd.grad(out, x)),
    "twice, retained": lambda L, x, y, m, out, u: (
        L.autograd.grad(out, x, retain_graph=True),
        L.autograd.grad(out, y),
    ),
    "twice, created": lambda L, x, y, m, out, u: (
        [g.detach() for g in L.autograd.grad(out, x, create_graph=True)],
        L.autograd.grad(out, y),
    ),
    "created, not retained": lambda L, x, y, m, out, u: (
        L.autograd.grad(out, x, create_graph=True, retain_graph=False),
        raised(lambda: L.autograd.grad(out, x)),
    ),
    "other part survives": lambda L, x, y, m, out, u: (
        L.autograd.grad(out, m),
        raised(lambda: L.autograd.grad(m.sum(), x)),
        raised(lambda: L.autograd.grad(out, x)),
    ),
    "second order": lambda L, x, y, m, out, u: (lambda g: (g.requires_grad, L.autograd.grad(g.sum(), [x, y])))(
        L.autograd.grad(out, x, create_graph=True)[0]
    ),
    "second order without graph": lambda L, x, y, m, out, u: L.autograd.grad(L.autograd.grad(out, x)[0].sum(), x),
    "only_inputs": lambda L, x, y, m, out, u: L.autograd.grad(out, x, only_inputs=False),
    "batched": lambda L, x, y, m, out, u: raised(lambda: L.autograd.grad(out, x, is_grads_batched=False)),
    "leaves .grad alone": lambda L, x, y, m, out, u: (L.autograd.grad(out, [x, m]), x.grad, y.grad),
    "view as input": lambda L, x, y, m, out, u: raised(lambda: L.autograd.grad(out, x[:1])),
    "view as input, allow": lambda L, x, y, m, out, u: L.autograd.grad(out, x[:1], allow_unused=True),
    "used view": lambda L, x, y, m, out, u: (lambda v: L.autograd.grad((v * 2).sum(), [v, x]))(x[:2]),
    "under no_grad": lambda L, x, y, m, out, u: L.no_grad()(L.autograd.grad)(out, x),
    "under no_grad, create": lambda L, x, y, m, out, u: L.no_grad()(L.autograd.grad)(out, x, create_graph=True),
    "under inference_mode": lambda L, x, y, m, out, u: [
        g.is_inference() for g in L.inference_mode()(L.autograd.grad)(out, [x, y])
    ],
    "integer output": lambda L, x, y, m, out, u: L.autograd.grad(L.ones(1, dtype=L.int64), x),
    "cast to integer": lambda L, x, y, m, out, u: L.autograd.grad(out.long(), x),
    "positional": lambda L, x, y, m, out, u: L.autograd.grad(out, x, None, True, True),
    "mixed list": lambda L, x, y, m, out, u: L.autograd.grad((out, m.sum()), (x, y), (None, L.tensor(2.0))),
}
test_grad = cases({name: lambda L, f=f: f(L, *a_graph(L)) for name, f in GRAD.items()})


# ---- arguments of backward()

BACKWARD = {
    "plain": lambda L, x, y, m, out, u: out.backward(),
    "None": lambda L, x, y, m, out, u: out.backward(None),
    "not scalar": lambda L, x, y, m, out, u: m.backward(),
    "one element": lambda L, x, y, m, out, u: out.reshape(1, 1).backward(),
    "no elements": lambda L, x, y, m, out, u: m[:0].backward(),
    "no elements, given": lambda L, x, y, m, out, u: m[:0].backward(L.ones(0)),
    "given": lambda L, x, y, m, out, u: m.backward(L.tensor([1.0, 2.0, 3.0])),
    "gradient=": lambda L, x, y, m, out, u: m.backward(gradient=L.tensor([1.0, 2.0, 3.0])),
    "number": lambda L, x, y, m, out, u: out.backward(2.0),
    "list": lambda L, x, y, m, out, u: m.backward([1.0, 2.0, 3.0]),
    "tuple of a tensor": lambda L, x, y, m, out, u: m.backward((L.ones(3),)),
    "numpy": lambda L, x, y, m, out, u: m.backward(np.ones(3, dtype=np.float32)),
    "string": lambda L, x, y, m, out, u: m.backward("x"),
    "wrong shape": lambda L, x, y, m, out, u: m.backward(L.ones(2)),
    "wrong shape, 2d": lambda L, x, y, m, out, u: m.backward(L.ones(1, 3)),
    "wrong shape for a scalar": lambda L, x, y, m, out, u: out.backward(L.ones(1)),
    "float64": lambda L, x, y, m, out, u: m.backward(L.ones(3, dtype=L.float64)),
    "int64": lambda L, x, y, m, out, u: m.backward(L.ones(3, dtype=L.int64)),
    "complex": lambda L, x, y, m, out, u: m.backward(L.ones(3, dtype=L.complex64)),
    "twice": lambda L, x, y, m, out, u: (out.backward(), out.backward()),
    "twice, retained": lambda L, x, y, m, out, u: (out.backward(retain_graph=True), out.backward()),
    "three times, retained once": lambda L, x, y, m, out, u: (
        out.backward(retain_graph=True),
        out.backward(),
        out.backward(),
    ),
    "create": lambda L, x, y, m, out, u: out.backward(create_graph=True),
    "create twice": lambda L, x, y, m, out, u: (out.backward(create_graph=True), out.backward(create_graph=True)),
    "create, not retained": lambda L, x, y, m, out, u: (
        out.backward(create_graph=True, retain_graph=False),
        raised(out.backward),
    ),
    "positional": lambda L, x, y, m, out, u: m.backward(L.ones(3), True, False),
    "positional inputs": lambda L, x, y, m, out, u: m.backward(L.ones(3), True, False, [x]),
    "inputs": lambda L, x, y, m, out, u: out.backward(inputs=[x]),
    "inputs, tensor": lambda L, x, y, m, out, u: out.backward(inputs=y),
    "inputs, tuple": lambda L, x, y, m, out, u: out.backward(inputs=(x, y)),
    "inputs, empty": lambda L, x, y, m, out, u: out.backward(inputs=[]),
    "inputs, empty tuple": lambda L, x, y, m, out, u: out.backward(inputs=()),
    "inputs, duplicates": lambda L, x, y, m, out, u: out.backward(inputs=[x, x]),
    "inputs, non-leaf": lambda L, x, y, m, out, u: (out.backward(inputs=[m]), m.grad, m.retains_grad),
    "inputs, non-leaf and leaf": lambda L, x, y, m, out, u: (out.backward(inputs=[m, x]), m.grad),
    "inputs, non-leaf twice": lambda L, x, y, m, out, u: (
        out.backward(inputs=[m], retain_graph=True),
        out.backward(inputs=[m], retain_graph=True),
        m.grad,
    ),
    "inputs, root": lambda L, x, y, m, out, u: (out.backward(inputs=[out]), out.grad),
    "inputs, unused": lambda L, x, y, m, out, u: out.backward(inputs=[u]),
    "inputs, constant": lambda L, x, y, m, out, u: out.backward(inputs=[L.ones(3)]),
    "inputs, None": lambda L, x, y, m, out, u: out.backward(inputs=None),
    "inputs, [None]": lambda L, x, y, m, out, u: out.backward(inputs=[None]),
    "inputs, number": lambda L, x, y, m, out, u: out.backward(inputs=[3]),
    "inputs, generator": lambda L, x, y, m, out, u: out.backward(inputs=(t for t in [x])),
    "inputs, view": lambda L, x, y, m, out, u: (lambda v: ((v * v).sum().backward(inputs=[v]), v.grad))(x[:2]),
    "inputs, fresh view": lambda L, x, y, m, out, u: (lambda v: (out.backward(inputs=[v]), v.grad))(x[:2]),
    "inputs of another graph": lambda L, x, y, m, out, u: (lambda z: (out.backward(inputs=[z]), z.grad))(u * 2),
    "constant": lambda L, x, y, m, out, u: L.ones(1).backward(),
    "constant, given": lambda L, x, y, m, out, u: L.ones(2).backward(L.ones(2)),
    "detached": lambda L, x, y, m, out, u: out.detach().backward(),
    "integer": lambda L, x, y, m, out, u: L.tensor(1).backward(),
    "leaf": lambda L, x, y, m, out, u: u.backward(),
    "leaf, given": lambda L, x, y, m, out, u: x.backward(L.tensor([1.0, 0.0, 2.0])),
    "leaf twice": lambda L, x, y, m, out, u: (u.backward(), u.backward(), u.grad),
    "function": lambda L, x, y, m, out, u: L.autograd.backward(out),
    "function, list": lambda L, x, y, m, out, u: L.autograd.backward([out, m.sum()]),
    "function, tuple with gradients": lambda L, x, y, m, out, u: L.autograd.backward((out, m), (None, L.ones(3))),
    "function, None": lambda L, x, y, m, out, u: L.autograd.backward([m], None),
    "function, [None]": lambda L, x, y, m, out, u: L.autograd.backward([m], [None]),
    "function, too few": lambda L, x, y, m, out, u: L.autograd.backward([m, out], [L.ones(3)]),
    "function, too many": lambda L, x, y, m, out, u: L.autograd.backward([m], [L.ones(3), None]),
    "function, empty": lambda L, x, y, m, out, u: L.autograd.backward([]),
    "function, empty with gradients": lambda L, x, y, m, out, u: L.autograd.backward([], []),
    "function, constant second": lambda L, x, y, m, out, u: L.autograd.backward([out, L.ones(1)]),
    "function, same twice": lambda L, x, y, m, out, u: L.autograd.backward([out, out]),
    "function, shared": lambda L, x, y, m, out, u: L.autograd.backward([m.sum(), (m * 2).sum()]),
    "function, leaf": lambda L, x, y, m, out, u: L.autograd.backward([u, out]),
    "function, inputs": lambda L, x, y, m, out, u: L.autograd.backward([out, u], inputs=[u, y]),
    "function, number": lambda L, x, y, m, out, u: L.autograd.backward(3.0),
    "function, grad_variables": lambda L, x, y, m, out, u: L.autograd.backward(m, grad_variables=L.ones(3)),
    "function, both": lambda L, x, y, m, out, u: L.autograd.backward(m, L.ones(3), grad_variables=L.ones(3)),
    "function, generator": lambda L, x, y, m, out, u: L.autograd.backward(t for t in [out]),
    "returns None": lambda L, x, y, m, out, u: (out.backward(retain_graph=True), L.autograd.backward(out)),
    "under no_grad": lambda L, x, y, m, out, u: L.no_grad()(out.backward)(),
    "under no_grad, create": lambda L, x, y, m, out, u: L.no_grad()(out.backward)(create_graph=True),
    "under inference_mode": lambda L, x, y, m, out, u: L.inference_mode()(out.backward)(),
    "gradient requires grad": lambda L, x, y, m, out, u: m.backward(L.ones(3, requires_grad=True)),
    "gradient requires grad, create": lambda L, x, y, m, out, u: m.backward(
        L.ones(3, requires_grad=True), create_graph=True
    ),
}


def after_backward(f):
    def run(L):
        x, y, m, out, u = a_graph(L)
        result = raised(lambda: f(L, x, y, m, out, u))
        # Copied: with create_graph=True the names of gradients' nodes depend on how rules are written.
        grads = [None if t.grad is None else t.grad.clone() for t in (x, y, u)]
        return result, grads, x.is_leaf, m.is_leaf, m.requires_grad

    return run


test_backward = cases({name: after_backward(f) for name, f in BACKWARD.items()})


# ---- the memory of .grad


def layout(grad):
    return rounded(grad.tolist(), 4), grad.stride(), str(grad.dtype), grad.is_contiguous(), grad.requires_grad


LEAVES = {
    "vector": lambda L: L.arange(6.0).requires_grad_(),
    "matrix": lambda L: L.arange(6.0).reshape(2, 3).clone().requires_grad_(),
    "transposed": lambda L: L.arange(6.0).reshape(2, 3).t().detach().requires_grad_(),
    "permuted": lambda L: L.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1).detach().requires_grad_(),
    "strided": lambda L: L.arange(12.0)[::2].detach().requires_grad_(),
    "columns": lambda L: L.arange(12.0).reshape(3, 4)[:, ::2].detach().requires_grad_(),
    "expanded": lambda L: L.arange(3.0).expand(2, 3).detach().requires_grad_(),
    "overlapping": lambda L: L.arange(6.0).unfold(0, 3, 1).detach().requires_grad_(),
    "ones in the shape": lambda L: L.arange(6.0).reshape(2, 1, 3).detach().requires_grad_(),
    "scalar": lambda L: L.tensor(3.0, requires_grad=True),
    "empty": lambda L: L.ones(0, 3).requires_grad_(),
    "double": lambda L: L.arange(6.0, dtype=L.float64).requires_grad_(),
    "half": lambda L: L.arange(6.0).half().requires_grad_(),
    "complex": lambda L: L.tensor([1 + 2j, 3.0, 4j]).requires_grad_(),
}
LOSSES = {
    "sum": lambda L, x: x.sum(),
    "mul": lambda L, x: (x * x).sum(),
    "clone": lambda L, x: x.clone().sum(),
    "half": lambda L, x: (x / 2).sum(),
    "t": lambda L, x: (x.mT if x.ndim > 1 else x).contiguous().sum(),
    "reshape": lambda L, x: (x.reshape(-1) * 2).sum(),
    "expand": lambda L, x: (x.expand(2, *x.shape) * 2).sum(),
    "row": lambda L, x: (x[:1] * 3).sum() if x.ndim else x * 3,
    "twice": lambda L, x: (x * 2 + x * 3).sum(),
    "mean": lambda L, x: x.mean(),
}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", LEAVES)
def test_layout_of_grad(kind, loss):
    def run(L):
        x = LEAVES[kind](L)
        value = LOSSES[loss](L, x)
        value = (value * value.conj()).real if value.is_complex() else value
        value.backward(retain_graph=True)
        first, found = x.grad, [layout(x.grad)]
        value.backward(retain_graph=True)
        found += [x.grad is first, layout(x.grad)]
        return found

    same(run)


GIVEN = {
    "same": lambda L: L.arange(6.0).reshape(2, 3).clone(),
    "transposed": lambda L: L.arange(6.0).reshape(3, 2).t(),
    "expanded": lambda L: L.arange(3.0).expand(2, 3),
    "scalar": lambda L: L.tensor(2.0).expand(2, 3),
    "strided": lambda L: L.arange(12.0).reshape(2, 6)[:, ::2],
    "slice": lambda L: L.arange(9.0).reshape(3, 3)[1:],
    "double": lambda L: L.arange(6.0, dtype=L.float64).reshape(2, 3),
    "view": lambda L: L.arange(6.0).view(2, 3),
}


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("way", ["leaf", "clone", "add"])  # through a view, torch shares the memory; here never
def test_incoming_gradient_is_not_aliased(way, given, transposed):
    def run(L):
        x = L.arange(6.0).reshape(3, 2).t() if transposed else L.arange(6.0).reshape(2, 3)
        x = x.detach().requires_grad_()
        y = {"leaf": lambda: x, "clone": x.clone, "add": lambda: x + 1}[way]()
        g = GIVEN[given](L)
        y.backward(g)
        before = layout(x.grad)
        x.grad.add_(1)
        return before, x.grad is g, layout(g)

    same(run)


@pytest.mark.parametrize("given", GIVEN)
def test_gradients_that_grad_returns(given):
    def run(L):
        x = L.arange(6.0).reshape(2, 3).detach().requires_grad_()
        y = L.ones(3).requires_grad_()
        g = GIVEN[given](L)
        grads = L.autograd.grad(x + y, [x, y], g)
        return [(grad.tolist(), grad.stride(), str(grad.dtype)) for grad in grads], grads[0] is g

    same(run)


BEFORE = {
    "same": lambda L: L.ones(2, 3),
    "transposed": lambda L: L.ones(3, 2).t(),
    "expanded": lambda L: L.ones(3).expand(2, 3),
    "strided": lambda L: L.ones(2, 6)[:, ::2],
    "requires grad": lambda L: L.ones(2, 3, requires_grad=True),
    "non-leaf": lambda L: L.ones(2, 3, requires_grad=True) * 2,
    "view": lambda L: L.ones(6).view(2, 3),
    "double": lambda L: L.ones(2, 3, dtype=L.float64),
    "wrong shape": lambda L: L.ones(3),
    "numbers": lambda L: 1.0,
    "None": lambda L: None,
}


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("before", BEFORE)
def test_grad_assigned_before(before, create_graph):
    def run(L):
        x = L.arange(6.0).reshape(2, 3).detach().requires_grad_()
        x.grad = given = BEFORE[before](L)
        (x * x).sum().backward(create_graph=create_graph)
        return layout(x.grad.detach()), x.grad.requires_grad, x.grad is given, given is not None and given.tolist()

    same(without_warnings(run))


ASSIGNED = {
    "itself": lambda L, x: x,
    "int": lambda L, x: L.ones(2, dtype=L.int64),
    "double": lambda L, x: L.ones(2, dtype=L.float64),
    "shape": lambda L, x: L.ones(3),
    "0-d": lambda L, x: L.tensor(1.0),
    "meta": lambda L, x: L.ones(2, device="meta"),
    "list": lambda L, x: [1.0, 2.0],
    "numpy": lambda L, x: np.ones(2, dtype=np.float32),
    "number": lambda L, x: 1.0,
    "fitting": lambda L, x: L.ones(2),
    "view of itself": lambda L, x: x.detach(),
    "None": lambda L, x: None,
}


@pytest.mark.parametrize("name", ASSIGNED)
def test_assigned_grad(name):
    def run(L):
        x = leaf(L, 1.0, 2.0)
        x.grad = ASSIGNED[name](L, x)
        return x.grad

    same(run)


@program
def deleted_grad(L):
    x = leaf(L, 1.0)
    x.sum().backward()
    del x.grad
    return x.grad, hasattr(x, "grad")


@program
def grad_of_a_constant(L):
    t = L.ones(2)
    t.grad = L.zeros(2)
    return t.grad


@program
def zero_grad_by_hand(L):
    x = leaf(L, 1.0)
    (x * 2).sum().backward()
    kept = x.grad
    x.grad.zero_()
    (x * 3).sum().backward()
    first = kept is x.grad, x.grad.tolist()
    x.grad = None
    (x * 4).sum().backward()
    return first, kept, x.grad, kept is x.grad


@program
def retained_gradients_are_replaced(L):
    x = leaf(L, 1.0)
    y = x * 2
    y.retain_grad()
    z = (y * 3).sum()
    z.backward(retain_graph=True)
    first = y.grad
    z.backward(retain_graph=True)
    return first, y.grad, first is y.grad


@program
def data_replaced_between_backwards(L):
    x = leaf(L, 1.0, 2.0)
    (x * x).sum().backward()
    x.data = L.tensor([3.0, 4.0])
    (x * x).sum().backward()
    return x.grad


@program
def data_of_another_type_between_backwards(L):
    x = leaf(L, 1.0, 2.0)
    (x * x).sum().backward()
    x.data = x.data.double()
    return x.dtype == L.float64, raised(lambda: (x * x).sum().backward()), str(x.grad.dtype)


@program
def gradient_is_none_where_nothing_flows(L):
    x, y = leaf(L, 1.0), leaf(L, 2.0)
    z = x * 2 + y.detach()
    z.sum().backward()
    return x.grad, y.grad


# ---- undefined gradients


def splitter(L, answers, materialize=True):
    class Split(L.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.set_materialize_grads(materialize)
            return x * 2, y * 3

        @staticmethod
        def backward(ctx, g, h):
            seen.append((None if g is None else g.tolist(), None if h is None else h.tolist()))
            return answers(g, h)

    seen = []
    return Split.apply, seen


@pytest.mark.parametrize("materialize", [True, False])
@pytest.mark.parametrize("answers", ["both", "first", "none", "one"])
@pytest.mark.parametrize("used", ["first", "second", "both"])
def test_undefined_gradients(used, answers, materialize):
    def run(L):
        table = {
            "both": lambda g, h: (g, h),
            "first": lambda g, h: (g, None),
            "none": lambda g, h: (None, None),
            "one": lambda g, h: None,
        }
        split, seen = splitter(L, table[answers], materialize)
        x, y = leaf(L, 1.0), leaf(L, 2.0)
        a, b = x * 5, y * 7
        a.retain_grad()
        p, q = split(a, b)
        loss = {"first": p, "second": q, "both": p + q}[used].sum()
        grads = raised(lambda: L.autograd.grad(loss, [x, y, a, b], retain_graph=True, allow_unused=True))
        outcome = raised(loss.backward)
        return grads, outcome, x.grad, y.grad, a.grad, seen

    same(run)


@program
def gradients_of_another_device_are_refused(L):
    """They have no memory that could be read."""

    class Elsewhere(L.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return L.ones(2, device="meta")

    def run(add):
        x = leaf(L, 1.0, 2.0)
        y = x * 2
        add(x, y)
        y.sum().backward()
        return x.grad

    def meta(*_):
        return L.ones(2, device="meta")

    return [
        raised(lambda: run(lambda x, y: x.register_hook(meta))),
        raised(lambda: run(lambda x, y: y.register_hook(meta))),
        raised(lambda: run(lambda x, y: y.grad_fn.register_prehook(lambda g: (meta(),)))),
        raised(lambda: run(lambda x, y: y.grad_fn.register_hook(lambda g, h: (meta(), None)))),
        raised(lambda: Elsewhere.apply(leaf(L, 1.0, 2.0)).sum().backward()),
    ]


@program
def undefined_gradients_stop(L):
    class Stop(L.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return None

    x = leaf(L, 1.0)
    log = []
    a = x.exp()
    a.register_hook(lambda g: log.append("hook"))
    a.retain_grad()
    (Stop.apply(a) * 2).sum().backward()
    return x.grad, a.grad, log


@program
def undefined_and_defined_are_added(L):
    class Stop(L.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return None

    x = leaf(L, 1.0)
    a = x * 2
    (Stop.apply(a) + a * 3).sum().backward()
    return x.grad


@program
def materialized_zeros_have_the_shape_and_type(L):
    x = L.ones(2, 3, dtype=L.float64).t().requires_grad_()
    u = L.ones(3, dtype=L.complex64).requires_grad_()
    g, h = L.autograd.grad((leaf(L, 1.0) * 2).sum(), [x, u], materialize_grads=True)
    return g, g.stride(), h


# ---- types

CASTS = ["float16", "bfloat16", "float32", "float64", "complex64", "complex128", "int64", "int32", "uint8", "bool"]


@pytest.mark.parametrize("first", CASTS[:6])
@pytest.mark.parametrize("op", ["add", "mul", "div", "sub", "pow", "where", "maximum"])
def test_gradients_have_the_type_of_their_inputs(op, first):
    def gradients(L, second):
        x = L.tensor([0.5, 1.5]).to(getattr(L, first)).requires_grad_()
        y = L.tensor([1.0, 2.0]).to(getattr(L, second))
        y = y.requires_grad_() if y.is_floating_point() or y.is_complex() else y
        z = L.where(L.tensor([True, False]), x, y) if op == "where" else getattr(L, op)(x, y)
        z.backward(L.ones_like(z))
        found = [grad is not None and (str(grad.dtype), rounded(grad.tolist(), 2)) for grad in (x.grad, y.grad)]
        return str(z.dtype), found

    def fails_in_torch(second):
        mixed = first.startswith("complex") != second.startswith("complex")
        return (op == "where" and mixed) or (op == "pow" and second == "bool")

    def run(L):
        seconds = [second for second in CASTS if not fails_in_torch(second)]
        return {second: raised(functools.partial(gradients, L, second)) for second in seconds}

    same(run)


@pytest.mark.parametrize("to", CASTS)
@pytest.mark.parametrize("start", CASTS[:6])
def test_casts(start, to):
    def run(L):
        x = L.tensor([0.5, 1.5]).to(getattr(L, start)).requires_grad_()
        y = x.to(getattr(L, to))
        if y.requires_grad and y is not x:
            y.backward(L.ones_like(y) * (1 + 2j if y.is_complex() else 2))
        return y.requires_grad, y is x, y.is_leaf, x.grad

    same(without_warnings(run))


@program
def integers_are_refused(L):
    made = [
        lambda: L.ones(2, dtype=L.int64, requires_grad=True),
        lambda: L.ones(2, dtype=L.bool, requires_grad=True),
        lambda: L.tensor([1, 2], requires_grad=True),
        lambda: L.tensor(True, requires_grad=True),
        lambda: L.arange(3, requires_grad=True),
        lambda: L.zeros(2, dtype=L.int32).requires_grad_(),
        lambda: setattr(L.zeros(2, dtype=L.uint8), "requires_grad", True),
        lambda: L.randint(0, 3, (2,), requires_grad=True),
        lambda: L.ones(2, dtype=L.int64).requires_grad_(False),
        lambda: L.empty(2, dtype=L.int16, requires_grad=True),
        lambda: L.full((2,), 3, requires_grad=True),
        lambda: L.eye(2, dtype=L.int64, requires_grad=True),
    ]
    return [raised(f) for f in made]


@program
def results_that_have_no_gradient(L):
    x = leaf(L, 1.0, -2.0)
    found = {
        "long": x.long(),
        "argmax": x.argmax(),
        "sort": x.sort()[1],
        "compare": x > 0,
        "eq": x == x,
        "sign": x.sign(),
        "floor": x.floor(),
        "round": x.round(),
        "isnan": x.isnan(),
        "nonzero": x.nonzero(),
        "max": x.max(0)[1],
        "bool": x.bool(),
        "zeros_like": L.zeros_like(x),
        "logical": x.logical_not(),
        "remainder": x % 2,
        "trunc": x.trunc(),
        "ones": L.ones_like(x),
        "rand": L.rand_like(x),
        "empty": L.empty_like(x).fill_(1),
    }
    return {key: (y.requires_grad, y.is_leaf, y.grad_fn and y.grad_fn.name()) for key, y in found.items()}


# ---- broadcasting

SHAPES = [(), (1,), (3,), (1, 3), (2, 1), (2, 3), (2, 1, 3), (1, 1, 1), (0,), (0, 1), (2, 0)]


BROADCAST = {
    "add": lambda L, x, y: x + y,
    "sub": lambda L, x, y: x - y,
    "mul": lambda L, x, y: x * y,
    "div": lambda L, x, y: x / y,
    "maximum": lambda L, x, y: L.maximum(x, y),
    "where": lambda L, x, y: L.where(x > 2, x, y),
    "addcmul": lambda L, x, y: L.addcmul(x, x, y),
    "lerp": lambda L, x, y: L.lerp(x, y, 0.5),
}


@pytest.mark.parametrize("first", SHAPES)
@pytest.mark.parametrize("op", BROADCAST)
def test_gradients_are_summed_to_the_shape(op, first):
    def gradients(L, a, b):
        x = (L.arange(float(np.prod(a))).reshape(a) + 1).detach().requires_grad_()
        y = (L.arange(float(np.prod(b))).reshape(b) + 2).detach().requires_grad_()
        BROADCAST[op](L, x, y).sum().backward()
        return [(grad.shape, rounded(grad.tolist(), 3)) for grad in (x.grad, y.grad)]

    def run(L):
        return [raised(functools.partial(gradients, L, first, second)) for second in SHAPES]

    same(run)


@program
def in_place_broadcast(L):
    x, y = L.ones(2, 3).requires_grad_(), L.ones(3).requires_grad_()
    z = x * 1
    z.mul_(y)
    z.add_(y[:1])
    z.sum().backward()
    return x.grad, y.grad, raised(lambda: (y * 1).mul_(x))


# ---- complex numbers: the gradient is that of the conjugate, as torch has it

COMPLEX = {
    "abs": lambda z: z.abs(),
    "angle": lambda z: z.angle(),
    "real": lambda z: z.real,
    "imag": lambda z: z.imag,
    "conj": lambda z: (z.conj() * (1 + 2j)).real,
    "square": lambda z: (z * z).real,
    "product": lambda z: (z * z.conj()).real,
    "exp": lambda z: z.exp().imag,
    "log": lambda z: z.log().real,
    "sin": lambda z: z.sin().real,
    "sqrt": lambda z: z.sqrt().imag,
    "pow": lambda z: (z**3).real,
    "pow complex": lambda z: (z ** (1 + 1j)).real,
    "reciprocal": lambda z: (1 / z).imag,
    "div": lambda z: (z / (2 - 1j)).imag,
    "tanh": lambda z: z.tanh().real,
    "sum": lambda z: z.sum().abs(),
    "mean": lambda z: z.mean().real,
    "prod": lambda z: z.prod().imag,
    "cumsum": lambda z: z.cumsum(0).imag,
    "matmul": lambda z: (z @ z).real,
    "mv": lambda z: (z.reshape(1, -1) @ z.conj()).abs(),
    "view_as_real": lambda z: z.view(z.dtype).real * 2,
    "mul by real": lambda z: (z * 3).real,
    "mul by imag": lambda z: (z * 2j).real,
    "sgn": lambda z: z.sgn().real,
    "norm": lambda z: (z.abs() ** 2).sum().sqrt(),
}


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_gradients(name):
    def run(L):
        z = L.tensor([1 + 2j, -0.5 + 0.25j, 3 - 1j], dtype=L.complex128, requires_grad=True)
        out = COMPLEX[name](z)
        out.sum().backward()
        (g,) = L.autograd.grad(COMPLEX[name](z).sum(), z, create_graph=True)
        second = L.autograd.grad((g * g.conj()).real.sum(), z, allow_unused=True)[0] if g.requires_grad else None
        values = [None if t is None else rounded(t.tolist(), 8) for t in (z.grad, second)]
        return str(z.grad.dtype), str(out.dtype), values

    same(run)


@program
def complex_outputs(L):
    z = L.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    x = leaf(L, 1.0, 2.0)
    return [
        raised(lambda: z.sum().backward()),
        raised(lambda: (z * 2).backward()),
        raised(lambda: (z * 2).backward(L.ones(2))),
        raised(lambda: (z * 2).backward(L.ones(2, dtype=L.complex128))),
        raised(lambda: (z * 2).backward(L.tensor([1j, 2.0]))),
        z.grad,
        raised(lambda: L.autograd.grad((x * 2).sum() + 0j, x)),
        raised(lambda: L.autograd.grad(x * 1j, x, L.tensor([1j, 1 + 1j]))),
        raised(lambda: L.autograd.grad(L.view_as_complex(x), x, L.tensor(1 + 2j))),
        raised(lambda: L.autograd.grad(L.view_as_real(z), z, L.ones(2, 2))),
        raised(lambda: L.autograd.grad(z.real, z, L.ones(2))),
        raised(lambda: L.autograd.grad(z.imag, z, L.ones(2))),
    ]


# ---- leaves


@program
def what_is_a_leaf(L):
    x = leaf(L, 1.0, 2.0)
    c = L.ones(2)
    with L.no_grad():
        n = x * 2
        v = x[:1]
    found = {
        "leaf": x,
        "constant": c,
        "result": x * 2,
        "of constants": c * 2,
        "no_grad": n,
        "view in no_grad": v,
        "detach": (x * 2).detach(),
        "detach of leaf": x.detach(),
        "data": x.data,
        "view": x[:1],
        "constant view": c[:1],
        "clone": x.clone(),
        "to same": x.to(L.float32),
        "double": x.double(),
        "requires_grad_ of result": (c * 2).requires_grad_(),
        "tensor of": L.as_tensor(x),
        "contiguous": x.contiguous(),
        "zeros_like": L.zeros_like(x, requires_grad=True),
        "int": x.int(),
        "Parameter": L.nn.Parameter(L.ones(2)),
        "reshape": x.reshape(2),
        "expand": x.expand(2, 2),
    }
    return {key: (y.is_leaf, y.requires_grad, y.grad_fn and y.grad_fn.name(), y._is_view()) for key, y in found.items()}


@program
def variables(L):
    Variable = L.autograd.Variable
    x, t = leaf(L, 1.0), L.ones(2)
    v = Variable(t, requires_grad=True)
    v.data.mul_(3)
    return [
        (v, t, v is t, type(v) is L.Tensor, isinstance(t, Variable), isinstance(3, Variable)),
        (Variable(x), Variable(x * 2), Variable(x, requires_grad=True), Variable(x, True).is_leaf, Variable().shape),
        raised(lambda: Variable([1.0])),
        (v * 2).sum().backward(),
        v.grad,
    ]


@program
def requires_grad_changed(L):
    x = leaf(L, 1.0)
    y = x * 2
    log = [
        raised(lambda: setattr(y, "requires_grad", False)),
        raised(lambda: setattr(y, "requires_grad", True)),
        raised(lambda: y.requires_grad_(False)),
        raised(lambda: y.requires_grad_(True) is y),
        raised(lambda: setattr(x, "requires_grad", 1)),
        raised(lambda: x.requires_grad_("no")),
        raised(lambda: x.requires_grad_(requires_grad=False).requires_grad),
    ]
    y.sum().backward()
    return log, x.grad


@program
def not_requiring_any_more(L):
    x, w = leaf(L, 1.0), leaf(L, 2.0)
    y = x * w
    x.requires_grad_(False)
    y.sum().backward()
    return x.grad, w.grad


@program
def requiring_later(L):
    x, w = L.ones(1), leaf(L, 2.0)
    y = x * w
    x.requires_grad_()
    y.sum().backward()
    return x.grad, w.grad, raised(lambda: L.autograd.grad((x * w).sum(), x))


@program
def grad_of_detached_leaf(L):
    x = leaf(L, 1.0)
    d = x.detach().requires_grad_()
    (d * x).sum().backward()
    return x.grad, d.grad, d.is_leaf


@program
def views_as_inputs_of_grad(L):
    x = L.arange(6.0).reshape(2, 3).detach().requires_grad_()
    v = x.t()
    w = v[0]
    loss = (w * w).sum() + (v * 2).sum()
    return L.autograd.grad(loss, [x, v, w])


@program
def inputs_changed_in_place(L):
    x = leaf(L, 1.0, 2.0)
    y = x * 3
    before = L.autograd.graph.get_gradient_edge(y)
    y.mul_(2)
    loss = (y * y).sum()
    return L.autograd.grad(loss, [y, before, x])


@program
def several_outputs_of_one_node(L):
    x = leaf(L, 1.0, 2.0, 3.0)
    a, b, c = x.unbind()
    return L.autograd.grad([a * 2, c * 5], [x, a, b, c], allow_unused=True)


@program
def output_is_also_an_input(L):
    x = leaf(L, 2.0)
    y = x * 3
    z = y * y
    return L.autograd.grad([y.sum(), z.sum()], [y, z, x])


@program
def partial_graph_is_retained(L):
    x = leaf(L, 2.0)
    y = x.exp()
    a, b = (y * y).sum(), (y * 3).sum()
    a.backward()
    return raised(b.backward), x.grad


@program
def no_saved_values_backward_twice(L):
    x = leaf(L, 2.0, 3.0)
    y = (x + 1).sum() - x.view(2, 1).sum()
    y.backward()
    y.backward()
    return x.grad


@program
def error_leaves_others_untouched(L):
    x, y = leaf(L, 2.0), leaf(L, 3.0)
    z = (x * y).exp()
    z.sum().backward()
    first = x.grad.clone(), y.grad.clone()
    return raised(z.sum().backward), x.grad.tolist() == first[0].tolist(), y.grad.tolist() == first[1].tolist()


# ---- Numbers that are given as tensors

NUMBERS_AS_TENSORS = {
    "add": lambda L, x, y, n: L.add(x, y, alpha=n),
    "sub": lambda L, x, y, n: L.sub(x, y, alpha=n),
    "rsub": lambda L, x, y, n: L.rsub(x, y, alpha=n),
    "in place": lambda L, x, y, n: x.clone().add_(y, alpha=n),
    "addcmul": lambda L, x, y, n: L.addcmul(x, y, y, value=n),
    "addcdiv": lambda L, x, y, n: L.addcdiv(x, y, y, value=n),
    "leaky_relu": lambda L, x, y, n: L.nn.functional.leaky_relu(-x * y, n),
    "elu": lambda L, x, y, n: L.nn.functional.elu(-x * y, n),
    "celu": lambda L, x, y, n: L.nn.functional.celu(-x * y, n),
    "softplus": lambda L, x, y, n: L.nn.functional.softplus(x * y, n),
    "hardtanh": lambda L, x, y, n: L.nn.functional.hardtanh(x * y, -n, n),
}


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("name", NUMBERS_AS_TENSORS)
def test_a_number_may_be_a_tensor(name, create_graph):
    def gradients(L):
        x, y, n = leaf(L, 0.5, 1.5), leaf(L, 1.0, 2.0), L.tensor(3.0)
        result = NUMBERS_AS_TENSORS[name](L, x, y, n)
        n.fill_(7.0)  # the number is what it was when the op was called
        found = L.autograd.grad(result.sum(), (x, y), create_graph=create_graph)
        return [gradient.detach() for gradient in found]

    same(gradients)
