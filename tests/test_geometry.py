"""Tensors that change their geometry or their memory in place: each program runs on both libraries alike."""

import random

import pytest

import adjoint

from .compare import LIBRARIES, leaf, programs, same
from .test_inplace import graph, matrix, message

program, test_program = programs()


def shown(tensor):
    """What can be seen of a tensor's memory and history at this moment."""
    name = tensor.grad_fn.name() if tensor.grad_fn is not None else None
    place = tensor.stride(), tensor.storage_offset(), tensor._version, tensor._is_view()
    return tuple(tensor.shape), place, tensor.detach().tolist(), tensor.requires_grad, name


def refusal(action):
    """The type and the opening words of what an action raises."""
    try:
        action()
    except Exception as error:
        return type(error).__name__, str(error)[:33]
    return None


CHANGES = {
    "transpose_": lambda x: x.transpose_(0, 2),
    "swapaxes_": lambda x: x.swapaxes_(0, 1),
    "swapaxes_ by name": lambda x: x.swapaxes_(axis0=0, axis1=1),
    "swapdims_": lambda x: x.swapdims_(1, 2),
    "t_": lambda x: x.squeeze_(1).t_(),
    "squeeze_": lambda x: x.squeeze_(),
    "squeeze_ one": lambda x: x.squeeze_(1),
    "squeeze_ none": lambda x: x.squeeze_(0),
    "squeeze_ several": lambda x: x.squeeze_((0, 1)),
    "unsqueeze_": lambda x: x.unsqueeze_(-1),
    "as_strided_": lambda x: x.as_strided_((2, 2), (3, 1)),
    "as_strided_ further": lambda x: x.as_strided_((2,), (2,), 1),
}


# ---- Other geometries of the same memory


@pytest.mark.parametrize("name", CHANGES)
def test_change_of_geometry(name):
    change = CHANGES[name]

    def run(L):
        plain = L.arange(6.0).reshape(2, 1, 3).clone()
        state = [change(plain) is plain, shown(plain)]
        x = L.arange(6.0).reshape(2, 1, 3).clone().requires_grad_()
        state.append(refusal(lambda: change(x)))
        y = x * 2
        change(y)
        state += [shown(y), graph(y)]
        y.mul_(3)
        (y * y).sum().backward()
        return [*state, shown(y), x.grad]

    same(run)


@pytest.mark.parametrize("name", CHANGES)
def test_change_of_geometry_of_a_view(name):
    change = CHANGES[name]

    def run(L):
        x = L.arange(12.0).reshape(2, 2, 1, 3).clone().requires_grad_()
        y = x * 2
        first, second = y[0], y[1]
        change(first)
        state = [shown(first), shown(y), shown(second), first._base is y]
        first.mul_(3)
        state += [shown(first), shown(y), first.grad_fn.name()]
        (y * L.arange(12.0).reshape(2, 2, 1, 3)).sum().backward()
        with L.no_grad():
            inside = y[0]
            change(second)
        return [*state, x.grad, refusal(lambda: change(inside)), shown(second)]

    same(run)


@program
def view_of_a_transposed_base(L):
    x = matrix(L)
    y = x * 2
    flat = y.view(-1)
    y.t_()
    names = [shown(flat), shown(y)]
    y[1].mul_(10)
    names += [shown(flat), shown(y)]
    (flat * L.arange(6.0)).sum().backward()
    return names, x.grad


@program
def saved_value_and_change_of_geometry(L):
    y = matrix(L) * 2
    z = y * y
    y.t_()
    z.sum().backward()


@program
def leaf_transposed_under_no_grad(L):
    x = matrix(L)
    with L.no_grad():
        x.t_()
    x.sum().backward()
    return shown(x), x.grad, x.grad.stride()


@program
def leaf_transposed_while_a_graph_holds_it(L):
    x = matrix(L)
    y = x * 2
    with L.no_grad():
        x.t_()
    return refusal(lambda: x.sum().backward()), refusal(lambda: y.sum().backward()), x.grad


