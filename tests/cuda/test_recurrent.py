"""Recurrent networks on the device against the CPU: whole sequences and all gradients."""

import pytest

import adjoint as torch
from adjoint.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from .driver import STANDIN, fail

CLOSE = {torch.float32: 1e-4, torch.float64: 1e-9, torch.float16: 1e-2, torch.bfloat16: 1e-1}
KINDS = {"tanh": torch.nn.RNN, "relu": torch.nn.RNN, "lstm": torch.nn.LSTM, "gru": torch.nn.GRU}
BY_LIBRARY = torch.backends.cudnn.is_available()


@pytest.fixture(autouse=True)
def _exact(monkeypatch):
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)


def network(kind, *sizes, **options):
    if kind == "relu":
        options["nonlinearity"] = "relu"
    return KINDS[kind](*sizes, **options)


def pair(kind, *sizes, dtype=torch.float32, **options):
    """The same network on the CPU, and on the device in a type of its own."""
    wide = dtype if dtype == torch.float64 else torch.float32
    there = network(kind, *sizes, **options).to(dtype).cuda()
    here = network(kind, *sizes, **options).to(wide)
    here.load_state_dict({name: value.to(wide) for name, value in there.state_dict().items()})
    return here, there


def called(module, x, states):
    return module(x, states)


def all_of(module, *inputs, run=called):
    """Results and gradients of a network: output, states, input's, states' and parameters'."""
    inputs = [each.detach().requires_grad_() for each in inputs]
    x, *states = inputs
    given = (tuple(states) if len(states) == 2 else states[0]) if states else None
    out, last = run(module, x, given)
    results = [out, *last] if isinstance(last, tuple) else [out, last]
    out, *last = (each if each.dtype == torch.float64 else each.float() for each in results)
    loss = out.sin().sum() + sum((each * (i + 2)).cos().sum() for i, each in enumerate(last))
    loss.backward()
    gradients = [each.grad for each in [*inputs, *module.parameters()]]
    return [*(each.detach() for each in results), *gradients]


def compare(here, there, dtype, *inputs, run=called):
    wide = next(here.parameters()).dtype
    expected = all_of(here, *(each.to(dtype).to(wide) for each in inputs), run=run)
    ours = all_of(there, *(each.to(dtype).cuda() for each in inputs), run=run)
    close = CLOSE[dtype]
    for a, b in zip(ours, expected, strict=True):
        assert a.device.type == "cuda"
        assert a.dtype == dtype
        torch.testing.assert_close(a.cpu().to(wide), b, rtol=close, atol=close * max(1, b.abs().max().item()))


def states_for(kind, places, batch, size):
    return [torch.randn(places, batch, size) for _ in range(2 if kind == "lstm" else 1)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("steps", "batch", "size"), [(1, 1, 1), (5, 3, 7), (4, 33, 40), (3, 1, 65)])
def test_lstm(dtype, steps, batch, size):
    here, there = pair("lstm", 6, size, num_layers=2, dtype=dtype)
    compare(here, there, dtype, torch.randn(steps, batch, 6), *states_for("lstm", 2, batch, size))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_kinds(kind, bidirectional, bias):
    options = {"num_layers": 2, "bidirectional": bidirectional, "bias": bias}
    here, there = pair(kind, 3, 5, **options)
    x = torch.randn(4, 3, 3)
    compare(here, there, torch.float32, x, *states_for(kind, 4 if bidirectional else 2, 3, 5))
    compare(here, there, torch.float32, x)  # states of zeros


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_halves(kind, dtype):
    here, there = pair(kind, 6, 8, num_layers=2, dtype=dtype)
    compare(here, there, dtype, torch.randn(5, 4, 6), *states_for(kind, 2, 4, 8))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_autocast_lowers_networks_and_cells(dtype):
    x = torch.randn(4, 2, 3, device="cuda")
    inputs = [x, x.to(dtype), pack_padded_sequence(x, [4, 2])]
    networks = [network(kind, 3, 5) for kind in KINDS] + [torch.nn.LSTM(3, 5, proj_size=2)]
    cells = [torch.nn.RNNCell(3, 5), torch.nn.GRUCell(3, 5), torch.nn.LSTMCell(3, 5)]
    found = []
    with torch.autocast("cuda", dtype):
        for module in networks:
            for given in inputs:
                out, last = module.cuda()(given)
                found += [out.data, *(last if isinstance(last, tuple) else [last])]
        for module in cells:
            last = module.cuda()(x[0])
            found += last if isinstance(last, tuple) else [last]
    assert {each.dtype for each in found} == {dtype}
    sum(each.float().sum() for each in found).backward()
    for module in (*networks, *cells):
        assert all(each.grad.dtype == torch.float32 for each in module.parameters())


