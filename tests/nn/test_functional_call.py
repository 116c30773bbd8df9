"""Modules called with other parameters beside torch's."""

import pytest

from tests.compare import same


def linear(L):
    module = L.nn.Linear(2, 2)
    with L.no_grad():
        module.weight.fill_(0.5)
        module.bias.fill_(1.0)
    return module


def tied(L):
    class Tied(L.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = L.nn.Linear(2, 2, bias=False)
            self.b = L.nn.Linear(2, 2, bias=False)
            self.b.weight = self.a.weight
            with L.no_grad():
                self.a.weight.fill_(3.0)

        def forward(self, x):
            return self.b(self.a(x))

    return Tied()


def call(L, module, tensors, *args, **kwargs):
    return L.func.functional_call(module, tensors, *args, **kwargs)


@pytest.mark.parametrize(
    "program",
    [
        lambda L: call(L, linear(L), {"weight": L.ones(2, 2)}, L.ones(1, 2)),
        lambda L: call(L, linear(L), {"weight": L.ones(2, 2)}, (L.ones(1, 2),)),
        lambda L: call(L, linear(L), {}, kwargs={"input": L.ones(1, 2)}),
        lambda L: call(L, linear(L), [{"weight": L.ones(2, 2)}, {"bias": L.zeros(2)}], L.ones(1, 2)),
        lambda L: call(L, L.nn.Sequential(linear(L)), {"0.weight": L.ones(2, 2)}, L.ones(1, 2)),
        lambda L: call(L, linear(L), {"bias": None}, L.ones(1, 2)),
        lambda L: call(L, tied(L), {"a.weight": L.ones(2, 2)}, L.ones(1, 2)),
        lambda L: call(L, tied(L), {"a.weight": L.ones(2, 2)}, L.ones(1, 2), tie_weights=False),
        lambda L: call(L, tied(L), {"a.weight": L.ones(2, 2)}, L.ones(1, 2), strict=True),
        lambda L: call(L, tied(L), {"a.weight": L.ones(2, 2), "b.weight": L.zeros(2, 2)}, L.ones(1, 2)),
        lambda L: call(L, tied(L), {"a.weight": L.ones(2, 2)}, L.ones(1, 2), strict=True, tie_weights=False),
        lambda L: call(L, linear(L), {"other": L.ones(1)}, L.ones(1, 2)),
        lambda L: call(L, linear(L), {"other.weight": L.ones(1)}, L.ones(1, 2)),
        lambda L: call(L, linear(L), {"weight": L.ones(2, 2)}, L.ones(1, 2), strict=True),
        lambda L: call(L, linear(L), {"weight": L.ones(2, 2), "other": L.ones(1)}, L.ones(1, 2), strict=True),
        lambda L: call(L, linear(L), {"weight": 3}, L.ones(1, 2)),
        lambda L: call(L, linear(L), 3, L.ones(1, 2)),
        lambda L: call(L, linear(L), [3], L.ones(1, 2)),
        lambda L: call(L, linear(L), [{"bias": L.ones(2)}, {"bias": L.ones(2)}], L.ones(1, 2)),
        lambda L: L.nn.utils.stateless.functional_call(linear(L), {"weight": L.ones(2, 2)}, L.ones(1, 2)),
    ],
)
def test_calls(program):
    same(program)


def test_gradients_go_to_what_was_given():
    def program(L):
        module = linear(L)
        weight = L.full((2, 2), 2.0, requires_grad=True)
        call(L, module, {"weight": weight}, L.ones(1, 2)).sum().backward()
        return weight.grad, module.weight.grad, module.bias.grad

    same(program)


def test_the_module_stays_as_it_is():
    def program(L):
        module = linear(L)
        before = dict(module.named_parameters())
        call(L, module, {"weight": L.ones(2, 2)}, L.ones(1, 2))
        try:
            call(L, module, {"weight": L.ones(2, 2), "other": L.ones(1)}, L.ones(1, 3))
        except RuntimeError as error:
            failed = type(error).__name__
        return failed, [before[name] is value for name, value in module.named_parameters()], hasattr(module, "other")

    same(program)


def test_buffers_that_a_call_changes():
    def program(L):
        class Counter(L.nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("count", L.zeros(1))

            def forward(self, x):
                self.count = self.count + 1
                return x + self.count

        norm, counter = L.nn.BatchNorm1d(2), Counter()
        state = {name: value.clone() for name, value in norm.state_dict().items()}
        call(L, norm, state, L.tensor([[1.0, 2.0], [3.0, 5.0]]))
        given = {"count": L.ones(1)}
        result = call(L, counter, given, L.zeros(1))
        return state["running_mean"], state["num_batches_tracked"], norm.running_mean, result, given, counter.count

    same(program)
