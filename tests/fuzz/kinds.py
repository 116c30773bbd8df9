"""Kinds of arguments: each turns the choices of a call into the source text of an argument, mostly a plausible one."""

import math
import re

from tests.compare import DTYPES

from .draw import INTEGERS, MAIN_DTYPES, NONSENSE, NUMBERS, ODD_NUMBERS, SHAPES

KINDS = {}


def kind(function):
    KINDS[function.__name__.rstrip("_")] = function
    return function


# ---- Tensors


def first_tensor(draw, shapes=SHAPES, dtypes=MAIN_DTYPES, value=None):
    shape = draw.pick(SHAPES) if draw.chance(0.1) else draw.pick(shapes)
    draw.set_shape(shape)
    return draw.tensor(shape, draw.main_dtype(dtypes), value)


FLOAT_DTYPES = ["float32", "float64", "float32", "float64", "float32", "float64", *DTYPES]
ALL_INTEGERS = ["int64", "int64", "int32", "uint8", "bool", "int8", "int16", "float32"]


@kind
def x(draw):
    return first_tensor(draw)


@kind
def f(draw):
    """Mostly of a floating type."""
    return first_tensor(draw, dtypes=FLOAT_DTYPES)


@kind
def integral(draw):
    return first_tensor(draw, dtypes=ALL_INTEGERS)


@kind
def positive(draw):
    """Mostly small counts, or positive floats."""
    return first_tensor(draw, value=lambda dtype: draw.pick(["0", "1", "2", "3"] if draw.chance(0.9) else INTEGERS[:5])
                        if dtype != "bool" else "True")  # fmt: skip


@kind
def y(draw):
    return draw.tensor(draw.other_shape(), draw.main_dtype())


@kind
def same(draw):
    """Of the first tensor's sizes, nearly always."""
    return draw.tensor(draw.other_shape() if draw.strange() else draw.shape or (), draw.main_dtype())


@kind
def yn(draw):
    return y(draw) if draw.chance(0.6) else n(draw)


@kind
def x0(draw):
    """No dimension, mostly."""
    return draw.tensor(draw.pick([(), (), (), (1,), (2,)]), draw.main_dtype())


@kind
def tensors(draw):
    """Several tensors of nearly the same sizes."""
    draw.set_shape(draw.pick(SHAPES))
    shapes = [
        draw.other_shape() if draw.strange() else draw.shape for _ in range(draw.integer(0 if draw.wild else 1, 3))
    ]
    items = [draw.tensor(shape, draw.main_dtype()) for shape in shapes]
    if draw.strange():
        items.append(draw.pick(["1", "None", "2.5", "[]"]))
    return f"[{', '.join(items)}]" if draw.chance(0.7) or len(items) != 2 else f"({', '.join(items)})"


@kind
def vectors(draw):
    draw.set_shape((3,))
    return f"[{', '.join(draw.tensor((draw.integer(0, 3),), draw.main_dtype()) for _ in range(draw.integer(1, 3)))}]"


@kind
def vector(draw):
    return first_tensor(draw, [(3,), (4,), (1,), (0,), (6,)])


@kind
def matrix(draw):
    return first_tensor(draw, [(3, 3), (2, 3), (3, 2), (4, 4), (0, 3), (1, 1)])


def chained(draw, inner):
    """Sizes whose first of the last two continue the first tensor's."""
    size = draw.shape[-1] if draw.shape else 3
    return (size + 1 if draw.strange() else size, inner)


@kind
def next_matrix(draw):
    return draw.tensor(chained(draw, draw.pick([1, 2, 3])), draw.main_dtype())


@kind
def next_vector(draw):
    return draw.tensor(chained(draw, 1)[:1], draw.main_dtype())


@kind
def product(draw):
    """Of the sizes of a product of the first tensor, or what broadcasts to it."""
    rows = draw.shape[-2] if len(draw.shape or ()) > 1 else 3
    return draw.tensor(draw.pick([(rows, 2), (2,), (1, 2), (), (rows, 1), (rows,)]), draw.main_dtype())


@kind
def batch(draw):
    return first_tensor(draw, [(2, 2, 3), (2, 3, 3), (1, 3, 2), (0, 2, 3), (2, 0, 3)])


@kind
def next_batch(draw):
    head = draw.shape[:-2] if len(draw.shape or ()) > 2 else (2,)
    return draw.tensor((*head, *chained(draw, 2)), draw.main_dtype())


