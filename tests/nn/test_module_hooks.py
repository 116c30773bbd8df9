"""Hooks of modules beside torch's: before and after forward and backward, of one module and of all."""

import copy

import pytest

import adjoint
from tests.compare import programs, raised

program, test_program = programs()


def leaf(L, *values):
    return L.tensor(values, requires_grad=True)


def layer(L, function):
    """A module that computes a function."""

    class Layer(L.nn.Module):
        def forward(self, *args, **kwargs):
            return function(*args, **kwargs)

    return Layer()


# ---- Forward


@program
def forward_hooks(L):
    seen = []
    module = layer(L, lambda x: x * 2)
    module.register_forward_hook(lambda m, args, out: seen.append((m is module, args, out)))
    return module(leaf(L, 1.0)), seen


@program
def forward_hook_replaces(L):
    module = layer(L, lambda x: x * 2)
    module.register_forward_hook(lambda m, args, out: out + 1)
    module.register_forward_hook(lambda m, args, out: out * 10)
    return module(leaf(L, 1.0))


@program
def order_and_removal(L):
    seen = []
    module = layer(L, lambda x: x)
    first = module.register_forward_hook(lambda *_: seen.append("first"))
    module.register_forward_hook(lambda *_: seen.append("second"), prepend=True)
    module.register_forward_pre_hook(lambda *_: seen.append("before"))
    module.register_forward_pre_hook(lambda *_: seen.append("before all"), prepend=True)
    module(L.ones(1))
    first.remove()
    first.remove()
    module(L.ones(1))
    return seen


@program
def handle_as_context(L):
    seen = []
    module = layer(L, lambda x: x)
    with module.register_forward_hook(lambda *_: seen.append(1)):
        module(L.ones(1))
    module(L.ones(1))
    return seen


@program
def pre_hook_replaces(L):
    module = layer(L, lambda *args: args)
    seen = []
    for change in (
        lambda m, args: args[0] + 1,
        lambda m, args: (args[0], 5),
        lambda m, args: None,
        lambda m, args: [7],
    ):
        with module.register_forward_pre_hook(change):
            seen.append(module(L.ones(1)))
    return seen


@program
def pre_hook_with_keywords(L):
    module = layer(L, lambda *args, **kwargs: (args, kwargs))
    seen = []

    def change(m, args, kwargs):
        seen.append((args, dict(kwargs)))
        return (args[0] + 1,), {**kwargs, "more": 2}

    module.register_forward_pre_hook(change, with_kwargs=True)
    module.register_forward_pre_hook(lambda m, args: seen.append(args))
    return module(L.ones(1), key=1), seen


@program
def pre_hook_with_keywords_returns_wrongly(L):
    module = layer(L, lambda *args, **kwargs: args)
    module.register_forward_pre_hook(lambda m, args, kwargs: args, with_kwargs=True)
    module(L.ones(1), key=1)


@program
def forward_hook_with_keywords(L):
    module = layer(L, lambda x, *, scale: x * scale)
    seen = []
    module.register_forward_hook(lambda m, args, kwargs, out: seen.append((args, kwargs, out)), with_kwargs=True)
    module.register_forward_hook(lambda m, args, out: seen.append((args, out)))
    return module(L.ones(1), scale=3), seen


def failing(L):
    def forward(x):
        raise ValueError("broken")

    return layer(L, forward)


@program
def always_called(L):
    seen = []
    module = failing(L)
    module.register_forward_hook(lambda m, args, out: seen.append(("always", out)), always_call=True)
    module.register_forward_hook(lambda m, args, out: seen.append(("sometimes", out)))
    return raised(lambda: module(L.ones(1))), seen


@program
def always_called_once(L):
    seen = []
    module = layer(L, lambda x: x)
    module.register_forward_hook(lambda m, args, out: seen.append("always"), always_call=True)

    def fail(m, args, out):
        raise RuntimeError("hook")

    module.register_forward_hook(fail)
    module.register_forward_hook(lambda m, args, out: seen.append("late"), always_call=True)
    return raised(lambda: module(L.ones(1))), seen


@program
def always_called_fails_too(L):
    module = failing(L)

    def fail(m, args, out):
        raise RuntimeError("in the hook")

    module.register_forward_hook(fail, always_call=True)
    module(L.ones(1))


