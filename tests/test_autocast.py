"""Autocast on the CPU: which ops are cast and to what, the graph of the casts and their cache, the mode."""

import threading
import warnings

import pytest
import torch

import adjoint

from .compare import programs, raised, tensors_in
from .oracle.check import Raised, arguments, spread
from .oracle.entries import LEFT_OUT, entries, ours
from .oracle.translate import Translator, Untranslatable

program, test_program = programs()


# ---- Every op of torch's operator database: the types of its results in autocast

DIFFERENT = {
    "nn.functional.linear_cross_entropy.chunked": "torch adds the chunks in the type of the input",
    "nn.functional.linear_cross_entropy.chunked_none": "torch adds the chunks in the type of the input",
    "linalg.pinv": "of an empty matrix torch gives the lower type",
    "linalg.pinv.hermitian": "of an empty matrix torch gives the lower type",
    "masked.prod": "of a 0-d tensor torch gives the lower type",
}


def lowered(value, places, count):
    """Nested data whose float32 tensors at these places, in order, are bfloat16."""
    if isinstance(value, torch.Tensor) and value.dtype == torch.float32:
        count.append(value)
        return value.detach().bfloat16() if len(count) - 1 in places else value
    if isinstance(value, dict):
        return {key: lowered(item, places, count) for key, item in value.items()}
    return type(value)([lowered(item, places, count) for item in value]) if type(value) in (tuple, list) else value


def types(library, function, call, enabled=True):
    """The types of the results of a call in autocast, or what it raised."""
    with library.autocast("cpu", enabled=enabled):
        try:
            return [str(tensor.dtype) for tensor in tensors_in(function(*call[0], **call[1]))]
        except Exception as error:
            return Raised(error)


def compared(op, function):
    """(torch's types, ours) of some calls of an entry, with all of its tensors in float32, all lower, and mixed."""
    # Not by op.sample_inputs(), which inspects the stack for each sample.
    for sample in spread(list(op.sample_inputs_func(op, "cpu", torch.float32, False)), 2):
        for places in (range(0), range(9), range(1, 2)):
            call = lowered(arguments(sample), places, count := [])
            if len(places) == 1 and len(count) < 2:
                continue
            translated = Translator()(call)
            theirs = types(torch, op.op, call)
            if isinstance(theirs, Raised):
                continue
            mine = types(adjoint, function, translated)
            if theirs == mine or not same_without_autocast(op.op, call, theirs, function, translated, mine):
                yield theirs, mine


def same_without_autocast(their_function, their_call, theirs, our_function, our_call, mine):
    """Whether a difference is not the business of autocast: torch lets some calls pass for tensors without elements."""
    return theirs == types(torch, their_function, their_call, False) and str(mine) == str(
        types(adjoint, our_function, our_call, False)
    )


@pytest.mark.filterwarnings("ignore")  # of torch, about many of its samples; types are what is compared
def test_types_of_all_ops():
    differences, count = {}, 0
    for name, op in entries().items():
        if name in LEFT_OUT or name in DIFFERENT or torch.float32 not in op.dtypes:
            continue
        try:
            pairs = list(compared(op, ours(op)))
        except Untranslatable:
            continue
        count += len(pairs)
        wrong = [(theirs, str(mine)) for theirs, mine in pairs if theirs != mine]
        if wrong:
            differences[name] = wrong
    assert differences == {}
    assert count > 2000


# ---- The graph of the casts


def nodes(fn):
    """The names of the nodes below a node, as nested lists."""
    return fn and [fn.name().rpartition("::")[2], *[nodes(below) for below, _ in fn.next_functions]]


def weight(L, *size):
    return L.arange(1.0, 1.0 + torch.Size(size).numel()).reshape(size).div(7).requires_grad_()


@program
def casts_are_recorded(L):
    x, w = weight(L, 2, 3), weight(L, 3, 2)
    with L.autocast("cpu"):
        product = x @ w
        loss = L.nn.functional.mse_loss(product, L.zeros(2, 2))
        joined = L.cat([product, L.ones(1, 2)])
    graphs = [nodes(value.grad_fn) for value in (product, loss, joined)]
    loss.backward()
    return product, loss, joined, graphs, x.grad, w.grad


