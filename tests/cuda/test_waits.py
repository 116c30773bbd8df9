"""What is refused by values is found by the GPU, and nothing is waited for; what else a call costs in launches."""

import pytest

import adjoint as torch
from adjoint.nn import functional

from .launches import counted


@pytest.fixture
def waits_fail():
    torch.cuda.synchronize()
    yield lambda: torch.cuda.set_sync_debug_mode("error")
    torch.cuda.set_sync_debug_mode("default")


def probabilities(*sizes):
    return torch.linspace(0.1, 0.9, torch.Size(sizes).numel()).reshape(sizes)


CHECKED = {
    "binary_cross_entropy": lambda p: functional.binary_cross_entropy(p(3, 4), p(3, 4)),
    "multinomial": lambda p: torch.multinomial(p(3, 4), 2).sum() * 0,
    "multi_margin_loss": lambda p: functional.multi_margin_loss(p(3, 4), p(3).long()),
    "quantile": lambda p: torch.quantile(p(3, 4), p(2)),
    "one_hot": lambda p: functional.one_hot(p(3).long(), 3),
    "searchsorted": lambda p: torch.searchsorted(p(4), p(3), sorter=p(4).argsort()),
    "an integer quotient": lambda p: (p(6) * 10).long() // ((p(6) * 7).long() + 1),
    "an integer remainder": lambda p: (p(6) * 10).long() % ((p(6) * 7).long() + 1),
    "_assert_async": lambda p: torch._assert_async(p(1)) or p(1),
}


@pytest.mark.parametrize("name", CHECKED)
def test_values_are_checked_without_waiting(name, waits_fail):
    expected = CHECKED[name](probabilities)
    made = {}  # copies to the device are waited for
    for sizes in [(3, 4), (1,), (2,), (3,), (4,), (6,)]:
        made[sizes] = probabilities(*sizes).cuda()
    waits_fail()
    result = CHECKED[name](lambda *sizes: made[sizes])
    torch.cuda.set_sync_debug_mode("default")
    torch.testing.assert_close(result.cpu(), expected)


REFUSED = {
    "binary_cross_entropy": (
        lambda: functional.binary_cross_entropy(torch.tensor([0.5, 1.5]).cuda(), torch.ones(2).cuda()),
        r"all elements of input should be between 0 and 1: apply sigmoid\(\) first.*; the GPU found it in .*test_waits",
    ),
    "its target": (
        lambda: functional.binary_cross_entropy(torch.ones(2).cuda(), torch.tensor([0.5, torch.nan]).cuda()),
        "all elements of target should be between 0 and 1; the GPU found it in ",
    ),
    "multinomial": (lambda: torch.multinomial(torch.tensor([1.0, -1.0]).cuda(), 1), "`inf`, `nan` or element < 0"),
    "of nothing": (lambda: torch.multinomial(torch.zeros(2).cuda(), 1), "sum of probabilities <= 0"),
    "multi_margin_loss": (
        lambda: functional.multi_margin_loss(torch.ones(1, 2).cuda(), torch.tensor([2]).cuda()),
        "target out of range; the GPU found it in ",
    ),
    "quantile": (lambda: torch.quantile(torch.ones(2).cuda(), torch.tensor([2.0]).cuda()), r"in the range \[0, 1\]"),
    "cov": (lambda: torch.cov(torch.ones(2).cuda(), fweights=torch.tensor([1, -1]).cuda()), "cannot be negative"),
    "one_hot": (lambda: functional.one_hot(torch.tensor([3]).cuda(), 3), "index 3 is out of bounds"),
    "searchsorted": (
        lambda: torch.searchsorted(torch.ones(2).cuda(), 1.0, sorter=torch.tensor([0, 2]).cuda()),
        "sorter index out of range",
    ),
    "an integer quotient": (
        lambda: torch.ones(2).long().cuda() // torch.tensor([1, 0]).cuda(),
        "ZeroDivisionError: an integer tensor is divided by a tensor with zeros; the GPU found it in ",
    ),
    "_assert_async": (lambda: torch._assert_async(torch.zeros(1).cuda(), "no good"), "no good; the GPU found it in "),
}


@pytest.mark.parametrize("name", REFUSED)
def test_who_waits_gets_the_error(name):
    call, words = REFUSED[name]

    def call_and_wait():
        call()
        torch.cuda.synchronize()

    with pytest.raises((RuntimeError, IndexError), match=words):
        call_and_wait()
    torch.cuda.synchronize()


def test_dropout_is_two_launches_and_a_mask_of_bools():
    x, g = torch.ones(1 << 16).cuda().requires_grad_(), torch.full((1 << 16,), 2.0).cuda()
    torch.autograd.grad(functional.dropout(x, 0.25), x, g)
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    with counted() as forward:
        y = functional.dropout(x, 0.25)
    assert forward == [2]
    assert torch.cuda.max_memory_allocated() - before == y.nbytes + y.numel()
    assert type(y.grad_fn).__name__ == "NativeDropoutBackward0"
    with counted() as backward:
        (slope,) = torch.autograd.grad(y, x, g, retain_graph=True)
    assert backward == [1]
    torch.testing.assert_close(slope, 2 * y.detach())
    (again,) = torch.autograd.grad(y, x, g, create_graph=True)
    assert again.equal(slope)
    assert 0.74 < (y > 0).float().mean().item() < 0.76


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64])
def test_dropout_of_other_types(dtype):
    x = torch.ones(1000, dtype=dtype).cuda()
    y = functional.dropout(x, 0.5)
    assert y.dtype is dtype
    assert y.unique().tolist() == [0.0, 2.0]


LAUNCHES = {
    "mean": (lambda x: x.mean(), 1),
    "the mean of rows": (lambda x: x.mean(1), 1),
    "the mean of halves": (lambda x: x.half().mean(), 2),
    "std": (lambda x: x.std(), 1),
    "mse_loss": (lambda x: functional.mse_loss(x, x), 2),
    "huber_loss": (lambda x: functional.huber_loss(x, x), 2),
}


@pytest.mark.parametrize("name", LAUNCHES)
def test_how_many_launches(name):
    function, count = LAUNCHES[name]
    x = torch.ones(4, 5).cuda()
    function(x)
    with counted() as launches:
        function(x)
    assert launches == [count]


@pytest.mark.parametrize("loss", [functional.mse_loss, functional.smooth_l1_loss, functional.huber_loss])
def test_the_gradient_of_a_loss_is_one_launch(loss):
    x, y = torch.ones(4, 5).cuda().requires_grad_(), torch.zeros(4, 5).cuda()
    g = torch.ones((), device="cuda")
    torch.autograd.grad(loss(x, y), x, g)
    value = loss(x, y)
    with counted() as launches:
        torch.autograd.grad(value, x, g)
    assert launches == [1]