def test_batch_first_and_no_batch():
    here, there = pair("gru", 3, 5, batch_first=True)
    compare(here, there, torch.float32, torch.randn(2, 4, 3))
    compare(here, there, torch.float32, torch.randn(4, 3))


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("kind", ["lstm", "gru", "tanh"])
@pytest.mark.parametrize("lengths", [[5, 3, 3, 1], [4, 4, 4, 4]], ids=str)
def test_packed_sequences(kind, bidirectional, lengths):
    here, there = pair(kind, 3, 6, num_layers=2, bidirectional=bidirectional)

    def packed(module, x, states):
        out, last = module(pack_padded_sequence(x, lengths), states)
        return out.data, last

    x = torch.randn(max(lengths), 4, 3)
    states = states_for(kind, 4 if bidirectional else 2, 4, 6)
    compare(here, there, torch.float32, x, *states, run=packed)


def test_packed_sequences_move_with_their_order():
    here, there = pair("lstm", 2, 3)
    x = torch.randn(4, 3, 2)
    packed = pack_padded_sequence(x, [2, 4, 1], enforce_sorted=False)
    expected = pad_packed_sequence(here(packed)[0])[0]
    for moved in (packed.cuda(), packed.to("cuda"), packed.pin_memory().to("cuda", non_blocking=True)):
        assert [each.device.type for each in moved] == ["cuda", "cpu", "cuda", "cuda"]
        assert moved.is_cuda
        assert moved.cuda() is moved
        assert moved.to(torch.float32) is moved
        out, lengths = pad_packed_sequence(there(moved)[0])
        torch.testing.assert_close(out.cpu(), expected, rtol=1e-4, atol=1e-5)
        assert lengths.tolist() == [2, 4, 1]
        back = moved.cpu()
        assert [each.device.type for each in back] == ["cpu"] * 4
        assert torch.equal(here(back)[0].data, here(packed)[0].data)


def test_lengths_of_packed_sequences_are_on_the_cpu():
    x = torch.randn(4, 2, 3, device="cuda")
    with pytest.raises(RuntimeError, match="should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor"):
        pack_padded_sequence(x, torch.tensor([4, 2], device="cuda"))
    with pytest.raises(ValueError, match="batch_sizes should always be on CPU"):
        PackedSequence(x[0], torch.tensor([2], device="cuda"))
    torch.set_default_device("cuda")
    try:
        packed = pack_padded_sequence(x, [2, 4], enforce_sorted=False)
        assert [each.device.type for each in packed] == ["cuda", "cpu", "cuda", "cuda"]
        assert torch.equal(pad_packed_sequence(packed)[0][:2], x[:2])
    finally:
        torch.set_default_device(None)


def test_projections():
    here, there = pair("lstm", 3, 6, num_layers=2, proj_size=4)
    compare(here, there, torch.float32, torch.randn(5, 2, 3), torch.randn(2, 2, 4), torch.randn(2, 2, 6))


def test_some_gradients_alone():
    for kind in ("lstm", "gru"):
        module = network(kind, 3, 4).cuda()
        module.weight_ih_l0.requires_grad_(False)
        x = torch.randn(5, 2, 3, device="cuda")
        out, _ = module(x)
        out.square().sum().backward()
        expected = module.weight_hh_l0.grad.clone()
        module.zero_grad()
        module.weight_ih_l0.requires_grad_(True)
        module(x.requires_grad_())[0].square().sum().backward()
        torch.testing.assert_close(module.weight_hh_l0.grad, expected)
        with torch.no_grad():
            torch.testing.assert_close(module(x)[0], out.detach())