@program
def parameters_are_cast_once(L):
    x, w = weight(L, 2, 2), weight(L, 2, 2)
    with L.autocast("cpu"):
        first, second, view = x @ w, x @ w, w[:1] @ x
        shared = first.grad_fn.next_functions[1][0] is second.grad_fn.next_functions[1][0]
    with L.autocast("cpu", cache_enabled=False):
        third, fourth = x @ w, x @ w
        apart = third.grad_fn.next_functions[1][0] is fourth.grad_fn.next_functions[1][0]
    (first + second).sum().backward()
    view.sum().backward()
    return shared, apart, x.grad, w.grad


@program
def the_cache_ends_with_the_outermost_context(L):
    x, w = L.ones(2, 2), weight(L, 2, 2)
    found = []
    with L.autocast("cpu"):
        found.append((x @ w).grad_fn.next_functions[1][0])
        with L.autocast("cpu"):
            found.append((x @ w).grad_fn.next_functions[1][0])
        found.append((x @ w).grad_fn.next_functions[1][0])
        L.clear_autocast_cache()
        found.append((x @ w).grad_fn.next_functions[1][0])
    with L.autocast("cpu"):
        found.append((x @ w).grad_fn.next_functions[1][0])
    return [[a is b for a in found] for b in found]


@program
def what_was_cast_without_gradient_is_cast_again(L):
    x, w = L.ones(2, 2), weight(L, 2, 2)
    with L.autocast("cpu"):
        with L.no_grad():
            plain = x @ w
        product = x @ w
    return plain, product


@program
def backward_of_two_results_of_one_cast(L):
    x, w = L.ones(2, 2), weight(L, 2, 2)
    with L.autocast("cpu"):
        first, second = (x @ w).sum(), (x @ w).sum()
    first.backward()
    second.backward()
    return w.grad


@program
def second_gradients(L):
    x, w = weight(L, 2, 2), weight(L, 2, 2)
    with L.autocast("cpu"):
        result = L.tanh(x @ w).sum()
    (first,) = L.autograd.grad(result, x, create_graph=True)
    return first.dtype, L.autograd.grad(first.sum(), w)[0].dtype


def test_a_parameter_that_was_changed_is_cast_again():
    # torch keeps the old cast, and trains on with it.
    w = weight(adjoint, 2, 2)
    with adjoint.autocast("cpu"):
        before = adjoint.eye(2) @ w
        with adjoint.no_grad():
            w.zero_()
        after = adjoint.eye(2) @ w
    assert before.abs().sum().item() > 0
    assert after.abs().sum().item() == 0


# ---- What is cast


@program
def in_float16(L):
    x, w = weight(L, 2, 2), weight(L, 2, 2)
    with L.autocast("cpu", dtype=L.float16):
        product = L.nn.functional.linear(x, w)
        loss = L.nn.functional.l1_loss(product, x)
    loss.backward()
    return product, loss, x.grad, w.grad


@program
def float64_is_left_alone(L):
    with L.autocast("cpu"):
        a, b = L.eye(2, dtype=L.float64), L.eye(2)
        return a @ a, L.cat([a, b]), L.nn.functional.mse_loss(a, b), raised(lambda: a @ b)


@program
def others_are_left_alone(L):
    with L.autocast("cpu"):
        whole, complex_ = L.eye(2, dtype=L.int64), L.eye(2, dtype=L.complex64)
        return whole @ whole, complex_ @ complex_, L.cat([whole, whole])


@program
def another_half_type_cannot_be_joined(L):
    with L.autocast("cpu"):
        half = L.ones(2, dtype=L.float16)
        return (
            raised(lambda: L.cat([half, half])),
            raised(lambda: L.stack([half, L.ones(2)])),
            raised(lambda: L.index_copy(half, 0, L.tensor([0]), half[:1])),
            half.reshape(1, 2) @ half,
        )


@program
def written_results_keep_their_type(L):
    with L.autocast("cpu"):
        a, b, out = L.ones(2, 2), L.ones(2, 2), L.zeros(2, 2)
        L.mm(a, a, out=out)
        L.matmul(a, a[0], out=L.zeros(2))
        b.addmm_(a, a)
        return b, out, raised(lambda: L.mm(a, a.bfloat16(), out=out))


