"""Indexing: random keys on random shapes, read and written, with gradients; torch is the oracle."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import adjoint

from .compare import LIBRARIES, VALUES, Bound, assert_same, check, of_one_kind, outcome, same

# Deprecated ways to index, which are tested here as well; NumPy's and torch's warnings.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Using a non-tuple", "ignore:indexing with dtype torch.uint8", "ignore:Truncating the start/stop/step"
)


class Indices:
    """An index tensor, array or list, to be made for either library."""

    def __init__(self, values, form):
        self.values = np.asarray(values, dtype=np.int64 if not len(np.shape(values)) or np.size(values) == 0 else None)
        self.form = form

    def make(self, library):
        if self.form == "list":
            return self.values.tolist()
        if self.form == "array":
            return self.values.copy()
        dtype = self.form if self.values.dtype != bool else "bool"
        return library.tensor(self.values.tolist(), dtype=getattr(library, dtype)).reshape(self.values.shape)

    def __repr__(self):
        return f"{self.form}({self.values.tolist()})"


def make_key(library, key):
    """The key for one library."""
    if isinstance(key, tuple):
        return tuple(make_key(library, part) for part in key)
    return key.make(library) if isinstance(key, Indices) else key


def numbers(shape, seed=0):
    return np.random.default_rng(seed).uniform(-2, 2, shape)


def tensor(library, array):
    return library.tensor(array.ravel().tolist(), dtype=library.float64).reshape(array.shape)


def leaf(library, shape, seed=0):
    return tensor(library, numbers(shape, seed)).requires_grad_()


def used_strides(value):
    """The strides of dimensions in which there is something to step over."""
    return [step for step, size in zip(value.stride(), value.shape, strict=True) if size > 1 and value.numel()]


def selected(shape, key):
    """The elements that a key selects in torch: their numbers; or None where it is refused."""
    return outcome(lambda L: L.arange(int(np.prod(shape))).reshape(shape)[make_key(L, key)], torch, look=None).value


# ---- Strategies

shapes = st.lists(st.integers(0, 4), max_size=4).map(tuple)
positions = st.integers(-5, 5)
slices = st.builds(slice, st.none() | positions, st.none() | positions, st.none() | st.integers(1, 3))
forms = st.sampled_from(("int64", "int64", "int32", "list", "array"))
index_shapes = st.sampled_from(((), (1,), (2,), (3,), (2, 1), (1, 3), (0,)))


@st.composite
def index_arrays(draw, size):
    """Places in a dimension of `size`, now and then outside it."""
    shape = draw(index_shapes)
    bound = max(size, 1) + (draw(st.integers(0, 9)) == 0)
    values = draw(st.lists(st.integers(-bound, bound - 1), min_size=int(np.prod(shape)), max_size=int(np.prod(shape))))
    return Indices(np.array(values, dtype=np.int64).reshape(shape), draw(forms))


@st.composite
def masks(draw, shape):
    """A mask of the leading sizes, now and then of others."""
    count = draw(st.integers(0, len(shape)))
    sizes = [size + (draw(st.integers(0, 19)) == 0) for size in shape[:count]]
    values = draw(st.lists(st.booleans(), min_size=int(np.prod(sizes)), max_size=int(np.prod(sizes))))
    # torch counts an array as one dimension even where it is a mask of more.
    form = draw(st.sampled_from(("bool", "array", "list"))) if count == 1 else "bool"
    return Indices(np.array(values, dtype=bool).reshape(sizes), form)


@st.composite
def shapes_and_keys(draw):
    """A shape, and a key that mostly fits it."""
    shape = draw(shapes)
    key, dim = [], 0
    for _ in range(draw(st.integers(0, len(shape) + 2))):
        size = shape[dim] if dim < len(shape) else 1
        kind = draw(st.sampled_from(("int", "slice", "slice", "none", "ellipsis", "bool", "mask", "index", "index")))
        if kind == "int":
            inside = st.integers(-max(size, 1), max(size - 1, 0))
            key.append(draw(positions if draw(st.integers(0, 9)) == 0 else inside))
        elif kind == "slice":
            key.append(draw(slices))
        elif kind == "none":
            key.append(None)
        elif kind == "ellipsis" and ... not in key:
            key.append(...)
        elif kind in ("bool", "ellipsis"):
            key.append(draw(st.booleans()))
        elif kind == "mask":
            key.append(draw(masks(shape[dim:])))
        else:
            key.append(draw(index_arrays(size)))
        dim += kind in ("int", "slice", "index") or (key[-1].values.ndim if kind == "mask" else 0)
    if len(key) == 1 and draw(st.booleans()):
        return shape, key[0]
    return shape, tuple(key)


# ---- Reading


@settings(max_examples=1500)
@given(shapes_and_keys())
def test_get_gives_what_torch_gives(case):
    shape, key = case

    def program(library):
        x = leaf(library, shape)
        y = x[make_key(library, key)]
        y.backward(tensor(library, numbers(tuple(y.shape), 1)))
        return y, y.tolist(), x.grad, used_strides(y)  # as a list, to the last bit

    same(program, bound={"float64": Bound(1e-13)}, error=of_one_kind, warned=None)


@settings(max_examples=200)
@given(shapes_and_keys())
def test_second_gradients_through_get(case):
    shape, key = case

    def program(library):
        x = leaf(library, shape)
        y = (x * x)[make_key(library, key)]
        (first,) = library.autograd.grad((y * y).sum(), x, create_graph=True)
        return library.autograd.grad((first * x).sum(), x)

    same(program, VALUES, Bound(1e-12, 1e-12), of_one_kind, warned=None)


# ---- Writing


@st.composite
def assignments(draw):
    """A shape, a key, and the sizes of a value for it: those of x[key], some replaced by 1 or left out in front."""
    shape, key = draw(shapes_and_keys())
    places = selected(shape, key)
    sizes = list(places.shape) if places is not None else [draw(st.integers(0, 3))]
    sizes = [1 if draw(st.integers(0, 4)) == 0 else size for size in sizes]
    sizes = sizes[draw(st.integers(0, len(sizes))) :] if draw(st.booleans()) else sizes
    if draw(st.integers(0, 9)) == 0:
        sizes = [draw(st.integers(0, 3)), *sizes]
    return shape, key, tuple(sizes)


def has_duplicates(shape, key):
    """Whether a place is written twice: then which value stays is not said."""
    places = selected(shape, key)
    return places is not None and len(set(places.flatten().tolist())) < places.numel()


@settings(max_examples=1500)
@given(assignments(), st.booleans())
def test_set_does_what_torch_does(case, number):
    shape, key, sizes = case
    if not number and sizes and has_duplicates(shape, key):
        return
    value_grads = {}

    def program(library):
        x, value = leaf(library, shape), leaf(library, sizes, 1)
        y = x * 1
        try:
            y[make_key(library, key)] = 2.5 if number else value
        except Exception:
            assert library is torch or y.tolist() == x.tolist(), "what failed has changed something"
            raise
        if y.requires_grad:
            (y * tensor(library, numbers(shape, 2))).sum().backward()
        value_grads[library] = library.zeros_like(value) if value.grad is None else value.grad
        return y, y.tolist(), x.grad  # as a list, to the last bit

    same(program, VALUES, {"float64": Bound(1e-13)}, of_one_kind, warned=None)
    if value_grads:
        assert_same(value_grads[adjoint], value_grads[torch], bound=Bound(1e-12, 1e-12))


@pytest.mark.parametrize("dtype", ["float32", "float16", "complex64", "int64", "int8", "uint8", "bool"])
@pytest.mark.parametrize(
    "value",
    [1, 0, -1, 2.5, True, 300, -300, 1e300, 10**30, float("nan"), float("inf"), 1j, 1 + 0j, "a", None, [1], np.ones(1)],
    ids=str,
)
@pytest.mark.parametrize("key", [0, slice(1, None), [0], "mask"], ids=str)
def test_assigned_numbers_are_converted_as_torch_converts_them(dtype, value, key):
    def program(library):
        x = library.zeros(3, dtype=getattr(library, dtype))
        x[library.tensor([True, False, True]) if key == "mask" else key] = value
        return x

    check(program)


@pytest.mark.parametrize("key", [0, slice(0, 1), [0], "mask"], ids=str)
@pytest.mark.parametrize("value_type", ["float64", "int64", "bool"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
@pytest.mark.parametrize("sizes", [(), (1,), (2,)], ids=str)
def test_assigned_tensors_are_converted_or_refused_as_in_torch(dtype, value_type, key, sizes):
    def program(library):
        x = library.zeros(3, dtype=getattr(library, dtype))
        value = library.ones(sizes, dtype=getattr(library, value_type))
        x[library.tensor([True, False, True]) if key == "mask" else key] = value
        return x

    check(program)


# ---- Odd keys

ODD_KEYS = [
    1.0, "a", b"a", {}, object(), 1j, [0.5], [1j], ["a"], [None], [...], [[0, 1], [1, 0]], [[0], [1, 1]], [0, [1]],
    [slice(None), 0], [True, 0], [True, False], [True], [], [[]], (), (0, 0, 0, 0), slice(None, None, -1),
    slice(None, None, 0), slice(1.5, 2), slice("a"), range(2), (range(2), range(2)), (..., ...), (0, ..., 0, ...),
    10**30, slice(10**30), slice(-(10**30), None), [0] * 40, [[0]] * 40, ((0, 1), (1, 2)), np.int64(1), np.bool_(True),
    np.float64(1), np.array(1), np.array(True), np.array([0.5]), np.array([], dtype=np.int64), np.array(["a"]),
    np.array([[0, 1], [1, 0]]), {0}, (i for i in range(2)), bytearray(b"\x00\x01"), ([0, 1], [0, 1, 2]),
    ([0], [0], [0], [0]), (slice(None),) * 4, (None,) * 40, True, False, (True, False), (False, [0, 1]), (0, True),
]  # fmt: skip


@pytest.mark.parametrize("key", ODD_KEYS, ids=[f"{type(key).__name__}{i}" for i, key in enumerate(ODD_KEYS)])
def test_odd_keys(key):
    check(lambda library: library.arange(24).reshape(2, 3, 4)[key])


@pytest.mark.parametrize("dtype", ["int64", "int32", "int16", "int8", "uint8", "bool", "float32"])
@pytest.mark.parametrize("values", [1, 0, [1, 0], [0, 1, 1]], ids=str)
def test_types_of_index_tensors(dtype, values):
    def program(library):
        return library.arange(24).reshape(2, 3, 4)[library.tensor(values, dtype=getattr(library, dtype))]

    check(program)


def test_messages():
    x = adjoint.zeros(2, 3)
    for key, text in [
        (2, "index 2 is out of bounds for dimension 0 with size 2"),
        ((0, -4), "index -4 is out of bounds for dimension 1 with size 3"),
        ([5], "index 5 is out of bounds for dimension 0 with size 2"),
        ((0, 0, 0), "too many indices for tensor of dimension 2"),
        (1.0, r"only integers, slices \(`:`\), ellipsis"),
        (adjoint.tensor([0.5]), "tensors used as indices must be long, int, byte or bool tensors"),
        (adjoint.tensor([True]), r"The shape of the mask \[1\] at index 0 does not match"),
        (([0, 1], [0, 1, 2]), "shape mismatch: indexing tensors could not be broadcast together"),
    ]:
        with pytest.raises(IndexError, match=text):
            x[key]
    with pytest.raises(IndexError, match="invalid index of a 0-dim tensor"):
        adjoint.tensor(1.0)[0]
    with pytest.raises(ValueError, match="step must be greater than zero"):
        x[::-1]
    with pytest.raises(TypeError, match="can't assign a list"):
        x[0] = [1, 2, 3]
    with pytest.raises(RuntimeError, match="shape mismatch: value tensor of shape"):
        x[[0, 1]] = adjoint.zeros(3, 3)
    with pytest.raises(RuntimeError, match="The expanded size of the tensor"):
        x[0] = adjoint.zeros(2)
    with pytest.raises(RuntimeError, match="Index put requires the source and destination dtypes match"):
        x[[0]] = adjoint.zeros(3, dtype=adjoint.float64)
    with pytest.warns(UserWarning, match="Using a non-tuple sequence"):
        x[[[0, 1], [1, 0]]]
    with pytest.warns(UserWarning, match="indexing with dtype torch.uint8 is now deprecated"):
        x[adjoint.tensor([1, 0], dtype=adjoint.uint8)]


# ---- Aliasing and in-place history


def test_basic_indexing_makes_views_and_advanced_copies():
    x = adjoint.zeros(3, 4)
    x[1][2] = 5
    x[:, 1][0] = 6
    x[[0, 2]][0, 0] = 7
    x[x > 100] = 1
    assert x.tolist() == [[0, 6, 0, 0], [0, 0, 5, 0], [0, 0, 0, 0]]


def test_assignment_from_the_same_memory():
    x = adjoint.arange(6)
    for key, value in (([1, 2, 3], x[:3]), (slice(1, None), x[:-1])):
        with pytest.raises(RuntimeError, match="unsupported operation: some elements of the input tensor"):
            x[key] = value
        assert x.tolist() == [0, 1, 2, 3, 4, 5]
    x[[0, 2, 4]] = x[1::2]  # gaps: torch does not look closer either
    assert x.tolist() == [1, 1, 3, 3, 5, 5]
    x[1:] = x[:-1].clone()
    assert x.tolist() == [1, 1, 1, 3, 3, 5]


def test_leaves_that_require_grad_refuse_assignment():
    for key in (0, slice(None), [0], ...):
        x = adjoint.ones(3, requires_grad=True)
        with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
            x[key] = 1.0
        assert x.tolist() == [1, 1, 1]


def test_assignment_is_seen_by_saved_values():
    x = adjoint.ones(3, requires_grad=True)
    y = x * 1
    z = y * y
    y[0] = 2.0
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_editing_an_index_after_use_is_caught():
    x = adjoint.ones(3, requires_grad=True)
    index = adjoint.tensor([0, 1])
    y = x[index]
    index[0] = 2
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_iteration_unbinds():
    x = adjoint.arange(6.0).reshape(3, 2).requires_grad_()
    rows = list(x)
    assert [row.tolist() for row in rows] == [[0, 1], [2, 3], [4, 5]]
    rows[1].sum().backward()
    assert x.grad.tolist() == [[0, 0], [1, 1], [0, 0]]
    with pytest.raises(TypeError, match="0-d"):
        iter(adjoint.tensor(1.0))


KEYS = (
    "0, 5", "5", "-3", "0, -6", "0, 0, 10", "..., 10", "..., -11", "None, 0, 5", "0, None, 5", "0, ..., 10",
    "True, 0, 5", "0:1, 5", "0:1, 0, 10", ":, 5", "::1, None, 5", "t(2)", "t([2])", "t([0, 2])", "0, t([5])",
    ":, t([5])", "..., t([10])", "[0, 5]", "0, [5]", "[0], [5]", "t([0]), 5", "5, t([0])", "None, t([2])", "0, t(5)",
    "t(0), 5", "t(0), t(5)", "0, :, 10", "0, 0, -11", "[0, -3]", "t([0, 1]), :, t([10, 0])", "0, 0:1, 10",
)  # fmt: skip


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("write", ["", " = 1.0"])
def test_an_index_out_of_bounds_names_its_dimension(key, write):
    messages = []
    for library in LIBRARIES:
        with pytest.raises(IndexError) as raised:
            exec(f"x[{key}]{write}", {"x": library.zeros(2, 5, 10), "t": library.tensor})
        messages.append(str(raised.value))
    assert messages[1].startswith(messages[0])