@program
def geometry_of_inference_tensors(L):
    with L.inference_mode():
        made = L.ones(2, 3)
        inside = made.t_().shape
    return [refusal(action) for action in (made.t_, lambda: made.unsqueeze_(0), lambda: made.resize_(2))], tuple(inside)


@program
def dimensions_that_do_not_exist(L):
    x = L.zeros(2, 3)
    return [
        refusal(action)
        for action in (
            lambda: x.transpose_(0, 2),
            lambda: x.unsqueeze_(4),
            lambda: x.squeeze_(2),
            lambda: x.as_strided_((7,), (1,)),
        )
    ], shown(x)


# ---- resize_


@program
def resized(L):
    x = L.arange(6.0)
    states = [shown(x.resize_(2, 3)), shown(x.resize_(4)), shown(x.resize_((2,))), shown(x.resize_([1, 2]))]
    states += [shown(x.resize_as_(L.zeros(3, 1))), shown(x.resize_(3, 1)), shown(x.resize_(size=(2,)))]
    x.resize_(8)
    return states, x.tolist()[:3], tuple(x.shape), x._version


@program
def resized_views(L):
    x = L.arange(6.0)
    tail = x[2:]
    states = [shown(tail.resize_(2)), shown(tail.resize_(4)), shown(tail.resize_(2, 2))]
    turned = L.arange(6.0).view(2, 3).t()
    return states, x, shown(turned.resize_(3, 2)), shown(turned.resize_(2, 3))


@program
def resized_in_a_memory_format(L):
    x = L.arange(16.0)
    states = [shown(x.resize_(2, 2, 2, 2, memory_format=L.channels_last))]
    states.append(shown(x.resize_as_(L.ones(1, 4, 2, 1), memory_format=L.channels_last)))
    return states, refusal(lambda: x.resize_(2, memory_format=L.preserve_format))


@program
def resizing_refused(L):
    x = matrix(L)
    y = x * 2
    with L.no_grad():
        inside = refusal(lambda: x.resize_(3))
    return inside, [
        refusal(action)
        for action in (
            lambda: x.resize_(3),
            lambda: y.resize_(3),
            lambda: y.resize_as_(x),
            lambda: L.zeros(2).resize_(),
        )
    ]


@program
def memory_that_tensors_share_grows_for_all(L):
    x = L.arange(4.0)
    head, tail = x[:2], x[2:]
    tail.resize_(5)
    tail[:] = 7.0
    head[0] = 5.0
    return shown(x), shown(head), shown(tail), tail._version, tail.untyped_storage() is x.untyped_storage()


# ---- set_


@program
def set_to_nothing(L):
    x = L.zeros(3)
    return x.set_() is x, shown(x)


@program
def set_to_a_tensor(L):
    x, y = L.zeros(3), L.arange(6.0).view(2, 3)
    same_object = x.set_(y) is x
    x[0, 0] = 9
    y.add_(1)
    return same_object, shown(x), shown(y), x.set_(source=L.ones(4)[::2]).stride()


@program
def set_to_a_place_in_a_storage(L):
    x, y = L.zeros(3), L.arange(6.0)
    states = [shown(x.set_(y, 1, (2, 2), (2, 1))), shown(x.set_(y, 2, (2, 2))), shown(x.set_(y[1:], 2, (2,)))]
    y.mul_(10)
    return states, shown(x), shown(y)


@program
def setting_refused(L):
    x, y = leaf(L, 1.0, 2.0), L.zeros(2)
    return [
        refusal(action)
        for action in (
            lambda: x.set_(y),
            lambda: x.set_(),
            lambda: x[1:].set_(y),
            lambda: y.set_(L.zeros(2, dtype=L.int64)),
            lambda: y.set_(L.zeros(2, dtype=L.complex64)),
            lambda: y.set_(3),
            lambda: y.set_(y, 1),
            lambda: y.set_(y, -1, (1,)),
        )
    ], shown(y)