@program
def arguments_by_name_and_in_lists(L):
    with L.autocast("cpu"):
        a, low = L.ones(2, 2), L.ones(2, 2).bfloat16()
        return (
            L.mm(input=a, mat2=low),
            L.nn.functional.mse_loss(input=low, target=a, reduction="none"),
            L.nn.functional.linear(a, weight=low, bias=a[0]),
            L.cat(tensors=(low, a)),
            L.linalg.multi_dot([a, a, a]),
        )


@program
def vectors(L):
    with L.autocast("cpu"):
        a, v = L.ones(2, 2), L.ones(2)
        return a @ v, v @ a, v @ v, L.matmul(a, v), a.matmul(v), L.mv(a, v), L.dot(v, v), L.linalg.matmul(a, v)


@program
def binary_cross_entropy(L):
    with L.autocast("cpu"):
        scores = L.ones(2, 2) @ L.eye(2)
        target = L.zeros(2, 2)
        return (
            L.nn.functional.binary_cross_entropy_with_logits(scores, target),
            L.nn.functional.binary_cross_entropy(L.sigmoid(scores), target),
        )


@program
def recurrent_networks(L):
    x, packed = L.ones(4, 2, 2), L.nn.utils.rnn.pack_padded_sequence(L.ones(4, 2, 2), [4, 3])
    results = []
    with L.autocast("cpu"):
        for make in (L.nn.LSTM, L.nn.GRU, L.nn.RNN):
            for options in ({}, {"num_layers": 2, "bidirectional": True}):
                output, last = make(2, 3, **options)(x)
                results += [output.dtype, *[part.dtype for part in (last if make is L.nn.LSTM else [last])]]
            results.append(make(2, 3)(packed)[0].data.dtype)
            cell = getattr(L.nn, f"{make.__name__}Cell")(2, 3)(x[0])
            results += [part.dtype for part in (cell if make is L.nn.LSTM else [cell])]
    return [str(dtype) for dtype in results]


@program
def recurrent_networks_take_any_input(L):
    results = []
    with L.autocast("cpu"):
        for make in (L.nn.LSTM, L.nn.GRU, L.nn.RNN):
            for first in (None, L.float32, L.bfloat16):
                states = None if first is None else L.zeros(1, 2, 3, dtype=first)
                if first is not None and make is L.nn.LSTM:
                    states = states, states
                output, last = make(2, 3)(L.ones(4, 2, 2, dtype=L.bfloat16), states)
                results += [output.dtype, *[part.dtype for part in (last if make is L.nn.LSTM else [last])]]
    return [str(dtype) for dtype in results]


@program
def attention(L):
    x = L.ones(3, 2, 4)
    with L.autocast("cpu"):
        weighted = L.nn.MultiheadAttention(4, 2)(x, x, x, attn_mask=L.zeros(3, 3))
        layer = L.nn.TransformerEncoderLayer(4, 2)(x)
    return [str(part.dtype) for part in (*weighted, layer)]


