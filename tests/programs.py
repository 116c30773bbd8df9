"""Random programs of ops, views, in-place ops, modes, hooks and backward, run on torch and on adjoint and compared.

A program is data: a list of steps, each the number of a template and a few numbers that choose its tensors and
arguments. `write` turns it into lines of Python while it runs them on torch, whose shapes decide what fits; `replay`
runs the lines on adjoint and compares every step. A failure prints the lines: paste them into a file and they run.

    python -m tests.programs 10000 [first seed]     # so many programs from random numbers, without hypothesis
"""

import random
import sys
import warnings

import numpy as np
import torch

import adjoint

# What differs on purpose. Each entry: (opening words of torch's message, opening words of ours).
DELIBERATE = ()

# Errors whose opening words people know: they must be the same. Of others only the type is compared.
KNOWN_WORDS = (
    "one of the variables needed for gradient computation",
    "a leaf Variable that requires grad",
    "a view of a leaf Variable that requires grad",
    "A view was created in",
    "Output ",
    "Trying to backward through the graph",
    "element 0 of tensors does not require grad",
    "One of the differentiated Tensors",
    "you can only change requires_grad flags",
    "can't retain_grad",
    "cannot register a hook",
    "Can't detach views",
    "Inplace update to inference tensor",
    "Inference tensors cannot be saved",
    "Setting requires_grad=True on inference tensor",
    "unsupported operation",
    "only Tensors of floating point",
    "the derivative for",
)

PRELUDE = ["seen = []"]
SHAPES = [(3,), (2, 3), (), (3, 3), (1,), (2, 1, 3), (4,), (0,)]
WRAPPERS = [None] * 12 + ["torch.no_grad()", "torch.no_grad()", "torch.inference_mode()", "torch.enable_grad()"]


