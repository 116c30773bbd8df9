"""Modes of functions: their order, what they see, and that the stack is whole whatever happens, against torch."""

import threading

from ..compare import leaf, programs, raised
from .told import answering, computing, telling_mode

program, test_program = programs()


def names(calls):
    return [call[0] for call in calls]


def depth(L):
    return L._C._len_torch_function_stack()


@program
def what_a_mode_is_told(L):
    mode, calls = telling_mode(L)
    p = L.rand(2, 2)
    F = L.nn.functional
    with mode:
        p + 1, 2 - p, p**2, p == 1, p != 1, p // 2, 2 / p, p @ p, -p, p[0], len(p), p.shape, p.T, p.dtype, p.grad
        p.sum(), p.cos(), p.add(1), p.max(0), p.dim(), p[0, 0].item(), repr(p), list(p[:1]), p.view(-1), p.norm()
        L.add(p, 1), L.sum(p), L.stack([p, p]), L.einsum("ij->ji", p), L.where(p > 0), L.split(p, 1), L.linalg.norm(p)
        F.relu(p), F.linear(p, p), F.mse_loss(p, p), F.softmax(p, 0), F.dropout(p, 0.5), F.layer_norm(p, (2,))
        L.ones(3), L.zeros((2,), dtype=L.float32), L.full((2,), 1.0), L.arange(3), L.rand(2), L.tensor(1.0), L.empty(1)
        L.as_tensor([1.0]), L.eye(2), L.linspace(0, 1, 2), L.randperm(3), L.ones_like(p), p.new_zeros(2), p.clone()
        p.requires_grad = False
    return calls


@program
def modes_are_asked_from_the_inside_out(L):
    order = []

    class Numbered(L.overrides.TorchFunctionMode):
        def __init__(self, number):
            self.number = number

        def __torch_function__(self, func, types, args=(), kwargs=None):
            order.append((self.number, func.__name__, depth(L)))
            return func(*args, **(kwargs or {}))

    with Numbered(1), Numbered(2), Numbered(3):
        L.ones(2)
    with Numbered(4) as mode:
        pass
    with mode, mode:
        L.zeros(2)
    return order, depth(L)


@program
def a_mode_answers_for_all(L):
    mode, _ = telling_mode(L, "answer")
    p = L.ones(2)
    with mode:
        answers = [p + 1, L.ones(2), p.shape, p.sum(), L.nn.functional.relu(p), -p, p[0], p == 1, 2**p]
    return answers


@program
def modes_before_classes(L):
    mode, seen = telling_mode(L)
    Told, calls = computing(L)
    x = L.ones(2).as_subclass(Told)
    calls.clear()
    with mode:
        x + 1
        L.exp(x)
    return seen, [call[:3] for call in calls]


@program
def a_mode_that_declines(L):
    mode, seen = telling_mode(L, NotImplemented)
    Told, calls = answering(L, 5)
    Kept = type("Kept", (L.Tensor,), {})
    with mode:
        results = [L.exp(Told()), type(L.exp(L.ones(2).as_subclass(Kept))).__name__]
    return results, seen, calls


@program
def nobody_answers(L):
    mode, _ = telling_mode(L, NotImplemented)
    p = L.ones(2)
    with mode:
        return [
            raised(lambda: L.add(p, 1), 90),
            raised(lambda: p + 1, 60),
            raised(lambda: L.ones(2), 90),
            raised(lambda: L.nn.functional.relu(p), 80),
        ]


