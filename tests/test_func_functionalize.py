"""functionalize(): the same results and changes as without, beside torch, by ops that change nothing but by copies."""

import pytest

import adjoint
from adjoint.func import functionalize

from .compare import OPS, numbers, programs, raised, same

program, test_program = programs(OPS)


def changes(L, x):
    """Ops of all kinds that change x, and new tensors."""
    y = x.clone()
    y.mul_(2).add_(x)
    y[0].sub_(3.0)
    y.view(3, 1).sub_(x.view(3, 1))
    y.index_put_((L.tensor([0]),), x[1:2])
    y.index_add_(0, L.tensor([1]), x[:1])
    y.masked_fill_(y > 6, 0.5)
    y.clamp_(min=0.1).div_(4)
    y.scatter_(0, L.tensor([2]), 0.7)
    y += x
    L.nn.functional.relu(y, inplace=True)
    z = y.exp()
    x.addcmul_(y, z)
    return y, x.cumsum_(0) * z


@program
def results_and_changes(L):
    x = numbers(L, 3)
    return [
        (L.func.functionalize(lambda x: changes(L, x), remove=r)(x), x) for r in ("mutations", "mutations_and_views")
    ]


@program
def transforms_of_functional_programs(L):
    x = numbers(L, 3)
    functional = L.func.functionalize(lambda x: changes(L, x.clone())[1])
    return (
        L.vmap(functional)(L.stack([x, x + 1])),
        L.func.grad(lambda x: functional(x).sum())(x),
        L.func.jvp(functional, (x,), (x,)),
        L.func.jacrev(functional)(x),
    )


@program
def functional_programs_with_transforms(L):
    x, functionalize = numbers(L, 3), L.func.functionalize

    def f(x):
        y = x.clone()
        y.mul_(x).add_(1)
        y[1:].sub_(x[:-1])
        return y.sin_() * x

    return (
        functionalize(L.vmap(f))(L.stack([x, x + 1])),
        functionalize(L.func.grad(lambda x: f(x).sum()))(x),
        functionalize(lambda x: L.func.jvp(f, (x,), (x,)))(x),
    )


@program
def what_goes_in_and_out(L):
    x, functionalize = numbers(L, 3), L.func.functionalize
    recorded = numbers(L, 3).requires_grad_()
    return (
        functionalize(lambda x, k: (x, [x, {"a": x.add_(k["a"])}, "text"]))(x, k={"a": 2}),
        functionalize(lambda: 3)(),
        functionalize(lambda x: (x * 2).mul_(3))(recorded).requires_grad,
        raised(lambda: functionalize(lambda x: x.mul_(3))(recorded), 70),
        functionalize(lambda x: x.unsqueeze_(0))(numbers(L, 3)),
        functionalize(lambda x: x.t_())(numbers(L, 2, 3)),
        functionalize(lambda x: L.add(x, 1, out=L.empty(3, dtype=L.float64)))(x),
        functionalize(changes).__name__,
    )


@program
def batches_that_are_changed(L):
    x = numbers(L, 2, 3)

    def change(x):
        x.add_(1)
        return x.sum()

    return L.vmap(L.func.functionalize(change))(x), x, L.func.functionalize(L.vmap(change))(x), x


@pytest.mark.parametrize("remove", ["views", None, ""])
def test_what_cannot_be_removed(remove):
    same(lambda L: L.func.functionalize(lambda x: x, remove=remove), error=first_line)


def first_line(ours, theirs):
    return type(ours) is type(theirs) and str(ours).splitlines()[0] == str(theirs).splitlines()[0]


def test_ops_that_are_called():
    """No op of the program changes a tensor that it reads, in vmap and backward either."""
    with adjoint.inspect.trace() as trace:
        functionalize(lambda x: changes(adjoint, x))(numbers(adjoint, 3))
        functionalize(adjoint.vmap(lambda x: changes(adjoint, x)))(numbers(adjoint, 2, 3))
        functionalize(adjoint.func.grad(lambda x: changes(adjoint, x.clone())[1].sum()))(numbers(adjoint, 3))
    writing = {event.op for event in trace.events if event.op.endswith("_") and not event.backward}
    assert writing <= {"copy_", "zero_", "fill_"}


def test_errors_end_the_level():
    def fail(x):
        raise KeyError

    with pytest.raises(KeyError):
        functionalize(fail)(numbers(adjoint, 3))
    x = numbers(adjoint, 3)
    with adjoint.inspect.trace() as trace:
        x.mul_(2)
    assert [event.op for event in trace.events] == ["mul_"]


@program
def results_of_other_types_and_sizes(L):
    def of(x, y):
        return L.func.functionalize(lambda x: x.mul_(y))(x)

    return of(L.arange(3), 0.5), raised(lambda: of(L.ones(3), L.ones(2, 3)), 18)
