"""Whether results keep their bits: for any number of threads, and for elementwise ops at any place and stride.

    python -m tests.bits                                  # everything, as a table
    ADJOINT_ISA=avx2 python -m tests.bits elementwise     # one part, with the loops of another instruction set

The calls of the first part are those of benchmarks/sweep.py, one for every op, with their gradients; those of the
elementwise ops are made from their declarations.
"""

import sys
from pathlib import Path

import numpy as np

import adjoint

from .samples import Placeholder, find, is_differentiable
from .samples.elementwise import made_from

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "benchmarks"))
import sweep_cases  # noqa: F401 - adds its entries to OPS
from sweep_entry import OPS

THREADS = (1, 2, 3, 7)
ELEMENTS = 100_003  # enough for every kernel to use its threads, and no multiple of a vector
LENGTH = 259  # of the operands of elementwise ops
DTYPES = ("float32", "float64", "float16", "bfloat16", "complex64", "complex128")
# The derivative of one argument is not known: no gradients are asked for.
FORWARD_ONLY = ("batch_norm.eval", "nn.functional.soft_margin_loss", "heaviside", "special.zeta", "linalg.ldl_factor")


def tensors_in(value):
    """All tensors of an argument or a result."""
    if isinstance(value, adjoint.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from tensors_in(item)


def bits(tensor):
    """The memory of a tensor, element by element."""
    if tensor is None:
        return None
    return tensor.detach().contiguous().view(-1).view(adjoint.uint8).numpy().tobytes()


def leaves_of(args):
    """The float tensors among the arguments, made to require grad."""
    found = [t for t in tensors_in(args) if is_differentiable(str(t.dtype).removeprefix("torch."))]
    return [t.requires_grad_() for t in found]


def weights_like(tensor):
    """Numbers to multiply a result by, before it is differentiated: not all the same."""
    numbers = adjoint.arange(tensor.numel(), dtype=adjoint.float64) % 7 + 0.3
    return numbers.reshape(tensor.shape).to(tensor.dtype)


def bits_of(call, leaves):
    """The bits of all results of a call and of its gradients."""
    results = list(tensors_in(call()))
    grown = [t for t in results if t.requires_grad]
    grads = adjoint.autograd.grad(grown, leaves, [weights_like(t) for t in grown], allow_unused=True) if grown else ()
    return [bits(t) for t in (*results, *grads)]


def by_threads(call):
    """The thread counts with which `call()` gives other bits than with one thread."""
    before = adjoint.get_num_threads()
    try:
        found = {}
        for count in THREADS:
            adjoint.set_num_threads(count)
            found[count] = call()
    finally:
        adjoint.set_num_threads(before)
    return [count for count in THREADS if found[count] != found[1]]


def sweep_outcome(name, elements=ELEMENTS):
    """The bits of one call of the sweep, from arguments made anew."""
    op = OPS[name]
    adjoint.manual_seed(3)
    function, args, kwargs = op.make(adjoint, elements)
    leaves = leaves_of(args) if op.gradient and name not in FORWARD_ONLY else []
    adjoint.manual_seed(5)
    return bits_of(lambda: function(*args, **kwargs), leaves)


# ---- Elementwise ops by place and stride


def elementwise_ops():
    """Name and declaration of every elementwise op that a program can call."""
    for declaration in adjoint.ops.table().values():
        if declaration.kind == "elementwise" and (declaration.function or declaration.method):
            namespace, name = declaration.namespace, declaration.name
            yield f"{namespace}.{name.removeprefix(f'{namespace}_')}" if namespace else name, declaration


def operands_of(sample, dtype):
    """The arguments of a sample, with operands of LENGTH elements."""
    random = np.random.default_rng(7)
    args = []
    for value in sample.args:
        if isinstance(value, Placeholder):
            longer = type(value)(LENGTH, low=value.low, high=value.high)
            longer.dtype = value.dtype
            value = longer.make(adjoint, random, dtype)
        args.append(value)
    return args


def spread_out(tensor, step):
    """The same elements, `step` apart in memory."""
    wide = adjoint.zeros(tensor.numel() * step, dtype=tensor.dtype)
    wide[::step] = tensor
    return wide[::step]


def arrangements():
    """(name, how an operand is laid out, how the result that is expected is cut from the whole one)."""
    for start, stop in ((0, 1), (1, 2), (0, 7), (3, 20), (5, 75), (1, 258), (130, 259), (258, 259)):
        yield f"[{start}:{stop}]", lambda x, a=start, b=stop: x[a:b], lambda y, a=start, b=stop: y[a:b]
    yield "0-d", lambda x: x[100], lambda y: y[100]
    yield "step 3", lambda x: spread_out(x, 3), lambda y: y
    yield "transposed", lambda x: x.view(7, 37).t(), lambda y: y.view(7, 37).t()
    yield "columns", lambda x: x.view(7, 37)[:, 5:34], lambda y: y.view(7, 37)[:, 5:34]
    yield "expanded", lambda x: x.expand(3, LENGTH), lambda y: y.expand(3, LENGTH)


def elementwise_outcome(function, args, kwargs):
    """The result and its gradients, as tensors."""
    operands = [value.detach() if isinstance(value, adjoint.Tensor) else value for value in args]
    leaves = leaves_of(operands)
    result = function(*operands, **kwargs)
    results = list(tensors_in(result))
    grown = [t for t in results if t.requires_grad]
    if not grown:
        return results
    grads = adjoint.autograd.grad(grown, leaves, [adjoint.full_like(t, 0.7) for t in grown], allow_unused=True)
    return [*results, *(g for g in grads if g is not None)]


def changes_of(name, declaration):
    """The layouts in which elements of an op, or of its gradients, have other bits than in one row."""
    sample, function, changed = made_from(declaration)[0], find(adjoint, name), []
    for dtype in DTYPES:
        args = operands_of(sample, dtype)
        try:
            whole = elementwise_outcome(function, args, sample.kwargs)
        except (RuntimeError, TypeError, NotImplementedError):
            continue  # not defined for this type, or without a derivative, which other tests compare with torch
        for title, lay_out, cut in arrangements():
            placed = [lay_out(value) if isinstance(value, adjoint.Tensor) else value for value in args]
            got = elementwise_outcome(function, placed, sample.kwargs)
            if [bits(t) for t in got] != [bits(cut(t)) for t in whole]:
                changed.append(f"{dtype} {title}")
    return changed


# ---- Optimizers and large products by threads


def optimizers():
    """Name and class of every optimizer that steps by dense gradients alone."""
    others = ("Optimizer", "LBFGS", "SparseAdam")
    return {
        name: kind
        for name, kind in vars(adjoint.optim).items()
        if isinstance(kind, type) and issubclass(kind, adjoint.optim.Optimizer) and name not in others
    }


def trained(name):
    """The bits of a parameter, and of the state that an optimizer keeps of it, after three steps."""
    adjoint.manual_seed(2)
    parameter = adjoint.nn.Parameter(adjoint.randn(331, 303))
    optimizer = optimizers()[name]([parameter], lr=0.01)
    for _ in range(3):
        parameter.grad = adjoint.randn(331, 303)
        optimizer.step()
    return [bits(parameter), *(bits(t) for t in tensors_in(list(optimizer.state[parameter].values())))]


def products():
    """Calls of BLAS and LAPACK that are large enough to be cut into blocks; name -> function of a dtype."""
    shapes = {"mm": ((410, 614), (614, 777)), "mm.flat": ((40, 361), (361, 1225)), "mm.tall": ((1201, 70), (70, 33))}
    shapes |= {"mv": ((1203, 517), (517,)), "vm": ((1203,), (1203, 517)), "bmm": ((3, 130, 201), (3, 201, 140))}

    def product(a, b):
        return lambda dtype: matrix(dtype, *a) @ matrix(dtype, *b)

    def transposed(a, b):
        return lambda dtype: matrix(dtype, *a[::-1]).t() @ matrix(dtype, *b[::-1]).t()

    def matrix(dtype, *shape):
        return adjoint.randn(*shape, dtype=dtype)

    def positive(dtype, n):
        a = matrix(dtype, n, n)
        return a @ a.mH / n + adjoint.eye(n, dtype=dtype)

    calls = {name: product(*pair) for name, pair in shapes.items()}
    calls |= {f"{name}.transposed": transposed(*shapes[name]) for name in ("mm", "mm.flat", "mm.tall")}
    linalg = adjoint.linalg
    calls |= {
        "linalg.inv": lambda dtype: linalg.inv(positive(dtype, 300)),
        "linalg.solve": lambda dtype: linalg.solve(positive(dtype, 401), matrix(dtype, 401, 150)),
        "linalg.cholesky": lambda dtype: linalg.cholesky(positive(dtype, 401)),
        "linalg.lu_factor": lambda dtype: linalg.lu_factor(matrix(dtype, 2, 401, 450)),
        "linalg.solve_triangular": lambda dtype: linalg.solve_triangular(
            positive(dtype, 260), matrix(dtype, 260, 300), upper=True
        ),
    }
    return calls


def product_outcome(name):
    """The bits of one of the products, in each type that BLAS knows."""
    adjoint.manual_seed(4)
    dtypes = (adjoint.float32, adjoint.float64, adjoint.complex64, adjoint.complex128)
    return [bits(t) for dtype in dtypes for t in tensors_in(products()[name](dtype))]


def parts():
    """Each part: its name, what it compares, and what differs for one of them."""
    ops = dict(elementwise_ops())
    layouts = len(list(arrangements()))
    return {
        "ops": ("ops of the sweep, forward and gradients", OPS, lambda name: by_threads(lambda: sweep_outcome(name))),
        "optimizers": ("optimizers, three steps", optimizers(), lambda name: by_threads(lambda: trained(name))),
        "products": ("large products, four types", products(), lambda name: by_threads(lambda: product_outcome(name))),
        "elementwise": (f"elementwise ops, {layouts} layouts", ops, lambda name: changes_of(name, ops[name])),
    }


def main(wanted):
    """Prints what was compared and what differs; the number of differences."""
    lines = []
    print(f"| {adjoint._C._instruction_set()} | compared | differ |\n|---|---:|---:|")
    for title, names, differences in (parts()[name] for name in wanted or parts()):
        found = {name: what for name in names if (what := differences(name))}
        print(f"| {title} | {len(names)} | {len(found)} |", flush=True)
        lines += [f"{name}: {what}" for name, what in found.items()]
    print(*lines, sep="\n", end="")
    return len(lines)


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
