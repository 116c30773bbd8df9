"""Small functions that torch has under a leading underscore, and steps of optimizers over lists, beside torch."""

import pytest
import torch

import adjoint

from .compare import OPS, VALUES, same


def rows(L, *shape, seed=0):
    return L.randn(shape, dtype=L.float64, generator=L.Generator().manual_seed(seed))


PROGRAMS = {
    "weight norm": lambda L: [L._weight_norm(rows(L, 2, 3, 4), L.ones(*[3 if d == 1 else 1 for d in range(3)]), 1)],
    "weight norm of all": lambda L: L._weight_norm(rows(L, 2, 3), L.tensor(2.0).double(), -1),
    "weight norm of rows": lambda L: L._weight_norm_interface(rows(L, 2, 3), rows(L, 2, 1), 0),
    "sizes": lambda L: L._shape_as_tensor(L.zeros(2, 0, 3)),
    "unique": lambda L: L._unique(L.tensor([2, 1, 2]), True, True),
    "unique alone": lambda L: L._unique(L.tensor([2, 1, 2])),
    "unique and counts": lambda L: L._unique2(L.tensor([[2, 1], [2, 5]]), return_counts=True),
    "stack": lambda L: L._stack([rows(L, 2), rows(L, 2)], 1),
    "conjugates": lambda L: (L._conj(rows(L, 2) + 1j).resolve_conj(), L._conj_physical(rows(L, 2) + 1j)),
    "bools": lambda L: (L._is_all_true(rows(L, 3) > 0), L._is_any_true(rows(L, 3) > 0)),
    "a range": lambda L: L._dim_arange(L.zeros(2, 5), 1),
    "distances": lambda L: L._euclidean_dist(rows(L, 3, 2), rows(L, 4, 2, seed=1)),
    "a hidden row": lambda L: L._masked_softmax(rows(L, 2, 3), L.tensor([[True, False, False], [True] * 3]), 1),
    "masked softmax of the last": lambda L: L._masked_softmax(rows(L, 3), L.tensor([False, True, False])),
    "an assertion": lambda L: L._assert_async(L.tensor(2.0)),
    "add and relu": lambda L: (
        L._add_relu(rows(L, 5), rows(L, 5, seed=1), alpha=2),
        L._add_relu_(rows(L, 3), L.ones(3)),
    ),
    "addmm and relu": lambda L: L._addmm_activation(
        rows(L, 2), rows(L, 2, 2), rows(L, 2, 2, seed=1), beta=0.5, alpha=2
    ),
    "addmm of a vector and relu": lambda L: L._addmm_activation(rows(L, 5), rows(L, 3, 4), rows(L, 4, 5, seed=1)),
    "relu of what is no number": lambda L: L._addmm_activation(L.tensor([float("nan"), -5.0]), L.eye(2), L.eye(2)),
    "addmm and gelu": lambda L: L._addmm_activation(rows(L, 2), rows(L, 2, 2), rows(L, 2, 2, seed=1), use_gelu=True),
    "pools": lambda L: (
        L._adaptive_avg_pool2d(rows(L, 2, 4, 4), (2, 1)),
        L._adaptive_avg_pool3d(rows(L, 1, 2, 4, 4), 2),
    ),
    "logcumsumexp": lambda L: L._logcumsumexp(rows(L, 3), 0),
    "casts": lambda L: [
        getattr(L, f"_cast_{kind}")(L.ones(2))
        for kind in ("Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short")
    ],
    "transforms": lambda L: (L._fft_r2c(rows(L, 8), [0], 0, True), L._fft_c2c(rows(L, 4) + 0j, [0], 2, False)),
    "a transform back": lambda L: L._fft_c2r(L._fft_r2c(rows(L, 8), [0], 0, True), [0], 2, 8),
    "a convolution": lambda L: L._convolution(
        rows(L, 1, 2, 5), rows(L, 3, 2, 2), None, [1], [1], [1], False, [0], 1, False, False, False, False
    ),
    "index_put_": lambda L: L._index_put_impl_(rows(L, 4), [L.tensor([1, 1])], rows(L, 2, seed=1), True),
    "packed": lambda L: L._pack_padded_sequence(rows(L, 4, 3, 2), L.tensor([4, 2, 1]), False),
    "packed, the batch first": lambda L: L._pack_padded_sequence(rows(L, 3, 4), L.tensor([4, 2, 1]), True),
    "padded": lambda L: L._pad_packed_sequence(rows(L, 7), L.tensor([3, 2, 1, 1]), False, -1.0, -1),
    "padded further": lambda L: L._pad_packed_sequence(rows(L, 7), L.tensor([3, 2, 1, 1]), True, 0, 6),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_as_in_torch(program):
    same(program, VALUES, OPS)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda L: L._assert_async(L.tensor(0)),
        lambda L: L._assert_async(L.tensor(0), "why"),
        lambda L: L._assert_async(L.ones(2)),
        lambda L: L._masked_softmax(L.ones(2), L.ones(2), 0),
        lambda L: L._addmm_activation(L.ones(3), L.ones(2, 4), L.ones(3, 4)),
        lambda L: L._addmm_activation(L.ones(5), L.ones(2, 4), L.ones(4, 3)),
        lambda L: L._addmm_activation(L.ones(3), L.ones(4), L.ones(4, 3)),
        lambda L: L._addmm_activation(L.ones(3).double(), L.ones(2, 4), L.ones(4, 3)),
        lambda L: L._addmm_activation(L.ones(3).cfloat(), L.ones(2, 4).cfloat(), L.ones(4, 3).cfloat()),
        lambda L: L._addmm_activation(L.ones(3).bool(), L.ones(2, 4).bool(), L.ones(4, 3).bool()),
        lambda L: L._pack_padded_sequence(L.ones(4, 3), L.tensor([1, 2, 3]), False),
        lambda L: L._amp_foreach_non_finite_check_and_unscale_([L.tensor([1])], L.zeros(1), L.tensor(0.5)),
        lambda L: L._amp_foreach_non_finite_check_and_unscale_([L.ones(1)], L.zeros(2), L.tensor(0.5)),
        lambda L: L._amp_foreach_non_finite_check_and_unscale_([L.ones(1)], L.zeros(1), L.ones(2)),
    ],
)
def test_errors_begin_with_torchs_words(wrong):
    messages = []
    for library in (torch, adjoint):
        with pytest.raises((RuntimeError, NotImplementedError)) as error:
            wrong(library)
        messages.append((error.type, str(error.value)))
    assert messages[1][0] is messages[0][0]
    assert messages[1][1].startswith(messages[0][1][:60])


