"""A Python signal handler sees the modes of the code that it interrupts, not those of the work inside of an op."""

import signal

import pytest

import adjoint as torch


def modes():
    return torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.is_autocast_enabled("cpu")


def seen_during(work, rounds=40):
    """The modes that a handler sees while `work` runs; `work` says itself what user code inside of it may see."""
    seen = []
    modes()  # imports what it needs, which a handler must not interrupt

    def handler(signum, frame):
        seen.append(modes())
        # What a handler computes is recorded as anywhere else.
        w = torch.ones(2, requires_grad=True)
        product = w * 2
        seen.append(modes() if product.requires_grad == (modes()[0] and not modes()[1]) else "not recorded")

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 1e-3, 1e-3)
    try:
        while len(seen) < rounds:
            work()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return set(seen)


def graph():
    """A graph whose rules are written in Python."""
    x = torch.ones(20, 20, requires_grad=True)
    y = x
    for _ in range(200):
        y = torch.cumsum(y @ x, 1).mean(0, keepdim=True).expand(20, 20).flip(0)
    return x, y.sum()


def test_during_backward():
    _, y = graph()
    assert seen_during(lambda: y.backward(retain_graph=True)) == {(True, False, False)}


def test_during_a_recorded_backward():
    x, y = graph()
    assert seen_during(lambda: torch.autograd.grad(y, x, create_graph=True)) == {(True, False, False)}


def test_during_a_backward_without_grad_mode():
    _, y = graph()

    def work():
        with torch.no_grad():
            y.backward(retain_graph=True)

    assert seen_during(work) <= {(True, False, False), (False, False, False)}


def test_during_forwards_written_in_python():
    x = torch.ones(3, 4, requires_grad=True)
    target = torch.ones(3, 4)

    def work():
        for _ in range(100):
            torch.nn.functional.mse_loss(x, target)
            torch.renorm(x, 2, 0, 1.0)
            torch.mvlgamma(x + 3, 2)

    assert seen_during(work) == {(True, False, False)}


def test_during_out():
    a, out = torch.ones(4, 4), torch.ones(4, 4)

    def work():
        for _ in range(100):
            torch.matmul(a, a, out=out)
            torch.stack((a, a), out=torch.empty(2, 4, 4))
            torch.linalg.multi_dot((a, a, a), out=out)

    assert seen_during(work) == {(True, False, False)}


def test_during_embedding_with_a_maximal_norm():
    weight, places = torch.ones(4, 4), torch.tensor([0, 1])

    def work():
        for _ in range(100):
            torch.nn.functional.embedding(places, weight, max_norm=1.0)

    assert seen_during(work) == {(True, False, False)}


def test_on_meta():
    x = torch.ones(3, 4, device="meta")

    def work():
        for _ in range(100):
            torch.renorm(x, 2, 0, 1.0)

    assert seen_during(work) == {(True, False, False)}


def test_under_autocast():
    x, target = torch.ones(3, 4, requires_grad=True), torch.ones(3, 4)
    result = []

    def work():
        with torch.autocast("cpu"):
            for _ in range(100):
                result.append(torch.nn.functional.mse_loss(x @ x.t(), target @ target.t()).dtype)
                torch.nn.functional.cosine_embedding_loss(x, target, torch.ones(3))

    # Between two rounds autocast is off.
    assert seen_during(work, 200) <= {(True, False, True), (True, False, False)}
    assert set(result) == {torch.float32}


def test_a_handler_with_an_autocast_context_of_its_own():
    a = torch.ones(3, 4)
    inside = []

    def handler(signum, frame):
        with torch.autocast("cpu", enabled=False):
            inside.append((a @ a.t()).dtype)
        with torch.autocast("cpu", dtype=torch.float16):
            inside.append((a @ a.t()).dtype)

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 1e-3, 1e-3)
    results = set()
    try:
        with torch.autocast("cpu"):
            while len(inside) < 100:
                results.add(torch.nn.functional.cosine_embedding_loss(a, a, torch.ones(3)).dtype)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert set(inside) == {torch.float32, torch.float16}
    assert results == {torch.float32}
    assert not torch.is_autocast_enabled("cpu")


@pytest.mark.parametrize("create_graph", [False, True])
def test_hooks_and_functions_see_whether_a_graph_is_wanted(create_graph):
    seen = []

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            seen.append(torch.is_grad_enabled())
            return g * 2

    x = torch.ones(2, requires_grad=True)
    y = Double.apply(x) @ x
    x.register_hook(lambda g: seen.append(torch.is_grad_enabled()))
    x.register_post_accumulate_grad_hook(lambda t: seen.append(torch.is_grad_enabled()))
    y.grad_fn.register_hook(lambda i, o: seen.append(torch.is_grad_enabled()))
    y.grad_fn.register_prehook(lambda o: seen.append(torch.is_grad_enabled()))
    y.backward(create_graph=create_graph)
    assert seen == [create_graph] * 5


def test_gradients_hold_no_graph():
    # A gradient and a hook's answer that require grad do not make the backward that gets them recorded.
    x, w = torch.ones(2, 2, requires_grad=True), torch.ones(2, 2, requires_grad=True)
    y = x @ x
    z = y.cumsum(0) @ x
    y.register_hook(lambda g: w * 2)
    y.register_hook(lambda g: w)
    z.backward(w)
    assert x.grad.grad_fn is None
    assert not x.grad.requires_grad
