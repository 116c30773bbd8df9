"""Sizes and memory that change in place under vmap: resize_, resize_as_, set_, beside calls one by one."""

import pytest

import adjoint

from .compare import LIBRARIES, numbers

vmap, grad, jvp = adjoint.vmap, adjoint.func.grad, adjoint.func.jvp


def kept(x, count):
    """The elements of each row that a change of its size keeps."""
    return x.reshape(x.shape[0], -1)[:, :count].tolist()


RESIZED = {
    "fewer": lambda x: x.clone().resize_(2),
    "more": lambda x: x.clone().resize_(3, 5),
    "as many": lambda x: x.clone().resize_(6),
    "none": lambda x: x.clone().resize_(2, 0),
    "a number": lambda x: x.clone().resize_(()),
    "the same sizes": lambda x: x.clone().resize_(2, 3),
    "in other order in memory": lambda x: x.clone().t().resize_(4),
    "the same sizes in other order": lambda x: x.clone().t().resize_(3, 2),
    "of a view": lambda x: x.clone()[1:].resize_(2),
    "as another": lambda x: x.clone().resize_as_(x[:, :2]),
    "as one that is shared": lambda x: x.clone().resize_as_(adjoint.ones(5, 3)),
    "twice": lambda x: x.clone().resize_(4).resize_(2, 1),
}


@pytest.mark.parametrize("dims", [0, -1])
@pytest.mark.parametrize("name", RESIZED)
def test_each_element_is_resized(name, dims):
    change, x = RESIZED[name], numbers(adjoint, 4, 2, 3).movedim(0, dims)
    expected = [change(one.clone()) for one in x.unbind(dims)]
    found = vmap(change, in_dims=dims)(x)
    assert found.shape == (4, *expected[0].shape)
    count = min(expected[0].numel(), 6)
    assert kept(found, count) == [one.flatten()[:count].tolist() for one in expected]


def test_batches_of_batches_and_of_nothing():
    x = numbers(adjoint, 2, 3, 4)
    assert vmap(vmap(lambda x: x.clone().resize_(2)))(x).tolist() == x[:, :, :2].tolist()
    assert vmap(vmap(lambda x: x.clone().resize_(9)))(x)[:, :, :4].tolist() == x.tolist()
    assert vmap(lambda x: x.clone().resize_(2, 2))(adjoint.ones(0, 3)).shape == (0, 2, 2)
    assert vmap(lambda x: x.clone().resize_(2))(adjoint.ones(3, 0)).shape == (3, 2)
    assert vmap(lambda x: x.clone().resize_(1, 1))(adjoint.ones(3)).tolist() == [[[1.0]]] * 3


def test_what_is_new_is_set_where_results_must_not_vary():
    adjoint.use_deterministic_algorithms(True)
    try:
        assert vmap(lambda x: x.clone().resize_(3))(adjoint.ones(2, 1))[:, 1:].isnan().all()
    finally:
        adjoint.use_deterministic_algorithms(False)


def test_memory_stays_as_long_as_it_is_enough():
    x = numbers(adjoint, 3, 4)
    before = x.clone()
    vmap(lambda row: row.resize_(2).zero_())(x)
    assert (x[:, :2] == 0).all()
    assert (x[:, 2:] == before[:, 2:]).all()
    assert x.shape == (3, 4)
    vmap(lambda row: row.resize_(6).zero_())(x)  # which is other memory
    assert (x[:, 2:] == before[:, 2:]).all()


def test_a_resized_tensor_is_not_what_was_saved():
    def f(x):
        y = x.detach().clone()
        z = (x * y).sum()
        y.resize_(1)
        return z

    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        vmap(grad(f))(adjoint.ones(2, 3))


def test_inside_and_around_of_other_transforms():
    x = numbers(adjoint, 3, 4)
    functional = vmap(adjoint.func.functionalize(lambda x: x.clone().resize_(2)))
    assert functional(x).tolist() == x[:, :2].tolist()
    out, tangent = vmap(lambda x: jvp(lambda y: adjoint.zeros_like(x).resize_as_(y[:2]) + y[:2], (x,), (x,)))(x)
    assert out.tolist() == tangent.tolist() == x[:, :2].tolist()
    shared = vmap(lambda x: grad(lambda w: (w.detach().clone().resize_(1) * x).sum() * w.sum())(adjoint.ones(3)))(x)
    assert shared.shape == (3, 3)


