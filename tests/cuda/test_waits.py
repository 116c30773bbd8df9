"""No op waits for the GPU unless sizes depend on values, not even to refuse some; what else a call costs."""

import contextlib

import pytest

import adjoint as torch
from adjoint.nn import functional

from ..samples import collect, find
from .driver import counted
from .test_samples import ELSEWHERE, called, differentiable, moved, tensors_in


@contextlib.contextmanager
def waits_fail():
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


# ---- Ops of the table

# Most of them wait in torch, too.
WAITS = {
    **dict.fromkeys(
        ["argwhere", "nonzero", "where", "masked_select", "index_put", "index"], "sizes are what a mask has"
    ),
    **dict.fromkeys(["bincount", "repeat_interleave", "nn.functional.one_hot"], "sizes are values"),
    **dict.fromkeys(["unique", "unique_consecutive", "unique_dim"], "sizes are values"),
    **dict.fromkeys(["ctc_loss", "nn.functional.ctc_loss"], "lengths are on the GPU"),
    **dict.fromkeys(["gru", "lstm", "rnn_relu", "rnn_tanh"], "sizes of batches are on the GPU"),
    **dict.fromkeys(["inverse", "matrix_power"], "a matrix that has no inverse is refused"),
    **dict.fromkeys(["det", "slogdet", "prod"], "gradients are others where a factor is zero"),
    "matrix_exp": "how often a matrix is halved",
    "index_fill": "the number is on the GPU",
}


def waiting(name):
    """The samples of an op whose call or gradient waits."""
    for sample in collect()[name]:
        args, kwargs, _ = sample.make(torch)
        args, kwargs = moved(args), moved(kwargs)
        leaves = [leaf for leaf in tensors_in([*args, *kwargs.values()]) if leaf.requires_grad]
        try:
            with waits_fail():
                outs = differentiable(called(find(torch, name), args, kwargs, sample.seed))
            cotangents = [torch.ones_like(out) for out in outs]
            with waits_fail():
                if outs and leaves:
                    torch.autograd.grad(outs, leaves, cotangents, allow_unused=True)
        except RuntimeError as error:
            if "called a synchronizing CUDA operation" in str(error):
                yield sample


@pytest.mark.parametrize("name", [name for name in sorted(collect()) if name not in ELSEWHERE])
def test_ops_wait_for_nothing(name):
    assert bool(list(waiting(name))) == (name in WAITS)


def assigned(key, value):
    def change(x):
        x[key(x)] = value(x)
        return x

    return change


NUMBERS = {
    "a row": assigned(lambda x: 1, lambda x: 2),
    "a column": assigned(lambda x: (slice(None), 2), lambda x: 4.5),
    "every other row": assigned(lambda x: slice(None, None, 2), lambda x: True),
    "an element": assigned(lambda x: (0, 0), lambda x: x.sum()),
    "a mask": assigned(lambda x: x > 5, lambda x: 9),
    "a mask, of the GPU": assigned(lambda x: x > 5, lambda x: x.sum()),
    "a mask of other rows": assigned(lambda x: x[:, 0] > 2, lambda x: x.sum().double()),
    "by indices": assigned(lambda x: x[0].long() % 3, lambda x: -1.5),
    "copy_": lambda x: x.copy_(torch.tensor(2, dtype=torch.int16)),
    "masked_fill": lambda x: x.masked_fill(x > 5, x.sum().long()),
    "masked_fill_": lambda x: x.masked_fill_(x > 5, x[0, 1]),
    "rrelu": lambda x: functional.rrelu(-x.float(), 0.25, 0.25, training=True),
    "moved": lambda x: x + torch.tensor(1.5, dtype=torch.float64).to(x.device),
}


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64], ids=str)
def test_numbers_go_along_with_launches(name, dtype):
    x = torch.arange(12).reshape(3, 4).to(dtype)
    there = x.cuda()
    with waits_fail():
        result = NUMBERS[name](there)
    torch.testing.assert_close(result.cpu(), NUMBERS[name](x))


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "NAdam", "RAdam", "Adamax"])
def test_optimizers_wait_for_nothing(name):
    parameter = torch.nn.Parameter(torch.ones(5, device="cuda"))
    optimizer = getattr(torch.optim, name)([parameter], lr=0.01)
    for _ in range(3):
        with waits_fail():
            parameter.square().sum().backward()
            torch.nn.utils.clip_grad_norm_([parameter], 1.0)
            optimizer.step()
            optimizer.zero_grad()


# ---- What is refused by values


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
def test_values_are_checked_without_waiting(name):
    expected = CHECKED[name](probabilities)
    made = {}  # copies to the device are waited for
    for sizes in [(3, 4), (1,), (2,), (3,), (4,), (6,)]:
        made[sizes] = probabilities(*sizes).cuda()
    with waits_fail():
        result = CHECKED[name](lambda *sizes: made[sizes])
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


# ---- Launches


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
