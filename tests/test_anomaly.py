"""Anomaly mode against torch: what it raises and warns of; and, beyond torch, inf and the forward."""

import threading
import warnings

import pytest

import adjoint

from .compare import leaf, programs, same

program, test_program = programs()


@program
def nan_in_a_gradient(L):
    x = leaf(L, 0.0, 1.0)
    with L.autograd.detect_anomaly():
        (x.sqrt() * 0).sum().backward()


@program
def the_forward_was_not_watched(L):
    y = leaf(L, 0.0, 1.0).sqrt() * 0
    with L.autograd.detect_anomaly():
        y.sum().backward()


@program
def nan_is_allowed(L):
    x = leaf(L, 0.0, 1.0)
    with L.autograd.detect_anomaly(check_nan=False):
        (x.sqrt() * 0).sum().backward()
    return x.grad


@program
def nan_is_given(L):
    x = leaf(L, 0.0, 1.0)
    with L.autograd.detect_anomaly():
        (x * 1).backward(L.tensor([float("nan"), 1.0]))


@program
def nan_made_by_a_hook(L):
    x = leaf(L, 0.0, 1.0)
    with L.autograd.detect_anomaly():
        y = x * 1
        y.grad_fn.register_hook(lambda gi, go: (gi[0] * float("nan"), None))
        y.sum().backward()


@program
def hook_raises(L):
    x = leaf(L, 0.0, 1.0)

    def fail(g):
        raise KeyError("mine")

    with L.autograd.detect_anomaly():
        y = x * 1
        y.register_hook(fail)
        y.sum().backward()


