"""Functions on lists of tensors on the device: the values of the CPU, by one launch where there can be one."""

import pytest

import adjoint as torch

from .driver import counted

SHAPES = [(3,), (5, 7), (), (4097,), (0,), (33, 130), (1,), (2, 3, 4)]


def lists(count=1, dtype=torch.float32, shapes=SHAPES):
    """Lists of tensors on the CPU, and the same on the device."""
    torch.manual_seed(5)
    here = [[torch.rand(shape, dtype=dtype) + 0.5 for shape in shapes] for _ in range(count)]
    return here, [[tensor.to("cuda") for tensor in tensors] for tensors in here]


def assert_same(there, here):
    for mine, theirs in zip(there, here, strict=True):
        assert mine.device.type == "cuda"
        torch.testing.assert_close(mine.cpu(), theirs)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.complex64], ids=str)
@pytest.mark.parametrize("name", ["exp", "sqrt", "neg", "abs", "reciprocal"])
def test_unary(name, dtype):
    (here,), (there,) = lists(dtype=dtype)
    assert_same(getattr(torch, f"_foreach_{name}")(there), getattr(torch, f"_foreach_{name}")(here))
    if name == "abs" and dtype.is_complex:
        return
    for tensors in (here, there):
        getattr(torch, f"_foreach_{name}_")(tensors)
    assert_same(there, here)


@pytest.mark.parametrize("name", ["add", "mul", "sub", "div", "maximum"])
def test_binary(name):
    here, there = lists(2)
    function, in_place = getattr(torch, f"_foreach_{name}"), getattr(torch, f"_foreach_{name}_")
    assert_same(function(*there), function(*here))
    assert_same(function(there[0], 3), function(here[0], 3))
    numbers = [float(i + 1) for i in range(len(SHAPES))]
    assert_same(function(there[0], numbers), function(here[0], numbers))
    for tensors in (here, there):
        in_place(*tensors)
        in_place(tensors[0], 2)
        in_place(tensors[0], numbers)
    assert_same(there[0], here[0])


def test_several():
    here, there = lists(3)
    for tensors in (here, there):
        torch._foreach_addcmul_(*tensors, 0.5)
        torch._foreach_addcdiv_(*tensors, 0.5)
        torch._foreach_lerp_(tensors[0], tensors[1], 0.25)
        torch._foreach_add_(tensors[0], tensors[2], alpha=2)
        torch._foreach_zero_(tensors[1])
        torch._foreach_copy_(tensors[2], tensors[0])
    for mine, theirs in zip(there, here, strict=True):
        assert_same(mine, theirs)
    norms = [torch.stack(torch._foreach_norm(tensors[0])).cpu() for tensors in (there, here)]
    torch.testing.assert_close(*norms)


def test_the_same_tensor_twice():
    """What one writes, the next one reads: they come one after the other."""
    x, y = torch.ones(50, device="cuda"), torch.ones(9, device="cuda")
    torch._foreach_add_([x, y, x, x], 1)
    assert (x.cpu() == 4).all()
    assert (y.cpu() == 2).all()
    base = torch.arange(12.0).to("cuda")
    torch._foreach_add_([base[0:4], base[4:8], base[8:12]], [base[4:8], base[8:12], base[8:12]])
    assert base.tolist() == [4, 6, 8, 10, 12, 14, 16, 18, 16, 18, 20, 22]


def test_types_mixed():
    shapes = [(5,), (6,), (7,), (8,)]
    here = [
        torch.rand(shape).to(dtype) for shape, dtype in zip(shapes, [torch.float32, torch.float64] * 2, strict=True)
    ]
    there = [tensor.to("cuda") for tensor in here]
    assert_same(torch._foreach_mul(there, 3.0), torch._foreach_mul(here, 3.0))
    strided = torch.rand(6, 8).to("cuda")
    for tensors in ([strided[:, ::2], strided[:, 1::2]],):
        expected = [tensor.cpu() * 2 for tensor in tensors]
        torch._foreach_mul_(tensors, 2)
        assert_same(tensors, expected)


def test_gradients():
    leaves = [torch.rand(shape).to("cuda").requires_grad_() for shape in [(3,), (4, 5)]]
    for result, leaf in zip(torch._foreach_exp(leaves), leaves, strict=True):
        result.sum().backward()
        torch.testing.assert_close(leaf.grad, result.detach())


def test_errors_leave_nothing_waiting():
    x, y = torch.ones(5, device="cuda"), torch.ones(6, device="cuda")
    with pytest.raises(RuntimeError):
        torch._foreach_add_([x, y], [x, torch.ones(7, device="cuda")])
    assert (x.cpu() == 2).all()


def test_one_launch():
    tensors = [torch.ones(10 + i, device="cuda") for i in range(50)]
    others = [torch.ones(10 + i, device="cuda") for i in range(50)]
    with counted() as launches:
        torch._foreach_add_(tensors, others, alpha=2)
    assert launches == [1]
    with counted() as launches:
        results = torch._foreach_exp(tensors)
    assert launches == [1]
    torch.testing.assert_close(results[7].cpu(), torch.full((17,), 3.0).exp())
    with counted() as launches:
        torch._foreach_mul_(tensors, 2.0)
    assert launches == [1]
