"""The .grad of leaves against torch: its type (grad_dtype) and its strides, however it comes to be."""

import copy

import pytest

from .compare import leaf, programs, raised, same

program, test_program = programs(warned=90)


def set_dtype(tensor, dtype):
    tensor.grad_dtype = dtype
    return tensor.grad_dtype


# ---- The type


@program
def the_type_of_a_gradient(L):
    x = leaf(L, 1.0, 2.0)
    before = x.grad_dtype
    x.grad_dtype = L.float16
    (x * 3).sum().backward()
    (x * 3).sum().backward()
    return str(before), str(x.grad_dtype), x.grad, x.detach().grad_dtype == L.float32


@program
def which_types_can_be_asked_for(L):
    x, plain, ints = leaf(L, 1.0), L.ones(2), L.ones(2, dtype=L.int64)
    return [
        str(plain.grad_dtype),
        str(ints.grad_dtype),
        str(set_dtype(plain, L.float64)),
        str(set_dtype(x, L.int64)),
        str(set_dtype(x, None)),
        raised(lambda: set_dtype(x, 3), 80),
        raised(lambda: (x * 2).grad_dtype, 80),
    ]


@program
def a_type_after_the_graph_was_made(L):
    x = leaf(L, 1.0)
    y = (x * 2).sum()
    x.grad_dtype = L.float64
    y.backward()
    return x.grad


@program
def a_gradient_that_is_there_already(L):
    x = leaf(L, 1.0)
    (x * 2).sum().backward()
    return raised(lambda: set_dtype(x, L.float64), 160), str(set_dtype(x, None)), str(set_dtype(x, L.float32))


@program
def assigned_gradients(L):
    def assign(x, grad):
        x.grad = grad
        return x.grad

    x = leaf(L, 1.0)
    results = [raised(lambda: assign(x, L.ones(1, dtype=L.float64)), 150)]
    x.grad_dtype = L.float64
    results += [assign(x, L.ones(1, dtype=L.float64)), raised(lambda: assign(x, L.ones(1)), 150)]
    x.grad = None
    x.grad_dtype = None
    return [*results, assign(x, L.ones(1, dtype=L.float16)), assign(x, L.ones(1, dtype=L.float64))]


@program
def any_type(L):
    class Wide(L.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g.double()

    x = leaf(L, 1.0)
    x.grad_dtype = None
    Wide.apply(x).sum().backward()
    first = x.grad.clone()
    (x * 2).sum().backward()
    return first, x.grad


@program
def hooks_and_grad_see_the_type(L):
    x = leaf(L, 1.0)
    x.grad_dtype = L.float64
    seen = []
    x.register_hook(lambda g: seen.append(str(g.dtype)))
    return L.autograd.grad((x * 2).sum(), x), seen


@program
def the_type_stays_with_the_tensor(L):
    x = L.nn.Parameter(L.ones(2))
    x.grad_dtype = L.float16
    x.data = L.ones(3, dtype=L.float64)
    (x * 2).sum().backward()
    plain = copy.deepcopy(leaf(L, 1.0))
    return str(x.grad_dtype), x.grad, str(plain.grad_dtype)


def test_computed_tensors_have_no_type_of_their_own():
    # torch warns beside the error, of the .grad that it looks at itself
    same(lambda L: set_dtype(leaf(L, 1.0) * 2, L.float16), warned=None)


@program
def leaves_that_backward_begins_at(L):
    x = leaf(L, 1.0)
    x.grad_dtype = L.float16
    x.backward(L.ones(1))
    return x.grad, L.autograd.grad(x, x, L.ones(1))


@program
def wide_gradients_of_narrow_parameters(L):
    x = L.nn.Parameter(L.ones(2, dtype=L.bfloat16))
    x.grad_dtype = L.float32
    for _ in range(3):
        (x * 0.1).sum().backward()
    layer = L.nn.Linear(1, 1)
    layer.weight.grad_dtype = L.float64
    layer(L.ones(1)).sum().backward()
    grad = layer.weight.grad
    layer.half()
    return x.grad, layer.weight.grad is grad, grad, str(layer.weight.grad_dtype)


@program
def volatile_is_gone(L):
    x = leaf(L, 1.0)
    x.volatile = True
    return x.volatile, (x * 2).requires_grad


# ---- The strides

LEAVES = {
    "contiguous": lambda L: L.ones(2, 3),
    "transposed": lambda L: L.ones(2, 3).t(),
    "every other row": lambda L: L.ones(4, 3)[::2],
    "expanded": lambda L: L.ones(1, 3).expand(2, 3),
    "channels last": lambda L: L.ones(2, 3, 4, 5).to(memory_format=L.channels_last),
}
OUTPUTS = {
    "sum": lambda x: x.sum() * 2,
    "product": lambda x: (x * x).sum(),
    "with another": lambda x: (x * x.detach().clone().contiguous()).sum(),
    "transposed": lambda x: (x.transpose(0, -1).contiguous() * 3).sum(),
}


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("kind", LEAVES)
@pytest.mark.parametrize("create_graph", [False, True])
def test_strides(kind, output, create_graph):
    def strides(L):
        x = LEAVES[kind](L).requires_grad_()
        OUTPUTS[output](x).backward(create_graph=create_graph)
        first = x.grad.stride()
        OUTPUTS[output](x).backward(create_graph=create_graph)
        return first, x.grad.stride(), x.grad.detach().sum()

    same(strides, warned=None)  # torch warns of a cycle with create_graph


@program
def second_derivatives_through_another_layout(L):
    x = L.arange(6.0).reshape(2, 3).t().requires_grad_()
    (x.sum() ** 3).backward(create_graph=True)
    (again,) = L.autograd.grad(x.grad.sum(), x)
    return x.grad.stride(), again


@program
def a_gradient_of_other_strides_stays(L):
    x = L.ones(2, 3, requires_grad=True)
    x.grad = L.ones(3, 2).t()
    with L.autograd.enforce_grad_layout_policy(False):
        (x * 2).sum().backward()
    return x.grad, x.grad.stride()


@program
def the_policy_can_be_relaxed(L):
    class Turned(L.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return L.empty_strided((2, 3), (1, 2)).fill_(2.0)

    strides = []
    for enforced in (True, False):
        with L.autograd.enforce_grad_layout_policy(enforced):
            x = L.ones(2, 3, requires_grad=True)
            Turned.apply(x).sum().backward()
            strides.append((x.grad.stride(), L._C._is_grad_layout_enforcement_enabled()))
    return strides, raised(lambda: L.autograd.enforce_grad_layout_policy(3), 60)
