"""In-place ops, views and the history they rewrite: each program runs on both libraries and must give the same."""

import warnings

import pytest
import torch

import adjoint

from .compare import leaf, programs

program, test_program = programs()


def matrix(L):
    return L.arange(6.0).reshape(2, 3).clone().requires_grad_()


def graph(tensor):
    """The names of the nodes behind a tensor, each with those it leads to."""

    def show(node):
        return None if node is None else (node.name(), [show(next_node) for next_node, _ in node.next_functions])

    return show(tensor.grad_fn)


def message(action):
    """The type and the opening words of what an action raises."""
    try:
        action()
    except RuntimeError as error:
        return type(error).__name__, str(error)[:40]
    return None


# ---- What is refused


@program
def leaf_that_requires_grad(L):
    x = leaf(L, 1.0, 2.0)
    actions = [x.zero_, x.exp_, lambda: x.add_(1), lambda: x.copy_(L.ones(2)), lambda: x.fill_(3.0), lambda: x.mul_(x)]
    return [message(action) for action in actions], x, x._version


@program
def leaf_in_augmented_assignment(L):
    x = leaf(L, 1.0, 2.0)
    x *= 2


@program
def leaf_by_mask(L):
    x = leaf(L, 1.0, -2.0)
    x[x > 0] = 3.0


@program
def view_of_a_leaf(L):
    x = matrix(L)
    views = [x[0], x[:, 1:], x.t(), x.view(-1), x[0][1:], x.diagonal(), x.unsqueeze(0), x.expand(2, 3)]
    return [message(lambda view=view: view.mul_(2)) for view in views], x._version


@program
def view_that_requires_grad_itself(L):
    base = L.zeros(3)
    view = base[1:]
    view.requires_grad_()
    return message(lambda: view.add_(1)), base.requires_grad, view.is_leaf, base.add_(1), view


@program
def outputs_of_multi_output_views(L):
    y = matrix(L) * 2
    views = [y.unbind(0)[1], y.split(1)[0], y.chunk(2)[1], y.split([1, 2], 1)[1], y.unbind(0)[0][1:]]
    return [message(lambda view=view: view.add_(1)) for view in views], y


@program
def base_of_multi_output_views(L):
    y = matrix(L) * 2
    first, _ = y.unbind(0)
    y.mul_(2)
    return message(lambda: first.grad_fn), message(lambda: first * 2), y


@program
def multi_output_views_without_grad(L):
    base = L.zeros(2, 3)
    first, _ = base.unbind(0)
    first.add_(1)
    return base, message(lambda: first.mul_(leaf(L, 1.0, 2.0, 3.0))), base


@program
def multi_output_views_under_no_grad(L):
    y = matrix(L) * 2
    first, _ = y.unbind(0)
    with L.no_grad():
        first.add_(1)
    return y.detach(), message(lambda: first.grad_fn)


@program
def view_made_under_no_grad(L):
    y = matrix(L) * 2
    with L.no_grad():
        view = y[0]
        inside = view.add_(1)
    return message(lambda: view.add_(1)), message(lambda: view[1:].add_(1)), y, inside.requires_grad


@program
def view_made_under_no_grad_of_a_leaf(L):
    x = matrix(L)
    with L.no_grad():
        view = x[0]
    product = view * 3
    return (
        view.requires_grad,
        view.is_leaf,
        view.grad_fn,
        product.requires_grad,
        product.grad_fn.next_functions[0],
        message(view.sum().backward),
        x.grad,
        message(view.backward),
    )


@program
def view_made_under_no_grad_of_a_changed_base(L):
    y = matrix(L) * 2
    with L.no_grad():
        view = y[0]
    y.add_(1)
    return message(lambda: view.grad_fn), message(lambda: view.is_leaf), view.requires_grad


@program
def view_made_under_inference_mode(L):
    y = matrix(L) * 2
    with L.inference_mode():
        view = y[0]
    return message(lambda: view.add_(1)), view.is_inference(), view._is_view()