@kind
def square(draw):
    """A well conditioned square matrix or a batch of them, or zeros."""
    size = draw.pick([1, 2, 3, 0, 3])
    shape = (*draw.pick([(), (), (), (2,), (2, 1), (0,)]), size, size)
    if draw.strange():
        shape = draw.pick([(3,), (2, 3), (), (2, 3, 2)])
    draw.set_shape(shape)
    dtype = draw.main_dtype(FLOAT_DTYPES)
    if math.prod(shape) == 0 or draw.chance(0.1):
        return draw.named(f"torch.zeros({shape}, dtype=torch.{dtype})")
    rows, columns = (shape if len(shape) > 1 else (1, 1))[-2:]
    count, entries = math.prod(shape), []
    for i in range(count):
        row, column = i // columns % rows, i % columns
        near = ["0", "1"] if dtype in ("bool", "uint8") else ["0", "1", "-1"]
        near = near if "float" not in dtype and "complex" not in dtype else ["0.5", "-0.3", "0.25", "-0.7"]
        entries.append(str(4 + row) if row == column and dtype != "bool" else draw.pick(near))
    text = f"torch.tensor([{', '.join(entries)}], dtype=torch.{dtype}).reshape({shape})"
    text += ".mT" if draw.chance(0.2) and len(shape) > 1 else ""
    grad = draw.chance(0.15) and ("float" in dtype or "complex" in dtype)
    return draw.named(text + (".requires_grad_()" if grad else ""))


@kind
def symmetric(draw):
    """A symmetric positive matrix or a batch of them."""
    name = square(draw)
    shape = draw.shape
    if math.prod(shape) and len(shape) > 1:
        text = draw.tensors[-1].removesuffix(".requires_grad_()")
        draw.tensors[-1] = f"({text} + {text}.mH)" if "bool" not in text else text
    return name


@kind
def right_side(draw):
    head, size = (draw.shape[:-2], draw.shape[-1]) if len(draw.shape or ()) > 1 else ((), 3)
    shape = draw.pick([(*head, size, 2), (*head, size, 2), (size, 1), (size,), (*head, size)])
    return draw.tensor(draw.pick(SHAPES) if draw.strange() else shape, draw.main_dtype(FLOAT_DTYPES))


@kind
def index(draw):
    """A vector of places along the dimension, or what looks like it."""
    shape = draw.pick([(2,), (2,), (3,), (1,), (), (0,)])
    if draw.strange():
        shape = (2, 2)
    dtype = draw.pick(["int32", "uint8", "float32", "bool", "int16"]) if draw.chance(0.15) else "int64"
    return draw.tensor(shape, dtype, None if dtype in ("float32", "bool") else draw.index_value, grad=False)


@kind
def places(draw):
    """As many dimensions as the first tensor: for gather and scatter."""
    shape = tuple(max(draw.integer(size - 1, size), 0) if size else 0 for size in draw.shape or ())
    if draw.strange():
        shape = draw.other_shape()
    dtype = draw.pick(["int32", "uint8", "float32", "bool"]) if draw.chance(0.12) else "int64"
    return draw.tensor(shape, dtype, None if dtype in ("float32", "bool") else draw.index_value, grad=False)


@kind
def along(draw):
    """What index_add and its like take: the first tensor's sizes with the number of indices along the dimension."""
    shape = list(draw.shape or ())
    values = re.search(r"tensor\(\[([^]]*)\]", draw.tensors[-1]) if len(draw.tensors) > 1 else None
    count = values[1].count(",") + 1 if values else 1
    if shape and not draw.strange():
        dim = draw.dim if draw.dim is not None and -len(shape) <= draw.dim < len(shape) else 0
        shape[dim] = count
    return draw.tensor(tuple(shape), draw.main_dtype())


@kind
def flat_index(draw):
    """Places among all elements."""
    draw.dim = None
    total = math.prod(draw.shape or ())
    high = max(total - 1, 0)
    pick = lambda _: str(draw.pick([total, -total - 1, 50]) if draw.strange() else draw.integer(-high, high))
    dtype = draw.pick(["int32", "float32", "bool"]) if draw.chance(0.1) else "int64"
    return draw.tensor(draw.pick([(2,), (1,), (), (2, 2), (0,)]), dtype, pick if dtype == "int64" else None, grad=False)


@kind
def mask(draw):
    dtype = draw.pick(["uint8", "int64", "float32"]) if draw.chance(0.12) else "bool"
    return draw.tensor(draw.other_shape(), dtype, grad=False)


# ---- Numbers and the like


@kind
def n(draw):
    return draw.pick(ODD_NUMBERS) if draw.chance(0.2) else draw.pick(NUMBERS)


@kind
def real(draw):
    return draw.pick(["0.5", "2", "1", "0", "-1", "1e-5", "3.5", "float('inf')", "float('nan')", "True"])


@kind
def probability(draw):
    return draw.pick(["0.5", "0.0", "1.0", "0.25", "0.9", "1", "0", "-0.1", "1.5", "float('nan')", "True"])


@kind
def eps(draw):
    return draw.pick(["1e-5", "0.1", "1e-3", "0", "0.5", "1", "-1.0"])


@kind
def int_(draw):
    return str(draw.pick([-7, 8, 2**33, -(2**40)]) if draw.strange() else draw.integer(-2, 3))


@kind
def count(draw):
    """A number of things, which decides how much work there is."""
    return str(draw.pick([-1, -5, 0, 9]) if draw.strange() else draw.integer(0 if draw.chance(0.2) else 1, 4))


@kind
def true(draw):
    return "True"


@kind
def bool_(draw):
    return draw.pick(["True", "False", "True", "False", "1", "0", "5", "None"] if draw.strange() else ["True", "False"])