@program
def history_of_what_was_set(L):
    x = leaf(L, 1.0, 2.0, 3.0)
    y, z = x * 2, L.zeros(2)
    square = y * y
    y.set_(L.ones(2))
    z.set_(x)
    edges = [[node and node.name() for node, _ in tensor.grad_fn.next_functions] for tensor in (y, z)]
    return (
        edges,
        type(y.grad_fn).__name__,
        shown(y),
        shown(z),
        refusal((y * 3).sum().backward),
        refusal(square.sum().backward),
        x.grad,
    )


@program
def a_view_that_was_set(L):
    x = leaf(L, 1.0, 2.0, 3.0)
    y = x * 2
    view = y[1:]
    view.set_(L.ones(2))
    return graph(view), graph(y), shown(view), refusal(y.sum().backward)


@program
def leaf_set_under_no_grad(L):
    x = leaf(L, 1.0, 2.0)
    x.sum().backward()
    x.grad = None
    with L.no_grad():
        x.set_(L.arange(4.0))
    (x * x).sum().backward()
    return shown(x), x.grad


# ---- .data =


@program
def data_of_other_sizes(L):
    x = leaf(L, 1.0, 2.0, 3.0)
    y = x * 2
    seen = []
    x.register_hook(lambda g: seen.append(tuple(g.shape)))
    x.data = L.ones(2, 2)
    y.sum().backward()
    first = x.grad
    x.grad = None
    x.sum().backward()
    return seen, first, x.grad, shown(x)


@program
def data_of_other_sizes_with_a_gradient(L):
    x = leaf(L, 1.0, 2.0, 3.0)
    x.sum().backward()
    x.data = L.ones(2, 2)
    return refusal(lambda: x.sum().backward()), x.grad


@program
def data_of_another_type(L):
    x = leaf(L, 1.0, 2.0)
    x.data = L.ones(2, dtype=L.float64)
    x.sum().backward()
    y = L.ones(2)
    y.data = L.ones(3, dtype=L.int64)
    return (
        shown(x),
        x.grad,
        y,
        refusal(lambda: setattr(x, "data", L.ones(2, dtype=L.int64))),
        refusal(lambda: setattr(x, "data", 3)),
        refusal(lambda: setattr(x, "data", None)),
        refusal(lambda: delattr(x, "data")),
    )


@program
def data_of_computed_tensors_and_views(L):
    x = leaf(L, 1.0, 2.0, 3.0)
    y = x * 2
    y.data = L.zeros(3)
    view = y[1:]
    view.data = L.ones(4)
    state = shown(y), shown(view), view._base is y
    y.sum().backward()
    x.data += 1
    x.data[0] = 7
    return state, x.grad, shown(x)


# ---- .grad =


@program
def gradients_that_do_not_fit(L):
    x = leaf(L, 1.0, 2.0)
    values = [
        L.ones(3),
        L.ones(2, 1),
        L.ones(2, dtype=L.float64),
        L.ones(2, device="meta"),
        x,
        3,
        [1.0],
        L.ones(2, dtype=L.int64),
    ]
    return [refusal(lambda value=value: setattr(x, "grad", value)) for value in values], x.grad


@program
def gradient_whose_elements_share_memory(L):
    x = leaf(L, 1.0, 2.0)
    x.grad = L.ones(1).expand(2)
    return refusal(lambda: x.sum().backward()), x.grad


# ---- Views whose base was detached


def detached_base(L, steps):
    x = leaf(L, 1.0, 2.0, 3.0)
    y = x * 2
    space = {"y": y}
    exec(steps, space)
    z = space["z"]
    state = z.requires_grad, z.is_leaf, z.grad_fn and z.grad_fn.name()
    return state, refusal(lambda: z.sum().backward()), x.grad, y.grad, shown(y)


