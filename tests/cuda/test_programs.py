"""Programs on the device beside the same on the CPU: modules, training, derivatives, transforms, errors."""

import copy
import re
import warnings

import pytest

import adjoint as torch
from adjoint import nn
from adjoint.nn import functional as F
from adjoint.utils.checkpoint import checkpoint

PROGRAMS = {}


def program(function):
    """A function of a device that gives tensors, which are compared with those that it gives on the CPU."""
    PROGRAMS[function.__name__] = function
    return function


def numbers(*shape, seed=0, device="cpu", dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=dtype).to(device)


def made(module, device):
    """A module with the same parameters on every device."""
    for number, parameter in enumerate(module.parameters()):
        parameter.data = numbers(*parameter.shape, seed=number, dtype=parameter.dtype) * 0.3
    return module.double().to(device)


def trained(module, loss, device, optimizer, steps=4, **options):
    optimizer = getattr(torch.optim, optimizer)(module.parameters(), **options)
    losses = []
    for step in range(steps):
        optimizer.zero_grad()
        value = loss(module, step)
        value.backward()
        optimizer.step()
        losses.append(value.detach())
    return [*losses, *(p.detach() for p in module.parameters())]


@program
def mlp_with_adam(device):
    module = made(nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3)), device)
    x, y = numbers(16, 5, device=device), numbers(16, 3, seed=1, device=device)
    return trained(module, lambda m, _: F.mse_loss(m(x), y), device, "Adam", lr=0.1)


@program
def classifier_with_sgd(device):
    module = made(nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Dropout(0.0), nn.Linear(6, 3)), device)
    x = numbers(10, 4, device=device)
    target = torch.tensor([0, 1, 2, 0, 1, 2, 0, 1, 2, 0]).to(device)
    return trained(module, lambda m, _: F.cross_entropy(m(x), target), device, "SGD", lr=0.1, momentum=0.9)


@program
def convolutions(device):
    module = nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 2)
    )
    module = made(module, device)
    x = numbers(3, 2, 8, 8, device=device)
    return trained(module, lambda m, _: m(x).square().mean(), device, "AdamW", lr=0.01)


@program
def recurrent(device):
    module = made(nn.LSTM(3, 4, num_layers=2), device)
    x = numbers(5, 2, 3, device=device)
    return trained(module, lambda m, _: m(x)[0].square().sum(), device, "RMSprop", lr=0.01)


@program
def gru_and_embedding(device):
    table, cell = made(nn.Embedding(7, 3), device), made(nn.GRU(3, 4), device)
    words = torch.tensor([[1, 2], [3, 3], [0, 6]]).to(device)
    out, hidden = cell(table(words))
    (out.square().sum() + hidden.sum()).backward()
    return [out, hidden, table.weight.grad, *(p.grad for p in cell.parameters())]


@program
def packed_sequences(device):
    module = made(nn.GRU(3, 4, batch_first=True), device)
    x = numbers(3, 5, 3, device=device).requires_grad_()
    packed = nn.utils.rnn.pack_padded_sequence(x, torch.tensor([5, 2, 3]), batch_first=True, enforce_sorted=False)
    out, hidden = module(packed)
    out, lengths = nn.utils.rnn.pad_packed_sequence(out, batch_first=True)
    (out.square().sum() + hidden.sum()).backward()
    return [out, hidden, x.grad, lengths.to(device)]


@program
def roots(device):
    a = numbers(3, device=device).requires_grad_()
    solve = torch.func.implicit_root(lambda x, a: x**3 + x - a, _cube_root, method="gmres")
    x = solve(a)
    x.sum().backward()
    return [x, a.grad]


def _cube_root(a):
    """The root of x^3 + x = a, by Newton's method."""
    x, a = a.detach() * 0, a.detach()
    for _ in range(60):
        x = x - (x**3 + x - a) / (3 * x * x + 1)
    return x


@program
def transformer(device):
    layer = made(nn.TransformerEncoderLayer(8, 2, dim_feedforward=16, dropout=0.0, batch_first=True), device)
    x = numbers(2, 5, 8, device=device)
    return trained(layer, lambda m, _: m(x).square().mean(), device, "Adam", lr=0.01)


@program
def attention(device):
    q, k, v = (numbers(2, 2, 6, 4, seed=i, device=device).requires_grad_() for i in range(3))
    out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return [out, *torch.autograd.grad(out.square().sum(), [q, k, v])]


@program
def second_derivatives(device):
    x = numbers(6, device=device).requires_grad_()
    y = (x.sin() * x.exp()).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    (h,) = torch.autograd.grad(g.square().sum(), x, create_graph=True)
    return [g, h, *torch.autograd.grad(h.sum(), x)]


@program
def hessians(device):
    x = numbers(4, device=device)

    def f(x):
        return (x[1:] - x[:-1] ** 2).square().sum() + x.tanh().prod()

    return [
        torch.func.hessian(f)(x),
        torch.autograd.functional.hessian(f, x),
        torch.func.jacfwd(torch.func.grad(f))(x),
    ]


@program
def per_sample_gradients(device):
    w, x = numbers(3, device=device), numbers(5, 3, seed=1, device=device)
    return [torch.vmap(torch.func.grad(lambda w, x: (w * x).sum().sin()), (None, 0))(w, x)]


@program
def tangents(device):
    x, t = numbers(4, device=device), numbers(4, seed=1, device=device)
    value, tangent = torch.func.jvp(lambda x: (x * x).cumsum(0).exp().log1p(), (x,), (t,))
    return [value, tangent]


@program
def checkpoints(device):
    x = numbers(4, 3, device=device).requires_grad_()
    y = checkpoint(lambda x: (x.sin() @ x.t()).exp(), x, use_reentrant=False)
    y.sum().backward()
    return [y, x.grad]


