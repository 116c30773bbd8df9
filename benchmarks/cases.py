"""What is measured. Every case is written once, against a module called `torch` that is either library."""

import gc
import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """Something to time: `make(torch)` prepares it and returns a function of no arguments to be called repeatedly."""

    name: str
    group: str
    title: str
    make: Callable
    aim: str  # what the project wants of torch's time / adjoint's time
    per: int = 1  # operations in one call: times are given per operation
    unit: str = "call"


@dataclass(frozen=True)
class Probe:
    """Something to measure once in a fresh process: `measure(torch)` returns numbers by the names in `metrics`."""

    name: str
    group: str
    measure: Callable
    metrics: tuple  # (key, title, unit "s" or "B", aim)


# ---- small tensors: what is left is overhead


def small_mul(torch):
    x = torch.rand(8, requires_grad=True)
    y = torch.rand(8, requires_grad=True)
    return lambda: x * y


CHAIN = 100


def chain_of_mul(torch):
    x = torch.ones(8, requires_grad=True)
    w = torch.full((8,), 0.99, requires_grad=True)
    gradient = torch.ones(8)

    def step():
        y = x
        for _ in range(CHAIN):
            y = y * w
        y.backward(gradient)
        x.grad = w.grad = None

    return step


PENDULUM_STEPS = 20


def pendulum(torch):
    """A damped pendulum, integrated with 0-d tensors and Python numbers, differentiated by its constants."""
    stiffness = torch.tensor(4.0, requires_grad=True)
    damping = torch.tensor(0.3, requires_grad=True)
    angle_at_rest = torch.tensor(0.5)

    def step():
        angle, speed = angle_at_rest, 0.0
        for _ in range(PENDULUM_STEPS):
            speed = speed - 0.01 * (stiffness * angle.sin() + damping * speed)
            angle = angle + 0.01 * speed
        loss = (angle - 0.2) ** 2 + 0.1 * speed**2
        loss.backward()
        stiffness.grad = damping.grad = None

    return step


LAYERS = 20


def tanh_layers(torch):
    x = torch.rand(8, 8)
    w = (torch.rand(8, 8) - 0.5).requires_grad_()

    def step():
        h = x
        for _ in range(LAYERS):
            h = torch.tanh(h @ w)
        h.sum().backward()
        w.grad = None

    return step


def mlp_step(torch):
    """One step of gradient descent of a 2-16-16-2 network on 32 points: forward, loss, backward, update."""
    linear, cross_entropy = torch.nn.functional.linear, torch.nn.functional.cross_entropy
    x = torch.rand(32, 2)
    labels = (x.sum(1) > 1).long()
    sizes = (2, 16, 16, 2)
    weights = [(torch.rand(m, n) - 0.5).requires_grad_() for n, m in itertools.pairwise(sizes)]
    biases = [torch.zeros(m, requires_grad=True) for m in sizes[1:]]
    parameters = weights + biases

    def step():
        h = torch.tanh(linear(x, weights[0], biases[0]))
        h = torch.tanh(linear(h, weights[1], biases[1]))
        cross_entropy(linear(h, weights[2], biases[2]), labels).backward()
        with torch.no_grad():
            for p in parameters:
                p -= 0.01 * p.grad
                p.grad = None

    return step


def square_function(torch):
    """The custom Function that everybody writes first."""

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * g * x

    x = torch.rand(4, requires_grad=True)
    gradient = torch.ones(4)

    def step():
        Square.apply(x).backward(gradient)
        x.grad = None

    return step


BASE = 64


def slices_in_place(number):
    """A case of so many in-place operations on slices of one tensor: each rewrites the history of the whole."""

    def make(torch):
        x = torch.ones(BASE, requires_grad=True)
        gradient = torch.ones(BASE)

        def step():
            base = x * 1.0
            for i in range(number):
                start = i % (BASE - 8)
                base[start : start + 8].mul_(0.999)
            base.backward(gradient)
            x.grad = None

        return step

    return make


# ---- large tensors: what is left is arithmetic and memory


def with_backward(function, *shapes):
    """A case that calls `function(torch, *tensors)`, all of which require grad, and backward with a given gradient."""

    def make(torch):
        inputs = [torch.rand(*shape, requires_grad=True) for shape in shapes]
        gradient = torch.ones_like(function(torch, *inputs))

        def step():
            function(torch, *inputs).backward(gradient)
            for x in inputs:
                x.grad = None

        return step

    return make


N = 10_000_000
BATCH, CLASSES = 2048, 1000


def cross_entropy(torch):
    logits = torch.rand(BATCH, CLASSES, requires_grad=True)
    labels = torch.arange(BATCH) % CLASSES

    def step():
        torch.nn.functional.cross_entropy(logits, labels).backward()
        logits.grad = None

    return step


# ---- optimizer steps

STEPPED = ("SGD", {"lr": 0.1, "momentum": 0.9}), ("Adam", {}), ("AdamW", {})


def optimizer_step(name, options, count, size):
    """A case of one step over so many parameters of one size."""

    def make(torch):
        params = [torch.rand(size, requires_grad=True) for _ in range(count)]
        for param in params:
            param.grad = torch.rand(size) - 0.5
        return getattr(torch.optim, name)(params, **options).step

    return make