DETACHED = [
    "z = y[1:].mul_(2); y.detach_()",
    "z = y[1:]; z.mul_(2); y.detach_()",
    "z = y[1:]; z.mul_(2); z.grad_fn; y.detach_()",
    "z = y[1:]; y.mul_(2); y.detach_()",
    "z = y[1:]; y.mul_(2); z.grad_fn; y.detach_()",
    "z = y[1:]; y.detach_()",
    "z = y[1:]; y.detach_(); y.mul_(2)",
    "z = y[1:]; y.detach_(); y[0] = 5",
    "z = y[1:][:1].mul_(2); y.detach_()",
    "z = y[1:]; z[:1].mul_(2); y.detach_()",
    "z = y[1:].mul_(2); y.detach_(); y.requires_grad_()",
    "z = y[1:].mul_(2); z.grad_fn; y.detach_(); y.requires_grad_()",
    "z = y.view(3); y.add_(1); y.detach_(); y.requires_grad_()",
    "z = y[1:].mul_(2); y.add_(1); y.detach_()",
    "z = y[1:].mul_(2); z.requires_grad_(); y.detach_()",
    "z = y[1:].mul_(2); z.requires_grad = False",
    "z = y[1:].mul_(2); z.retain_grad(); y.detach_(); z.mul_(3)",
]


@pytest.mark.parametrize("steps", DETACHED)
def test_view_of_a_detached_base(steps):
    same(lambda L: detached_base(L, steps))


# ---- Hooks that outlive a history


@program
def hooks_after_detach(L):
    x, seen = leaf(L, 1.0, 2.0), []
    y = x * 2
    y.register_hook(lambda g: seen.append(1))
    z = y * 3
    y.detach_().requires_grad_()
    y.register_hook(lambda g: seen.append(2))
    y.sum().backward()
    before = list(seen)
    z.sum().backward()
    return before, seen, y.grad, x.grad


@program
def the_dict_of_hooks(L):
    x = leaf(L, 1.0, 2.0)
    none = x._backward_hooks, x._post_accumulate_grad_hooks, L.ones(1)._backward_hooks
    x.register_hook(lambda g: g * 2)
    x.register_post_accumulate_grad_hook(lambda p: None)
    counts = len(x._backward_hooks), len(x._post_accumulate_grad_hooks)
    y = x * 2
    y.register_hook(lambda g: g * 5)
    counts += (len(y._backward_hooks),)
    y.mul_(2)
    after = y._backward_hooks
    x._backward_hooks = None
    y.sum().backward()
    return none, counts, after, x.grad, x._backward_hooks


@program
def what_a_node_expects(L):
    x = matrix(L)
    nodes = [(x * 2).grad_fn, x.unbind(0)[0].grad_fn, x.max(1)[0].grad_fn, (x * 2).grad_fn.next_functions[0][0]]
    return [
        [(tuple(meta.shape), str(meta.dtype), str(meta.device), meta.is_nested_tensor) for meta in node._input_metadata]
        for node in nodes
    ]


# ---- Elements that share memory, and what is written


@program
def one_value_into_shared_elements(L):
    x = L.ones(3)
    rows = x.expand(2, 3)
    states = [shown(rows.zero_()), shown(rows.fill_(3)), shown(rows.fill_(L.tensor(2.0)))]
    y = leaf(L, 1.0) * 1
    wide = y.expand(3)
    states += [shown(wide.zero_()), shown(wide.fill_(4.0))]
    others = [rows.exp_, lambda: rows.add_(1), lambda: rows.copy_(L.ones(2, 3)), lambda: L.add(rows, 1, out=rows)]
    return states, [refusal(action) for action in others], x


@program
def copies_of_numbers_and_types(L):
    x, whole = L.zeros(2, 2), L.zeros(2, dtype=L.int64)
    y = leaf(L, 1.0, 2.0) * 1
    y.copy_(3)
    return (
        [x.copy_(value).tolist() for value in (3, 2.5, True, L.arange(2))],
        x.copy_(L.arange(2)[:, None], True),
        x.copy_(L.ones(2, 2), non_blocking=True),
        whole.copy_(L.tensor([1.7, -2.7])).tolist(),
        whole.copy_(2.9),
        L.zeros(2, dtype=L.bool).copy_(0.5),
        graph(y),
        [refusal(lambda v=v: x.copy_(v)) for v in ([1, 2], None, "a", L.arange(3), L.zeros(1, 2, 2))],
    )