@program
def custom_function(device):
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 3 * g * x**2

    x = numbers(4, device=device).requires_grad_()
    seen = []
    y = Cube.apply(x)
    y.register_hook(lambda g: seen.append(g) or g * 2)
    y.sum().backward()
    return [y, x.grad, *seen]


@program
def changes_in_place(device):
    x = numbers(4, 4, device=device).requires_grad_()
    y = x * 2
    y[1:3, ::2] = 1.5
    y[:, 0].mul_(3)
    y[y > 1] += 1
    y.t()[2].clamp_(max=0.5)
    y.sum().backward()
    return [y, x.grad]


@program
def indexing(device):
    x = numbers(5, 4, device=device).requires_grad_()
    i = torch.tensor([0, 2, 2, -1])
    y = x[i, [1, 0, 3, 2]] * x[i.to(device)].sum(1)
    z = torch.cat([y, x.gather(1, torch.tensor([[0], [1], [3], [2], [0]]).to(device)).flatten()])
    z.square().sum().backward()
    return [z, x.grad, x[..., None, 1:3], torch.where(x > 0, x, 0.0)]


@program
def linear_algebra(device):
    a = numbers(4, 4, device=device).requires_grad_()
    s = a @ a.mT + 4 * torch.eye(4, dtype=torch.float64, device=device)
    factor = torch.linalg.cholesky(s)
    y = torch.linalg.solve(s, factor).sum() + torch.logdet(s) + torch.linalg.eigvalsh(s).sum()
    y.backward()
    return [factor, y, a.grad]


@program
def fourier(device):
    x = numbers(8, device=device).requires_grad_()
    y = torch.fft.rfft(x).abs().square().sum() + torch.fft.ifft(x.to(torch.complex128)).real.sum()
    y.backward()
    return [y, x.grad]


@program
def types(device):
    x = numbers(4, 4, device=device)
    return [x.to(dtype) * 2 for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.complex64)]


@program
def numbers_of_other_devices(device):
    x = numbers(4, device=device)
    return [x * torch.tensor(2.0), torch.tensor(3) + x, x.clamp(torch.tensor(-0.5, device=device)), x.mean() * 2]


@program
def random_program(device):
    x = numbers(3, 4, device=device).requires_grad_()
    y = x
    for step in range(6):
        y = [
            torch.sin,
            torch.exp,
            lambda t: t.flip(0),
            lambda t: t / (1 + t.norm()),
            torch.tanh,
            lambda t: t.t().contiguous().t(),
        ][step](y)
    loss = y.logsumexp(0).var() + y.softmax(1).max()
    loss.backward()
    return [y, loss, x.grad]


def flat(value):
    return [value] if isinstance(value, torch.Tensor) else [item for each in value for item in flat(each)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    expected, ours = PROGRAMS[name]("cpu"), PROGRAMS[name]("cuda")
    for mine, theirs in zip(flat(ours), flat(expected), strict=True):
        assert mine.device == torch.device("cuda", 0)
        assert (mine.dtype, mine.shape, mine.requires_grad) == (theirs.dtype, theirs.shape, theirs.requires_grad)
        torch.testing.assert_close(mine.detach().cpu(), theirs.detach(), rtol=1e-7, atol=1e-9)


def test_copies():
    x = numbers(3, 2, device="cuda")
    for same in (
        copy.deepcopy(x),
        x.clone(),
        x.cpu().cuda(),
        x.to("cpu").to("cuda:0"),
        torch.tensor(x.tolist(), device="cuda", dtype=x.dtype),
    ):
        assert same.device.type == "cuda"
        assert same.data_ptr() != x.data_ptr()
        assert torch.equal(same.cpu(), x.cpu())
    assert x.to("cuda") is x


def test_words_of_refusals():
    x, y = torch.ones(3, device="cuda"), torch.ones(3)
    with pytest.raises(RuntimeError, match="to be on the same device, but found at least two devices, cuda:0 and cpu"):
        x + y
    with pytest.raises(RuntimeError, match="to be on the same device, but found at least two devices, cuda:0 and cpu"):
        torch.mm(torch.ones(2, 2, device="cuda"), torch.ones(2, 2))
    with pytest.raises(TypeError, match=r"can't convert cuda:0 device type tensor to numpy\. Use Tensor.cpu"):
        x.numpy()
    assert x.numpy(force=True).tolist() == [1, 1, 1]


def test_printing():
    assert repr(torch.arange(3, device="cuda")) == "tensor([0, 1, 2], device='cuda:0')"
    assert re.fullmatch(
        r"tensor\(1\., device='cuda:0', grad_fn=<MulBackward0>\)",
        repr(torch.ones((), device="cuda", requires_grad=True) * 1),
    )


def test_saved_values_are_guarded():
    x = torch.ones(3, device="cuda", requires_grad=True)
    y = x.exp()
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_anomaly_mode_finds_nan():
    x = torch.zeros(3, device="cuda", requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.autograd.detect_anomaly(), pytest.raises(RuntimeError, match=r"SqrtBackward0.*nan"):
            (x.sqrt() * 0).sum().backward()


def test_gradcheck_runs_there():
    x = numbers(3, device="cuda").requires_grad_()
    assert torch.autograd.gradcheck(lambda x: (x.sin() * x).cumsum(0), (x,))


def test_second_device():
    if torch.cuda.device_count() < 2:
        pytest.skip("there is one GPU")
    x = torch.arange(6.0, device="cuda:1").reshape(2, 3)
    assert x.device == torch.device("cuda:1")
    assert torch.equal(x.to("cuda:0").cpu(), x.cpu())
    with pytest.raises(RuntimeError, match="to be on the same device"):
        x + x.to("cuda:0")