@program
def inference_tensor(L):
    with L.inference_mode():
        made = L.ones(3)
        made.add_(1)
        view = made[1:]
    clone = made.clone()
    clone.add_(1)
    return (
        message(lambda: made.add_(1)),
        message(lambda: view.add_(1)),
        message(lambda: made.requires_grad_()),
        message(lambda: made * leaf(L, 1.0, 1.0, 1.0)),
        clone,
        clone.is_inference(),
        view._is_view(),
    )


@program
def expanded_tensor(L):
    y = leaf(L, 1.0) * 2
    return message(lambda: y.expand(3).add_(1)), y._version


@program
def overlapping_operand(L):
    y = L.arange(4.0)
    return message(lambda: y[1:].add_(y[:-1])), message(lambda: y[:2].copy_(y[1:3])), y, y[:2].add_(y[2:])


# ---- Saved values


@program
def saved_operand_changed_through_a_view(L):
    y = leaf(L, 1.0, 2.0) * 2
    z = y * y
    y[0] = 5
    z.sum().backward()


@program
def saved_view_changed_through_the_base(L):
    y = leaf(L, 1.0, 2.0) * 2
    z = y[1:] * y[1:]
    y.add_(1)
    z.sum().backward()


@program
def saved_result_changed(L):
    z = leaf(L, 1.0, 2.0).exp()
    z[0].zero_()
    z.sum().backward()


@program
def versions(L):
    x = leaf(L, 1.0, 2.0)
    y = x * 2
    counts = [y._version]
    view, detached, data = y[:1], y.detach(), y.data
    for change in (lambda: y.add_(1), lambda: view.mul_(2), lambda: detached.zero_(), lambda: data.add_(1)):
        change()
        counts.append((y._version, view._version, detached._version, data._version))
    with L.no_grad():
        y.add_(1)
    counts.append(y._version)
    y[0] = 1.0
    y[:] = x
    y[y > 0] *= 2
    y += 1
    return counts, y._version


# ---- History rewritten


@program
def chain_of_in_place_ops(L):
    x = leaf(L, 1.0, 2.0)
    y = x * 2
    y.add_(1).mul_(3).sub_(x).neg_().div_(2)
    y.sin_()
    y.sum().backward()
    return graph(y), [round(value, 5) for value in x.grad.tolist()], y._version


@program
def in_place_on_a_view_of_a_view(L):
    x = matrix(L)
    y = x * 2
    row = y[1]
    part = row[1:]
    part.mul_(10)
    names = graph(y), row.grad_fn.name(), part.grad_fn.name()
    row.add_(part.sum())
    y.sum().backward()
    return names, x.grad, y, row, part


@program
def history_of_the_base_and_its_views(L):
    x, w = matrix(L), leaf(L, 5.0, 7.0)
    y = x * 2
    column, row, whole = y[:, 0], y[0], y.view(-1)
    column.mul_(w)
    names = [tensor.grad_fn.name() for tensor in (y, column, row, whole)]
    (row.sum() + 2 * whole[3]).backward()
    return names, x.grad, w.grad


@program
def copy_slices_edges(L):
    x, w = matrix(L), leaf(L, 5.0, 6.0, 7.0)
    y = x * 2
    y[0].mul_(w)
    node = y.grad_fn
    return node.name(), type(node).__name__, [n.name() for n, _ in node.next_functions], y[0].grad_fn.name()


@program
def transposed_and_strided_slices(L):
    x = L.arange(12.0).reshape(3, 4).clone().requires_grad_()
    y = (x * 2).t()
    y[::2].mul_(3)
    y[1:, :2] += x[:2, :3].t()
    y.diagonal().zero_()
    (y * L.arange(12.0).reshape(4, 3)).sum().backward()
    return x.grad, y