@program
def exceptions_leave_the_stack_whole(L):
    class Raising(L.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            raise KeyError(func.__name__)

    class Nested(L.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            with self:
                raise ValueError("inside")

    seen = []
    with Raising() as mode:
        for _ in range(2):
            seen.append((raised(lambda: L.ones(2)), depth(L)))
        seen.append(L.overrides._get_current_function_mode() is mode)
    try:
        with Raising(), Nested():
            L.ones(2)
    except ValueError as error:
        seen.append((str(error), depth(L)))
    return seen, depth(L), L.ones(1)


@program
def the_idiom_of_entering_again(L):
    calls = []

    class Counting(L.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            calls.append(func.__name__)
            if func is L.sub:
                with self:
                    return L.add(args[0], L.neg(args[1]))
            return func(*args, **(kwargs or {}))

    with Counting():
        result = L.sub(L.tensor(5), L.tensor(3))
    return result, calls


@program
def factories(L):
    class Doubles(L.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            kwargs = dict(kwargs or {})
            if func in (L.ones, L.zeros, L.empty, L.rand, L.arange, L.tensor, L.full, L.eye, L.linspace):
                kwargs.setdefault("dtype", L.float64)
            return func(*args, **kwargs)

    with Doubles():
        made = [L.ones(1), L.zeros(1), L.arange(2), L.tensor([1.0]), L.full((1,), 2.0), L.eye(1), L.linspace(0, 1, 2)]
        layer = L.nn.Linear(1, 1).weight.dtype
    return made, str(layer)


@program
def devices_as_contexts(L):
    with L.device("meta"):
        made = [L.ones(2).device.type, L.nn.Linear(1, 1).weight.device.type, L.ones(1, device="cpu").device.type]
        with L.device("cpu"):
            made.append(L.tensor(1.0).device.type)
        made.append((L.rand(1).device.type, L.arange(2).device.type))
    return made, L.ones(1).device.type


@program
def classes_off_and_modes_on(L):
    mode, seen = telling_mode(L)
    Told, calls = computing(L)
    x = L.ones(2).as_subclass(Told)
    calls.clear()
    states = []
    with mode:
        with L._C.DisableTorchFunctionSubclass():
            states.append((L._C._is_torch_function_enabled(), L._C._is_torch_function_mode_enabled()))
            x + 1
        with L._C.DisableTorchFunction():
            states.append((L._C._is_torch_function_enabled(), L._C._is_torch_function_all_disabled()))
            x + 1
        states.append((L._C._is_torch_function_enabled(), L._C._is_torch_function_mode_enabled()))
    return names(seen), calls, states, str(L._C._get_torch_function_state()).rpartition(".")[2]


@program
def modes_belong_to_their_thread(L):
    mode, seen = telling_mode(L)
    inside = []

    def work():
        inside.append(depth(L))
        L.ones(2)
        with mode:
            L.zeros(2)
            inside.append(depth(L))

    with mode:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        inside.append(depth(L))
    return names(seen), inside, depth(L)


@program
def backward_under_a_mode(L):
    mode, seen = telling_mode(L)
    x = leaf(L, 1.0, 2.0)
    x.register_hook(lambda g: g * 2)
    y = (x * x).sum()
    with mode:
        y.backward()
        gradients = L.autograd.grad((x.exp()).sum(), x)
    return names(seen), x.grad, gradients


@program
def modes_in_hooks(L):
    mode, seen = telling_mode(L)
    x = leaf(L, 1.0)

    def hook(g):
        with mode:
            return g * 3

    x.register_hook(hook)
    (x * 2).sum().backward()
    return names(seen), x.grad, depth(L)


@program
def a_custom_function_under_a_mode(L):
    class Twice(L.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    mode, seen = telling_mode(L)
    x = leaf(L, 1.0)
    with mode:
        y = Twice.apply(x)
    y.backward()
    return names(seen), x.grad


@program
def transforms_under_a_mode(L):
    mode, seen = telling_mode(L)
    x = L.tensor([1.0, 2.0])
    with mode:
        results = [L.vmap(lambda a: a.sin())(x), L.func.grad(lambda a: a.exp().sum())(x)]
    return [name for name in names(seen) if name.endswith((".sin", ".exp", ".sum"))], results


@program
def wrong_modes(L):
    class ByClass(L.overrides.TorchFunctionMode):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return 5

    class Empty(L.overrides.TorchFunctionMode):
        pass

    seen = []
    with ByClass():
        seen.append(raised(lambda: L.ones(1), 70))
    with Empty():
        seen.append(raised(lambda: L.ones(1)))
    seen.append(raised(lambda: L._C._pop_torch_function_stack(), 35))
    seen.append(raised(lambda: L._C._get_function_stack_at(0), 38))
    return seen, depth(L)


@program
def the_stack_of_modes(L):
    one, _ = telling_mode(L)
    two, _ = telling_mode(L)
    with one, two:
        facts = [mode in (one, two) for mode in L.overrides._get_current_function_mode_stack()]
        facts.append(L._C._get_function_stack_at(1) is two)
        with L.overrides._pop_mode_temporarily() as popped:
            facts += [popped is two, depth(L), L.overrides._get_current_function_mode() is one]
        facts.append(depth(L))
    return facts, L.overrides._get_current_function_mode(), L.overrides._get_current_function_mode_stack()


@program
def a_mode_that_changes_nothing(L):
    with L.overrides.BaseTorchFunctionMode(), L.overrides.BaseTorchFunctionMode():
        return L.ones(2) + 1, L.nn.functional.relu(L.tensor([-1.0]))