# ---- memory and long graphs

RECORDED = 200_000


def resident_bytes():
    """The memory that this process holds now; elsewhere than on Linux, the most that it ever held."""
    try:
        with open("/proc/self/statm") as file:
            pages = int(file.read().split()[1])
    except OSError:
        import resource
        import sys

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    import resource

    return pages * resource.getpagesize()


def growth(make):
    """Bytes by which the process grows while `make(RECORDED)` builds what it returns, and what it returned."""
    make(100)
    gc.collect()
    before = resident_bytes()
    made = make(RECORDED)
    return resident_bytes() - before, made


def recorded_memory(torch):
    """Resident memory per recorded multiplication of 8 float32 numbers, both factors requiring grad."""
    x = torch.ones(8, requires_grad=True)
    w = torch.ones(8, requires_grad=True)

    def end_of_chain(length):
        y = x
        for _ in range(length):
            y = y * w
        return y

    def every_result(length):
        results = [None] * length
        y = x
        for i in range(length):
            results[i] = y = y * w
        return results

    # The first graph stays until the second is measured, which would otherwise reuse its memory.
    graph, kept = growth(end_of_chain)
    everything, _ = growth(every_result)
    del kept
    pointers = RECORDED * 8  # the list of results is not the library's
    return {"graph": graph / RECORDED, "graph_and_results": (everything - pointers) / RECORDED}


MILLION = 1_000_000


def million_nodes(torch):
    x = torch.ones(8, requires_grad=True)
    start = time.perf_counter()
    y = x
    for _ in range(MILLION):
        y = y * 1.0000001
    recorded = time.perf_counter()
    y.sum().backward()
    done = time.perf_counter()
    del y
    freed = time.perf_counter()
    return {"forward": recorded - start, "backward": done - recorded, "free": freed - done}


CASES = [
    Case("mul_small", "small", "`x * y`, 8 elements, recorded", small_mul, "10"),
    Case("chain_100", "small", "chain of 100 `y * w`, forward + backward", chain_of_mul, "10", CHAIN, "op"),
    Case("scalars", "small", "pendulum of 0-d tensors and numbers, 20 steps, fwd + bwd", pendulum, "10"),
    Case("layers_20", "small", "20 layers of `tanh(h @ w)`, 8x8, fwd + bwd", tanh_layers, "10", LAYERS, "layer"),
    Case("mlp_step", "small", "training step of a 2-16-16-2 network, 32 points", mlp_step, ""),
    Case("square_function", "small", "custom Function `Square`, 4 elements, fwd + bwd", square_function, "5"),
    *(
        Case(
            f"slices_{n}",
            "small",
            f"{n} in-place ops on slices of one base, fwd + bwd",
            slices_in_place(n),
            "",
            n,
            "op",
        )
        for n in (1000, 2000, 4000)
    ),
    Case("add_10m", "large", "10 M `x + y`, fwd + bwd", with_backward(lambda t, x, y: x + y, (N,), (N,)), "2"),
    Case("mul_10m", "large", "10 M `x * y`, fwd + bwd", with_backward(lambda t, x, y: x * y, (N,), (N,)), "2"),
    Case("exp_10m", "large", "10 M `exp(x)`, fwd + bwd", with_backward(lambda t, x: t.exp(x), (N,)), "2"),
    Case(
        "matmul_1024",
        "large",
        "1024x1024 `a @ b`, fwd + bwd",
        with_backward(lambda t, a, b: a @ b, (1024, 1024), (1024, 1024)),
        "1",
    ),
    Case(
        "softmax",
        "large",
        f"softmax of {BATCH}x{CLASSES}, fwd + bwd",
        with_backward(lambda t, x: t.softmax(x, -1), (BATCH, CLASSES)),
        "",
    ),
    *(
        Case(
            f"{name.lower()}_{label}",
            group,
            f"`optim.{name}{'(momentum=0.9)' if 'momentum' in options else ''}.step()`, {title}",
            optimizer_step(name, options, count, size),
            aim,
        )
        for label, group, title, count, size, aim in (
            ("1000", "small", "1000 parameters of 16", 1000, 16, "5"),
            ("4m", "large", "one parameter of 4 M", 1, 4_000_000, ""),
        )
        for name, options in STEPPED
    ),
    Case("cross_entropy", "large", f"cross_entropy of {BATCH}x{CLASSES}, fwd + bwd", cross_entropy, ""),
]

PROBES = [
    Probe(
        "memory",
        "memory",
        recorded_memory,
        (
            ("graph", "memory per recorded `y * w` of 8 elements: node and what it saves", "B", "at most 400 B"),
            ("graph_and_results", "the same with every result tensor kept", "B", "at most 400 B"),
        ),
    ),
    Probe(
        "million",
        "memory",
        million_nodes,
        (
            ("forward", "one million `y * 1.0000001`: forward", "s", ""),
            ("backward", "... backward", "s", ""),
            ("free", "... freeing the graph", "s", ""),
        ),
    ),
]