@program
def assignment_with_recorded_values(L):
    x, v = matrix(L), leaf(L, 9.0, 8.0, 7.0)
    y = x.clone()
    y[0] = v
    y[1, 1:] = v[:2] * 2
    y[..., 0] = v[2]
    (y * y).sum().backward()
    return x.grad, v.grad, y


@program
def assignment_into_a_constant(L):
    v = leaf(L, 9.0, 8.0)
    out = L.zeros(2, 2)
    early = out[0]
    for i in range(2):
        out[i] = v * (i + 1)
    (out.sum() + early.sum()).backward()
    return v.grad, out, early


@program
def masked_update(L):
    x = leaf(L, -1.0, 2.0, 3.0)
    y = x * 3
    y[y > 0] *= 2
    y.masked_fill_(x < 0, 4.0)
    (y * y).sum().backward()
    return x.grad, y


@program
def copies(L):
    x, v = matrix(L), leaf(L, 9.0, 8.0, 7.0)
    y = x * 2
    y.copy_(v)
    z = x * 3
    z[0].copy_(v)
    names = y.grad_fn.name(), z.grad_fn.name()
    (y + z).sum().backward()
    return names, x.grad, v.grad, y, z


@program
def copy_between_types(L):
    x = leaf(L, 1.0, 2.0)
    y = L.zeros(2, dtype=L.float64)
    y.copy_(x)
    (y * y).sum().backward()
    return x.grad, y


@program
def fills_with_numbers_of_full_precision(L):
    number = 0.475 + 0.1j
    real = [L.zeros(2, dtype=dtype).fill_(number.real) for dtype in (L.float64, L.float32, L.bfloat16, L.int64)]
    return real, L.fill(L.zeros(1, dtype=L.float64), 1 / 3), L.zeros(1, dtype=L.complex128).fill_(number)


@program
def copies_of_numbers_of_full_precision(L):
    dtypes = (L.float64, L.float32, L.bfloat16, L.int64, L.uint8, L.bool, L.complex128)
    return [[L.zeros(2, dtype=dtype).copy_(number) for dtype in dtypes] for number in (0.475, 1e39, 2.5, -3, 300, True)]


@program
def copies_of_the_same_memory(L):
    x = L.arange(6.0)
    bits = x.view(L.int32)
    return x.copy_(x), x.clone().copy_(bits), x.copy_(bits), x[::2].copy_(x[1::2]), x


@program
def filled_in_the_order_of_the_input(L):
    x = L.zeros(2, 3)
    return L.fill(x.t(), 1.0).stride(), L.fill(x.t(), L.tensor(2)), L.fill(x[:, ::2], 1.0).stride()


@program
def numbers_that_just_fit(L):
    mask, place = L.tensor([True, False]), L.tensor([0])
    calls = [
        *((L.int64, number) for number in (-(2.0**63), -(2.0**63) - 2048, 2.0**64)),
        *((L.bfloat16, number) for number in (3.3895e38, 3.39e38, 3.41e38, float("inf"))),
        *((L.uint8, number) for number in (255, -255, 256, -256, 255.5, -0.5)),
        *((L.float32, number) for number in (1j, 1 + 0j, 3.5e38)),
        *((L.complex64, number) for number in (1j, 1e39j)),
    ]
    results = []
    for dtype, number in calls:
        x = L.zeros(2, dtype=dtype)
        results.append(message(lambda x=x, number=number: x.masked_fill_(mask, number)))
        results.append(message(lambda x=x, number=number: x.index_fill_(0, place, number)))
        results.append(x)
    return results


def test_what_is_neither_a_tensor_nor_a_number():
    x, mask = adjoint.zeros(2), adjoint.tensor([True, False])
    calls = {
        "fill_": ("value", lambda wrong: x.fill_(wrong)),
        "fill": ("value", lambda wrong: adjoint.fill(x, wrong)),
        "copy_": ("other", lambda wrong: x.copy_(wrong)),
        "masked_fill": ("value", lambda wrong: x.masked_fill(mask, wrong)),
        "index_fill": ("value", lambda wrong: x.index_fill(0, adjoint.tensor([0]), wrong)),
        "where": ("input", lambda wrong: adjoint.where(mask, wrong, 1)),
    }
    for name, (argument, call) in calls.items():
        place = r" \(position 1\)" if name.endswith("_") else ""
        words = rf"{name}\(\): argument '{argument}'{place} must be Tensor or Number, not list"
        with pytest.raises(TypeError, match=words):
            call([1, 2])


