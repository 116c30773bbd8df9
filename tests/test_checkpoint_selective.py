"""Selective checkpoints and groups of backwards against torch: gradients, what is computed again, and refusals."""

import functools

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import adjoint

from .compare import leaf, programs, raised

program, test_program = programs()


def op(L, name):
    """An op as policies see it."""
    return getattr(L.ops.aten, name).default


def name_of(given):
    return given._schema.name.removeprefix("aten::")


class _Counting(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(name_of(func))
        return func(*args, **(kwargs or {}))


def called(L, run, names=("exp", "sin", "sigmoid")):
    """How often some ops are called by run()."""
    if L is torch:
        with _Counting() as seen:
            run()
        found = seen.names
    else:
        with adjoint.inspect.trace() as trace:
            run()
        found = [event.op for event in trace.events]
    return [found.count(name) for name in names]


def kept(L, policy, **options):
    contexts = L.utils.checkpoint.create_selective_checkpoint_contexts
    return functools.partial(contexts, policy, **options)


def chain(x):
    return (x.exp().sin() * x.sigmoid()).exp()


POLICIES = {
    "nothing": lambda L: [],
    "exp": lambda L: [op(L, "exp")],
    "exp and sigmoid": lambda L: [op(L, "exp"), op(L, "sigmoid")],
    "everything": lambda L: lambda *_, **__: L.utils.checkpoint.CheckpointPolicy.PREFER_SAVE,
    "by a function": lambda L: (
        lambda ctx, given, *args, **kwargs: (
            L.utils.checkpoint.CheckpointPolicy.MUST_SAVE
            if given == op(L, "sin") and not ctx.is_recompute
            else L.utils.checkpoint.CheckpointPolicy.PREFER_RECOMPUTE
        )
    ),
    "truth values": lambda L: lambda ctx, given, *args, **kwargs: given == op(L, "sigmoid"),
}


@pytest.mark.parametrize("early_stop", [True, False])
@pytest.mark.parametrize("policy", POLICIES)
def test_what_is_computed_again(policy, early_stop):
    seen = []
    for L in (torch, adjoint):
        x = leaf(L, 0.5, 1.5)
        out = L.utils.checkpoint.checkpoint(
            chain, x, use_reentrant=False, early_stop=early_stop, context_fn=kept(L, POLICIES[policy](L))
        )
        counts = called(L, lambda out=out: out.sum().backward())
        seen.append((counts, x.grad))
    (counts, grad), (ours, mine) = seen
    assert ours == counts
    torch.testing.assert_close(torch.tensor(mine.tolist()), grad)


@program
def what_a_policy_is_told(L):
    log = []

    def policy(ctx, given, *args, **kwargs):
        log.append((name_of(given), ctx.is_recompute, ctx.op_output.shape, [tuple(each.shape) for each in args]))
        return L.utils.checkpoint.CheckpointPolicy.PREFER_RECOMPUTE

    x = L.ones(2, 3, requires_grad=True)
    out = L.utils.checkpoint.checkpoint(
        lambda x: L.mm(x, x.t().detach()).sigmoid(), x, use_reentrant=False, context_fn=kept(L, policy)
    )
    out.sum().backward()
    return [entry for entry in log if entry[0] in ("mm", "sigmoid")], x.grad


@program
def ops_of_a_layer(L):
    log = []

    def policy(ctx, given, *args, **kwargs):
        log.append((str(given), [tuple(each.shape) for each in args if isinstance(each, L.Tensor)]))
        return given == L.ops.aten.addmm.default

    x, weight, bias = (L.ones(*sizes, requires_grad=True) for sizes in ((2, 3), (4, 3), (4,)))

    def layer(x):
        y = L.nn.functional.linear(x, weight, bias).sin()
        return y.add_(1).exp() + L.nn.functional.linear(x, weight)

    out = L.utils.checkpoint.checkpoint(layer, x, use_reentrant=False, context_fn=kept(L, policy))
    out.sum().backward()
    return [entry for entry in log if entry[0] != "aten.t.default"], x.grad, weight.grad, bias.grad


@program
def layers_of_a_network(L):
    L.manual_seed(0)
    weights = [L.sin(L.arange(16.0) * k).reshape(4, 4).requires_grad_() for k in (1, 2, 3)]
    x = L.cos(L.arange(8.0)).reshape(2, 4).requires_grad_()

    def network(x):
        for weight in weights:
            x = L.nn.functional.layer_norm(L.tanh(L.mm(x, weight)), (4,))
        return L.nn.functional.dropout(x, 0.5)

    state = L.get_rng_state()
    network(x).square().sum().backward()
    expected = [each.grad.clone() for each in (x, *weights)]
    for each in (x, *weights):
        each.grad = None
    L.set_rng_state(state)
    out = L.utils.checkpoint.checkpoint(network, x, use_reentrant=False, context_fn=kept(L, [op(L, "mm")]))
    out.square().sum().backward()
    return [L.equal(each.grad, before) for each, before in zip((x, *weights), expected, strict=True)]


@program
def second_derivatives(L):
    x = leaf(L, 0.5, 1.5)
    out = L.utils.checkpoint.checkpoint(chain, x, use_reentrant=False, context_fn=kept(L, [op(L, "exp")]))
    (first,) = L.autograd.grad(out.sum(), x, create_graph=True)
    return first, raised(lambda: L.autograd.grad(first.sum(), x), 60)


@program
def a_second_backward_is_refused(L):
    x = leaf(L, 0.5)
    out = L.utils.checkpoint.checkpoint(chain, x, use_reentrant=False, context_fn=kept(L, [op(L, "exp")]))
    out.sum().backward(retain_graph=True)
    return x.grad, raised(lambda: out.sum().backward(), 60)


@program
def what_is_kept_must_not_change(L):
    def changing(x):
        y = x.exp()
        z = y.sum() + x.sin()
        with L.no_grad():
            y.detach().add_(1)
        return z

    results = []
    for allowed in (False, True):
        x = leaf(L, 0.5)
        contexts = kept(L, [op(L, "exp")], allow_cache_entry_mutation=allowed)
        out = L.utils.checkpoint.checkpoint(changing, x, use_reentrant=False, context_fn=contexts)
        results.append(raised(lambda out=out: out.sum().backward(), 60))
    return results


@program
def policies_that_are_refused(L):
    contexts = L.utils.checkpoint.create_selective_checkpoint_contexts
    return [
        raised(lambda: contexts(3), 60),
        raised(lambda: contexts(["exp"]), 60),
        raised(lambda: contexts([L.ops.aten.exp]), 60),
        raised(lambda: contexts([L.exp]), 50),
    ]


@program
def names(L):
    K = L.utils.checkpoint
    context = K.SelectiveCheckpointContext(is_recompute=False, op_output=3)
    return [
        [(policy.name, policy.value) for policy in K.CheckpointPolicy],
        vars(context),
        K.get_device_states(L.ones(1)),
        K.set_device_states([], []),
        K.DefaultDeviceType.get_device_type(),
    ]


# ---- Checkpoints inside of others


@program
def checkpoints_inside(L):
    inner = functools.partial(L.utils.checkpoint.checkpoint, L.sin, use_reentrant=False)

    def outer(x):
        return inner(x.exp()).exp() * x

    x = leaf(L, 0.5, 1.5)
    out = L.utils.checkpoint.checkpoint(outer, x, use_reentrant=False, context_fn=kept(L, [op(L, "exp")]))
    out.sum().backward()
    return x.grad


# ---- Groups of backwards


def runs(L, around):
    """How often a function runs that two backwards go through, and the gradients."""
    count = 0

    def function(x):
        nonlocal count
        count += 1
        return x.sin().exp(), x.cos().exp()

    x = leaf(L, 0.5)
    a, b = L.utils.checkpoint.checkpoint(function, x, use_reentrant=False, early_stop=False)
    with around:
        a.sum().backward(retain_graph=True)
        b.sum().backward(retain_graph=True)
    return count, x.grad


@program
def a_group_runs_once(L):
    return runs(L, L.utils.checkpoint.GraphExecGroup()), runs(L, L.enable_grad())


@program
def backwards_of_a_group_must_not_overlap(L):
    x = leaf(L, 0.5)
    group = L.utils.checkpoint.GraphExecGroup()
    out = L.utils.checkpoint.checkpoint(chain, x, use_reentrant=False)
    with group:
        inside = L.utils.checkpoint.GraphExecGroup._get_current_group() is group
        out.sum().backward(retain_graph=True)
        overlap = raised(lambda: out.sum().backward(), 200)
        nested = raised(lambda: L.utils.checkpoint.GraphExecGroup().__enter__(), 60)
    return inside, overlap, nested, L.utils.checkpoint.GraphExecGroup._get_current_group()


def test_the_same_names():
    theirs, ours = torch.utils.checkpoint, adjoint.utils.checkpoint
    assert [name for name in theirs.__all__ if not hasattr(ours, name)] == []
