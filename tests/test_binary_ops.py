"""Binary operators against torch on random operands (shapes, dtypes, layouts, numbers): the same value or error."""

import operator

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from .compare import VALUES, Bound, of_one_kind, opening, same

DTYPES = (
    "float32", "float64", "float16", "bfloat16", "complex64", "complex128",
    "int64", "int32", "int16", "int8", "uint8", "bool",
)  # fmt: skip
OPERATORS = {
    name: getattr(operator, name)
    for name in (
        "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor", "lshift", "rshift",
        "eq", "ne", "lt", "le", "gt", "ge", "iadd", "isub", "imul", "itruediv", "iand", "ior", "matmul",
    )
}  # fmt: skip

sizes = st.lists(st.sampled_from([0, 1, 2, 3]), max_size=3).map(tuple)
layouts = st.sampled_from(["plain", "transposed", "strided", "expanded"])


@st.composite
def operands(draw):
    """A number, or the recipe of a tensor that both libraries can build."""
    if draw(st.integers(0, 4)) == 0:
        return draw(st.sampled_from([0, 1, 2, 3, -1, 0.5, -2.0, 2.5, True, 1 + 2j]))
    shape, dtype, layout = draw(sizes), draw(st.sampled_from(DTYPES)), draw(layouts)
    count = int(np.prod(shape))
    low = 0 if dtype == "uint8" else -3
    values = draw(st.lists(st.integers(low, 4), min_size=count, max_size=count))
    return shape, dtype, layout, values


def build(library, recipe):
    if not isinstance(recipe, tuple):
        return recipe
    shape, dtype, layout, values = recipe
    array = np.array(values, dtype=np.float64).reshape(shape)
    dtype = getattr(library, dtype)
    if layout == "transposed" and len(shape) > 1:
        return (
            library.tensor(np.swapaxes(array, 0, -1).tolist(), dtype=dtype)
            .reshape(shape[::-1] if len(shape) == 2 else (shape[2], shape[1], shape[0]))
            .transpose(0, -1)
        )
    tensor = library.tensor(array.tolist(), dtype=dtype).reshape(shape)
    if layout == "strided" and shape:
        doubled = library.stack([tensor, tensor], -1)
        return doubled[..., 0]
    if layout == "expanded":
        return tensor.expand((2, *shape))
    return tensor


BOUNDS = {
    **dict.fromkeys(("float64", "complex128"), Bound(1e-12, 1e-12)),
    **dict.fromkeys(("float32", "complex64"), Bound(1e-5, 1e-5)),
    "float16": Bound(2e-3, 2e-3),
    "bfloat16": Bound(2e-2, 2e-2),
}


def check_same(name, recipes):
    def program(library):
        return OPERATORS[name](*(build(library, recipe) for recipe in recipes))

    same(program, VALUES, BOUNDS, of_one_kind)


@settings(max_examples=150)
@pytest.mark.parametrize("name", OPERATORS)
@given(a=operands(), b=operands())
def test_operator(name, a, b):
    if not isinstance(a, tuple) and not isinstance(b, tuple):
        return
    if name == "pow" and (is_complex(a) or is_complex(b)) and has_zero(a):
        return  # complex 0**0 is 1 here, as in Python and NumPy; nan in torch
    if name == "pow" and all(is_tensor(x) and x[1] == "bool" for x in (a, b)):
        return  # defined here, not in torch
    if name == "matmul" and ("bool" in str((a, b)) or (is_tensor(a) and is_tensor(b) and a[1] != b[1])):
        return  # both refuse these types, except that torch lets some empty products pass
    check_same(name, (a, b))


def is_tensor(recipe):
    return isinstance(recipe, tuple)


def has_zero(recipe):
    return 0 in recipe[3] if isinstance(recipe, tuple) else recipe == 0


def is_complex(recipe):
    return "complex" in recipe[1] if isinstance(recipe, tuple) else isinstance(recipe, complex)


BEYOND_A_WORD = """
x + n | n * x | x ** n | x == n | x.mul_(n) | torch.clamp(x, 0, n) | torch.add(x, x, alpha=n) | x.lerp(x, n)
x.fill_(n) | x.masked_fill(x == 0, n) | torch.where(x == 0, n, x) | x.index_fill(0, torch.tensor([0]), n)
torch.full((2,), n) | torch.full_like(x, n) | torch.nn.functional.elu(x, n)
"""


@pytest.mark.parametrize("n", [2**63, 2**64 - 1, 2**64, -(2**63) - 1, 10**40])
@pytest.mark.parametrize("text", [text.strip() for text in BEYOND_A_WORD.replace("\n", "|").split("|") if text.strip()])
def test_integers_beyond_64_bits(text, n):
    same(lambda L: eval(text, {"torch": L, "x": L.zeros(3), "n": n}), error=opening(30))
