"""Elementwise ops under vmap, which wait for one another (csrc/transforms/chain.h): that nobody can tell."""

import numpy
import pytest

import adjoint as torch

ROWS, COLUMNS = 300, 8  # enough for ops to wait


def rows(dtype=torch.float32, size=(ROWS, COLUMNS), seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(*size, dtype=dtype, generator=generator)


def same_as_whole(function, *inputs):
    """vmap of a function that treats each number alike has the bits of the function of the whole batch."""
    found, expected = torch.vmap(function)(*inputs), function(*inputs)
    found, expected = (y if isinstance(y, tuple) else (y,) for y in (found, expected))
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        assert a.stride() == b.stride()
        assert torch.equal(a, b)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("size", [(ROWS, COLUMNS), (ROWS,), (64, 8), (7, 3, 33), (3, 1001), (2000, 17)])
def test_a_chain(dtype, size):
    def function(x):
        for _ in range(4):
            y = x.sin() * 0.5
            x = (y + x).tanh() - y / 3
        return x.exp() ** 2 + 1 - 0.25 * x

    same_as_whole(function, rows(dtype, size))


def test_more_steps_than_one_chain_has():
    def function(x):
        for i in range(100):
            x = x * 1.01 + (i % 3)
        return x

    same_as_whole(function, rows())


def test_what_is_kept_is_written():
    def function(x):
        kept = [x.sin()]
        for i in range(40):
            kept.append(kept[-1] * 0.5 + kept[i // 2])
        return tuple(kept)

    same_as_whole(function, rows())


def test_many_numbers():
    def function(x):
        x = x * 1
        for i in range(90):
            x = torch.where(x > 2, x, x) + i * 0.37 if i % 30 == 29 else x + i * 0.37
        return x

    same_as_whole(function, rows())


def test_three_operands_and_params():
    def function(x, y):
        a, b = x * 2, y * 3
        return torch.lerp(a, b, 0.25) + torch.addcmul(a, a, b, value=0.5) + torch.add(a, b, alpha=2) + a.clamp(0.1, 1)

    same_as_whole(function, rows(), rows(seed=1))


def test_mixed_types_and_sizes():
    def function(x):
        a = x * 2
        b = a.double() + 1
        c = a.half() + a
        d = b * a + c + 2
        return d, (a > 1) | (a < 0.5), a.unsqueeze(-1).sin().squeeze(-1) + a, a + 1

    same_as_whole(function, rows())


def test_broadcasting_and_shared_operands():
    weight = rows(size=(COLUMNS,), seed=2)

    def function(x):
        a = x * 2 + 1
        return a * weight + weight * a.sum() - a[0]

    x = rows()
    torch.testing.assert_close(torch.vmap(function)(x), torch.stack([function(row) for row in x]))


def test_signs_of_zero_and_nan():
    x = torch.tensor([0.0, -0.0, float("nan"), float("inf"), -float("inf"), 1e-45, 3e38]).repeat(600).reshape(-1, 7)

    def function(x):
        a = x * 1.0
        return a * 0.0 + a * -0.0 - a, a.abs() + 0.0, a - a

    for a, b in zip(torch.vmap(function)(x), function(x), strict=True):
        assert torch.equal(a.view(torch.int32), b.view(torch.int32))


def test_the_number_of_threads_changes_no_bit():
    def function(x):
        x = x * 2
        for _ in range(10):
            x = x.sin().tanh() + 0.1
        return x

    x, threads = rows(size=(10_000, 8)), torch.get_num_threads()
    try:
        found = []
        for count in (1, 2, 3):
            torch.set_num_threads(count)
            found.append(torch.vmap(function)(x))
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(found[0], other) for other in found[1:])


# ---- Changes in place


def test_a_change_after_an_op_that_waits():
    def function(x):
        a = x * 2
        b = a + 1  # waits, and reads a
        a.mul_(100)
        c = b + a
        view = a[:4]
        view.zero_()
        b.add_(a)
        return b, c, a * 1

    x = rows()
    for found, expected in zip(torch.vmap(function)(x), zip(*map(function, x), strict=True), strict=True):
        torch.testing.assert_close(found, torch.stack(expected))


def test_a_change_of_the_input_without_an_op():
    x = rows()
    memory, before = x.numpy(), x.clone()

    def function(row):
        a = row * 2
        b = a + row  # waits; reads the input
        memory[:] = 0
        return b, a + row

    b, c = torch.vmap(function)(x)
    assert torch.equal(b, before * 2 + before)
    assert torch.equal(c, before * 2)


def test_a_change_of_a_captured_tensor():
    weight = torch.ones(ROWS, COLUMNS)

    def function(x):
        a = x * 2 + 1
        b = a * 3
        weight.mul_(2)  # of the outside
        return b + a

    x = rows()
    torch.testing.assert_close(torch.vmap(function)(x), (x * 2 + 1) * 4)
    assert torch.equal(weight, torch.full((ROWS, COLUMNS), 2.0))


# ---- Gradients and other transforms


def chain(x):
    a = x * 2
    return ((a.sin() * a + 1).tanh() * 0.5).exp()


def test_gradients_inside():
    x = rows()
    leaf = x.clone().requires_grad_()
    (expected,) = torch.autograd.grad(chain(leaf).sum(), leaf)
    torch.testing.assert_close(torch.vmap(torch.func.grad(lambda x: chain(x).sum()))(x), expected)
    second = torch.func.grad(lambda x: torch.func.grad(lambda x: chain(x).sum())(x).sum())
    torch.testing.assert_close(torch.vmap(second)(x), torch.stack([second(row) for row in x]))


def test_gradients_outside():
    leaf = rows().requires_grad_()
    (found,) = torch.autograd.grad(torch.vmap(chain)(leaf).sum(), leaf)
    (expected,) = torch.autograd.grad(chain(leaf).sum(), leaf)
    torch.testing.assert_close(found, expected)


def test_a_captured_tensor_that_requires_grad():
    x, weight = rows(), rows(size=(COLUMNS,), seed=3).requires_grad_()

    def function(row):
        a = row * 2 + 1
        return (a * weight + a).sin() * 2

    (found,) = torch.autograd.grad(torch.vmap(function)(x).sum(), weight)
    (expected,) = torch.autograd.grad(function(x).sum(), weight)
    torch.testing.assert_close(found, expected)


def test_tangents_inside_and_outside():
    x, t = rows(), rows(seed=4)
    expected = torch.func.jvp(chain, (x,), (t,))
    for found in (torch.vmap(lambda x, t: torch.func.jvp(chain, (x,), (t,)))(x, t),
                  torch.func.jvp(torch.vmap(chain), (x,), (t,))):  # fmt: skip
        torch.testing.assert_close(found, expected)


def test_nested():
    x, y = rows(size=(20, 30)), rows(size=(20, 40), seed=5)

    def function(row, column):
        a = row * 2 + 1
        return torch.vmap(lambda c: (a * c).sin() * 2 + c * 3)(column * 2 + 1)

    expected = torch.stack([torch.stack([((r * 2 + 1) * v).sin() * 2 + v * 3 for v in c * 2 + 1])
                            for r, c in zip(x, y, strict=True)])  # fmt: skip
    torch.testing.assert_close(torch.vmap(function)(x, y), expected)


def test_a_custom_function_sees_values():
    seen = []

    class Shift(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x + 1

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def vmap(info, in_dims, x):
            seen.append(x.clone())
            x.mul_(10)  # its own business, but what was computed of it before stays
            return x + 1, 0

    def function(x):
        a = x * 2
        b = a * 3  # waits, and reads a
        return Shift.apply(a), b

    x = rows()
    shifted, tripled = torch.vmap(function)(x)
    assert torch.equal(seen[0], x * 2)
    assert torch.equal(tripled, x * 2 * 3)
    assert torch.equal(shifted, x * 2 * 10 + 1)


# ---- Errors, escapes, threads


def test_errors_come_at_once():
    reached = []

    def function(x):
        a = x * 2
        b = a + 1
        reached.append(b)
        with pytest.raises((RuntimeError, NotImplementedError)):
            torch.bitwise_and(b, a)
        with pytest.raises(RuntimeError, match="must match"):
            b + a[:3]
        raise KeyError("over")

    with pytest.raises(KeyError):
        torch.vmap(function)(rows())
    with pytest.raises(RuntimeError, match="escaped"):
        reached[0] + 1
    assert repr(reached[0])


def test_what_escapes_can_still_be_freed():
    kept = []

    def function(x):
        kept.append(x * 2)
        kept.append(kept[0] + 1)
        return kept[1] * 2

    x = rows()
    assert torch.equal(torch.vmap(function)(x), (x * 2 + 1) * 2)
    kept.reverse()
    while kept:
        kept.pop()


def test_printing_shows_the_values():
    def function(x):
        a = x * 0 + 1
        b = a + 1
        assert "2." in repr(b)
        return b * 2

    assert torch.equal(torch.vmap(function)(rows()), torch.full((ROWS, COLUMNS), 4.0))


def test_modes():
    x = rows()
    with torch.no_grad():
        same_as_whole(chain, x)
    with torch.inference_mode():
        same_as_whole(chain, x)
    with torch.autograd.set_detect_anomaly(True, check_forward=True):
        same_as_whole(chain, x)
    with torch.autocast("cpu"):
        same_as_whole(chain, x)


def test_against_numpy():
    x = rows(torch.float64)
    found = torch.vmap(lambda x: ((x * 2).sin() + x).sum())(x)
    value = x.numpy()
    numpy.testing.assert_allclose(found.numpy(), (numpy.sin(value * 2) + value).sum(1))