@program
def out_of_other_sizes(L):
    x, whole = L.zeros(2), L.zeros(6)
    part = whole[2:4]
    L.add(L.ones(3), 1, out=x)
    L.add(L.ones(3), 1, out=part)
    empty = L.zeros(0)
    L.add(L.ones(3), 1, out=empty)
    return shown(x), shown(part), whole, shown(empty)


@program
def types_without_a_meaning(L):
    z, flags, counts = L.ones(2, dtype=L.complex64), L.ones(2, dtype=L.bool), L.ones(2, dtype=L.int64)
    return [
        refusal(action)
        for action in (
            lambda: L.relu(z),
            lambda: L.relu(flags),
            lambda: L.maximum(z, z),
            lambda: L.minimum(z, z),
            z.abs_,
            lambda: counts.add_(1.5),
            lambda: counts.div_(2),
            counts.exp_,
            lambda: flags.add_(1),
            lambda: counts.add_(L.ones(3, 2, dtype=L.int64)),
            lambda: L.ones(1).mul_(L.ones(3)),
        )
    ], z._version


@program
def gradient_of_relu_requires_grad(L):
    x = leaf(L, 1.0, -2.0, 0.0)
    (g,) = L.autograd.grad(L.relu(x).sum(), x, create_graph=True)
    requires = g.requires_grad
    g.sum().backward()
    return requires, g.detach(), x.grad


def test_messages_are_those_of_other_changes():
    assert message(lambda: leaf(adjoint, 1.0).unsqueeze_(0)) == message(lambda: leaf(adjoint, 1.0).mul_(2))


# ---- The order of dimensions in memory


def operand(L, numbers, sizes):
    """A tensor of these sizes that lies in memory somehow: permuted, strided or expanded."""
    order = list(range(len(sizes)))
    if numbers.random() < 0.7:
        numbers.shuffle(order)
    steps = [numbers.choice((1, 1, 1, 2)) for _ in sizes]
    repeated = [numbers.random() < 0.1 for _ in sizes]
    source = [0] * len(sizes)
    for place, dim in enumerate(order):
        source[dim] = (sizes[place] - 1) * steps[place] + 1 if sizes[place] else 0
    dtype = getattr(L, numbers.choice(("float32", "float32", "float64", "int64")))
    tensor = L.ones(source, dtype=dtype).permute(order)[tuple(slice(None, None, step) for step in steps)]
    return tensor[tuple(slice(0, 1 if repeat else None) for repeat in repeated)].expand(sizes)


LAYOUTS = {
    "exp": (1, lambda L, x: x.exp()),
    "neg": (1, lambda L, x: -x),
    "logical_not": (1, lambda L, x: L.logical_not(x)),
    "add": (2, lambda L, x, y: x + y),
    "add a number": (1, lambda L, x: x + 1),
    "mul": (2, lambda L, x, y: x * y),
    "eq": (2, lambda L, x, y: x == y),
    "maximum": (2, lambda L, x, y: L.maximum(x, y)),
    "atan2": (2, lambda L, x, y: L.atan2(x, y)),
    "where": (3, lambda L, x, y, z: L.where(x > 0, y, z)),
    "addcmul": (3, lambda L, x, y, z: L.addcmul(x, y, z)),
    "clone": (1, lambda L, x: x.clone()),
    "to": (1, lambda L, x: x.to(L.float16)),
    "zeros_like": (1, lambda L, x: L.zeros_like(x)),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_strides_of_results(name):
    count, call = LAYOUTS[name]
    for seed in range(150):
        results = []
        for L in LIBRARIES:
            numbers = random.Random(seed)
            sizes = [numbers.choice((1, 2, 3, 4)) for _ in range(numbers.randint(0, 4))]
            operands = [operand(L, numbers, sizes)]
            for _ in range(count - 1):
                fewer = [1 if numbers.random() < 0.2 else size for size in sizes]
                operands.append(operand(L, numbers, fewer[numbers.randint(0, len(sizes)) if seed % 3 == 0 else 0 :]))
            result = call(L, *operands)
            results.append((tuple(result.shape), result.stride(), [(tuple(x.shape), x.stride()) for x in operands]))
        assert results[0] == results[1], f"seed {seed}: torch {results[0]}\nadjoint {results[1]}"