@program
def backward_inside(L):
    class Watched(L.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            seen.append((L.is_autocast_enabled("cpu"), (x @ x).dtype == L.bfloat16))
            return x * 1

        @staticmethod
        def backward(ctx, g):
            seen.append((L.is_autocast_enabled("cpu"), (g @ g).dtype == L.bfloat16))
            return g

    seen, x = [], weight(L, 2, 2)
    with L.autocast("cpu"):
        Watched.apply(x).sum().backward()
        inside = Watched.apply(x).sum()
    inside.backward()
    return seen, x.grad


def test_training_is_as_in_torch():
    def losses(L):
        x = L.linspace(-1, 1, 60).reshape(20, 3)
        y = x.sum(1, keepdim=True)
        first, second = (weight(L, 16, 3) - 3.5).detach(), weight(L, 1, 16).detach().div(9)
        parameters = [w.requires_grad_() for w in (first, second)]
        result = []
        for _ in range(30):
            with L.autocast("cpu"):
                hidden = L.tanh(L.nn.functional.linear(x, parameters[0]))
                loss = L.nn.functional.mse_loss(L.nn.functional.linear(hidden, parameters[1]), y)
            gradients = L.autograd.grad(loss, parameters)
            with L.no_grad():
                for parameter, gradient in zip(parameters, gradients, strict=True):
                    parameter.sub_(0.1 * gradient)
            result.append(loss.item())
        return result

    ours, theirs = losses(adjoint), losses(torch)
    assert theirs[-1] < 0.8 * theirs[0]
    assert ours == pytest.approx(theirs, rel=2e-2)


# ---- The mode


@program
def nesting(L):
    def state():
        return L.is_autocast_enabled("cpu"), str(L.get_autocast_dtype("cpu")), L.is_autocast_cache_enabled()

    states = [state()]
    with L.autocast("cpu", dtype=L.float16, cache_enabled=False) as outer:
        states.append(state())
        with L.autocast("cpu"):
            states.append(state())
        with L.autocast("cpu", enabled=False):
            states.append(state())
            with L.autocast(device_type="cpu", dtype=L.bfloat16, enabled=True, cache_enabled=True):
                states.append(state())
        states.append(state())
        try:
            with L.autocast("cpu", L.bfloat16):
                raise KeyError
        except KeyError:
            states.append(state())
    return states, state(), outer.device, str(outer.fast_dtype)


def test_a_context_inside_of_itself():
    context = adjoint.autocast("cpu")
    with context:
        with context:
            assert adjoint.is_autocast_enabled("cpu")
        assert adjoint.is_autocast_enabled("cpu")
    assert not adjoint.is_autocast_enabled("cpu")


@program
def decorating(L):
    @L.autocast("cpu", dtype=L.float16)
    def product(x, *, times=1):
        "The square."
        return times * (x @ x)

    return product(L.eye(2), times=2), product.__name__, product.__doc__, L.is_autocast_enabled("cpu")


@program
def one_thread_only(L):
    seen = []
    with L.autocast("cpu"):
        thread = threading.Thread(target=lambda: seen.append((L.is_autocast_enabled("cpu"), L.eye(2) @ L.eye(2))))
        thread.start()
        thread.join()
    return seen


def test_threads_in_one_decorated_function():
    both_inside = threading.Barrier(2, timeout=60)
    seen = []

    @adjoint.autocast("cpu")
    def work(last):
        both_inside.wait()
        seen.append(adjoint.is_autocast_enabled("cpu"))
        if last:
            first.join()

    first = threading.Thread(target=work, args=(False,))
    second = threading.Thread(target=work, args=(True,))
    first.start()
    second.start()
    second.join()
    assert seen == [True, True]


@program
def other_devices(L):
    cuda = L.autocast("cuda", dtype=L.bfloat16)
    with cuda, L.autocast("cuda", enabled=False):
        inside = L.is_autocast_enabled("cuda"), L.is_autocast_enabled(), L.eye(2) @ L.eye(2)
    with L.autocast("mps"):
        mps = L.is_autocast_enabled("mps"), L.is_autocast_enabled("cpu"), str(L.get_autocast_dtype("mps"))
    L.set_autocast_enabled(True)
    states = [L.is_autocast_enabled(), L.is_autocast_enabled("cuda"), L.is_autocast_enabled("cpu")]
    L.set_autocast_enabled("cuda", False)
    L.set_autocast_dtype("cuda", L.bfloat16)
    states.append(str(L.get_autocast_dtype("cuda")))
    L.set_autocast_dtype("cuda", L.float16)
    available = [L.amp.is_autocast_available(device) for device in ("cpu", "cuda", "xpu", "meta")]
    return cuda._enabled, inside, mps, states, available


@program
def types_that_are_not_lower(L):
    with L.autocast("cpu", dtype=L.float32) as context:
        return context._enabled, L.eye(2) @ L.eye(2), L.autocast("xpu", dtype=L.float64)._enabled


@program
def setting_the_mode(L):
    L.set_autocast_enabled("cpu", True)
    L.set_autocast_dtype("cpu", L.float16)
    on = L.eye(2) @ L.eye(2)
    L.set_autocast_enabled("cpu", False)
    L.set_autocast_dtype("cpu", L.bfloat16)
    counts = [L.autocast_increment_nesting(), L.autocast_increment_nesting()]
    counts += [L.autocast_decrement_nesting(), L.autocast_decrement_nesting()]
    L.set_autocast_cache_enabled(False)
    kept = L.is_autocast_cache_enabled()
    L.set_autocast_cache_enabled(True)
    return on, counts, kept, L.clear_autocast_cache()


@program
def old_names(L):
    L.set_autocast_cpu_enabled(True)
    L.set_autocast_cpu_dtype(L.float16)
    state = L.is_autocast_cpu_enabled(), str(L.get_autocast_cpu_dtype()), str(L.get_autocast_gpu_dtype())
    L.set_autocast_cpu_enabled(False)
    L.set_autocast_cpu_dtype(L.bfloat16)
    L.set_autocast_gpu_dtype(L.float16)
    with L.cpu.amp.autocast(dtype=L.float16):
        return state, L.eye(2) @ L.eye(2), L.amp.autocast is L.autocast


@program
def without_cuda(L):
    class Same(L.autograd.Function):
        @staticmethod
        @L.cuda.amp.custom_fwd
        def forward(ctx, x):
            return x * 1

        @staticmethod
        @L.cuda.amp.custom_bwd
        def backward(ctx, g):
            return g

    x = L.eye(2).requires_grad_()
    with L.cuda.amp.autocast():
        y = Same.apply(x) @ x
    y.sum().backward()
    L.cuda.manual_seed(1)
    L.cuda.manual_seed_all(1)
    L.cuda.empty_cache()
    return y, x.grad, L.cuda.is_available(), L.cuda.device_count(), L.cuda.is_initialized()


@program
def wrong_arguments(L):
    calls = (
        lambda: L.autocast(3),
        lambda: L.autocast("meta"),
        lambda: L.is_autocast_enabled(1),
        lambda: L.is_autocast_enabled("meta"),
        lambda: L.set_autocast_enabled("cpu", 1),
        lambda: L.set_autocast_enabled("cpu"),
        lambda: L.set_autocast_enabled(3),
        lambda: L.get_autocast_dtype(1),
        lambda: L.get_autocast_dtype("meta"),
        lambda: L.set_autocast_dtype("cpu", 3),
        lambda: L.set_autocast_cache_enabled(3),
        lambda: L.amp.custom_fwd(device_type=3),
        lambda: L.amp.custom_bwd(device_type=None),
    )
    return [raised(call) for call in calls]


# ---- Custom Functions


@program
def custom_functions(L):
    seen = []

    def make(**options):
        class Watched(L.autograd.Function):
            @staticmethod
            @L.amp.custom_fwd(device_type="cpu", **options)
            def forward(ctx, x, others, named):
                given = [str(t.dtype) for t in (x, *others, *named.values())]
                seen.append((L.is_autocast_enabled("cpu"), given, (x @ x.to(x.dtype)).dtype == L.bfloat16))
                return x * 2

            @staticmethod
            @L.amp.custom_bwd(device_type="cpu")
            def backward(ctx, g):
                seen.append((L.is_autocast_enabled("cpu"), str(g.dtype)))
                return g * 2, None, None

        return Watched

    for options in ({}, {"cast_inputs": L.float32}, {"cast_inputs": L.float16}):
        for enabled in (True, False):
            x = weight(L, 2, 2)
            with L.autocast("cpu", enabled=enabled):
                others = [x, x.double(), x.bfloat16(), x.int()]
                result = make(**options).apply(x * 1, others, {"a": x.half()})
            result.sum().backward()
            seen.append((str(result.dtype), x.grad))
    return seen


# ---- Without autocast


def test_functions_that_are_cast_look_like_functions():
    import inspect
    import pickle

    loss = adjoint.nn.functional.mse_loss
    assert loss.__name__ == "mse_loss"
    assert ">>> " in loss.__doc__
    assert list(inspect.signature(loss).parameters)[:2] == ["input", "target"]
    assert pickle.loads(pickle.dumps(adjoint.matmul)) is adjoint.matmul
    assert pickle.loads(pickle.dumps(adjoint.linalg.matmul)) is adjoint.linalg.matmul


def test_autocast_is_imported_when_used():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not hasattr(adjoint, "autocast_nonsense")
        assert adjoint.autocast is adjoint.amp.autocast