@program
def custom_backward_raises(L):
    class Failing(L.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise KeyError("mine")

    with L.autograd.detect_anomaly():
        Failing.apply(leaf(L, 1.0)).backward()


@program
def saved_value_was_changed(L):
    with L.autograd.detect_anomaly():
        y = (leaf(L, 1.0) * 1).exp()
        y.add_(1)
        y.backward()


@program
def the_modes(L):
    def state():
        return L.is_anomaly_enabled(), L.is_anomaly_check_nan_enabled()

    seen = [state()]
    with L.autograd.set_detect_anomaly(True):
        seen.append(state())
        with L.autograd.detect_anomaly(check_nan=False):
            seen.append(state())
        seen.append(state())
    seen.append(state())
    with L.autograd.set_detect_anomaly(False, check_nan=False):
        seen.append(state())
    L.autograd.set_detect_anomaly(True)
    seen.append(state())
    L.autograd.set_detect_anomaly(False)
    return [*seen, state()]


@program
def metadata_of_nodes(L):
    x = leaf(L, 2.0)
    with L.autograd.set_detect_anomaly(True):
        y = x.exp()
        (g,) = L.autograd.grad(y, x, create_graph=True)
        (last,) = y.grad_fn.metadata["traceback_"][-1:]
        parent = g.grad_fn.metadata["parent_"]
    return last.split(", in ")[1], list(y.grad_fn.metadata), parent is y.grad_fn, (x * x).grad_fn.metadata


def caught(body):
    """The exception that `body` raises, and the texts of its warnings."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        # Any exception: the callers look at its type and text.
        with pytest.raises(Exception) as raised:  # noqa: PT011 - see above
            body()
    return raised.value, [str(w.message) for w in seen]


def test_the_warning_shows_the_forward():
    def program(L):
        def body():
            with L.autograd.set_detect_anomaly(True):
                y = leaf(L, 0.0).sqrt()  # the line to be shown
                (y * 0).backward()

        _, messages = caught(body)
        return len(messages), "the line to be shown" in messages[0], messages[0][:80]

    same(program)


def test_the_warning_shows_what_induced_the_failing_node():
    def program(L):
        class Inner(L.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, g):
                raise KeyError("mine")

        class Outer(L.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, g):
                return Inner.apply(g)

        def body():
            with L.autograd.set_detect_anomaly(True):
                x, w = leaf(L, 1.0), leaf(L, 1.0)
                (g,) = L.autograd.grad(Outer.apply(x) * w, x, create_graph=True)
                g.backward()

        error, messages = caught(body)
        return type(error), [message[:100] for message in messages]

    same(program)


def test_the_line_is_known_without_anomaly_mode_in_forward():
    y = leaf(adjoint, 0.0).sqrt() * 0

    def body():
        with adjoint.autograd.set_detect_anomaly(True):
            y.backward()

    error, messages = caught(body)
    assert "test_anomaly.py:" in str(error)
    assert "test_anomaly.py:" in messages[0]


def test_warnings_as_errors_do_not_hide_the_failure():
    """The warning is shown all the same."""

    def body():
        warnings.simplefilter("error")
        with adjoint.autograd.set_detect_anomaly(True):
            (leaf(adjoint, 0.0).sqrt() * 0).backward()

    error, messages = caught(body)
    assert str(error).startswith("Function 'SqrtBackward0' returned nan")
    assert [message[:31] for message in messages] == ["Error detected in SqrtBackward0"]


def test_inf_in_a_gradient():
    def body(**options):
        x = leaf(adjoint, 0.0)
        with adjoint.autograd.set_detect_anomaly(True, **options):
            x.sqrt().backward()
        return x.grad.item()

    assert body() == float("inf")
    error, _ = caught(lambda: body(check_inf=True))
    assert str(error).startswith("Function 'SqrtBackward0' returned inf values in its 0th output.")


# ---- Forward


def watched(body, **options):
    with adjoint.autograd.set_detect_anomaly(True, check_forward=True, **options):
        return body()


@pytest.mark.parametrize("grad", [False, True])
def test_first_bad_op_in_forward(grad):
    x = adjoint.tensor([2.0, -1.0, 0.0], requires_grad=grad)
    error, _ = caught(lambda: watched(lambda: (x * 2).sqrt().sum()))
    text = str(error)
    assert text.startswith("Function 'sqrt' returned nan values in its 0th output in forward")
    line = test_first_bad_op_in_forward.__code__.co_firstlineno + 3
    assert f"test_anomaly.py:{line} in <lambda>" in text
    assert "float32[3], min -2, max 4, mean 0.666667, 1 zero, 0 nan, 0 inf, of 3" in text


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (lambda: adjoint.tensor([1.0, 0.0]).log(), "Function 'log' returned inf"),
        (lambda: adjoint.tensor([0.0]) / 0, "Function 'div' returned nan"),
        (lambda: adjoint.tensor([1e30]) * adjoint.tensor([1e30]), "Function 'mul' returned inf"),
        (lambda: adjoint.tensor([-1.0]).log_(), "Function 'log_' returned nan"),
        (lambda: adjoint.tensor([3e38, 3e38]).sum(), "Function 'sum_all' returned inf"),
        (lambda: adjoint.tensor([-1.0], dtype=adjoint.float16).sqrt(), "Function 'sqrt' returned nan"),
        (lambda: adjoint.tensor([1e300 + 0j]) * 1e300, "Function 'mul' returned"),
        (lambda: adjoint.tensor(float("inf")) - float("inf"), "Function 'sub' returned nan"),
    ],
)
def test_bad_values_made_in_forward(body, words):
    error, _ = caught(lambda: watched(body))
    assert str(error).startswith(words)


@pytest.mark.parametrize(
    "body",
    [
        lambda: adjoint.tensor([1.0, 2.0]).masked_fill(adjoint.tensor([True, False]), float("-inf")).softmax(0),
        lambda: adjoint.tensor([float("nan"), 1.0]) * 2,
        lambda: adjoint.tensor([float("nan"), 1.0]).add_(2),
        lambda: adjoint.tensor([float("inf"), 1.0]).exp(),
        lambda: adjoint.tensor([1, 0]) * 2,
        lambda: adjoint.zeros(0).log(),
    ],
)
def test_bad_values_that_were_there_before(body):
    watched(body)


def test_gradients_are_not_forward_results():
    x = leaf(adjoint, 0.0)
    watched(lambda: x.sqrt().backward())
    assert x.grad.item() == float("inf")


@program
def the_mode_is_of_all_threads(L):
    def state():
        return L.is_anomaly_enabled(), L.is_anomaly_check_nan_enabled()

    seen = []

    def look():
        seen.append(state())

    with L.autograd.set_detect_anomaly(True, check_nan=False):
        in_thread(look)
    in_thread(lambda: L.autograd.set_detect_anomaly(True))
    look()
    in_thread(lambda: L.autograd.set_detect_anomaly(False))
    look()
    with L.autograd.detect_anomaly():
        in_thread(lambda: seen.append(caught((leaf(L, 0.0).sqrt() * 0).backward)[1][0][:31]))
    return seen


def in_thread(body):
    thread = threading.Thread(target=body)
    thread.start()
    thread.join()


@program
def switched_by_the_plain_function(L):
    L.set_anomaly_enabled(True, check_nan=False)
    seen = L.is_anomaly_enabled(), L.is_anomaly_check_nan_enabled()
    L.set_anomaly_enabled(False)
    return seen, L.is_anomaly_enabled(), L.is_anomaly_check_nan_enabled()


@pytest.mark.parametrize("arguments", ['"a"', "1", "None", "True, 3", ""])
def test_switched_by_something_else(arguments):
    same(lambda L: eval(f"L.autograd.set_detect_anomaly({arguments})", {"L": L}))


@program
def contexts_nest_and_are_used_again(L):
    state = L.is_anomaly_enabled
    context = L.autograd.detect_anomaly()
    seen = []
    for _ in range(2):
        with context:
            seen.append(state())
            with L.autograd.set_detect_anomaly(False):
                seen.append(state())
            seen.append(state())
        seen.append(state())
    return seen


@program
def errors_before_and_behind_a_node(L):
    class Wrong(L.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return L.ones(5)

    texts = []
    x = leaf(L, 1.0, 2.0)
    with L.autograd.set_detect_anomaly(True):
        texts.append(caught(Wrong.apply(x).sum().backward)[1])
        y = x.exp()
        y.sum().backward()
        texts.append(caught(y.sum().backward)[1])
        x.register_hook(lambda g: 1 / 0)
        texts.append(caught((x * 2).sum().backward)[1])
        v = (x * 2)[:1]
        v.mul_(2)
        v._base.grad_fn.register_hook(lambda gi, go: 1 / 0)
        texts.append(caught(v._base.sum().backward)[1])
    return [[message[:60] for message in messages] for messages in texts]


def test_the_forward_check_is_of_a_thread_and_ends_with_its_context():
    seen = []
    with adjoint.autograd.set_detect_anomaly(True, check_forward=True):
        in_thread(lambda: seen.append(adjoint.tensor([-1.0]).sqrt().isnan().item()))
    assert seen == [True]
    assert adjoint.tensor([-1.0]).sqrt().isnan().item()