@program
def pre_hook_fails(L):
    seen = []
    module = layer(L, lambda x: x)

    def fail(m, args):
        raise RuntimeError("early")

    module.register_forward_pre_hook(fail)
    module.register_forward_hook(lambda m, args, out: seen.append(out), always_call=True)
    return raised(lambda: module(L.ones(1))), seen


@program
def hooks_that_remove_themselves(L):
    seen = []
    module = layer(L, lambda x: x)

    def once(m, args, out):
        seen.append("once")
        handle.remove()

    handle = module.register_forward_hook(once)
    return raised(lambda: module(L.ones(1))), len(seen), len(module._forward_hooks)


# ---- Backward


def record(seen, name):
    return lambda module, grad_input, grad_output: seen.append((name, grad_input, grad_output))


@program
def full_backward_hook(L):
    seen = []
    module = layer(L, lambda x, y: x * y)
    module.register_full_backward_hook(record(seen, "a"))
    x, y = leaf(L, 2.0), leaf(L, 3.0)
    out = module(x, y)
    out.sum().backward()
    return seen, x.grad, y.grad, out


@program
def full_backward_hook_replaces(L):
    module = layer(L, lambda x: x * 2)
    module.register_full_backward_hook(lambda m, gi, go: (gi[0] * 10,))
    module.register_full_backward_hook(lambda m, gi, go: (gi[0] + 1,))
    x = leaf(L, 2.0)
    module(x).sum().backward()
    return x.grad


@program
def full_backward_hook_returns_too_many(L):
    module = layer(L, lambda x: x * 2)
    module.register_full_backward_hook(lambda m, gi, go: (gi[0], gi[0]))
    module(leaf(L, 2.0)).sum().backward()


@program
def full_backward_hook_order(L):
    seen = []
    module = layer(L, lambda x: x * 2)
    module.register_full_backward_hook(record(seen, "first"))
    module.register_full_backward_hook(record(seen, "second"))
    module.register_full_backward_hook(record(seen, "third"), prepend=True)
    module(leaf(L, 2.0)).sum().backward()
    return [name for name, *_ in seen]


@program
def backward_pre_hook(L):
    seen = []
    module = layer(L, lambda x: x * 2)
    module.register_full_backward_pre_hook(lambda m, go: seen.append(("pre", go)))
    module.register_full_backward_pre_hook(lambda m, go: (go[0] * 3,))
    module.register_full_backward_pre_hook(lambda m, go: (go[0] + 1,))
    module.register_full_backward_hook(record(seen, "full"))
    x = leaf(L, 2.0)
    module(x).sum().backward()
    return seen, x.grad


@program
def backward_pre_hook_alone(L):
    module = L.nn.Linear(2, 1)
    with L.no_grad():
        module.weight.fill_(1.0)
    module.register_full_backward_pre_hook(lambda m, go: (go[0] * 3,), prepend=True)
    x = leaf(L, 1.0, 2.0)
    module(x).sum().backward()
    return x.grad, module.weight.grad


@program
def backward_pre_hook_returns_too_many(L):
    module = layer(L, lambda x: x * 2)
    module.register_full_backward_pre_hook(lambda m, go: (go[0], go[0]))
    module(leaf(L, 2.0)).sum().backward()


@program
def inputs_without_gradient(L):
    seen = []
    module = L.nn.Linear(2, 1)
    with L.no_grad():
        module.weight.fill_(1.0)
    module.register_full_backward_hook(record(seen, "full"))
    module(L.ones(2)).sum().backward()
    return seen, module.weight.grad


@program
def inputs_without_gradient_replaced(L):
    module = L.nn.Linear(2, 1)
    module.register_full_backward_hook(lambda m, gi, go: (L.ones(2),))
    module(L.ones(2)).sum().backward()


@program
def some_inputs_without_gradient(L):
    seen = []
    module = layer(L, lambda x, n, y, text: (x * n + y, text))
    module.register_full_backward_hook(record(seen, "full"))
    x, y = leaf(L, 2.0), L.ones(1)
    out, text = module(x, 3, y, "text")
    out.sum().backward()
    return seen, x.grad, text


@program
def several_outputs(L):
    seen = []
    module = layer(L, lambda x: (x * 2, x * 3, 5))
    module.register_full_backward_hook(record(seen, "full"))
    x = leaf(L, 2.0)
    first, second, _ = module(x)
    first.sum().backward(retain_graph=True)
    (first + second * 10).sum().backward()
    return seen, x.grad