def test_what_is_dropped_between_layers():
    module = network("lstm", 3, 40, num_layers=2, dropout=0.5).cuda()
    x = torch.randn(6, 4, 3, device="cuda", requires_grad=True)
    torch.manual_seed(4)
    first = module(x)[0]
    torch.manual_seed(4)
    assert torch.equal(module(x)[0], first)
    assert not torch.equal(module(x)[0], first)
    first.sum().backward()
    assert x.grad.abs().max() > 0
    module.eval()
    assert torch.equal(module(x)[0], module(x)[0])


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_second_gradients(kind, bidirectional):
    here, there = pair(kind, 2, 3, num_layers=2, bidirectional=bidirectional, dtype=torch.float64)
    x = torch.randn(4, 2, 2, dtype=torch.float64)
    found = []
    for module, device in ((here, "cpu"), (there, "cuda")):
        given = x.to(device).requires_grad_()
        first = torch.autograd.grad(module(given)[0].sin().sum(), (given, *module.parameters()), create_graph=True)
        second = torch.autograd.grad(sum(each.square().sum() for each in first), (given, *module.parameters()))
        found.append([*first, *second])
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(b.cpu(), a, rtol=1e-8, atol=1e-8)


def test_second_gradients_of_packed_sequences():
    here, there = pair("gru", 2, 3, bidirectional=True, dtype=torch.float64)
    x, found = torch.randn(4, 3, 2, dtype=torch.float64), []
    for module, device in ((here, "cpu"), (there, "cuda")):
        given = x.to(device).requires_grad_()
        out = module(pack_padded_sequence(given, [4, 2, 1]))[0].data
        (first,) = torch.autograd.grad(out.sin().sum(), given, create_graph=True)
        found.append([first, *torch.autograd.grad(first.square().sum(), (given, *module.parameters()))])
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(b.cpu(), a, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_transforms(kind):
    module = network(kind, 2, 3, dtype=torch.float64).cuda()
    x, t = (torch.randn(4, 2, 2, dtype=torch.float64, device="cuda") for _ in range(2))

    def run(given):
        return module(given)[0]

    _, tangent = torch.func.jvp(run, (x,), (t,))
    near = (run(x + 1e-6 * t) - run(x - 1e-6 * t)) / 2e-6
    torch.testing.assert_close(tangent, near, rtol=1e-6, atol=1e-6)
    many = torch.stack([x, t])
    torch.testing.assert_close(torch.vmap(run)(many), torch.stack([run(x), run(t)]))
    torch.testing.assert_close(torch.func.jacrev(run)(x), torch.func.jacfwd(run)(x))

    def slope(given):
        return torch.func.grad(lambda inner: run(inner).sin().sum())(given)

    _, tangent = torch.func.jvp(slope, (x,), (t,))
    torch.testing.assert_close(torch.func.grad(lambda given: (slope(given) * t).sum())(x), tangent)
    x.requires_grad_()
    out = run(x)
    cotangents = torch.randn(3, *out.shape, dtype=torch.float64, device="cuda")
    (together,) = torch.autograd.grad(out, x, cotangents, is_grads_batched=True, retain_graph=True)
    each = [torch.autograd.grad(out, x, one, retain_graph=True)[0] for one in cotangents]
    torch.testing.assert_close(together, torch.stack(each))
    (last,) = torch.autograd.grad(out, x, cotangents, is_grads_batched=True)
    torch.testing.assert_close(last, together)


@pytest.mark.parametrize("kind", KINDS)
def test_several_backwards_through_one_graph(kind):
    found = []
    for module, device in zip(pair(kind, 3, 4, num_layers=2), ("cpu", "cuda"), strict=True):
        torch.manual_seed(1)
        x = torch.randn(4, 2, 3).to(device).requires_grad_()
        out, loss = module(x)[0], []
        for retain in (True, True, False):
            module.zero_grad()
            out.square().sum().backward(retain_graph=retain)
            loss += [x.grad.clone(), *(each.grad.clone() for each in module.parameters())]
        found.append(loss)
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(b.cpu(), a, rtol=1e-4, atol=1e-5)


def test_parameters_that_change_between_forward_and_backward():
    module = network("lstm", 2, 3).cuda()
    out = module(torch.randn(4, 2, 2, device="cuda"))[0]
    with torch.no_grad():
        module.weight_hh_l0.add_(1)
    if not BY_LIBRARY:
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            out.sum().backward()
    else:
        out.sum().backward()  # of a copy of them


def test_wrong_arguments_have_the_words_of_the_cpu():
    x, state, options = torch.randn(4, 2, 3), torch.zeros(1, 2, 5), (True, 1, 0.0, False, False)
    wrong = [
        lambda m, d: m(x.to(d)[..., :2]),
        lambda m, d: m(x.to(d), (state.to(d)[:, :1], state.to(d))),
        lambda m, d: m(x.to(d).double()),
        lambda m, d: torch.lstm(x.to(d), (state.to(d)[:, :1], state.to(d)), m._flat_weights, *options, False),
        lambda m, d: torch.lstm(x.to(d)[:0], (state.to(d), state.to(d)), m._flat_weights, *options, False),
        lambda m, d: torch.lstm(x[0].to(d), torch.tensor([1, 2]), (state.to(d),) * 2, m._flat_weights, *options),
    ]
    here, there = pair("lstm", 3, 5)
    for call in wrong:
        with pytest.raises((RuntimeError, ValueError)) as expected:
            call(here, "cpu")
        with pytest.raises(type(expected.value)) as ours:
            call(there, "cuda")
        assert str(ours.value).replace("cuda:0", "cpu").split(";")[0] == str(expected.value).split(";")[0]


@pytest.mark.skipif(not BY_LIBRARY, reason="without cuDNN there are own kernels alone")
def test_cudnn_computes_networks():
    for kind in KINDS:
        x = torch.randn(4, 2, 3, device="cuda", requires_grad=True)
        module = network(kind, 3, 5, num_layers=2, bidirectional=True).cuda()
        assert "CudnnRnn" in names_behind(module(x)[0])
        torch.backends.cudnn.enabled = False
        try:
            assert "CudnnRnn" not in names_behind(module(x)[0])
        finally:
            torch.backends.cudnn.enabled = True


def names_behind(tensor):
    nodes, names = [tensor.grad_fn], []
    while nodes:
        node = nodes.pop()
        names.append(type(node).__name__)
        nodes += [each for each, _ in node.next_functions if each is not None]
    return " ".join(names)


def test_flags_that_change_between_forward_and_backward():
    cudnn, x = torch.backends.cudnn, torch.randn(4, 2, 3)
    here, there = pair("gru", 3, 5)
    expected = all_of(here, x)
    for before, after in ({"allow_tf32": True}, {"allow_tf32": False}), ({"allow_tf32": False}, {"enabled": False}):
        given = x.cuda().requires_grad_()
        with cudnn.flags(**{"enabled": True, **before}):
            out, last = there(given)
            loss = out.sin().sum() + (last * 2).cos().sum()
        with cudnn.flags(**{"enabled": True, **after}):
            loss.backward()
        torch.testing.assert_close(given.grad.cpu(), expected[2], rtol=2e-2, atol=2e-2)


@pytest.mark.skipif(not BY_LIBRARY or not STANDIN, reason="the stand-in's cuDNN can be told to refuse")
def test_what_cudnn_refuses_says_what_to_do():
    module, x = network("gru", 3, 5).cuda(), torch.randn(4, 2, 3, device="cuda")
    fail("cudnnRNNForward", 5000)
    with pytest.raises(RuntimeError, match=r"backends\.cudnn\.enabled = False"):
        module(x)
    module(x)
