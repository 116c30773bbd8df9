"""Random programs of ops, views, in-place ops, modes, hooks and backward, run on torch and on adjoint and compared.

A program is data: a list of steps, each the number of a template and a few numbers that choose its tensors and
arguments. `write` turns it into lines of Python while it runs them on torch, whose shapes decide what fits; `replay`
runs the lines on adjoint and compares every step. A failure prints the lines: paste them into a file and they run.

    python -m tests.programs 10000 [first seed]     # so many programs from random numbers, without hypothesis
"""

import random
import re
import sys
import warnings

import numpy as np
import torch

import adjoint

from .compare import Bound, Tensor, wrong

# What differs on purpose, or because torch leaves it open:
# - conj() of complex tensors, a view in torch, copies here. backward(inputs=[a non-leaf]) frees that non-leaf's node in
#   torch, not here. Values that overlap what they are written to are copied first. None of these is in the programs.
# - The order of reasons to refuse: tensors whose elements share memory are refused before types are looked at.
SHARED = "unsupported operation: more than one element"
# - Inference tensors are refused before anything else is looked at, and nothing is changed. torch first writes, and may
#   find another reason to raise.
RAISED_FIRST = "Inplace update to inference tensor"
# - masked_select, take and gather save their input in torch, and check it: here they need its shape only. They are not
#   in the programs either.
# - What is computed from inference tensors in normal mode has other versions and bases in torch.
OPEN_FOR_INFERENCE = {"version", "base", "is_view", "grad_fn"}
# - A view whose base has got a history since: torch refuses to change it unless somebody has looked at its grad_fn.
REFUSED_UNLESS_SEEN = "a leaf Variable that requires grad"
# - An op on a view made under no_grad, of a base that requires grad, or a non-leaf given as inputs=: torch checks what
#   the op saved although no gradient goes through it; here inference tensors are refused. What was saved of a view has
#   been changed, and so has its base: which of the two is said.
SAVED_FOR_NOTHING = "Inference tensors cannot be saved"
CHECKED_FOR_NOTHING = (
    "one of the variables needed for gradient",
    "Trying to backward through the graph",
    "A view was created in",
    "Output ",
)
# - detach_() of a saved tensor: refused by torch in backward; here saved values do not care.
DETACHED = "Trying to use a saved tensor that has been detached in-place"
# - A view that has a history, of a base that has none and was changed: in torch the history is lost, here it is kept.
#   The programs do not change the flags of tensors that share memory.
# - With create_graph=True, the gradient of an op on such a view requires grad in torch.
OPEN_FOR_ORPHANS = {"requires_grad", "is_leaf", "grad_fn", "grad"}
# - A Function that marks its input as dirty: torch forgets the gradient that the input has retained, and counts a
#   change more when it then refuses the input.
OPEN_FOR_DIRTY = {"grad", "grad_value", "version"}
# - Whether the gradient of nothing, with create_graph=True, requires grad: depends on how rules are written.
# - The real parts of a complex base: as_strided of view_as_real or the other way round, where both are possible.
SAME_VIEWS = {"ViewAsRealBackward0": "AsStridedBackward0"}

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