@kind
def dim(draw):
    draw.dim = draw.some_dim()
    return str(draw.dim)


@kind
def dims(draw):
    choice = draw.integer(0, 5)
    if choice < 3:
        return dim(draw)
    picked = [draw.some_dim() for _ in range(draw.integer(0, 2))]
    if picked and draw.strange():
        picked.append(picked[0])
    if choice == 3 and draw.chance(0.3):
        return "None"
    return str(tuple(picked)) if draw.chance(0.7) else str(picked)


@kind
def dimlist(draw):
    """All dimensions in some order."""
    order = list(range(draw.ndim))
    draw.random.shuffle(order)
    order = [place - draw.ndim if draw.chance(0.2) else place for place in order]
    if draw.strange():
        order = order[1:] if draw.chance(0.5) else [*order, 0]
    return str(tuple(order))


@kind
def place(draw):
    """One index along the dimension, from either end."""
    size = draw.size_of_dim()
    return str(draw.pick([size, -size - 1, 99]) if draw.strange() else draw.integer(-size, max(size - 1, 0)))


@kind
def size(draw):
    count = draw.integer(0, 3)
    sizes = [
        draw.pick([-1, 0, -3]) if draw.strange() else draw.integer(0 if draw.chance(0.15) else 1, 4)
        for _ in range(count)
    ]
    return str(tuple(sizes)) if draw.chance(0.8) else str(sizes)


@kind
def new_shape(draw):
    """Sizes for as many elements as the first tensor has."""
    total = math.prod(draw.shape or ())
    options = [(-1,), (total,), (total, 1), (1, -1), tuple(reversed(draw.shape or ())), (-1, 2), (2, -1), (1, total, 1)]
    options += [(-1, -1), (0, -1), (total + 1,), (-2, 3), ()] if draw.wild else []
    return str(draw.pick(options))


@kind
def expansion(draw):
    shape = [draw.integer(2, 3) if size == 1 else -1 if draw.chance(0.3) else size for size in draw.shape or ()]
    if draw.chance(0.3):
        shape = [2, *shape]
    if draw.strange():
        shape = draw.pick([shape[1:], [-1, *shape], [*shape, 2], [-2, *shape]])
    return str(tuple(shape))


@kind
def sizes_of_parts(draw):
    total = draw.size_of_dim()
    first = draw.integer(0, total)
    if draw.strange():
        return draw.pick([f"[{total + 1}]", "[-1, 2]", "[]", f"[{first}]"])
    return f"[{first}, {total - first}]"


@kind
def parts(draw):
    return sizes_of_parts(draw) if draw.chance(0.4) else count(draw)


@kind
def cuts(draw):
    return str([draw.integer(-2, 5) for _ in range(draw.integer(0, 3))]) if draw.chance(0.5) else count(draw)


@kind
def pad(draw):
    length = 2 * draw.integer(0, min(draw.ndim, 3) + draw.wild) + draw.strange()
    return str([draw.integer(-2, 3) if draw.wild else draw.integer(0, 2) for _ in range(length)])


@kind
def dtype(draw):
    return draw.pick(["None", "int", "float"]) if draw.strange() else "torch." + draw.pick(DTYPES)


@kind
def order(draw):
    """A norm's order."""
    return draw.pick(["2", "1", "0", "float('inf')", "-float('inf')", "3", "0.5", "-1", "'fro'", "'nuc'", "None", "-2"])


@kind
def equation(draw):
    return draw.pick(
        ["'ij,jk->ik'", "'ij->ji'", "'ii->i'", "'ij,ij->'", "'...j,jk'", "'i,j->ij'", "'ij'", "'ij,k'", "''"]
    )


@kind
def subscript(draw):
    """What stands between brackets."""
    items = [subscript_item(draw) for _ in range(draw.integer(0, min(max(draw.ndim, 1), 3) + draw.wild))]
    return ", ".join(items) if items else "()"


def subscript_item(draw):
    draw.dim = draw.integer(0, draw.ndim - 1) if draw.ndim else None
    choice = draw.integer(0, 13)
    if choice < 3:
        return place(draw)
    if choice < 6:
        bounds = ["" if draw.chance(0.4) else str(draw.integer(-4, 4)) for _ in range(2)]
        step = draw.pick(["", ":1", ":2", ":0" if draw.wild else "", ":-1" if draw.wild else ""])
        return ":".join(bounds) + step
    if choice == 6:
        return "None"
    if choice == 7:
        return "..."
    if choice < 10:
        return index(draw)
    if choice == 10:
        return f"[{place(draw)}, {place(draw)}]"
    if choice == 11:
        return mask(draw)
    return draw.pick(["True", "False", "np.int64(0)", "1.5", "'a'", "np.array([0])", "(0, 0)", "torch.tensor(0)"])


def choice(options):
    """A kind that is one of some words."""

    def pick(draw):
        return repr(draw.pick(["bogus", "", "MEAN"])) if draw.strange() else repr(draw.pick(options))

    return pick


def nonsense(draw):
    return draw.pick(NONSENSE)