@program
def list_output(L):
    seen = []
    module = layer(L, lambda x: [x * 2])
    module.register_full_backward_hook(record(seen, "full"))
    x = leaf(L, 2.0)
    (out,) = module(x)
    out.sum().backward()
    return seen, x.grad


@program
def dict_output(L):
    seen = []
    module = layer(L, lambda x: {"out": x * 2})
    module.register_full_backward_hook(record(seen, "full"))
    x = leaf(L, 2.0)
    module(x)["out"].sum().backward()
    return seen, x.grad


@program
def keyword_inputs(L):
    seen = []
    module = layer(L, lambda x, scale: x * scale)
    module.register_full_backward_hook(record(seen, "full"))
    x, scale = leaf(L, 2.0), leaf(L, 3.0)
    module(x, scale=scale).sum().backward()
    return seen, x.grad, scale.grad


@program
def unused_input(L):
    seen = []
    module = layer(L, lambda x, y: x * 2)
    module.register_full_backward_hook(record(seen, "full"))
    x, y = leaf(L, 2.0), leaf(L, 3.0)
    module(x, y).sum().backward()
    return seen, x.grad, y.grad


@program
def nested_modules(L):
    seen = []
    inner = layer(L, lambda x: x * 3)
    outer = L.nn.Sequential(layer(L, lambda x: x * 2), inner)
    outer.register_full_backward_hook(record(seen, "outer"))
    inner.register_full_backward_hook(record(seen, "inner"))
    outer[0].register_full_backward_hook(record(seen, "first"))
    outer.register_full_backward_pre_hook(lambda m, go: seen.append("outer pre"))
    inner.register_full_backward_pre_hook(lambda m, go: seen.append("inner pre"))
    x = leaf(L, 1.0)
    outer(x).sum().backward()
    return seen, x.grad


@program
def identity_modules(L):
    seen = []
    module = L.nn.Identity()
    module.register_full_backward_hook(record(seen, "full"))
    x = leaf(L, 1.0)
    out = module(x)
    out.sum().backward()
    return seen, x.grad, out is x


@program
def twice_called(L):
    seen = []
    module = layer(L, lambda x: x * 2)
    module.register_full_backward_hook(record(seen, "full"))
    x = leaf(L, 1.0)
    (module(x) + module(x * 5)).sum().backward()
    return seen, x.grad


@program
def twice_differentiated(L):
    seen = []
    module = layer(L, lambda x: x**3)
    module.register_full_backward_hook(record(seen, "full"))
    x = leaf(L, 2.0)
    out = module(x)
    out.sum().backward(retain_graph=True)
    out.sum().backward()
    return len(seen), x.grad


@program
def second_derivatives(L):
    module = layer(L, lambda x: x**3)
    module.register_full_backward_hook(lambda m, gi, go: None)
    x = leaf(L, 2.0)
    (grad,) = L.autograd.grad(module(x).sum(), x, create_graph=True)
    (second,) = L.autograd.grad(grad.sum(), x)
    return grad.detach(), second


@program
def without_grad(L):
    seen = []
    module = layer(L, lambda x: x * 2)
    module.register_full_backward_hook(record(seen, "full"))
    with L.no_grad():
        out = module(leaf(L, 1.0))
    return out, seen


@program
def partial_gradients(L):
    seen = []
    module = L.nn.Linear(1, 1)
    with L.no_grad():
        module.weight.fill_(2.0)
    module.register_full_backward_hook(record(seen, "full"))
    x = leaf(L, 1.0)
    grads = L.autograd.grad(module(x).sum(), [module.weight])
    return grads, seen


@program
def in_place_on_the_input(L):
    module = layer(L, lambda x: x.mul_(2))
    module.register_full_backward_hook(lambda m, gi, go: None)
    module(leaf(L, 1.0) * 1)


@program
def in_place_on_the_output(L):
    module = layer(L, lambda x: x * 2)
    module.register_full_backward_hook(lambda m, gi, go: None)
    out = module(leaf(L, 1.0))
    out += 1


