"""The choices of one call: shapes, types, values and views of its tensors, as source text.

Values are few and small. Sizes stay below a few hundred elements, and numbers that decide how much work or memory a
call takes (sizes, repeats, degrees) below ten, so that no call is slow in either library. Floats that are converted to
integers stay in the integers' range: what happens outside is left open by C.
"""

import math
import random

from tests.compare import DTYPES

SHAPES = [(3,), (2, 3), (3, 3), (), (1,), (2, 1, 3), (4,), (0,), (2, 0), (0, 3), (1, 3), (3, 1), (2, 3, 4), (1, 1)]
SHAPES += [(2, 2, 2), (5, 4), (1, 2, 3, 2), (2, 2, 4, 4), (6,)]
# Floats most often: most ops are made for them.
MAIN_DTYPES = ["float32", "float64", "float32", "float64", "int64", *DTYPES]
FLOATS = ["0.5", "-1.5", "2.0", "0.0", "1.0", "-0.25", "3.0", "0.3", "-2.7", "1.7", "-0.0"]
ODD_FLOATS = ["float('nan')", "float('inf')", "-float('inf')", "100.0"]
INTEGERS = ["0", "1", "2", "-1", "3", "-3", "5"]
COMPLEX = ["1+2j", "0j", "-0.5j", "2+0j", "0.5-1.5j", "-1+0.3j"]
NUMBERS = ["1", "2", "0", "-1", "0.5", "-1.5", "2.0", "3", "True", "1j"]
ODD_NUMBERS = [
    "float('nan')",
    "float('inf')",
    "-float('inf')",
    "False",
    "1+2j",
    "np.float32(0.5)",
    "np.int64(2)",
    "100",
]
NONSENSE = ["None", "'a'", "1.5", "True", "-7", "7", "()", "(0,)", "[0, 1]", "[]", "object()", "torch.float32", "..."]
NONSENSE += ["torch.tensor(1)", "torch.tensor(0.5)", "torch.tensor([0, 1])", "np.int64(1)", "np.float64(0.5)", "1j"]
NONSENSE += ["np.ones(2)", "{}", "float('nan')", "'mean'", "torch.tensor(True)", "(1.5,)", "(None,)", "slice(None)"]


class Draw:
    """The choices of one call, and what later arguments know of earlier ones."""

    def __init__(self, random):
        self.random = random
        self.shape = None  # the first tensor's, once there is one
        self.dtype = None
        self.dim = None  # the dimension that indices are for
        self.wild = self.chance(0.25)  # arguments may be out of range
        self.tensors = []  # the source texts of x0, x1, ...

    def chance(self, probability):
        return self.random.random() < probability

    def pick(self, values):
        return self.random.choice(values)

    def integer(self, low, high):
        return self.random.randint(low, high)

    def strange(self):
        return self.wild and self.chance(0.3)

    # ---- Tensors

    def value(self, dtype):
        if dtype == "bool":
            return self.pick(["True", "False"])
        if "int" in dtype:
            return self.pick(INTEGERS) if dtype != "uint8" else self.pick(["0", "1", "2", "3", "5", "200"])
        if "complex" in dtype and self.chance(0.7):
            return self.pick(COMPLEX)
        return self.pick(ODD_FLOATS) if self.strange() else self.pick(FLOATS)

    def main_dtype(self, dtypes=MAIN_DTYPES):
        """The call's type; mostly the same for all its tensors."""
        if self.dtype is None:
            self.dtype = self.pick(dtypes)
        return self.pick(DTYPES) if self.chance(0.12) else self.dtype

    def tensor(self, shape, dtype, value=None, grad=True):
        """The name of a new tensor: packed, or a permuted, sliced or expanded view."""
        sizes, view = list(shape), ""
        if sizes and self.chance(0.25):
            form = self.pick(["permuted", "sliced", "expanded", "offset"])
            if form == "permuted":
                order = list(range(len(sizes)))
                self.random.shuffle(order)
                sizes = [shape[order.index(dim)] for dim in range(len(sizes))]
                view = f".permute({', '.join(map(str, order))})"
            elif form == "sliced":
                sizes[-1] *= 2
                view = "[..., ::2]"
            elif form == "expanded":
                sizes[0] = min(sizes[0], 1)
                view = f".expand({', '.join(map(str, shape))})"
            else:
                sizes[0] += 1
                view = "[1:]"
        values = self.values(value or self.value, dtype, math.prod(sizes))
        if not sizes:
            text = f"torch.tensor({values[0]}, dtype=torch.{dtype})"
        elif math.prod(sizes) == 0:
            text = f"torch.empty({', '.join(map(str, sizes))}, dtype=torch.{dtype})"
        else:
            text = f"torch.tensor([{', '.join(values)}], dtype=torch.{dtype})"
            text += f".reshape({', '.join(map(str, sizes))})" if len(sizes) > 1 else ""
        text += view
        if grad and ("float" in dtype or "complex" in dtype) and self.chance(0.2):
            text += ".requires_grad_()"
        return self.named(text)

    def values(self, value, dtype, count):
        """The values of a tensor, from one choice."""
        choices, self.random = self.random, random.Random(self.random.getrandbits(20))
        values = [value(dtype) for _ in range(count)]
        self.random = choices
        return values

    def named(self, text):
        self.tensors.append(text)
        return f"x{len(self.tensors) - 1}"

    def set_shape(self, shape):
        if self.shape is None:
            self.shape = shape

    def other_shape(self):
        """Of the first tensor's sizes: the same, one that broadcasts with them, or any."""
        shape = self.shape if self.shape is not None else self.pick(SHAPES)
        choice = self.integer(0, 11)
        if choice < 6:
            return shape
        if choice < 8:
            return tuple(size if self.chance(0.6) else 1 for size in shape)
        if choice < 9:
            return shape[1:]
        if choice < 10:
            return ()
        return (2, *shape) if choice < 11 else self.pick(SHAPES)

    # ---- Numbers that have to do with the first tensor

    @property
    def ndim(self):
        return len(self.shape or ())

    def some_dim(self):
        """A dimension of the first tensor, from either end, or beyond."""
        if self.strange():
            return self.pick([self.ndim, -self.ndim - 1, 5, -9, 2**40, -(2**63)])
        bound = max(self.ndim, 1)
        return self.integer(-bound, bound - 1)

    def size_of_dim(self):
        if not self.shape:
            return 1
        dim = self.dim if self.dim is not None and -self.ndim <= self.dim < self.ndim else 0
        return self.shape[dim]

    def index_value(self, _=None):
        size = self.size_of_dim()
        if self.strange():
            return str(self.pick([size, -size - 1, -1, 99, -99]))
        return str(self.integer(0, max(size - 1, 0)))
