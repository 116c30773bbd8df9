"""Dispatch modes: what they are told of ops, in forward and in backward, against torch."""

import importlib
import threading

import pytest

import adjoint

from .compare import numbers, programs, raised

program, test_program = programs()


def modes(L):
    return importlib.import_module(f"{L.__name__}.utils._python_dispatch")


def logging_mode(L, seen, change=None):
    """A mode that notes each op with its arguments, tensors as their shapes."""

    class Log(modes(L).TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            seen.append(
                (str(func), plain(L, args), sorted(key for key in kwargs if key not in ("device", "pin_memory")))
            )
            result = func(*args, **kwargs)
            return change(func, result) if change else result

    return Log()


def plain(L, value):
    if isinstance(value, L.Tensor):
        return tuple(value.shape)
    return [plain(L, item) for item in value] if isinstance(value, list | tuple) else value


def told(L, call):
    """What a mode is told while a function runs, and what it gives; torch's notes of saved values are left out."""
    seen = []
    with logging_mode(L, seen):
        result = call()
    return [entry for entry in seen if entry[0] not in ("aten.detach.default", "aten.lift_fresh.default")], result


@program
def arithmetic(L):
    x, y = numbers(L, 2, 3), numbers(L, 2, 3, start=2.0)
    return told(L, lambda: [x + y, x - 1, x * y, x / 2, 2 / x, 1 - x, x**2, x**y, -x, abs(x), x.exp(), x.sigmoid()])


@program
def comparisons(L):
    x = numbers(L, 2, 3)
    return told(
        L, lambda: [x == 1, x > 1, x < x, x != x, x >= 2, x <= 2, L.where(x > 1.5, x, -x), x.masked_fill(x > 1, 0.0)]
    )


@program
def reductions(L):
    x = numbers(L, 2, 3)
    return told(
        L, lambda: [x.sum(), x.sum(0), x.mean(), x.mean(1, keepdim=True), x.max(), x.max(1), x.argmax(), x.prod()]
    )


@program
def views(L):
    x = numbers(L, 2, 3)
    return told(
        L,
        lambda: [x.view(6), x.t(), x.transpose(0, 1), x[0], x[:, 1:], x.unsqueeze(0), x[None].squeeze(0),
                 x.permute(1, 0),
                 x.expand(2, 2, 3), x.reshape(3, 2), x.split(1), x.unbind(1), x.detach(), x.clone()],
    )  # fmt: skip


@program
def products_and_joins(L):
    x = numbers(L, 2, 3)
    return told(
        L,
        lambda: [
            x @ x.t(),
            L.bmm(x[None], x.t()[None]),
            L.addmm(L.zeros(2, 2), x, x.t()),
            L.cat([x, x]),
            L.stack([x, x], 1),
        ],
    )


@program
def makers(L):
    def make():
        L.manual_seed(0)
        return L.zeros(2), L.ones(2, 3), L.full((2,), 3.0), L.zeros_like(L.ones(2)), L.randn(3), L.rand(2, 2), L.eye(2)

    return told(L, make)


@program
def in_place(L):
    def run():
        x = L.ones(2, 3)
        x.add_(1)
        x.mul_(x)
        x[0] = L.zeros(3)
        x.fill_(2)
        x.copy_(L.ones(2, 3))
        x.zero_()
        return x

    return told(L, run)


@program
def layers(L):
    F, x = L.nn.functional, numbers(L, 2, 3)
    return told(
        L,
        lambda: [
            F.relu(x),
            F.gelu(x),
            L.tanh(x),
            L.softmax(x, 1),
            L.log_softmax(x, 1),
            F.silu(x),
            F.leaky_relu(x, 0.1),
        ],
    )


@program
def gradients_pass_through_a_mode(L):
    x = numbers(L, 2, 3).requires_grad_()
    seen = []
    with logging_mode(L, seen):
        y = (x.exp() * x).sum()
        forward = len([entry for entry in seen if "detach" not in entry[0]])
        y.backward()
    return x.grad, forward, "aten.mul.Tensor" in [entry[0] for entry in seen[forward:]]


@program
def results_may_be_changed(L):
    def double(func, result):
        return result * 2 if str(func) == "aten.add.Tensor" else result

    seen = []
    with logging_mode(L, seen, double):
        y = L.ones(2) + 1
    return y, L.ones(2) + 1


@program
def overloads_are_tables_keys(L):
    counts = dict.fromkeys((L.ops.aten.mm.default, L.ops.aten.add.Tensor), 0)

    class Count(modes(L).TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if func in counts:
                counts[func] += 1
            return func(*args, **(kwargs or {}))

    x = numbers(L, 2, 2)
    with Count():
        _ = x @ x + x + 1
    return {str(func): count for func, count in counts.items()}


@program
def modes_in_modes(L):
    seen = []

    class Named(modes(L).TorchDispatchMode):
        def __init__(self, name):
            super().__init__()
            self.name = name

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append((self.name, str(func)))
            return func(*args, **(kwargs or {}))

    x = numbers(L, 2)
    with Named("outer"), Named("inner"):
        _ = x * 2
    return seen


@program
def a_mode_that_raises_is_left(L):
    class Refuse(modes(L).TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            raise ValueError("not today")

    def run():
        with Refuse():
            return L.ones(2)

    return raised(run), L.ones(2) + 1, modes(L)._get_current_dispatch_mode()


@program
def a_mode_that_answers_nothing(L):
    class Nothing(modes(L).TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return NotImplemented

    x = L.ones(2)

    def run():
        with Nothing():
            return L.exp(x)

    return raised(run)


@program
def the_stack(L):
    m = modes(L)
    outer, inner = m.BaseTorchDispatchMode(), m.BaseTorchDispatchMode()
    with outer, inner:
        within = m._get_current_dispatch_mode() is inner, len(m._get_current_dispatch_mode_stack())
        with m._pop_mode_temporarily() as popped:
            without = popped is inner, m._get_current_dispatch_mode() is outer
        with m._disable_current_modes():
            none = m._get_current_dispatch_mode()
    return within, without, none, m._get_current_dispatch_mode()


def test_modes_belong_to_their_thread():
    seen = []
    with logging_mode(adjoint, seen):
        thread = threading.Thread(target=lambda: adjoint.ones(2) + 1)
        thread.start()
        thread.join()
    assert seen == []


# Every op that can be called with one tensor, or two: what a mode calls in its place gives the same.
CALLS = """
    F.layer_norm(x, (3,))  F.group_norm(x[None], 2)  F.batch_norm(x, None, None, training=True)  F.linear(x, x)
    F.linear(x, x, x[:, 0])  F.mse_loss(x, y)  F.cross_entropy(x, labels)  F.nll_loss(x, labels)  F.huber_loss(x, y)
    F.max_pool2d(image, 2)  F.avg_pool2d(image, 2)  F.conv2d(image, image[:, :, :2, :2])
    F.interpolate(image, scale_factor=2)
    F.scaled_dot_product_attention(x[None], x[None], y[None])  F.embedding(labels, x)
    F.pad(x, (1, 1))  F.one_hot(labels)
    F.smooth_l1_loss(x, y)  F.kl_div(x, y, reduction="sum")  F.cosine_similarity(x, y)  F.normalize(x)
    F.softplus(x)  F.logsigmoid(x)
    x.std()  x.var(0)  x.norm()  x.cumsum(0)  x.sort()  x.topk(2)  x.gather(0, labels[None, :1])  x.clamp(1, 2)
    x.clamp(min=1)  x.clamp(max=2)  x.to(L.float32)  x.round()  x.median()  x.any()  x.all()  x.flip(0)  x.roll(1)
    L.einsum("ij,kj->ik", x, y)  L.linalg.norm(x)  L.linalg.svd(x)[1]  L.cdist(x, y)  L.logsumexp(x, 1)
    L.outer(x[0], y[0])
    L.arange(3)  L.linspace(0, 1, 3)  L.tril(x)  L.diag(x[0])  L.kron(x, y)  L.fft.fft(x)  L.histc(x)  L.unique(x)
    x[labels]  x[x > 1]  x.index_select(0, labels)  x.scatter(0, labels[None, :1], 1.0)  x.repeat(2, 1)  x.lerp(y, 0.5)
    x.addcmul(x, y)  L.maximum(x, y)  L.atan2(x, y)  L.hypot(x, y)  L.fmod(x, 2)  x % 2  x // 2  L.heaviside(x, y)
"""


@pytest.mark.parametrize("text", [call for line in CALLS.split("\n") for call in line.split("  ") if call.strip()])
def test_ops_called_back_give_what_they_gave(text):
    L, F = adjoint, adjoint.nn.functional
    x, y = numbers(L, 2, 3), numbers(L, 2, 3, start=0.5)
    labels, image = L.tensor([0, 1]), numbers(L, 1, 1, 4, 4)
    names = {"L": L, "F": F, "x": x, "y": y, "labels": labels, "image": image}
    expected = eval(text, names)
    with logging_mode(L, []):
        result = eval(text, names)
    for one, other in zip(L.utils._pytree.tree_leaves(result), L.utils._pytree.tree_leaves(expected), strict=True):
        assert L.equal(one, other) or (one.isnan() == other.isnan()).all()
