"""Views: which memory they share, their geometry, their history, and what they refuse; torch is the oracle."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import adjoint

from .compare import LIBRARIES

# Each takes a tensor of sizes (2, 3, 4) and gives a view of it.
VIEWS = {
    "view": lambda x: x.view(6, 4),
    "view inferred": lambda x: x.view(2, -1),
    "reshape": lambda x: x.reshape(3, 8),
    "transpose": lambda x: x.transpose(0, 2),
    "swapaxes": lambda x: x.swapaxes(0, 1),
    "permute": lambda x: x.permute(2, 0, 1),
    "movedim": lambda x: x.movedim(0, -1),
    "mT": lambda x: x.mT,
    "expand": lambda x: x.unsqueeze(1).expand(2, 5, 3, 4),
    "select": lambda x: x.select(1, -1),
    "narrow": lambda x: x.narrow(2, 1, 2),
    "unbind": lambda x: x.unbind(1)[2],
    "split": lambda x: x.split(2, 1)[1],
    "split sizes": lambda x: x.split([1, 3], 2)[1],
    "chunk": lambda x: x.chunk(2, 2)[1],
    "tensor_split": lambda x: x.tensor_split(2, 1)[1],
    "squeeze": lambda x: x[:1].squeeze(0),
    "unsqueeze": lambda x: x.unsqueeze(2),
    "unsqueeze last": lambda x: x.unsqueeze(-1),
    "flatten": lambda x: x.flatten(1),
    "unflatten": lambda x: x.unflatten(2, (2, 2)),
    "ravel": lambda x: x.ravel(),
    "diagonal": lambda x: x.diagonal(1, 1, 2),
    "unfold": lambda x: x.unfold(2, 2, 1),
    "as_strided": lambda x: x.as_strided((2, 2), (3, 2), 5),
    "view_as": lambda x: x.view_as(x.reshape(4, 6)),
    "index": lambda x: x[1],
    "slice": lambda x: x[:, ::2],
    "ellipsis": lambda x: x[..., 1:],
    "none": lambda x: x[:, None],
    "chained": lambda x: x[1].t()[1:, 0],
}


def numbers(library):
    return library.arange(24, dtype=library.float64).reshape(2, 3, 4).clone()


@pytest.mark.parametrize("name", VIEWS)
def test_geometry_is_that_of_torch(name):
    expected, came = (VIEWS[name](numbers(library)) for library in LIBRARIES)
    assert tuple(came.shape) == tuple(expected.shape)
    assert came.stride() == expected.stride()
    assert came.storage_offset() == expected.storage_offset()
    assert came.is_contiguous() == expected.is_contiguous()
    assert came.tolist() == expected.tolist()


@pytest.mark.parametrize("name", VIEWS)
def test_memory_is_shared(name):
    x = numbers(adjoint)
    y = VIEWS[name](x)
    version = x._version
    y[(0,) * y.ndim] = -1.0
    assert (x == -1).sum().item() == 1
    assert x._version == y._version == version + 1
    assert y._is_view()
    assert y._base is x


@pytest.mark.parametrize("name", sorted(VIEWS.keys() - {"unfold"}))  # its elements share memory
def test_change_through_a_view_reaches_the_gradient_of_the_base(name):
    several = name in ("unbind", "split", "split sizes", "chunk")
    gradients = []
    for library in LIBRARIES:
        x = numbers(library).requires_grad_()
        base = x * 1
        part = VIEWS[name](base)
        if name == "expand" or several:
            with pytest.raises(RuntimeError):
                part.mul_(2)
            return
        part.mul_(3)
        (base * base + VIEWS[name](base).sum()).sum().backward()
        gradients.append(x.grad.tolist())
    assert gradients[1] == gradients[0]


def test_views_of_views_have_the_first_tensor_as_base():
    x = adjoint.zeros(3, 4)
    assert x.t()[1:][0]._base is x
    assert not x._is_view()


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.detach(),
        lambda x: x.clone(),
        lambda x: x.t().reshape(-1),
        lambda x: x.t().contiguous(),
        lambda x: x.view(x.dtype),
        lambda x: x.flip(0),
        lambda x: x.repeat(1, 1),
    ],
)
def test_these_are_no_views(call):
    expected, came = (call(library.ones(2, 3) * 1) for library in LIBRARIES)
    assert came._is_view() is expected._is_view() is False
    assert came._base is None


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.contiguous(),
        lambda x: x.flatten(0, 0),
        lambda x: x.real,
        lambda x: x.expand(2, 3),
        lambda x: x.squeeze(),
        lambda x: x.reshape(2, 3),
        lambda x: x.view(2, 3),
    ],
)
def test_the_tensor_itself_is_returned_where_torch_returns_it(call):
    expected, came = (library.ones(2, 3) for library in LIBRARIES)
    assert (call(came) is came) == (call(expected) is expected)


# ---- Reshaping of any geometry

shapes = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)


@settings(max_examples=500)
@given(shapes, st.data())
def test_view_is_possible_exactly_where_torch_says(shape, data):
    order = data.draw(st.permutations(range(len(shape))))
    steps = data.draw(st.lists(st.integers(1, 2), min_size=len(shape), max_size=len(shape)))
    repeated = data.draw(st.booleans())
    numel = 1
    for size, step in zip(shape, steps, strict=True):
        numel *= -(-size // step)
    divisors = [d for d in range(1, numel + 1) if numel % d == 0]
    first = data.draw(st.sampled_from(divisors))
    second = data.draw(st.sampled_from([d for d in range(1, numel // first + 1) if (numel // first) % d == 0]))
    wanted = data.draw(st.permutations([first, second, numel // first // second]))
    results = []
    for library in LIBRARIES:
        x = library.arange(float(torch.Size(shape).numel())).reshape(shape)
        x = x[tuple(slice(None, None, step) for step in steps)].permute(order)
        if repeated:
            x = x[..., :1].expand(x.shape)
        try:
            y = x.view(wanted)
            used = [stride for stride, size in zip(y.stride(), y.shape, strict=True) if size > 1]
            results.append((used, y.tolist()))
        except RuntimeError:
            results.append(x.reshape(wanted).tolist())
    assert results[1] == results[0]


@settings(max_examples=300)
@given(st.data())
def test_as_strided_of_any_geometry_and_its_gradient(data):
    ndim = data.draw(st.integers(0, 3))
    size = data.draw(st.lists(st.integers(0, 3), min_size=ndim, max_size=ndim))
    stride = data.draw(st.lists(st.integers(0, 5), min_size=ndim, max_size=ndim))
    offset = data.draw(st.none() | st.integers(0, 14))
    start = data.draw(st.integers(0, 3))
    results = []
    for library in LIBRARIES:
        leaf = library.arange(12, dtype=library.float64).requires_grad_()
        x = (leaf * leaf)[start:]
        try:
            y = x.as_strided(size, stride, offset)
        except RuntimeError:
            results.append(RuntimeError)
            continue
        (first,) = library.autograd.grad((y * y * y).sum(), leaf, create_graph=True)
        (second,) = library.autograd.grad((first * first).sum(), leaf)
        results.append((y.tolist(), first.tolist(), second.tolist()))
    assert results[1] == results[0]


def test_as_strided_stays_within_the_storage():
    x = adjoint.zeros(4)
    for size, stride, offset in [
        ((5,), (1,), 0),
        ((2,), (4,), 0),
        ((1,), (1,), 4),
        ((2,), (2**62,), 0),
        ((2**40,), (2**40,), 0),
    ]:
        with pytest.raises(RuntimeError, match=r"out of bounds for storage|overflow"):
            x.as_strided(size, stride, offset)
    assert x.as_strided((0, 5), (1, 1), 100).shape == (0, 5)


# ---- Other types on the same memory


def test_view_as_another_type():
    for target in ("int32", "int8", "float64", "complex64", "int64", "float32", "float16"):
        expected, came = (
            library.arange(24, dtype=library.float32).reshape(2, 3, 4).view(getattr(library, target))
            for library in LIBRARIES
        )
        assert tuple(came.shape) == tuple(expected.shape)
        assert came.stride() == expected.stride()
        assert came.tolist() == expected.tolist()


def test_real_and_imaginary_parts_share_memory():
    z = adjoint.tensor([1 + 2j, 3 + 4j])
    z.real[0] = 5
    z.imag[1] = 6
    assert z.tolist() == [5 + 2j, 3 + 6j]
    assert adjoint.view_as_complex(adjoint.view_as_real(z)).tolist() == z.tolist()


# ---- Memory formats


def test_memory_formats():
    for shape, memory_format in [((2, 3, 4, 5), "channels_last"), ((2, 3, 2, 4, 5), "channels_last_3d")]:
        strides = []
        for library in LIBRARIES:
            x = library.arange(float(torch.Size(shape).numel())).reshape(shape)
            y = x.contiguous(memory_format=getattr(library, memory_format))
            z = x.clone(memory_format=getattr(library, memory_format))
            assert y.contiguous(memory_format=getattr(library, memory_format)) is y
            assert y.tolist() == z.tolist() == x.tolist()
            strides.append((y.stride(), z.stride(), y.clone().stride(), y.contiguous().stride()))
        assert strides[1] == strides[0]
    with pytest.raises(RuntimeError, match="required rank 4 tensor to use channels_last format"):
        adjoint.zeros(2).contiguous(memory_format=adjoint.channels_last)


# ---- Messages


def test_messages():
    x = adjoint.zeros(2, 3, 4)
    for call, text in [
        (lambda: x.view(5), r"shape '\[5\]' is invalid for input of size 24"),
        (lambda: x.view(-1, -1), "only one dimension can be inferred"),
        (lambda: x.view(-2, 12), r"invalid shape dimension -2 at index 0 of shape \[-2, 12\]"),
        (lambda: x.transpose(0, 1).view(-1), "view size is not compatible with input tensor's size and stride"),
        (lambda: adjoint.zeros(0, 3).view(-1, 0), "cannot reshape tensor of 0 elements into shape"),
        (lambda: x.t(), r"t\(\) expects a tensor with <= 2 dimensions, but self is 3D"),
        (lambda: x.permute(0, 1, 1), r"permute\(\): duplicate dims are not allowed"),
        (lambda: x.expand(2, 3), "the number of sizes provided"),
        (lambda: x.expand(2, 3, 5), "The expanded size of the tensor"),
        (lambda: x.narrow(0, 1, 2), r"start \(1\) \+ length \(2\) exceeds dimension size"),
        (lambda: x.split(0), "split_size can only be 0 if dimension size is 0"),
        (lambda: x.split([1, 2]), "split_with_sizes expects split_sizes to sum exactly to 2"),
        (lambda: x.chunk(0), "chunk expects `chunks` to be greater than 0"),
        (lambda: x.flatten(2, 1), "start_dim cannot come after end_dim"),
        (lambda: x.unflatten(0, (3, 1)), "don't multiply up to the size of dim 0"),
        (lambda: x.diagonal(0, 0, 0), "diagonal dimensions cannot be identical"),
        (lambda: x.unfold(0, 3, 1), "maximum size for tensor at dimension 0 is 2 but size is 3"),
        (lambda: x.as_strided((2,), (-1,)), "as_strided: Negative strides are not supported"),
        (lambda: x.mT[0, 0].mT, "tensor.mT is only supported on matrices or batches of matrices. Got 1-D tensor."),
        (lambda: x.H, "tensor.H is only supported on matrices"),
        (lambda: adjoint.view_as_real(x), "view_as_real is only supported for complex tensors"),
        (lambda: x.imag, "imag is not implemented for tensors with non-complex dtypes"),
        (lambda: adjoint.stack([x, x[0]]), "stack expects each tensor to be equal size"),
        (lambda: adjoint.cat([x, x[0]]), "Tensors must have same number of dimensions: got 3 and 2"),
        (lambda: adjoint.cat([x, x[:, :2]]), "Sizes of tensors must match except in dimension 0"),
        (lambda: x.roll((1, 2)), "shifts and dimensions must align"),
        (lambda: x.repeat(2), "Number of dimensions of repeat dims can not be smaller"),
    ]:
        with pytest.raises(RuntimeError, match=text):
            call()
    for call, text in [
        (lambda: x.transpose(0, 5), r"Dimension out of range \(expected to be in range of \[-3, 2\], but got 5\)"),
        (lambda: x.select(0, 5), r"select\(\): index 5 out of range for tensor of size \[2, 3, 4\] at dimension 0"),
        (lambda: x.narrow(0, 3, 1), "start out of range"),
        (lambda: adjoint.tensor(1.0).unbind(), "Dimension specified as 0 but tensor has no dimensions"),
    ]:
        with pytest.raises(IndexError, match=text):
            call()


def test_several_views_at_once_refuse_changes_in_place():
    x = adjoint.ones(4, requires_grad=True) * 1
    first, _ = x.split(2)
    with pytest.raises(RuntimeError, match="is a view and is being modified inplace"):
        first.add_(1)


PARTS = {
    "unbind": lambda L, x: x.unbind(-1),
    "split": lambda L, x: x.split(2, 1),
    "split sizes": lambda L, x: x.split([1, 0, 4], -1),
    "chunk": lambda L, x: x.chunk(2, 1),
    "chunk of nothing": lambda L, x: x[:0].chunk(3),
    "unbind_copy": lambda L, x: L.unbind_copy(x, 1),
    "split_copy": lambda L, x: L.split_copy(x, 2, 1),
    "split_with_sizes_copy": lambda L, x: L.split_with_sizes_copy(x, [1, 4], 1),
    "unsafe_split": lambda L, x: L.unsafe_split(x, 2, 1),
    "unsafe_split_with_sizes": lambda L, x: L.unsafe_split_with_sizes(x, [1, 4], 1),
    "unsafe_chunk": lambda L, x: L.unsafe_chunk(x, 2, 1),
}


@pytest.mark.parametrize("name", PARTS)
def test_parts_share_one_node_that_joins_their_gradients(name):
    """Also where only some of them, or none with elements, get one; and of gradients themselves."""

    def come(L):
        x = L.arange(15.0).reshape(3, 5).requires_grad_()
        parts = PARTS[name](L, x * 1)
        node = parts[0].grad_fn
        loss = (parts[-1] ** 3).sum()
        (g,) = L.autograd.grad(loss, x, create_graph=True)
        (g**2).sum().backward()
        return (
            [part.tolist() for part in parts],
            [part.stride() for part in parts],
            [part._is_view() for part in parts],
            node.name(),
            [part.grad_fn is node for part in parts],
            [function.name() for function, _ in node.next_functions],
            g.tolist(),
            x.grad.tolist(),
        )

    assert come(adjoint) == come(torch)


def test_parts_of_more_sizes_than_a_tensor_has_dimensions():
    for L in (adjoint, torch):
        x = L.arange(100.0, requires_grad=True)
        parts = x.split([1] * 100)
        assert [part.item() for part in parts] == list(range(100))
        parts[70].backward(L.ones(1))
        assert x.grad.nonzero().tolist() == [[70]]
        assert [part.shape for part in L.zeros(0, 3).chunk(100)] == [(0, 3)] * 100


def test_backward_of_parts_may_come_twice_where_nothing_is_saved():
    x = adjoint.ones(4, requires_grad=True)
    first, second = x.split(2)
    first.sum().backward()
    second.sum().backward()
    assert x.grad.tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize(
    "shape", [(), (1,), (5,), (1, 5), (5, 1), (2, 1, 3), (1, 2, 1, 3), (1, 3, 1), (2, 0), (0, 1, 3)]
)
def test_strides_of_single_elements(shape):
    """Where a dimension has one element its stride is of no account, and still torch's."""

    def strides(library):
        x = library.zeros(shape)
        layouts = [x, x.transpose(0, -1), x.unsqueeze(-1)] if shape else [x]
        layouts += [x[..., ::2], x.unsqueeze(0).expand(3, *shape)] if shape else []
        for x in layouts:
            yield [x.expand(n, *x.shape).stride() for n in (1, 2)], x.expand(1, 2, 1, *x.shape).stride()
            yield x.broadcast_to((1, *x.shape)).stride(), library.broadcast_tensors(x, library.ones(1, 1))[0].stride()
            yield x.reshape(x.shape).stride(), x.view(*x.shape, 1).stride(), x.view(1, *x.shape).stride()
            yield x.reshape(-1).stride(), x.unsqueeze(0).stride(), x.squeeze().stride(), x[None, ..., None].stride()
            if x.numel():
                yield x.reshape(1, -1).stride(), x.reshape(-1, 1).stride(), x.flatten().stride()
                yield x[0:1].stride() if x.ndim else (), (x + 1).stride(), x.clone().stride()
            yield x.nonzero().stride(), [column.stride() for column in x.nonzero(as_tuple=True)]

    assert list(strides(adjoint)) == list(strides(torch))


def test_resize_as_keeps_the_order_of_its_template():
    for library in LIBRARIES:
        last = library.zeros(1, 2, 3, 4).to(memory_format=library.channels_last)
        assert library.zeros(2).resize_as_(last, memory_format=library.preserve_format).stride() == (24, 1, 8, 2)
        turned = library.zeros(3, 4).t()
        assert library.zeros(2).resize_as_(turned, memory_format=library.preserve_format).stride() == (3, 1)


def test_reversed_turns_the_first_dimension():
    for library in LIBRARIES:
        assert reversed(library.arange(6).reshape(2, 3)).tolist() == [[3, 4, 5], [0, 1, 2]]
        assert reversed(library.tensor(1.0)).item() == 1.0
