"""GradScaler beside torch's: the scale's growth and backoff, skipped steps, errors, state and pickles."""

import copy
import pickle

import pytest
import torch

import adjoint

from .compare import programs, raised

program, test_program = programs()


class Descent:
    """The least that a scaler asks of an optimizer, in either library."""

    def __init__(self, L, *parameters, lr=1.0):
        self.L, self.lr = L, lr
        self.param_groups = [{"params": list(parameters)}]

    def zero_grad(self):
        for parameter in self.param_groups[0]["params"]:
            parameter.grad = None

    def step(self, *args, **kwargs):
        with self.L.no_grad():
            for parameter in self.param_groups[0]["params"]:
                if parameter.grad is not None:
                    parameter.sub_(self.lr * parameter.grad)
        return ("stepped", args, kwargs)


def leaf(L, *values, dtype="float32"):
    return L.tensor(values, dtype=getattr(L, dtype), requires_grad=True)


def scaler(L, **options):
    return L.amp.GradScaler("cpu", **options)


@program
def one_iteration(L):
    x, scale = leaf(L, 1.0, 2.0), scaler(L, init_scale=8.0)
    optimizer = Descent(L, x, lr=0.25)
    scaled = scale.scale((x * x).sum())
    scaled.backward()
    before = x.grad.clone()
    scale.unscale_(optimizer)
    after = x.grad.clone()
    stepped = scale.step(optimizer, 1, flag=2)
    scale.update()
    return scaled, before, after, stepped, x, scale.get_scale(), scale.state_dict()


@program
def growth_and_backoff(L):
    x, scale = leaf(L, 1.0), scaler(L, init_scale=4.0, growth_interval=2, growth_factor=3.0, backoff_factor=0.25)
    optimizer = Descent(L, x, lr=0.01)
    history = []
    for factor in (1.0, 1.0, 1.0, float("inf"), 1.0, float("nan"), 1.0, 1.0):
        optimizer.zero_grad()
        scale.scale((x * x * factor).sum()).backward()
        stepped = scale.step(optimizer)
        scale.update()
        history.append((stepped is None, scale.get_scale(), scale._get_growth_tracker(), x.detach().clone()))
    return history


@program
def a_scale_never_becomes_infinite(L):
    x, scale = leaf(L, 1.0), scaler(L, init_scale=2.0**127, growth_interval=1)
    optimizer = Descent(L, x)
    scale.scale(L.ones(()))
    x.grad = L.ones(1)
    scale.step(optimizer)
    scale.update()
    return scale.get_scale(), scale._get_growth_tracker()


@program
def optimizers_are_skipped_one_by_one(L):
    x, y, scale = leaf(L, 1.0), leaf(L, 1.0), scaler(L, init_scale=2.0)
    first, second = Descent(L, x), Descent(L, y)
    scale.scale((x * float("inf") + y).sum()).backward()
    results = scale.step(first), scale.step(second)
    scale.update()
    return results, x, y, scale.get_scale()


@program
def what_is_found(L):
    x, y, scale = leaf(L, 1.0, 2.0), leaf(L, 3.0), scaler(L, init_scale=2.0)
    optimizer = Descent(L, x, y)
    scale.scale(x.sum()).backward()
    x.grad[0] = float("nan")
    scale.unscale_(optimizer)
    found = list(scale._found_inf_per_device(optimizer).values())
    return x.grad[1], y.grad, found


@program
def several_outputs(L):
    x, scale = leaf(L, 1.0), scaler(L, init_scale=4.0)
    results = [scale.scale([x, (x * 2,)]), list(scale.scale(iter([x, x]))), scale.scale((x,))]
    types = [scale.scale(x.to(dtype)).dtype for dtype in (L.bfloat16, L.float16, L.float64)]
    return (
        results,
        [str(dtype) for dtype in types],
        raised(lambda: scale.scale(3)),
        type(scale.scale(iter([x]))).__name__,
    )


@program
def gradients_in_other_types(L):
    results = []
    for dtype in ("bfloat16", "float64", "float16"):
        x, scale = leaf(L, 1.0, dtype=dtype), scaler(L, init_scale=2.0)
        x.grad = L.ones(1, dtype=x.dtype)
        scale.scale(L.ones(()))
        results.append((raised(lambda s=scale, p=x: s.unscale_(Descent(L, p))), x.grad))
    return results


@program
def errors(L):
    x, scale = leaf(L, 1.0), scaler(L)
    optimizer = Descent(L, x)
    results = [raised(lambda: scale.unscale_(optimizer)), raised(lambda: scale.step(optimizer)), raised(scale.update)]
    scale.scale(x.sum())
    results += [raised(lambda: scale.step(optimizer)), raised(scale.update)]
    scale = scaler(L)
    scale.scale(x.sum()).backward()
    scale.unscale_(optimizer)
    results.append(raised(lambda: scale.unscale_(optimizer)))
    results.append(raised(lambda: scale.step(optimizer, closure=lambda: x)))
    scale.step(optimizer)
    results += [raised(lambda: scale.step(optimizer)), raised(lambda: scale.unscale_(optimizer))]
    results.append(raised(lambda: pickle.dumps(scale)))
    scale.update()
    return results, raised(lambda: scaler(L, growth_factor=1.0)), raised(lambda: scaler(L, backoff_factor=1.0))


