"""Ops on lists of tensors, beside torch: every one, with each kind of operand, in place and with gradients."""

import pytest
import torch

import adjoint

from .compare import same

NAMES = sorted(name for name in dir(torch) if name.startswith("_foreach_"))
UNARY = [
    *("abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "erfc", "exp", "expm1", "floor", "frac", "lgamma"),
    *("log", "log10", "log1p", "log2", "neg", "reciprocal", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt"),
    *("tan", "tanh", "trunc"),
]
BINARY = ["add", "clamp_max", "clamp_min", "div", "maximum", "minimum", "mul", "pow", "sub"]


def lists(L, seed=0):
    generator = L.Generator().manual_seed(seed)
    return [L.rand(3, generator=generator, dtype=L.float64) * 0.8 + 0.1, L.full((2, 1), 0.5, dtype=L.float64)]


def operands(L):
    return {
        "number": 0.5,
        "integer": 2,
        "numbers": [0.3, 2.0],
        "tensors": lists(L, 1),
        "tensor": L.tensor(0.7, dtype=L.float64),
    }


def call(L, name, *given, **options):
    return getattr(L, f"_foreach_{name}")(*given, **options)


def test_every_function_of_torch_is_here():
    assert [name for name in NAMES if not callable(getattr(adjoint, name, None))] == []
    assert [getattr(adjoint, name).__name__ for name in NAMES] == NAMES
    assert not hasattr(adjoint, "_foreach_nothing")


@pytest.mark.parametrize("name", UNARY)
def test_of_each_tensor_by_itself(name):
    same(lambda L: call(L, name, lists(L)))
    same(lambda L: call(L, f"{name}_", lists(L)))


@pytest.mark.parametrize("kind", operands(torch))
@pytest.mark.parametrize("name", BINARY)
def test_with_numbers_and_tensors(name, kind):
    same(lambda L: call(L, name, lists(L), operands(L)[kind]))
    if (name, kind) != ("pow", "tensor"):
        same(lambda L: call(L, f"{name}_", lists(L), operands(L)[kind]))


@pytest.mark.parametrize("name", ["add", "sub", "add_", "sub_"])
def test_alpha(name):
    same(lambda L: call(L, name, lists(L), lists(L, 1), alpha=3))


@pytest.mark.parametrize("name", ["addcmul", "addcdiv", "addcmul_", "addcdiv_"])
def test_products_and_quotients(name):
    same(lambda L: call(L, name, lists(L), lists(L, 1), lists(L, 2)))
    same(lambda L: call(L, name, lists(L), lists(L, 1), lists(L, 2), 2.0))
    same(lambda L: call(L, name, lists(L), lists(L, 1), lists(L, 2), value=2.0))
    same(lambda L: call(L, name, lists(L), lists(L, 1), lists(L, 2), [2.0, 3.0]))
    same(lambda L: call(L, name, lists(L), lists(L, 1), lists(L, 2), scalars=[2.0, 3.0]))
    same(lambda L: call(L, name, lists(L), lists(L, 1), lists(L, 2), L.tensor([2.0, 3.0])))


@pytest.mark.parametrize("name", ["lerp", "lerp_"])
def test_lerp(name):
    same(lambda L: call(L, name, lists(L), lists(L, 1), 0.3))
    same(lambda L: call(L, name, lists(L), lists(L, 1), lists(L, 2)))
    same(lambda L: call(L, name, lists(L), lists(L, 1), [0.3, 0.6]))


def test_the_others():
    same(lambda L: call(L, "pow", 2.0, lists(L)))
    same(lambda L: call(L, "norm", lists(L)))
    for ord in (0, 1, float("inf")):
        same(lambda L, ord=ord: call(L, "norm", lists(L), ord))
    same(lambda L: call(L, "norm", [L.ones(2)], 2, L.float64))
    same(lambda L: call(L, "powsum", lists(L), 3))
    same(lambda L: call(L, "max", lists(L)))
    same(lambda L: call(L, "mm", [L.eye(2) * 3], [L.ones(2, 1)]))
    same(lambda L: call(L, "clone", lists(L)))
    same(lambda L: call(L, "copy_", lists(L), lists(L, 1)))
    same(lambda L: call(L, "zero_", lists(L)))


@pytest.mark.parametrize("name", ["mul_", "abs_", "copy_"])
def test_in_place_writes_into_the_tensors(name):
    tensors = lists(adjoint)
    pointers = [tensor.data_ptr() for tensor in tensors]
    given = {"mul_": (2.0,), "abs_": (), "copy_": (lists(adjoint, 1),)}[name]
    assert call(adjoint, name, tensors, *given) is tensors
    assert [tensor.data_ptr() for tensor in tensors] == pointers


def test_gradients_flow_to_every_list():
    def gradients(L):
        lists_ = [[tensor.requires_grad_() for tensor in lists(L, seed)] for seed in range(3)]
        found = L._foreach_addcmul(L._foreach_mul(lists_[0], lists_[1]), lists_[1], L._foreach_exp(lists_[2]), 2.0)
        sum(tensor.sum() for tensor in found).backward()
        return [tensor.grad for tensors in lists_ for tensor in tensors]

    same(gradients)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda L: L._foreach_abs([]),
        lambda L: L._foreach_add(lists(L), lists(L)[:1]),
        lambda L: L._foreach_add(lists(L), [1.0]),
        lambda L: L._foreach_add(lists(L), L.ones(2)),
        lambda L: L._foreach_copy_(lists(L), lists(L)[:1]),
        lambda L: L._foreach_max([L.ones(0)]),
        lambda L: L._foreach_addcmul(lists(L), lists(L), lists(L), L.ones(3)),
        lambda L: L._foreach_addcmul(lists(L), lists(L), lists(L), L.tensor(1.0)),
        lambda L: L._foreach_addcmul(lists(L), lists(L), lists(L)[:1]),
        lambda L: L._foreach_addcmul(lists(L), lists(L)[:1], lists(L)),
        lambda L: L._foreach_addcmul(lists(L), lists(L), lists(L), [1.0]),
        lambda L: L._foreach_addcmul([], [], []),
        lambda L: L._foreach_add([], 1),
        lambda L: L._foreach_add_([], []),
        lambda L: L._foreach_add(lists(L), []),
        lambda L: L._foreach_zero_([]),
        lambda L: L._foreach_clone([]),
        lambda L: L._foreach_mm([], []),
        lambda L: L._foreach_pow(2.0, []),
        lambda L: L._foreach_lerp(lists(L), lists(L)[:1], 0.1),
        lambda L: L._foreach_lerp(lists(L), lists(L), lists(L)[:1]),
        lambda L: L._foreach_lerp(lists(L), lists(L), [0.1]),
        lambda L: L._foreach_norm([L.ones(0)], float("inf")),
        lambda L: L._foreach_norm([L.ones(2).long()]),
        lambda L: L._foreach_add_([L.ones(2)], [L.ones(3)]),
        lambda L: L._foreach_add_([L.ones(2).long()], 1.5),
        lambda L: L._foreach_add_([L.ones(2).long()], [L.ones(2)]),
        lambda L: L._foreach_add_([L.ones(2)], 1j),
        lambda L: L._foreach_exp_([L.ones(2).long()]),
        lambda L: L._foreach_sub([L.ones(2).bool()], True),
        lambda L: L._foreach_abs_([L.ones(2) * 1j]),
        lambda L: L._foreach_add_([L.ones(2, requires_grad=True)], 1.0),
    ],
)
def test_errors_in_torchs_words(wrong):
    messages = []
    for library in (torch, adjoint):
        with pytest.raises(RuntimeError) as error:
            wrong(library)
        messages.append(str(error.value).removesuffix("."))
    assert messages[1].startswith(messages[0])