def test_gradients_of_weight_norm():
    def program(L):
        v, g = rows(L, 3, 2).requires_grad_(), rows(L, 3, 1, seed=1).requires_grad_()
        return L.autograd.grad((L._weight_norm(v, g) ** 3).sum(), (v, g))

    same(program, VALUES, OPS)


def relu_of_sum(L, input, mat1, mat2):
    """As torch differentiates it, which has no gradient of _addmm_activation()."""
    return L.addmm(input, mat1, mat2).relu() if L is torch else L._addmm_activation(input, mat1, mat2)


@pytest.mark.parametrize("shape", [(5,), (), (3, 1), (3, 5)])
@pytest.mark.parametrize("wanted", [(0, 1, 2), (0,), (1,), (2,), (0, 2), (1, 2)])
def test_gradients_of_relu_of_a_sum(shape, wanted):
    def program(L):
        operands = [rows(L, *shape), rows(L, 3, 4, seed=1), rows(L, 5, 4, seed=2).t()]
        leaves = [operands[i].requires_grad_() for i in wanted]
        first = L.autograd.grad((relu_of_sum(L, *operands) ** 3).sum(), leaves, create_graph=True)
        second = L.autograd.grad(sum((gradient**2).sum() for gradient in first), leaves)
        return [gradient.detach() for gradient in first], second, [gradient.stride() for gradient in first]

    same(program, VALUES, OPS)


def test_transforms_of_relu_of_a_sum():
    def program(L):
        operands = [rows(L, 5), rows(L, 3, 4, seed=1), rows(L, 4, 5, seed=2)]
        tangents = [rows(L, 5, seed=3), rows(L, 3, 4, seed=4), rows(L, 4, 5, seed=5)]
        jvp = L.func.jvp(lambda *given: relu_of_sum(L, *given), tuple(operands), tuple(tangents))
        many = rows(L, 2, 3, 4, seed=6)
        batch = L.func.vmap(lambda mat1: relu_of_sum(L, operands[0], mat1, operands[2]))(many)
        slopes = L.func.vmap(L.func.grad(lambda mat1: relu_of_sum(L, operands[0], mat1, operands[2]).sum()))(many)
        return jvp, batch, slopes

    same(program, VALUES, OPS)