@program
def fills(L):
    x, v = matrix(L), L.tensor(3.0, requires_grad=True)
    y = x * 2
    names = []
    for change in (lambda: y.fill_(1.0), lambda: y.fill_(v), lambda: y.zero_(), lambda: y.__setitem__(..., v)):
        change()
        names.append(y.grad_fn.name())
    (y * x).sum().backward()
    return names, v.grad, x.grad


@program
def real_part_of_a_complex_tensor(L):
    z = L.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    w = leaf(L, 2.0, 5.0)
    y = z * 2
    real, pairs = y.real, L.view_as_real(y)
    real.mul_(w)
    names = graph(y), real.grad_fn.name(), pairs.grad_fn.name(), real.grad_fn.next_functions[0][0].name()
    (y.imag * 3 + y.real).sum().backward()
    return names, z.grad, w.grad, y


@program
def complex_view_of_pairs(L):
    x = L.ones(2, 2).requires_grad_()
    y = x * 2
    z = L.view_as_complex(y)
    z.mul_(1j)
    names = y.grad_fn.name(), z.grad_fn.name()
    (y * L.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    return names, x.grad, y


@program
def second_derivative_through_a_slice(L):
    x = leaf(L, 1.0, 2.0, 3.0)
    y = x * x
    y[1:] *= x[1:]
    (g,) = L.autograd.grad(y.sum(), x, create_graph=True)
    (g * g).sum().backward()
    return g.detach(), x.grad


@program
def second_derivative_through_a_transposed_base(L):
    x = matrix(L)
    y = (x * x).t().contiguous().t().clone()
    y[0].mul_(x[1])
    (g,) = L.autograd.grad(y.sum(), x, create_graph=True)
    (g * g).sum().backward()
    return g.detach(), x.grad


@program
def base_that_is_a_strided_detach(L):
    w = leaf(L, 2.0, 3.0)
    base = L.arange(6.0)[::2].detach()
    base[1:].mul_(w)
    (base * base).sum().backward()
    return w.grad, base, base.stride()


@program
def second_backward_through_a_slice(L):
    x = leaf(L, 1.0, 2.0)
    y = x + 1
    y[0] = 3.0
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    return x.grad, message(y.sum().backward)


@program
def gradient_not_wanted_for_the_base(L):
    x, v = leaf(L, 1.0, 2.0), leaf(L, 3.0)
    y = x * 2
    y[:1] = v
    return L.autograd.grad(y.sum(), v), x.grad


@program
def stale_view_is_renewed(L):
    x = leaf(L, 1.0, 2.0, 3.0)
    y = x * 2
    view = y[1:]
    before = view.grad_fn.name()
    y.mul_(x)
    after = view.grad_fn.name()
    same_node = view.grad_fn is view.grad_fn
    view.sum().backward()
    return before, after, same_node, x.grad


@program
def stale_view_of_a_detached_base(L):
    x = leaf(L, 1.0, 2.0)
    y = x * 2
    view = y[1:]
    view.mul_(3)
    y.detach_()
    view.sum().backward()
    return x.grad, view.grad_fn.name(), y.requires_grad


@program
def hooks_and_retained_gradients(L):
    x = leaf(L, 1.0, 2.0)
    seen = []
    y = x * 2
    y.register_hook(lambda g: seen.append(("before", g.tolist())))
    y.retain_grad()
    y.mul_(5)
    y.register_hook(lambda g: seen.append(("after", g.tolist())))
    view = y[:1]
    view.retain_grad()
    (view * 7).sum().backward()
    return seen, y.grad, view.grad, x.grad


# ---- Base, detach, data, requires_grad, out=


@program
def is_view_and_base(L):
    x = matrix(L)
    y = x * 2
    row = y[0]
    part = row[1:]
    views = [row, part, y.t(), y.view(-1), y[None], y.expand(4, 2, 3), y.unbind(0)[0], y.diagonal(), y.squeeze()]
    others = [x, y, y.detach(), y.data, y.clone(), y[[0, 1]], y[y > 0], y + 1]
    return (
        [(view._is_view(), view._base is y) for view in views],
        [(other._is_view(), other._base) for other in others],
        y.real is y,
    )


@program
def detach_in_place(L):
    x = leaf(L, 1.0, 2.0)
    y = x * 2
    z = y * 3
    result = y.detach_()
    z.sum().backward()
    return result is y, y, x.grad, message((x * 2)[0].detach_), message(L.zeros(2)[0].detach_)


@program
def requires_grad_changes(L):
    x = leaf(L, 1.0, 2.0)
    y = x * 2
    x.requires_grad_(False)
    y.sum().backward()
    return (
        x.grad,
        x.add_(1),
        message(lambda: y.requires_grad_(False)),
        y.requires_grad_().is_leaf,
        message(lambda: setattr(y, "requires_grad", True)),
        message(lambda: L.ones(2, dtype=L.int64).requires_grad_()),
    )


@program
def leaf_moved_into_the_graph(L):
    x, w = leaf(L, 1.0, 2.0), leaf(L, 3.0, 4.0)
    y = x * 2
    x.requires_grad_(False)
    x.mul_(w)
    y.sum().backward()


@program
def data_has_its_own_version(L):
    x = leaf(L, 1.0, 2.0)
    z = x * x
    x.data.mul_(10)
    z.sum().backward()
    return x.grad, x, x._version, x.data.requires_grad


@program
def data_replaced(L):
    x = leaf(L, 1.0, 2.0)
    with L.no_grad():
        x.add_(1)
    x.data = L.tensor([5.0, 6.0, 7.0])
    (x * x).sum().backward()
    return x, x.grad, x._version, x.is_leaf


@program
def out_arguments(L):
    x, out = leaf(L, 1.0, 2.0), L.zeros(2)
    recorded = leaf(L, 1.0, 2.0) * 2
    with L.no_grad():
        inside = L.add(x, x, out=out)
    return (
        message(lambda: L.add(x, x, out=out)),
        message(lambda: L.add(L.ones(2), 1, out=recorded)),
        inside,
        inside is out,
        out._version,
        L.mul(L.ones(2), 3, out=out),
    )


@program
def in_place_under_no_grad_keeps_the_history(L):
    x = leaf(L, 1.0, 2.0)
    y = x * 2
    with L.no_grad():
        y.mul_(100)
        y[0] = 7.0
    y.sum().backward()
    return y, x.grad


@program
def comparisons_and_integers_are_not_recorded(L):
    x = leaf(L, 1.0, 2.0)
    counts = L.zeros(2, dtype=L.int64)
    counts += (x > 1).long()
    y = x * 1
    y.gt_(1.0)
    return counts, y, y.grad_fn.name()


def test_many_slices_of_one_base():
    x = adjoint.ones(1000, requires_grad=True)
    y = x * 1
    for i in range(1000):
        y[i : i + 1].mul_(i)
    y.sum().backward()
    assert x.grad.tolist() == [float(i) for i in range(1000)]
    assert y.tolist() == [float(i) for i in range(1000)]


def test_view_of_a_leaf_that_is_a_view_keeps_its_history():
    # In torch the gradient is lost here without a word.
    x = adjoint.arange(6.0).reshape(2, 3).requires_grad_()
    row = x[0]
    with adjoint.no_grad():
        x.add_(1)
    row.sum().backward()
    assert x.grad.tolist() == [[1.0] * 3, [0.0] * 3]


def test_stale_view_may_be_changed_at_once():
    # In torch only after somebody has looked at its grad_fn.
    x = leaf(adjoint, 1.0, 2.0)
    base = adjoint.zeros(2)
    view = base[:1]
    base.add_(x)
    view.mul_(3)
    base.sum().backward()
    assert x.grad.tolist() == [3.0, 1.0]


# ---- What a failure leaves behind


def failing_assignments(L, y):
    """Assignments to a matrix of 2 x 3, each with something wrong."""
    rows, mask, value = L.tensor([1, 0]), L.tensor([True, False]), leaf(L, 5.0, 6.0, 7.0)
    return [
        lambda: y.__setitem__(L.tensor([0, 2]), value),
        lambda: y.__setitem__((rows, L.tensor([0, 7])), value[:2]),
        lambda: y.__setitem__(rows, value[:2]),
        lambda: y.__setitem__(mask, value[:2]),
        lambda: y.__setitem__(rows, value.double()),
        lambda: y.index_put_((rows, rows, rows), value),
        lambda: y.index_put_((rows.float(),), value),
        lambda: y.index_put_((L.tensor([1, -3]),), value, accumulate=True),
    ]


@program
def assignments_that_fail(L):
    kinds = []
    for action in failing_assignments(L, matrix(L) * 1):
        try:
            action()
        except (RuntimeError, IndexError) as error:
            kinds.append(type(error).__name__)
    return kinds


def test_assignments_that_fail_change_nothing():
    """torch may write some of the values before it finds what is wrong."""
    y = matrix(adjoint) * 1
    before = y.tolist(), y._version, y.grad_fn
    for action in failing_assignments(adjoint, y):
        with pytest.raises((RuntimeError, IndexError)):
            action()
        assert (y.tolist(), y._version, y.grad_fn) == before


# ---- Writing where an index says, without a copy of the whole


def writes(L, x):
    """In-place calls that write to a few places of a tensor of 4 x 6."""
    rows, every, src = L.tensor([2, 0, 2]), L.tensor([2, 0, 1]), L.arange(18.0).reshape(3, 6)
    places = L.tensor([[0, 1, 2, 3, 0, 1], [1, 1, 1, 1, 1, 1]])
    return {
        "index_put_": lambda: x.index_put_((every,), src),
        "index_add_": lambda: x.index_add_(0, rows, src, alpha=2),
        "index_copy_": lambda: x.index_copy_(0, every, src),
        "index_reduce_": lambda: x.index_reduce_(0, rows, src, "amax"),
        "scatter_": lambda: x.scatter_(0, places, src),
        "scatter_ number": lambda: x.scatter_(0, places, 5.0),
        "scatter_add_": lambda: x.scatter_add_(0, places, src),
        "scatter_reduce_": lambda: x.scatter_reduce_(0, places, src, "mean"),
    }


WRITES = list(writes(adjoint, None))


def written(L, name, x):
    """What a call of `writes` leaves, and where."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # index_reduce_ is in beta
        result = writes(L, x)[name]()
    return result is x, x.tolist(), x.stride(), x._version


@pytest.mark.parametrize("name", WRITES)
def test_writing_by_index_on_any_strides(name):
    def layouts(L):
        yield L.arange(24.0).reshape(4, 6)
        yield L.arange(24.0).reshape(6, 4).t()
        yield L.arange(96.0).reshape(8, 12)[::2, 1::2]

    for ours, theirs in zip(layouts(adjoint), layouts(torch), strict=True):
        assert written(adjoint, name, ours) == written(torch, name, theirs)


@pytest.mark.parametrize("name", WRITES)
def test_writing_by_index_takes_no_copy_of_the_whole(name):
    whole = adjoint.zeros(4000, 6)
    adjoint.reset_peak_memory_stats()
    before = adjoint.memory_stats()["current"]
    written(adjoint, name, whole)
    assert adjoint.memory_stats()["peak"] - before < whole.numel()  # of its bytes, four times as many