@program
def optimizers_of_the_library(L):
    results = []
    for make in (lambda x: L.optim.SGD([x], lr=0.5), lambda x: L.optim.Adam([x], lr=0.25)):
        x, scale = leaf(L, 1.0, 2.0), scaler(L, init_scale=4.0, growth_interval=2)
        optimizer = make(x)
        for factor in (1.0, float("inf"), 1.0, 1.0):
            optimizer.zero_grad()
            scale.scale((x * factor).sum()).backward()
            scale.step(optimizer)
            scale.update()
            results.append((scale.get_scale(), [round(value, 5) for value in x.tolist()]))
    return results


@program
def setting_the_scale(L):
    x, scale = leaf(L, 1.0), scaler(L)
    scale.scale(x)
    history = []
    for new in (8.0, L.tensor(16.0), L.tensor(3.0, dtype=L.float64)):
        scale.update(new)
        history.append(scale.get_scale())
    wrong = L.ones(2), L.tensor(1.0, requires_grad=True)
    return history, [raised(lambda new=new: scale.update(new)) for new in wrong], scale.get_scale()


@program
def settings(L):
    scale = scaler(L, growth_factor=3.0, backoff_factor=0.25, growth_interval=7)
    before = scale.get_growth_factor(), scale.get_backoff_factor(), scale.get_growth_interval()
    scale.set_growth_factor(4.0)
    scale.set_backoff_factor(0.125)
    scale.set_growth_interval(9)
    return before, scale.state_dict(), scale.is_enabled(), scale.get_scale(), scale._get_growth_tracker()


@program
def state(L):
    source, target, used = scaler(L, init_scale=4.0, growth_interval=3), scaler(L), scaler(L)
    x = leaf(L, 1.0)
    optimizer = Descent(L, x)
    source.scale(x.sum()).backward()
    source.step(optimizer)
    source.update()
    used.scale(x)
    for other in (target, used):
        other.load_state_dict(source.state_dict())
    copies = [pickle.loads(pickle.dumps(source)), copy.deepcopy(source), target, used]
    scaled = [one.scale(x) for one in copies]
    return [one.state_dict() for one in copies], scaled, raised(lambda: target.load_state_dict({}))


@program
def disabled(L):
    x, scale = leaf(L, 1.0), scaler(L, enabled=False)
    optimizer = Descent(L, x)
    scaled = scale.scale(x)
    x.grad = L.ones(1)
    scale.unscale_(optimizer)
    results = [scale.step(optimizer, closure=None), scale.update(), scale.update(3.0), scale.load_state_dict({})]
    return scaled is x, results, x, scale.get_scale(), scale.state_dict(), scale.is_enabled(), scale.scale("any")


@program
def other_devices_and_old_names(L):
    old = L.cpu.amp.GradScaler(init_scale=2.0, growth_interval=3)
    kinds = isinstance(old, L.amp.GradScaler), pickle.loads(pickle.dumps(old)).state_dict()
    return L.amp.GradScaler().is_enabled(), L.cuda.amp.GradScaler().is_enabled(), old.state_dict(), kinds


def test_messages_say_what_to_do():
    scale, x = scaler(adjoint), leaf(adjoint, 1.0, dtype="float16")
    x.grad = adjoint.ones(1, dtype=adjoint.float16)
    scale.scale(adjoint.ones(()))
    with pytest.raises(ValueError, match=r"FP16 gradients\. Keep parameters in float32"):
        scale.step(Descent(adjoint, x))


def test_training_with_overflow_is_as_in_torch():
    def losses(L):
        x, y = L.linspace(-1, 1, 40).reshape(20, 2), L.linspace(0, 3, 20).reshape(20, 1)
        weight = L.zeros(1, 2, requires_grad=True)
        scale, optimizer = scaler(L, init_scale=2.0**18, growth_interval=4), Descent(L, weight, lr=0.1)
        history = []
        for _ in range(25):
            optimizer.zero_grad()
            with L.autocast("cpu", dtype=L.float16):
                loss = L.nn.functional.mse_loss(L.nn.functional.linear(x, weight), y)
            scale.scale(loss).backward()
            scale.step(optimizer)
            scale.update()
            history.append((loss.item(), scale.get_scale()))
        return history

    ours, theirs = losses(adjoint), losses(torch)
    scales = [scale for _, scale in theirs]
    assert min(scales) < 2.0**18 < 2 * max(scales)  # it overflowed, and grew again
    assert [scale for _, scale in ours] == scales
    assert [loss for loss, _ in ours] == pytest.approx([loss for loss, _ in theirs], rel=1e-3)