# ---- Steps over lists


def states(L, count, seed):
    return [rows(L, *shape, seed=seed + i) for i, shape in enumerate([(3,), (2, 2), ()][:count])]


def positive(tensors):
    return [tensor.abs() + 0.1 for tensor in tensors]


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("options", [{}, {"amsgrad": True}, {"maximize": True}, {"weight_decay": 0.0}])
@pytest.mark.parametrize("name", ["_fused_adam_", "_fused_adamw_"])
def test_adam(name, options, scaled):
    def program(L):
        params, grads, means = (states(L, 3, seed) for seed in (0, 10, 20))
        squares, greatest = (positive(states(L, 3, seed)) for seed in (30, 40))
        steps = [L.tensor(2.0), L.tensor(1.0), L.tensor(7.0)]
        numbers = {"lr": 0.1, "beta1": 0.9, "beta2": 0.99, "weight_decay": 0.1, "eps": 1e-8}
        scale = {"grad_scale": L.tensor(4.0), "found_inf": L.tensor(0.0)} if scaled else {}
        flags = {"amsgrad": False, "maximize": False, **numbers, **options, **scale}
        getattr(L, name)(params, grads, means, squares, greatest if flags["amsgrad"] else [], steps, **flags)
        return params, grads, means, squares, greatest, steps

    same(program, VALUES, OPS)


@pytest.mark.parametrize(
    "options", [{}, {"nesterov": True}, {"maximize": True}, {"momentum": 0.0}, {"is_first_step": True}]
)
def test_sgd(options):
    def program(L):
        params, grads, buffers = (states(L, 3, seed) for seed in (0, 10, 20))
        given = {"weight_decay": 0.1, "momentum": 0.9, "lr": 0.1, "dampening": 0.0, "nesterov": False}
        given |= {"maximize": False, "is_first_step": False, **options}
        L._fused_sgd_(params, grads, buffers if given["momentum"] else [], **given)
        return params, grads, buffers

    same(program, VALUES, OPS)


@pytest.mark.parametrize("maximize", [False, True])
def test_adagrad(maximize):
    def program(L):
        params, grads, sums = states(L, 2, 0), states(L, 2, 10), positive(states(L, 2, 20))
        steps = [L.tensor(2.0), L.tensor(5.0)]
        numbers = {"lr": 0.1, "lr_decay": 0.01, "weight_decay": 0.1, "eps": 1e-8}
        L._fused_adagrad_(params, grads, sums, steps, maximize=maximize, **numbers)
        return params, grads, sums, steps

    same(program, VALUES, OPS)


def test_gradients_that_are_not_finite_change_nothing():
    def program(L):
        params = states(L, 2, 0)
        given = {"weight_decay": 0.1, "momentum": 0.0, "lr": 0.1, "dampening": 0.0, "nesterov": False}
        given |= {"maximize": False, "is_first_step": False, "found_inf": L.tensor(1.0), "grad_scale": L.tensor(2.0)}
        L._fused_sgd_(params, states(L, 2, 5), [], **given)
        return params

    same(program, VALUES, OPS)


@pytest.mark.parametrize("last", [1.0, float("inf"), float("nan")])
def test_unscaling(last):
    def program(L):
        grads, found = [rows(L, 2), L.tensor([2.0, last])], L.zeros(1)
        L._amp_foreach_non_finite_check_and_unscale_(grads, found, L.tensor(0.5))
        L._amp_foreach_non_finite_check_and_unscale_([], found, L.tensor(0.5))
        return grads, found

    same(program, VALUES, OPS)


@pytest.mark.parametrize(("found", "count", "scale"), [(0.0, 0, 8.0), (0.0, 1, 8.0), (1.0, 1, 8.0), (0.0, 1, 3e38)])
def test_scales_grow_and_shrink(found, count, scale):
    def program(L):
        scales, tracker = L.tensor([scale]), L.tensor([count], dtype=L.int32)
        return L._amp_update_scale_(scales, tracker, L.tensor([found]), 2.0, 0.5, 2), scales, tracker

    same(program, VALUES, OPS)