@program
def hook_sees_frozen_gradients(L):
    shapes = []
    module = L.nn.Linear(3, 2)
    module.register_full_backward_hook(lambda m, gi, go: shapes.append(([g.shape for g in gi], [g.shape for g in go])))
    x = L.ones(4, 3, requires_grad=True)
    module(x).sum().backward()
    return shapes


@program
def both_kinds_on_one_module(L):
    module = L.nn.Identity()
    module.register_full_backward_hook(lambda m, gi, go: None)
    return raised(lambda: module.register_backward_hook(lambda m, gi, go: None))


@program
def both_kinds_the_other_way(L):
    module = L.nn.Identity()
    module.register_backward_hook(lambda m, gi, go: None)
    return raised(lambda: module.register_full_backward_hook(lambda m, gi, go: None))


@program
def backward_hooks_of_old(L):
    seen = []
    module = layer(L, lambda x: x * 2)
    module.register_backward_hook(record(seen, "old"))
    x = leaf(L, 1.0)
    module(x).sum().backward()
    return seen, x.grad


@program
def backward_hook_of_old_replaces(L):
    module = layer(L, lambda x: x.exp())
    module.register_backward_hook(lambda m, gi, go: (gi[0] * 0 + 5,))
    x = leaf(L, 1.0)
    module(x).sum().backward()
    return x.grad


@program
def what_old_hooks_miss(L):
    weight = leaf(L, 3.0)
    found = []
    for function, args in (
        (lambda x: x.exp(), (leaf(L, 1.0) * 1,)),
        (lambda x, y: x * y, (leaf(L, 1.0) * 1, leaf(L, 1.0) * 1)),
        (lambda x: (x * 1, x * 2), (leaf(L, 1.0) * 1,)),
        (lambda x: [x * 1], (leaf(L, 1.0),)),
        (lambda x: {"a": x * 1}, (leaf(L, 1.0),)),
        (lambda x: x[0] * 1, ([leaf(L, 1.0)],)),
        (lambda x: x * weight, (L.ones(1),)),
        (lambda x: x, (L.ones(1),)),
    ):
        module = layer(L, function)
        module.register_backward_hook(record(found, "old"))
        out = module(*args)
        while not isinstance(out, L.Tensor):
            out = next(iter(out.values())) if isinstance(out, dict) else out[0]
        if out.requires_grad:
            out.sum().backward()
    return found


# ---- Of all modules


@program
def hooks_of_all(L):
    nn = L.nn.modules.module
    seen = []

    def name(module):
        return type(module).__name__

    handles = [
        nn.register_module_forward_pre_hook(lambda m, args: seen.append(("before", name(m)))),
        nn.register_module_forward_hook(lambda m, args, out: seen.append(("after", name(m)))),
        nn.register_module_forward_hook(
            lambda m, args, kwargs, out: seen.append(("after", kwargs)), with_kwargs=True, always_call=True
        ),
        nn.register_module_full_backward_pre_hook(lambda m, go: seen.append(("pre", name(m)))),
        nn.register_module_full_backward_hook(lambda m, gi, go: seen.append(("back", name(m)))),
    ]
    try:
        net = L.nn.Sequential(L.nn.Linear(1, 1), L.nn.Tanh())
        net.register_forward_pre_hook(lambda m, args: seen.append("own before"))
        net.register_forward_hook(lambda m, args, out: seen.append("own after"))
        net.register_full_backward_hook(lambda m, gi, go: seen.append("own back"))
        net(leaf(L, 1.0)).sum().backward()
        mixed = raised(lambda: nn.register_module_backward_hook(lambda m, gi, go: None))
    finally:
        for handle in handles:
            handle.remove()
    count = len(seen)
    net = L.nn.Sequential(L.nn.Linear(1, 1), L.nn.Tanh())
    net(leaf(L, 1.0)).sum().backward()
    return seen, len(seen) == count, mixed


@program
def global_forward_hooks_replace(L):
    nn = L.nn.modules.module
    with (
        nn.register_module_forward_pre_hook(lambda m, args: (args[0] + 1,)),
        nn.register_module_forward_hook(lambda m, args, out: out * 10),
    ):
        return L.nn.Identity()(L.ones(1))