@pytest.mark.parametrize(
    "wrong",
    [
        lambda L: L._foreach_add(L.ones(2), 1.0),
        lambda L: L._foreach_add(lists(L), "x"),
        lambda L: L._foreach_add(lists(L), 1.0, alpha=2),
        lambda L: L._foreach_mul(lists(L), 1.0, 2.0),
        lambda L: L._foreach_addcdiv(lists(L), lists(L), lists(L), value=[1.0, 2.0]),
        lambda L: L._foreach_add(lists(L), None),
        lambda L: L._foreach_add(iter(lists(L)), 1.0),
        lambda L: L._foreach_add(self=lists(L), tensor=L.tensor(1.0)),
        lambda L: L._foreach_mul(lists(L), lists(L), alpha=2),
        lambda L: L._foreach_pow_(2.0, lists(L)),
    ],
)
def test_arguments_of_the_wrong_kind(wrong):
    for library in (torch, adjoint):
        with pytest.raises(TypeError, match=r"^_foreach_\w+\(\) received an invalid combination of arguments - got \("):
            wrong(library)


def test_lists_sorted_by_device_and_type():
    def groups(L):
        utils = L.utils._foreach_utils if L is adjoint else torch.utils._foreach_utils
        tensors = [L.ones(2), L.ones(1, dtype=L.float64), L.zeros(3)]
        found = utils._group_tensors_by_device_and_dtype([tensors, [None, None, None]], with_indices=True)
        return [found[L.device("cpu"), kind] for kind in (L.float32, L.float64)]

    same(groups)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda L: L._foreach_add([1, 2], 1),
        lambda L: L._foreach_add(lists(L), [L.tensor(1.0), 2.0]),
        lambda L: L._foreach_exp({}),
        lambda L: L._foreach_exp(lists(L), 1),
        lambda L: L._foreach_norm(lists(L), "fro"),
    ],
)
def test_types_of_arguments_in_torchs_words(wrong):
    messages = []
    for library in (torch, adjoint):
        with pytest.raises(TypeError) as error:
            wrong(library)
        messages.append(str(error.value))
    assert messages[0] == messages[1]