REFUSED = {
    "that requires grad": (lambda L, x: L.func.grad(lambda y: y.clone().resize_(2).sum())(x), RuntimeError),
    "shared, as one that is not": (lambda L, x: L.zeros(5).resize_as_(x), RuntimeError),
    "in other order": (
        lambda L, x: x.clone().resize_(1, 1, 2, 2, memory_format=L.channels_last),
        RuntimeError,
    ),
    "by a fraction": (lambda L, x: x.clone().resize_(2.5), TypeError),
    "as a number": (lambda L, x: x.clone().resize_as_(3), TypeError),
    "shared, set to one that is not": (lambda L, x: L.zeros(5).set_(x), RuntimeError),
    "set where there is a gradient": (
        lambda L, x: L.func.grad(lambda y: y.clone().set_(L.zeros(1)).sum())(x),
        RuntimeError,
    ),
    "set to a number": (lambda L, x: x.clone().set_(3), TypeError),
}


@pytest.mark.filterwarnings("ignore:There is a performance drop")  # torch's, of set_
@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    call, kind = REFUSED[name]
    words = []
    for L in LIBRARIES:
        with pytest.raises(kind) as raised:
            L.vmap(lambda x, L=L: call(L, x))(L.ones(3, 4))
        words.append(str(raised.value)[:20])
    assert words[0] == words[1]


def test_sizes_that_differ_from_element_to_element_are_refused():
    with pytest.raises(TypeError, match="sizes must be ints, the same for all elements"):
        vmap(lambda x: x.clone().resize_(x[0].long()))(adjoint.ones(1, 4))


@pytest.mark.parametrize("around", [lambda f: vmap(f), lambda f: lambda x: jvp(f, (x,), (x,))])
def test_tensors_of_other_levels_are_not_resized_under_vmap(around):
    x = numbers(adjoint, 3, 4)
    with pytest.raises(RuntimeError, match="cannot resize variables that"):
        vmap(lambda x: jvp(lambda x: x.clone().resize_(1), (x,), (x,)))(x)
    with pytest.raises(RuntimeError, match="cannot resize variables that"):
        around(vmap(lambda x: x.clone().resize_(1)))(x[None].requires_grad_())


SET = {
    "to another": lambda x: adjoint.zeros_like(x).set_(x[1:]),
    "to one that is shared": lambda x: x.clone().set_(adjoint.arange(3.0, dtype=x.dtype)),
    "to nothing": lambda x: x.clone().set_(),
    "to some of it": lambda x: x.clone().set_(x, 1, (2,), (2,)),
    "to a part in order": lambda x: x.clone().set_(x, 1, (2,)),
}


@pytest.mark.parametrize("name", SET)
def test_each_element_gets_other_memory(name):
    x = numbers(adjoint, 3, 4)
    found = vmap(SET[name])(x)
    assert found.tolist() == [SET[name](row).tolist() for row in x]
    assert vmap(SET[name])(x[:0]).shape == (0, *found.shape[1:])
    assert vmap(vmap(SET[name]))(x[None])[0].tolist() == found.tolist()


def test_memory_that_is_set_is_shared():
    x = numbers(adjoint, 3, 4)
    before = x.clone()
    vmap(lambda row: adjoint.zeros_like(row).set_(row).mul_(2))(x)
    assert x.tolist() == (before * 2).tolist()


@pytest.mark.parametrize("change", [
    lambda x: x.clone().set_(x.float()), lambda x: x.clone().set_(x, 0, (2,), (-1,)),
    lambda x: x.clone().set_(x[::2], 0, (2,)),
])  # fmt: skip
def test_what_one_element_refuses_a_batch_does(change):
    x = numbers(adjoint, 3, 4)
    words = []
    for call in (lambda: change(x[0].clone()), lambda: vmap(change)(x)):
        with pytest.raises(RuntimeError) as raised:
            call()
        words.append(str(raised.value))
    assert words[0] == words[1]


def test_memory_of_a_batch_does_not_grow():
    with pytest.raises(RuntimeError, match="setStorage: sizes"):
        vmap(lambda x: x.clone().set_(x, 3, (2,)))(numbers(adjoint, 3, 4))