PRELUDE = [
    "seen = []",
    """class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * (x * x).conj()""",
    """class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)
    @staticmethod
    def backward(ctx, g):
        return g * 2""",
    """class Both(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        ctx.set_materialize_grads(False)
        return x + y, x * y
    @staticmethod
    def backward(ctx, g, h):
        x, y = ctx.saved_tensors
        g, h = [0 if part is None else part for part in (g, h)]
        return g + h * y.conj(), g + h * x.conj()""",
]
SHAPES = [(3,), (2, 3), (), (3, 3), (1,), (2, 1, 3), (4,)]
WRAPPERS = [None] * 12 + ["torch.no_grad()", "torch.set_grad_enabled(False)", "torch.inference_mode()"]
WRAPPERS += ["torch.enable_grad()"]
UNRECORDED = ("no_grad", "inference_mode", "set_grad_enabled(False)")


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
        name = self.pick(number // 2, lambda t: fits_into(t, self.space[target])) if number % 2 else None
        return name or ["2", "0.5", "-1.5"][number // 2 % 3]

    def scalar(self, number, target):
        """A 0-d tensor, or a number."""
        fits = number % 2 and self.pick(number // 2, lambda t: t.ndim == 0 and fits_into(t, self.space[target], -1))
        return fits or "3.0"

    def tensors(self):
        return [self.space[name] for name in self.names]

    def loss(self, name, number):
        """A real scalar made of a tensor."""
        linear = self.space[name].dtype.is_floating_point and number % 2 == 0
        square = f"({name} * {name}.conj()).real.sum()" if self.space[name].is_complex() else f"({name} * {name}).sum()"
        return f"{name}.sum()" if linear else square


def fits_into(value, target, first=0):
    """Whether a value can be written to a tensor: it broadcasts, is of no wider kind, and does not overlap it unless
    torch can tell and refuses."""
    narrow = kind_of(value) <= kind_of(target) and value.is_complex() == target.is_complex()
    if not narrow or not broadcasts(value.shape, target.shape[first:]):
        return False
    apart = value.untyped_storage().data_ptr() != target.untyped_storage().data_ptr()
    if value is target:
        return writable(target)
    return apart or (first == 0 and value.numel() > 1 and value.is_contiguous() and target.is_contiguous())


def kind_of(tensor):
    return 2 * tensor.is_complex() + tensor.is_floating_point()


def writable(tensor):
    """False for expanded tensors, which torch writes to in some ways and refuses in others."""
    return all(stride or size < 2 for stride, size in zip(tensor.stride(), tensor.shape, strict=True))


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
    dtype = ["float64", "float64", "float32", "complex128", "int64"][c % 5] if c > 3 and size else "float64"
    if dtype == "complex128":
        values = [complex(value, 0.5) for value in values]
    if dtype == "int64":
        values = [int(4 * value) for value in values]
    data = values[0] if shape == () else values
    grad = ", requires_grad=True" if d % 3 and dtype != "int64" and len(shape) < 2 else ""
    text = f"torch.tensor({data}, dtype=torch.{dtype}{grad})"
    if len(shape) > 1:
        text += f".reshape({shape}).detach()" + (".requires_grad_()" if d % 3 and dtype != "int64" else "")
    return f"{w.fresh()} = {text}"


def choices(text):
    """The entries of a list written with bars between them."""
    return [entry.strip() for entry in text.replace("\n", " ").split("|")]


UNARY = choices("""{x} * 2 | {x}.sin() | {x} * {x} | {x}.exp() | {x} + 1 | -{x} | {x}.sigmoid() | {x}.clone()
    | {x}.tanh() | {x}.cos() | {x}.sum() | {x} ** 2 | {x}.mean() | {x}.contiguous() | {x}.sum(-1)
    | {x}.cumsum(0) | {x}.double() | 1 / {x} | {x} > 0 | {x}.relu() | {x}.abs() | {x}.conj() * 2 | {x}.clamp(min=0)
    | {x}.masked_fill({x} > 0, 0.5) | {x}.tril() if {x}.ndim > 1 else {x} * 3 | {x}.flip(0) if {x}.ndim else {x} * 3""")


@step(3)
def unary(w, a, b, c, d):
    x = w.pick(a)
    return x and f"{w.fresh()} = " + UNARY[b % len(UNARY)].format(x=x)


BINARY = choices("""{x} * {y} | {x} + {y} | {x} - {y} | {x} / {y} | torch.stack([{x}, {x}])
    | torch.addcmul({x}, {x}, {x}) | torch.where({x} > 0, {x}, {y}) | torch.stack([{x}, {z}]) | torch.cat([{x}, {z}])
    | torch.where({x} > 0, {z}, {x}) | {x}.masked_fill({x} < 0, 0) * {z}""")


@step(4)
def binary(w, a, b, c, d):
    line = BINARY[c % len(BINARY)]
    x = w.pick(a, lambda t: not (t.is_inference() and ("stack" in line or "cat" in line)))
    if x is None:
        return None
    z = w.pick(d // 2, lambda t: alike(t, w.space[x]))
    return f"{w.fresh()} = " + line.format(x=x, y=w.operand(b, x), z=z)


def alike(a, b):
    return a.shape == b.shape and a.dtype == b.dtype and a.is_inference() == b.is_inference()


INDEXED = choices("""{x}[[0, -1]] | {x}[{x} > 0] | {x}.index_select(0, torch.tensor([0, 0]))
    | {x}[torch.tensor([0])]""")


@step(2)
def indexed(w, a, b, c, d):
    # torch gives the result of a permuted tensor permuted strides.
    x = w.pick(a, lambda t: t.ndim > 0 and t.shape[0] and not t.is_complex() and t.is_contiguous())
    return x and f"{w.fresh()} = " + INDEXED[b % len(INDEXED)].format(x=x)


@step(2)
def function(w, a, b, c, d):
    if c % 4 == 3:
        x = w.pick(a, writable)
        return x and f"{w.fresh()} = Twice.apply({x})"
    x = w.pick(a)
    if x is None or c % 2 == 0:
        return x and f"{w.fresh()} = Cube.apply({x})"
    return f"{w.fresh()}, {w.fresh()} = Both.apply({x}, {w.pick(b, lambda t: alike(t, w.space[x]))})"


@step()
def mode(w, a, b, c, d):
    return f"torch.set_grad_enabled({bool(a % 3)})"


VIEWS = choices("""{x}[0] | {x}[1:] | {x}[:2] | {x}.unsqueeze({d}) | {x}.view(-1) | {x}.reshape(-1) | {x}[..., 1]
    | {x}[::2] | {x}.flatten() | {x}.squeeze() | {x}[None] | {x}.detach() | {x}.data | {x}[:] | {x}.view_as({x})
    | {x}.expand(2, *{x}.shape) | {x}.narrow(0, 0, 1) | {x}.split(1)[0] | {x}.chunk(2)[-1] | {x}.unbind({d})[0]
    | {x}.squeeze(0) | {x}.T | {x}.unfold(0, 1, 2) | {x}.unfold(-1, 2, 2) | {x}.movedim(0, -1)""")
SCALAR_VIEWS = choices(
    "{x}.detach() | {x}.unsqueeze(0) | {x}.data | {x}.view(1) | {x}.expand(3) | {x}.view_as({x}) | {x}[None]"
)
MATRIX_VIEWS = choices("""{x}.t() | {x}.transpose(0, 1) | {x}.diagonal() | {x}[:, 1] | {x}[:, 1:] | {x}.permute(1, 0)
    | {x}[1:, :2] | {x}.unbind(1)[1] | {x}.split(2, 1)[0] | {x}[0, 1] | {x}.select(1, -1)""")
COMPLEX_VIEWS = choices("{x}.real | {x}.imag | torch.view_as_real({x})")


@step(6)
def view(w, a, b, c, d):
    x = w.pick(a)
    if x is None:
        return None
    tensor, fitting = w.space[x], VIEWS
    if tensor.is_complex() and b % 2:
        fitting = COMPLEX_VIEWS
    elif tensor.ndim == 2 and b % 3:
        fitting = MATRIX_VIEWS
    elif tensor.ndim == 0:
        fitting = SCALAR_VIEWS
    chosen = fitting[c % len(fitting)]
    if tensor.is_inference() and ("data" in chosen or "detach" in chosen):
        return None
    return f"{w.fresh()} = " + chosen.format(x=x, d=d % max(1, tensor.ndim))


SEVERAL = choices("{x}.unbind(0)[:2] | {x}.split([1, {x}.shape[0] - 1]) | {x}.chunk(2) | torch.tensor_split({x}, 2)")


@step()
def several_views(w, a, b, c, d):
    x = w.pick(a, lambda t: t.ndim > 0 and t.shape[0] > 1)
    return x and f"{w.fresh()}, {w.fresh()} = " + SEVERAL[b % len(SEVERAL)].format(x=x)


IN_PLACE = choices("""{x}.add_({y}) | {x}.mul_({y}) | {x}.copy_({z}) | {x}.zero_() | {x}.fill_({y0}) | {x}.exp_()
    | {x}.masked_fill_({x} > 0, {y0}) | {x}.sub_({y}) | {x}.sigmoid_() | {x}.neg_() | {x}.tanh_() | {x}.mul_({x})
    | {x}.add_({x}) | {x}.div_({y}) | {x}.clamp_(-1, 1) | {x}.pow_(2) | {x}.sin_() | {x}.relu_() | {x}.abs_()
    | {x}.addcmul_({x}, {x})""")


@step(7)
def in_place(w, a, b, c, d):
    x = w.pick(a)
    if x is None:
        return None
    tensor = w.pick(b // 2, lambda t: fits_into(t, w.space[x]))
    line = IN_PLACE[c % len(IN_PLACE)]
    if ("{z}" in line and tensor is None) or (("zero" in line or "fill" in line) and not writable(w.space[x])):
        return None
    return line.format(x=x, y=w.operand(b, x), y0=w.scalar(d, x), z=tensor)


ASSIGN = choices("""{x}[0] = {y} | {x}[1:] = {y} | {x}[1:] += {y} | {x}[{x} > 0] *= 2 | {x}[{x} > 0] = {y0}
    | {x}[...] = {y} | {x}[:2] *= {y} | {x}[[0, -1]] = {y0} | {x}[-1] -= {y} | {x}[:] = {y} | {x}[..., 0] = {y0}
    | {x} *= {y} | {x} += {y} | {x}.index_fill_(0, torch.tensor([0]), {y0}) | {x}[torch.tensor([0])] *= 2
    | {x}.index_copy_(0, torch.tensor([0]), {x}[:1].detach() * 2) | {x}[[0]] += {x}[[-1]]
    | {x}.index_add_(0, torch.tensor([0]), {x}[:1].clone()) | {x}.masked_fill_({x} < 0, {y0})
    | {x}.masked_scatter_({x} > 0, {x}.detach() * 2)""")


@step(4)
def assign(w, a, b, c, d):
    x = w.pick(a, lambda t: t.ndim > 0 and t.shape[0] and writable(t))
    if x is None:
        return None
    part = w.pick(b // 2, lambda t: fits_into(t, w.space[x], 1)) if b % 2 else None
    return ASSIGN[c % len(ASSIGN)].format(x=x, y=part or "1.5", y0=w.scalar(d, x))


STATE = choices("""{x}.requires_grad_() | {x}.requires_grad_(False) | {x}.detach_() | {x}.grad_fn, {x}.retain_grad()
    | {x}.grad = None | {x}.grad_fn | {x}.data.mul_(2) | {x}.detach().add_(1) | {x}.requires_grad = True | {x}.is_leaf
    | {x}.grad.zero_() | {x}.data = {x}.detach().clone()""")


@step(2)
def state(w, a, b, c, d):
    line = STATE[b % len(STATE)]
    # Views of a tensor whose data is replaced go on sharing its version counter in torch. For views of a base that does
    # not require grad, see the list at the top.
    memory = [tensor.untyped_storage().data_ptr() for tensor in w.tensors()]
    alone = any(word in line for word in ("data =", "requires_grad_", "requires_grad =", "detach_"))
    x = w.pick(a, lambda t: not (t.is_inference() or (alone and memory.count(t.untyped_storage().data_ptr()) > 1)))
    return x and line.format(x=x)


HOOKS = choices("""{x}.register_hook(lambda g: g * 2) | {x}.register_hook(lambda g: seen.append(g.detach().clone()))
    | {x}.register_hook(lambda g: None) | {x}.grad_fn, {x}.retain_grad()
    | {x}.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.detach().clone())) | {x}.retain_grad()
    | {x}.grad_fn.register_hook(lambda outgoing, incoming: seen.append(incoming[0].detach().clone()))
    | {x}.grad_fn.register_prehook(lambda incoming: tuple(g if g is None else g * 2 for g in incoming))""")


def takes_hooks(tensor):
    """False for views without history, on which torch crashes."""
    try:
        return not (tensor._is_view() and tensor.is_leaf)
    except RuntimeError:
        return False


@step(2)
def hook(w, a, b, c, d):
    x = w.pick(a, takes_hooks)
    return x and HOOKS[b % len(HOOKS)].format(x=x)


@step(4)
def backward(w, a, b, c, d):
    x = w.pick(a // 2, lambda t: t.requires_grad) if a % 4 else w.pick(a)
    if x is None:
        return None
    options = ["", "", "retain_graph=True", "create_graph=True"][b % 4]
    if c % 4 == 3:
        return f"{x}.backward(torch.ones_like({x}), {options})"
    if c % 8 == 2:
        options = f"retain_graph=True, inputs=[{w.pick(d)}]"
    if c % 8 == 4:
        options = f"retain_graph=True, inputs=[{w.pick(d)}, {w.pick(a)}]"
    if c % 8 == 5:
        return f"for _ in range(2): {w.loss(x, c)}.backward({options})"
    if c % 8 == 6:
        return f"torch.autograd.backward([{w.loss(x, c)}, {w.loss(w.pick(d), b)}], {options})"
    return f"{w.loss(x, c)}.backward({options})"


@step(2)
def grad(w, a, b, c, d):
    x = w.pick(a // 2, lambda t: t.requires_grad) if a % 4 else w.pick(a)
    y = w.pick(b // 2, lambda t: t.requires_grad) if b % 4 else w.pick(b)
    if x is None or y is None:
        return None
    options = ["create_graph=True", "", "retain_graph=True", "allow_unused=True", "materialize_grads=True"][c % 5]
    # Copied: the names and layouts of gradients depend on how rules are written.
    copied = "[0].clone(memory_format=torch.contiguous_format)"
    return f"{w.fresh()} = torch.autograd.grad({w.loss(x, d)}, {y}, {options}){copied}"


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
    return isinstance(value, Tensor)


def write(steps):
    """The lines of a program, torch's namespace after it, and what each line raised there."""
    writer = Writer()
    lines, raised = list(PRELUDE), []
    torch.set_grad_enabled(True)
    for line in PRELUDE:
        exec(line, writer.space)
    for template, a, b, c, d, mode in steps:
        line = STEPS[template % len(STEPS)](writer, a, b, c, d)
        if not line:
            continue
        wrapper = WRAPPERS[mode % len(WRAPPERS)]
        if (
            wrapper
            and STEPS[template % len(STEPS)] not in (backward, grad, hook, state, mode)
            and "requires_grad" not in line
        ):
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


def name_of(node, base):
    return SAME_VIEWS.get(node.name(), node.name()) if base is not None and base.is_complex() else node.name()


PROPERTIES = {
    "dtype": lambda t: str(t.dtype),
    "shape": lambda t: tuple(t.shape),
    "stride": lambda t: [stride for stride, size in zip(t.stride(), t.shape, strict=True) if size > 1 and t.numel()],
    "requires_grad": lambda t: t.requires_grad,
    "is_leaf": lambda t: t.is_leaf,
    "grad_fn": lambda t: t.grad_fn and name_of(t.grad_fn, t._base),
    "output_nr": lambda t: t.output_nr,
    "version": lambda t: None if t.is_inference() else t._version,
    "is_inference": lambda t: t.is_inference(),
    "retains_grad": lambda t: t.retains_grad,
    "is_view": lambda t: t._is_view(),
    "value": lambda t: t.detach().tolist(),
    "grad": grad_of,
    "grad_value": lambda t: t.grad.detach().tolist() if t.grad is not None else 0,
}


def close(a, b, tolerance=1e-6):
    """Equal but for rounding; what overflowed anywhere may be inf or nan, as the formulas have it."""
    try:
        a, b = np.asarray(a, dtype=complex), np.asarray(b, dtype=complex)
    except (TypeError, ValueError):
        return a == b
    if a.shape != b.shape:
        return False
    finite = np.isfinite(a) & np.isfinite(b) & (np.abs(a) < 1e12) & (np.abs(b) < 1e12)
    return not wrong(b[finite], a[finite], Bound(tolerance, tolerance)).any()


def difference(expected, got):
    """The names of what differs between two descriptions."""
    keys = expected.keys() | got.keys()
    return sorted(
        key
        for key in keys
        if not (
            close(expected[key], got[key], 1e-3 if "float32" in expected["dtype"] else 1e-6)
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


def left_open(expected, got, line, before, writer):
    """Whether two outcomes of a line may differ; see the list at the top."""
    if (expected is not None and str(got).startswith((RAISED_FIRST, SHARED))) or str(got).startswith(SAVED_FOR_NOTHING):
        return True
    # Which of several reasons to refuse a dirty input is said; what its .grad is afterwards.
    if "Twice" in line and expected is not None and got is not None:
        return True
    if ".grad." in line and any("Twice" in earlier for earlier in before[len(PRELUDE) :]):
        return True
    if (got is None and str(expected).startswith(DETACHED)) or "INTERNAL ASSERT" in str(expected):
        return True
    if str(expected).startswith(REFUSED_UNLESS_SEEN):
        target = writer.space.get(re.search(r"t\d+", line.rpartition("with ")[2]).group())
        return is_tensor(target) and target._is_view()
    if isinstance(got, RuntimeError) and str(expected).startswith(CHECKED_FOR_NOTHING):
        return True
    orphans = "inputs=" in line or any(mode in earlier for earlier in before for mode in UNRECORDED)
    return got is None and orphans and str(expected).startswith(CHECKED_FOR_NOTHING)


def replay(lines, writer, raised):
    """Runs the lines on adjoint; raises AssertionError, with the program, where it differs from torch."""
    space = {"torch": adjoint}

    def fail(number, text):
        used = "\n".join(lines[len(PRELUDE) : number + 1])
        prelude = [text for text in PRELUDE if text.split("(")[0].removeprefix("class ") in used or "seen" in text]
        program = "\n".join(["import adjoint as torch", *prelude, used])
        raise AssertionError(f"{text}\n\n{program}")

    adjoint.set_grad_enabled(True)
    for line in PRELUDE:
        exec(line, space)
    for number, (line, expected) in enumerate(zip(lines[len(PRELUDE) :], raised, strict=True), len(PRELUDE)):
        got = run_line(line, space)
        if words(expected) != words(got):
            if left_open(expected, got, line, lines[:number], writer):
                return
            fail(number, f"torch raised: {expected!r}\nadjoint raised: {got!r}")
        if got is not None and str(got).startswith(RAISED_FIRST):
            return
    ours = {id(value): name for name, value in space.items() if is_tensor(value)}
    theirs = {id(value): name for name, value in writer.space.items() if is_tensor(value)}
    text = "\n".join(lines)
    left = OPEN_FOR_INFERENCE if "inference_mode" in text else set()
    if "Twice.apply" in text:
        left = left | OPEN_FOR_DIRTY
    if any(mode in text for mode in UNRECORDED) and "create_graph" in text:
        left = left | OPEN_FOR_ORPHANS
    if any(tensor.numel() == 0 for tensor in writer.tensors()):
        left = left | {"grad"}
    for name in writer.names:
        if not is_tensor(space.get(name)):
            fail(len(lines), f"{name}: a tensor in torch, {type(space.get(name))} in adjoint")
        expected, got = describe(writer.space[name], theirs), describe(space[name], ours)
        # torch fails internally at views of complex tensors whose base no longer requires grad.
        if ("RuntimeError", None) in expected.values():
            continue
        for key in set(difference(expected, got)) - left:
            fail(len(lines), f"{name}.{key}\ntorch: {expected.get(key)}\nadjoint: {got.get(key)}")
    seen = [[tensor.tolist() for tensor in where["seen"]] for where in (writer.space, space)]
    if len(seen[0]) != len(seen[1]) or not all(map(close, *seen)):
        fail(len(lines), f"hooks saw\ntorch: {seen[0]}\nadjoint: {seen[1]}")


def check(steps):
    """Writes a program, runs it on both libraries, and compares."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            replay(*write(steps))
        finally:
            torch.set_grad_enabled(True)
            adjoint.set_grad_enabled(True)


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
