"""How gradients are added up on the device: in few launches, and none where a gradient passes as it is."""

import pytest

import adjoint as torch

from .driver import counted


def _shared_weight(torch, device, dtype):
    """The gradients of weights that many steps share, some of them in other layouts."""
    torch.manual_seed(0)
    w = torch.randn(6, 6, dtype=dtype).to(device).requires_grad_()
    b = torch.randn(6, dtype=dtype).to(device).requires_grad_()
    y = x = torch.randn(4, 6, dtype=dtype).to(device)
    for i in range(40):
        y = torch.nn.functional.linear(y, w, b).tanh() if i % 3 else (y @ w.t() * b).tanh() + x
    y.square().sum().backward()
    return [w.grad.cpu(), b.grad.cpu()]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.complex64])
def test_weights_that_many_steps_share(dtype):
    tolerance = {torch.float64: 1e-12, torch.bfloat16: 0.1}.get(dtype, 1e-5)
    if dtype.is_complex:

        def run(device):
            w = torch.arange(4).add(1j).div(5).to(device).requires_grad_()
            y = w
            for _ in range(40):
                y = y * w + w
            y.abs().sum().backward()
            return [w.grad.cpu()]

        pairs = zip(run("cuda"), run("cpu"), strict=True)
    else:
        pairs = zip(_shared_weight(torch, "cuda", dtype), _shared_weight(torch, "cpu", dtype), strict=True)
    for ours, theirs in pairs:
        torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance * theirs.abs().max().item())


def test_gradients_of_a_shared_weight_are_added_in_few_launches():
    torch.eye(2).to_sparse()  # that there are sparse tensors elsewhere changes nothing
    x = torch.ones(8, device="cuda", requires_grad=True)

    def step():
        y = x
        for _ in range(100):
            y = y * x
        y.sum().backward()

    step()
    x.grad = None
    with counted() as launches:
        step()
    assert launches[0] <= 100 + 100 + 10
    assert x.grad.tolist() == [101.0] * 8


def test_sums_pass_gradients_on_as_they_are():
    x, y = (torch.ones(8, device="cuda", requires_grad=True) for _ in range(2))
    (x + y).sum().backward()
    z = (x * 2 + y * 3 + x * y).sum()
    with counted() as without:
        torch.autograd.grad(z, (x, y), retain_graph=True)
    z = (torch.add(x * 2, y * 3, alpha=2) + x * y).sum()
    with counted() as with_factor:
        grads = torch.autograd.grad(z, (x, y))
    assert with_factor[0] == without[0] + 1
    assert [g.tolist() for g in grads] == [[3.0] * 8, [7.0] * 8]


def test_hooks_see_whole_sums():
    x = torch.ones(4, device="cuda", requires_grad=True)
    middle, seen = x * 1, []
    middle.register_hook(lambda g: seen.append(g.clone()) or g * 2)
    sum((middle * i).sum() for i in range(20)).backward()
    assert seen[0].tolist() == [190.0] * 4
    assert x.grad.tolist() == [380.0] * 4
    (again,) = torch.autograd.grad(sum((middle * i).sum() for i in range(20)), middle)
    assert again.tolist() == [380.0] * 4