@program
def registration_hooks(L):
    nn = L.nn.modules.module
    seen = []

    def note(kind):
        return lambda module, name, value: seen.append((kind, type(module).__name__, name, type(value).__name__))

    with (
        nn.register_module_buffer_registration_hook(note("buffer")),
        nn.register_module_module_registration_hook(note("module")),
        nn.register_module_parameter_registration_hook(note("parameter")),
    ):
        module = L.nn.Sequential(L.nn.Linear(1, 1))
        module.register_buffer("b", L.ones(1))
        module.b = L.zeros(1)
        module.extra = L.nn.Identity()
        module.extra = None
        module.weight = L.nn.Parameter(L.ones(1))
        module.weight = None
        module.register_parameter("p", None)
        module.register_buffer("q", None)
        module.c = L.nn.Buffer(L.ones(1))
    module.d = L.nn.Buffer(L.ones(1))
    return seen


@program
def registration_hook_replaces(L):
    nn = L.nn.modules.module
    with nn.register_module_parameter_registration_hook(lambda m, name, p: L.nn.Parameter(p.detach() * 0 + 7)):
        layer = L.nn.Linear(1, 1)
    with nn.register_module_module_registration_hook(lambda m, name, child: L.nn.Tanh()):
        net = L.nn.Sequential(layer)
    with nn.register_module_buffer_registration_hook(lambda m, name, b: b + 1):
        net.register_buffer("b", L.ones(1))
    return layer.weight, repr(net), net.b


@pytest.mark.filterwarnings("ignore:Using a non-full backward hook")  # deprecated, and tested here
def test_old_hooks_of_all():
    """Not beside torch: its other global hooks are refused from then on."""
    seen = []
    nn = adjoint.nn.modules.module
    with nn.register_module_backward_hook(record(seen, "old")):
        with pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full backward hooks"):
            nn.register_module_full_backward_hook(lambda m, gi, go: None)
        adjoint.nn.Tanh()(leaf(adjoint, 0.0)).sum().backward()
    assert [name for name, *_ in seen] == ["old"]


# ---- What a hook is


@pytest.mark.parametrize("name", ["register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook"])
def test_handles_have_ids(name):
    module = adjoint.nn.Identity()
    first, second = (getattr(module, name)(lambda *_: None) for _ in range(2))
    assert second.id > first.id


@program
def removed_while_copied(L):
    seen = []
    module = layer(L, lambda x: x)
    handle = module.register_forward_hook(lambda m, args, out: seen.append(m is module))
    other = copy.deepcopy(L.nn.Sequential(module))
    handle.remove()
    other(L.ones(1))
    module(L.ones(1))
    return seen


# ---- Names that programs use, though they have an underscore


@program
def calls_by_another_name(L):
    layer, log = L.nn.Identity(), []
    layer.register_forward_hook(lambda module, args, output: log.append("hook"))
    results = layer._call_impl(L.ones(1)), layer._wrapped_call_impl(L.ones(1))
    return results, log, layer._compiled_call_impl


@program
def backward_hooks_by_kind(L):
    def hook(*_):
        return None

    full, old = L.nn.Identity(), L.nn.Identity()
    full.register_full_backward_hook(hook)
    full.register_full_backward_pre_hook(hook)
    old.register_backward_hook(hook)
    return [
        [hooks == [hook] for hooks in full._get_backward_hooks()],
        [hooks == [hook] for hooks in old._get_backward_hooks()],
        full._get_backward_pre_hooks() == [hook],
    ]


@program
def backward_hooks_by_hand(L):
    log = []
    layer = L.nn.Identity()
    hook = L.utils.hooks.BackwardHook(layer, [lambda m, gi, go: log.append((m is layer, gi, go))], [])
    x = L.ones(2, requires_grad=True)
    (inside,) = hook.setup_input_hook((x,))
    hook.setup_output_hook(inside * 3).sum().backward()
    return log, x.grad


@program
def replicas(L):
    layer = L.nn.Sequential(L.nn.Linear(1, 1), L.nn.BatchNorm1d(1))
    replica = layer._replicate_for_data_parallel()
    replica.register_buffer("b", L.ones(1))
    names = sorted(set(vars(replica)) - set(vars(layer)))
    return type(replica).__name__, names, replica[0] is layer[0], "b" in layer._buffers, replica._parameters


@program
def devices_that_are_not_there(L):
    layer = L.nn.Linear(1, 1)
    return raised(layer.ipu, 40), raised(layer.mtia, 35), raised(layer.xpu, 14)