class Writer:
    """Writes the lines of one program, choosing what fits the tensors that torch has at that moment."""

    def __init__(self, library=torch):
        self.space = {"torch": library}
        self.names = []
        self.made = 0

    def fresh(self):
        self.made += 1
        return f"t{self.made - 1}"

    def pick(self, number, fits=None):
        """The name of a tensor (0: the newest) for which `fits` holds, or None."""
        names = [name for name in reversed(self.names) if fits is None or fits(self.space[name])]
        return names[number % len(names)] if names else None

    def operand(self, number, target):
        """A tensor that broadcasts to `target`, or a number."""
        shape = self.space[target].shape
        name = self.pick(number // 2, lambda t: broadcasts(t.shape, shape)) if number % 2 else None
        return name or ["2", "0.5", "-1.5"][number // 2 % 3]


def broadcasts(shape, target):
    if len(shape) > len(target):
        return False
    return all(a in (1, b) for a, b in zip(reversed(shape), reversed(target), strict=False))


STEPS = []


def step(weight=1):
    """A template: (writer, four numbers) -> a line without its wrapper, or None when nothing fits."""

    def add(function):
        STEPS.extend([function] * weight)
        return function

    return add


@step(3)
def create(w, a, b, c, d):
    shape = SHAPES[a % len(SHAPES)]
    size = int(np.prod(shape))
    values = [((7 * i + 3 * b) % 11 - 5) / 4 for i in range(size)]
    dtype = ["float64", "float64", "float32", "complex128", "int64"][c % 5] if c > 3 else "float64"
    if dtype == "complex128":
        values = [complex(value, 0.5) for value in values]
    if dtype == "int64":
        values = [int(4 * value) for value in values]
    data = values[0] if shape == () else values
    grad = ", requires_grad=True" if d % 3 and dtype != "int64" and len(shape) < 2 else ""
    text = f"torch.tensor({data}, dtype=torch.{dtype}{grad})"
    if len(shape) > 1:
        text += f".reshape({shape})" + (".requires_grad_()" if d % 3 and dtype != "int64" else "")
        if d % 2:
            text += ".detach()" + (".requires_grad_()" if d % 3 and dtype != "int64" else "")
    return f"{w.fresh()} = {text}"


UNARY = [
    "{x} * 2",
    "{x}.sin()",
    "{x} * {x}",
    "{x}.exp()",
    "{x} + 1",
    "-{x}",
    "{x}.sigmoid()",
    "{x}.clone()",
    "{x}.tanh()",
    "{x}.abs()",
    "{x}.sum()",
    "{x}.relu()",
    "{x} ** 2",
    "{x}.mean()",
    "{x}.contiguous()",
    "{x}.sum(-1)",
    "{x}.cumsum(0)",
    "{x}.double()",
    "1 / {x}",
    "{x} > 0",
    "{x}.long()",
    "{x}.sign()",
]


@step(3)
def unary(w, a, b, c, d):
    x = w.pick(a)
    return x and f"{w.fresh()} = " + UNARY[b % len(UNARY)].format(x=x)


@step(4)
def binary(w, a, b, c, d):
    x = w.pick(a)
    return x and f"{w.fresh()} = " + [
        "{x} * {y}",
        "{x} + {y}",
        "{x} - {y}",
        "{x} / {y}",
        "torch.where({x} > 0, {x}, {y})",
        "torch.stack([{x}, {x}])",
        "torch.cat([{x}.flatten(), {x}.flatten()])",
        "torch.maximum({x}, {x})",
    ][c % 8].format(x=x, y=w.operand(b, x))


def dims(tensor):
    return max(1, tensor.ndim)


VIEWS = [
    "{x}[0]",
    "{x}[1:]",
    "{x}[:2]",
    "{x}.unsqueeze({d})",
    "{x}.view(-1)",
    "{x}.reshape(-1)",
    "{x}[..., 1]",
    "{x}[::2]",
    "{x}.flatten()",
    "{x}.squeeze()",
    "{x}[None]",
    "{x}.detach()",
    "{x}.data",
    "{x}[:]",
    "{x}.view_as({x})",
    "{x}.expand(2, *{x}.shape)",
    "{x}.narrow(0, 0, 1)",
    "{x}.split(1)[0]",
    "{x}.chunk(2)[-1]",
    "{x}.unbind({d})[0]",
    "{x}.squeeze(0)",
    "{x}.T",
    "{x}.as_strided((2,), (1,))",
    "{x}.unfold(0, 2, 1)",
]
MATRIX_VIEWS = [
    "{x}.t()",
    "{x}.transpose(0, 1)",
    "{x}.diagonal()",
    "{x}[:, 1]",
    "{x}[:, 1:]",
    "{x}.permute(1, 0)",
    "{x}[1:, :2]",
    "{x}.unbind(1)[1]",
    "{x}.split(2, 1)[0]",
    "{x}[0, 1]",
    "{x}.select(1, -1)",
]
COMPLEX_VIEWS = ["{x}.real", "{x}.imag", "torch.view_as_real({x})"]


@step(6)
def view(w, a, b, c, d):
    x = w.pick(a)
    if x is None:
        return None
    tensor = w.space[x]
    choices = VIEWS
    if tensor.is_complex() and b % 2:
        choices = COMPLEX_VIEWS
    elif tensor.ndim == 2 and b % 3:
        choices = MATRIX_VIEWS
    elif tensor.ndim == 0:
        choices = ["{x}.detach()", "{x}.unsqueeze(0)", "{x}.data", "{x}.view(1)", "{x}.expand(3)", "{x}.view_as({x})"]
    return f"{w.fresh()} = " + choices[c % len(choices)].format(x=x, d=d % dims(tensor))


@step()
def several_views(w, a, b, c, d):
    x = w.pick(a, lambda t: t.ndim > 0 and t.shape[0] > 1)
    if x is None:
        return None
    kind = ["{x}.unbind(0)[:2]", "{x}.split([1, {x}.shape[0] - 1])", "{x}.chunk(2)", "torch.tensor_split({x}, 2)"][
        b % 4
    ]
    return f"{w.fresh()}, {w.fresh()} = " + kind.format(x=x)


IN_PLACE = [
    "{x}.add_({y})",
    "{x}.mul_({y})",
    "{x}.copy_({y})",
    "{x}.zero_()",
    "{x}.fill_({y0})",
    "{x}.exp_()",
    "{x}.masked_fill_({x} > 0, {y0})",
    "{x}.sub_({y})",
    "{x}.sigmoid_()",
    "{x}.neg_()",
    "{x}.tanh_()",
    "{x}.mul_({x})",
    "{x}.add_({x})",
    "{x}.div_({y})",
    "{x}.clamp_(-1, 1)",
    "{x}.pow_(2)",
    "{x}.relu_()",
    "{x}.sin_()",
]


@step(7)
def in_place(w, a, b, c, d):
    x = w.pick(a)
    if x is None:
        return None
    scalar = w.pick(d // 2, lambda t: t.ndim == 0) if d % 2 else None
    return IN_PLACE[c % len(IN_PLACE)].format(x=x, y=w.operand(b, x), y0=scalar or "3.0")


ASSIGN = [
    "{x}[0] = {y}",
    "{x}[1:] = {y}",
    "{x}[1:] += {y}",
    "{x}[{x} > 0] *= 2",
    "{x}[{x} > 0] = {y0}",
    "{x}[...] = {y}",
    "{x}[:2] *= {y}",
    "{x}[[0, 1]] = {y0}",
    "{x}[-1] -= {y}",
    "{x}[:] = {y}",
    "{x}[..., 0] = {y0}",
    "{x} *= {y}",
    "{x} += {y}",
]


@step(4)
def assign(w, a, b, c, d):
    x = w.pick(a, lambda t: t.ndim > 0)
    if x is None:
        return None
    part = w.pick(b // 2, lambda t: broadcasts(t.shape, w.space[x].shape[1:])) if b % 2 else None
    scalar = w.pick(d // 2, lambda t: t.ndim == 0) if d % 2 else None
    line = ASSIGN[c % len(ASSIGN)].format(x=x, y=part or "1.5", y0=scalar or "3.0")
    return line


@step(2)
def state(w, a, b, c, d):
    x = w.pick(a)
    line = [
        "{x}.requires_grad_()",
        "{x}.requires_grad_(False)",
        "{x}.detach_()",
        "{x}.retain_grad()",
        "{x}.grad = None",
        "{x}.grad_fn",
        "{x}.data.mul_(2)",
        "{x}.detach().add_(1)",
        "{x}.requires_grad = True",
        "{x}.is_leaf",
        "{x}.grad.zero_()",
        "{x}.data = {x}.detach().clone()",
    ]
    return x and line[b % len(line)].format(x=x)


@step(2)
def hook(w, a, b, c, d):
    x = w.pick(a)
    line = [
        "{x}.register_hook(lambda g: g * 2)",
        "{x}.register_hook(lambda g: seen.append(g.detach().clone()))",
        "{x}.register_hook(lambda g: None)",
        "{x}.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.detach().clone()))",
        "{x}.retain_grad()",
    ]
    return x and line[b % len(line)].format(x=x)


@step(4)
def backward(w, a, b, c, d):
    x = w.pick(a // 2, lambda t: t.requires_grad) if a % 4 else w.pick(a)
    if x is None:
        return None
    options = ["", "", ", retain_graph=True", ", create_graph=True"][b % 4]
    loss = "{x}.sum()" if w.space[x].dtype.is_floating_point else "{x}.abs().sum()"
    if c % 4 == 3:
        return f"{x}.backward(torch.ones_like({x}){options})"
    if c % 8 == 2 and w.pick(d):
        options += f", inputs=[{w.pick(d)}]"
    return (loss + ".backward({o})").format(x=x, o=options.removeprefix(", "))


@step(2)
def grad(w, a, b, c, d):
    x = w.pick(a // 2, lambda t: t.requires_grad) if a % 4 else w.pick(a)
    y = w.pick(b // 2, lambda t: t.requires_grad) if b % 4 else w.pick(b)
    if x is None or y is None:
        return None
    options = [", create_graph=True", "", ", retain_graph=True", ", allow_unused=True"][c % 4]
    loss = f"({x} * {x}).abs().sum()" if d % 2 else f"{x}.abs().sum()"
    # Copied: the names and layouts of gradients depend on how rules are written.
    return f"{w.fresh()} = torch.autograd.grad({loss}, {y}{options})[0].clone()"


@step()
def drop(w, a, b, c, d):
    x = w.pick(a)
    return x and len(w.names) > 2 and f"del {x}"


def run_line(line, space):
    """None, or the exception that the line raised."""
    try:
        exec(line, space)
    except Exception as error:
        error.__traceback__ = None
        return error
    return None


def is_tensor(value):
    return isinstance(value, torch.Tensor | adjoint.Tensor)


def write(steps):
    """The lines of a program, torch's namespace after it, and what each line raised there."""
    writer = Writer()
    lines, raised = list(PRELUDE), []
    for line in PRELUDE:
        exec(line, writer.space)
    for template, a, b, c, d, mode in steps:
        line = STEPS[template % len(STEPS)](writer, a, b, c, d)
        if not line:
            continue
        wrapper = WRAPPERS[mode % len(WRAPPERS)]
        if wrapper and STEPS[template % len(STEPS)] not in (backward, grad, hook):
            line = f"with {wrapper}: {line}"
        lines.append(line)
        raised.append(run_line(line, writer.space))
        writer.names = [name for name in (f"t{i}" for i in range(writer.made)) if is_tensor(writer.space.get(name))]
    return lines, writer, raised


def describe(tensor, names):
    """Everything compared of a tensor; `names` are the names of tensors by identity."""
    found = {}
    for key, read in PROPERTIES.items():
        try:
            found[key] = read(tensor)
        except RuntimeError as error:
            found[key] = words(error)
    found["base"] = tensor._base is not None and names.get(id(tensor._base), "unnamed")
    return found


def grad_of(tensor):
    """What is compared of .grad beside its values: names of its nodes depend on how rules are written."""
    return tensor.grad is not None and (str(tensor.grad.dtype), tuple(tensor.grad.shape), tensor.grad.requires_grad)


PROPERTIES = {
    "dtype": lambda t: str(t.dtype),
    "shape": lambda t: tuple(t.shape),
    "stride": lambda t: tuple(t.stride()),
    "requires_grad": lambda t: t.requires_grad,
    "is_leaf": lambda t: t.is_leaf,
    "grad_fn": lambda t: t.grad_fn and t.grad_fn.name(),
    "edges": lambda t: t.grad_fn and [(node and node.name(), index) for node, index in t.grad_fn.next_functions],
    "output_nr": lambda t: t.output_nr,
    "version": lambda t: None if t.is_inference() else t._version,
    "is_inference": lambda t: t.is_inference(),
    "retains_grad": lambda t: t.retains_grad,
    "is_view": lambda t: t._is_view(),
    "value": lambda t: t.detach().tolist(),
    "grad": grad_of,
    "grad_value": lambda t: t.grad.detach().tolist() if t.grad is not None else 0,
}


def close(a, b):
    try:
        return np.allclose(np.asarray(a), np.asarray(b), rtol=1e-6, atol=1e-7, equal_nan=True)
    except (TypeError, ValueError):
        return False


def difference(expected, got):
    """The names of what differs between two descriptions."""
    keys = expected.keys() | got.keys()
    return sorted(
        key
        for key in keys
        if not (
            close(expected.get(key), got.get(key))
            if key.endswith("value") and key in expected and key in got
            else expected.get(key) == got.get(key)
        )
    )


def words(error):
    """How an exception is compared: its type, and the opening words that people know."""
    if error is None:
        return None
    text = str(error)
    known = next((known for known in KNOWN_WORDS if text.startswith(known)), None)
    return type(error).__name__, known


def allowed(expected, got):
    """Whether this difference of two exceptions is on the list of deliberate ones."""
    return any(str(expected).startswith(theirs) and str(got).startswith(ours) for theirs, ours in DELIBERATE)


def replay(lines, writer, raised):
    """Runs the lines on adjoint; raises AssertionError, with the program, where it differs from torch."""
    space = {"torch": adjoint}

    def fail(number, text):
        program = "\n".join(["import adjoint as torch", *lines[: number + 1]])
        raise AssertionError(f"{text}\n\n{program}")

    for line in PRELUDE:
        exec(line, space)
    for number, (line, expected) in enumerate(zip(lines[len(PRELUDE) :], raised, strict=True), len(PRELUDE)):
        got = run_line(line, space)
        if words(expected) != words(got):
            if allowed(expected, got):
                return
            fail(number, f"torch raised: {expected!r}\nadjoint raised: {got!r}")
    ours = {id(value): name for name, value in space.items() if is_tensor(value)}
    theirs = {id(value): name for name, value in writer.space.items() if is_tensor(value)}
    for name in writer.names:
        if not is_tensor(space.get(name)):
            fail(len(lines), f"{name}: a tensor in torch, {type(space.get(name))} in adjoint")
        expected, got = describe(writer.space[name], theirs), describe(space[name], ours)
        for key in difference(expected, got):
            fail(len(lines), f"{name}.{key}\ntorch: {expected.get(key)}\nadjoint: {got.get(key)}")
    seen = [[tensor.tolist() for tensor in where["seen"]] for where in (writer.space, space)]
    if len(seen[0]) != len(seen[1]) or not all(map(close, *seen)):
        fail(len(lines), f"hooks saw\ntorch: {seen[0]}\nadjoint: {seen[1]}")


def check(steps):
    """Writes a program, runs it on both libraries, and compares."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        replay(*write(steps))


def random_steps(seed):
    """The steps of a random program, from a seed."""
    numbers = random.Random(seed)
    small = [0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23]
    first = (0, *(numbers.choice(small) for _ in range(3)), 1, 0)
    length = numbers.randint(4, 14)
    return [first] + [
        (numbers.randrange(len(STEPS)), *(numbers.choice(small) for _ in range(4)), numbers.randrange(len(WRAPPERS)))
        for _ in range(length)
    ]


def shrink(steps, fails):
    """A smaller program that still fails: steps taken out, numbers made smaller."""
    changed = True
    while changed:
        changed = False
        for i in reversed(range(len(steps))):
            shorter = steps[:i] + steps[i + 1 :]
            if fails(shorter):
                steps, changed = shorter, True
        for i, numbers in enumerate(steps):
            for place in range(1, 6):
                for smaller in range(numbers[place] if place != 1 else 0):
                    candidate = (*numbers[:place], smaller, *numbers[place + 1 :])
                    if fails([*steps[:i], candidate, *steps[i + 1 :]]):
                        steps = [*steps[:i], candidate, *steps[i + 1 :]]
                        numbers, changed = candidate, True
                        break
    return steps


def problem(steps):
    """What differs in a program, as text, or None."""
    try:
        check(steps)
    except AssertionError as error:
        return str(error)
    return None


def main(count, first=0, most=10):
    """Runs programs number `first` to `first + count`; prints the first few that differ, made small."""
    failures, kinds = 0, set()
    for seed in range(first, first + count):
        text = problem(random_steps(seed))
        if text is None:
            continue
        failures += 1
        kind = text.split("\n\n")[0]
        if len(kinds) >= most:
            continue
        small = shrink(random_steps(seed), lambda steps: problem(steps) is not None)
        text = problem(small)
        kind = text.split("\n\n")[0]
        if kind not in kinds:
            kinds.add(kind)
            print(f"---- seed {seed}\n{text}\n", flush=True)
    print(f"{count} programs, {failures} differ")
    return failures


if __name__ == "__main__":
    torch.set_num_threads(1)
    sys.exit(bool(main(int(sys.argv[1]), *map(int, sys.argv[2:]))))