@pytest.mark.parametrize("given", [{"other": "tensors"}, {"scalar": "number"}, {"scalars": "numbers"}])
def test_arguments_by_name(given):
    same(lambda L: L._foreach_mul(self=lists(L), **{key: operands(L)[kind] for key, kind in given.items()}))


def test_lists_of_many_kinds():
    """Shapes, types and devices may differ from place to place."""

    def program(L):
        ones = [L.ones(2), L.ones(2, 2), L.ones(1, dtype=L.float64), L.ones(3, dtype=L.int32), L.ones(2, 3).t()]
        others = [L.ones(1), L.ones(2), L.ones(3), L.tensor(2.5), L.arange(3.0).reshape(3, 1)]
        found = L._foreach_add(ones, others), L._foreach_mul(ones, 2.5), L._foreach_div(ones, [1, 2, 3, 4, 5])
        on_meta = L._foreach_add([L.ones(2), L.ones(2, device="meta")], 1)
        return found, on_meta[0], on_meta[1].device.type, on_meta[1].shape

    same(program)


def test_a_number_and_an_equal_element_share_the_gradient():
    def gradients(L):
        tensors = [L.tensor([1.0, 2.0, 3.0], requires_grad=True)]
        names = ("maximum", "minimum", "clamp_min", "clamp_max")
        sums = [call(L, name, tensors, 2.0)[0].sum() for name in names]
        return [L.autograd.grad(value, tensors)[0] for value in sums]

    same(gradients)


def test_subclasses_and_modes_see_the_calls():
    class Own(adjoint.Tensor):
        pass

    found = adjoint._foreach_add([adjoint.ones(1).as_subclass(Own)], [adjoint.ones(1)], alpha=2)
    assert type(found[0]) is Own
    assert found[0].item() == 3
    tensors = [adjoint.ones(1).as_subclass(Own)]
    assert adjoint._foreach_maximum_(tensors, 2.0) is tensors
    assert tensors[0].item() == 2

    class Names(adjoint.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            names.append(function.__name__)
            return function(*args, **kwargs or {})

    names = []
    with Names():
        adjoint._foreach_sqrt([adjoint.ones(1)])
    assert "sqrt" in names


def test_a_list_that_changes_while_it_is_used():
    """Hooks of saved tensors run between the calls: what they do to a list is not seen."""
    tensors = [adjoint.ones(2, requires_grad=True) for _ in range(3)]

    def pack(tensor):
        tensors.clear()
        return tensor

    with adjoint.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        found = adjoint._foreach_exp(tensors)
    assert len(found) == 3
    assert tensors == []


def test_transforms():
    """Tangents and batches go through."""

    def of(x):
        return adjoint._foreach_addcmul([x, x * 2], [x, x], [x, x.exp()], 0.5)

    x = adjoint.linspace(0.1, 1, 6).reshape(2, 3)
    batched = adjoint.func.vmap(of)(x)
    assert all(b.equal(f) for b, f in zip(batched, of(x), strict=True))
    primals, tangents = adjoint.func.jvp(of, (x,), (adjoint.ones_like(x),))
    assert tangents[0].allclose(1 + x)
    assert primals[0].equal(of(x)[0])
