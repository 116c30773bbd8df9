"""Optimizers on the device against the CPU: one pass over all parameters, in all options and types; loss scaling."""

import copy
import warnings

import pytest

import adjoint as torch

from .driver import counted

SHAPES = [(3,), (5, 7), (), (1,), (4097,), (33, 130), (0,), (2, 3, 4, 5), (5000,)]
CASES = [
    ("SGD", {}),
    ("SGD", {"momentum": 0.9, "weight_decay": 0.01}),
    ("SGD", {"momentum": 0.9, "nesterov": True, "maximize": True}),
    ("SGD", {"momentum": 0.9, "dampening": 0.3, "foreach": True}),
    ("SGD", {"momentum": 0.5, "fused": True}),
    ("Adam", {}),
    ("Adam", {"amsgrad": True, "weight_decay": 0.1}),
    ("Adam", {"maximize": True, "foreach": True}),
    ("Adam", {"fused": True}),
    ("Adam", {"capturable": True, "amsgrad": True}),
    ("AdamW", {}),
    ("AdamW", {"amsgrad": True, "foreach": True}),
    ("AdamW", {"fused": True, "weight_decay": 0.2}),
    ("Adamax", {"weight_decay": 0.1}),
    ("Adamax", {"capturable": True}),
    ("NAdam", {}),
    ("NAdam", {"decoupled_weight_decay": True, "weight_decay": 0.1, "capturable": True}),
    ("RAdam", {"weight_decay": 0.1}),
    ("RAdam", {"capturable": True, "foreach": True}),
    ("Adagrad", {"lr_decay": 0.1, "initial_accumulator_value": 0.5}),
    ("Adagrad", {"fused": True}),
    ("Adadelta", {"weight_decay": 0.1}),
    ("Adadelta", {"capturable": True}),
    ("RMSprop", {"centered": True, "momentum": 0.9}),
    ("RMSprop", {"weight_decay": 0.1, "capturable": True}),
    ("Rprop", {}),
    ("Rprop", {"capturable": True, "maximize": True}),
    ("ASGD", {"t0": 2, "lambd": 0.1}),
    ("ASGD", {"capturable": True, "weight_decay": 0.1}),
]
CLOSE = {"float64": (1e-12, 1e-13), "float32": (2e-6, 1e-7), "float16": (2e-2, 2e-2), "bfloat16": (4e-2, 4e-2)}
CLOSE |= {"complex64": CLOSE["float32"]}


def parameters(dtype, shapes=SHAPES):
    """The same parameters on the CPU and on the device."""
    generator = torch.Generator().manual_seed(1)
    values = [torch.randn(shape, generator=generator, dtype=dtype) for shape in shapes]
    here = [value.clone().requires_grad_() for value in values]
    return here, [value.to("cuda").requires_grad_() for value in values]


def give_gradients(here, there, step):
    generator = torch.Generator().manual_seed(100 + step)
    for mine, theirs in zip(here, there, strict=True):
        grad = torch.randn(mine.shape, generator=generator, dtype=mine.dtype)
        mine.grad, theirs.grad = grad, grad.to("cuda")


def assert_same(there, here, dtype):
    rtol, atol = CLOSE[str(dtype).partition(".")[2]]
    for mine, theirs in zip(there, here, strict=True):
        assert mine.device.type == "cuda"
        torch.testing.assert_close(mine.detach().cpu(), theirs.detach(), rtol=rtol, atol=atol, equal_nan=True)


def with_states(params, optimizer):
    """Each parameter and each of its states, by its number and name."""
    return {
        (number, name): value.detach()
        for number, param in enumerate(params)
        for name, value in {"param": param, **optimizer.state.get(param, {})}.items()
    }


def assert_same_states(there, here, greatest, dtype, steps):
    """A GPU rounds a product and a sum once where the CPU rounds twice: a difference of half a unit in the last place
    of the product. It stays where later sums come near zero, so that it is relative to the `greatest` number that was
    in the tensor, and not to what is there at last. A step has two such sums at most on the way to a number.
    """
    rtol, atol = CLOSE[str(dtype).partition(".")[2]]
    assert there.keys() == here.keys()
    for key, value in here.items():
        fused = steps * torch.finfo(torch.float32).eps * greatest[key] if dtype is torch.float32 else 0
        torch.testing.assert_close(there[key].cpu(), value, rtol=rtol, atol=max(atol, fused), equal_nan=True)


def run(name, options, dtype, steps=5, shapes=SHAPES):
    here, there = parameters(dtype, shapes)
    optimizers = [getattr(torch.optim, name)(params, lr=0.05, **options) for params in (here, there)]
    greatest = {}
    for step in range(steps):
        give_gradients(here, there, step)
        for optimizer in optimizers:
            optimizer.step()
        for key, value in with_states(here, optimizers[0]).items():
            greatest[key] = max([greatest.get(key, 0), *value.abs().reshape(-1).tolist()])
    assert all(param.is_cuda for param in there)
    assert_same_states(with_states(there, optimizers[1]), with_states(here, optimizers[0]), greatest, dtype, steps)
    return optimizers[1]


@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
def test_like_the_cpu(name, options):
    optimizer = run(name, options, torch.float32)
    place = "cuda" if options.get("capturable") or options.get("fused") else "cpu"
    for state in optimizer.state.values():
        assert "step" not in state or state["step"].device.type == place


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16, torch.complex64], ids=str)
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("SGD", {"momentum": 0.9, "weight_decay": 0.1}),
        ("Adam", {"amsgrad": True}),
        ("AdamW", {"fused": True}),
        ("RMSprop", {"capturable": True}),
        ("Rprop", {}),
    ],
    ids=str,
)
def test_types(name, options, dtype):
    if dtype is torch.float16 and name not in ("SGD", "Rprop"):
        options = options | {"eps": 1e-2}  # smaller ones vanish in the type, where the CPU computes
    run(name, options, dtype, steps=3)


def test_many_parameters():
    run("Adam", {}, torch.float32, steps=2, shapes=[(1 + i % 7,) for i in range(230)])
    run("SGD", {"momentum": 0.9}, torch.float32, steps=2, shapes=[(1 + i % 7,) for i in range(230)])
    run("ASGD", {"capturable": True}, torch.float32, steps=2, shapes=[(1 + i % 7,) for i in range(230)])


@pytest.mark.parametrize(("options", "expected"), [({}, 1), ({"fused": True}, 2)], ids=str)
def test_one_launch(options, expected):
    """Where the 0-d states are on the device, too, a second one steps them."""
    _, there = parameters(torch.float32, [(5 + i,) for i in range(60)])
    optimizer = torch.optim.Adam(there, **options)
    for param in there:
        param.grad = torch.ones_like(param)
    optimizer.step()
    with counted() as launches:
        optimizer.step()
    assert launches == [expected]
    with counted() as launches:
        found, inverse = torch.zeros((), device="cuda"), torch.ones((), device="cuda")
        torch._amp_foreach_non_finite_check_and_unscale_([param.grad for param in there], found, inverse)
    assert launches[0] <= 3


def test_types_and_steps_mixed():
    """Several types in a group, and parameters that have made different numbers of steps."""
    here, there = parameters(torch.float32)
    more, more_there = parameters(torch.float64, [(9,), (40, 40)])
    here, there = here + more, there + more_there
    optimizers = [torch.optim.Adam(params, lr=0.05) for params in (here, there)]
    for step in range(4):
        give_gradients(here, there, step)
        if step < 2:
            for params in (here, there):
                params[1].grad = params[-1].grad = None
        for optimizer in optimizers:
            optimizer.step()
    for mine, theirs in zip(there, here, strict=True):
        assert_same([mine], [theirs], mine.dtype)
    assert {state["step"].item() for state in optimizers[1].state.values()} == {2, 4}


def test_groups():
    here, there = parameters(torch.float32)
    optimizers = [
        torch.optim.AdamW([{"params": params[:3]}, {"params": params[3:], "lr": 0.3, "amsgrad": True}], lr=0.01)
        for params in (here, there)
    ]
    for step in range(3):
        give_gradients(here, there, step)
        for optimizer in optimizers:
            optimizer.step()
    assert_same(there, here, torch.float32)


@pytest.mark.parametrize("options", [{}, {"capturable": True}])
def test_learning_rates_on_the_device(options):
    here, there = parameters(torch.float32)
    rate = torch.tensor(0.05)
    optimizers = [torch.optim.Adam(here, lr=0.05, **options), torch.optim.Adam(there, lr=rate.to("cuda"), **options)]
    for step in range(3):
        give_gradients(here, there, step)
        for optimizer in optimizers:
            optimizer.step()
    assert_same(there, here, torch.float32)


def test_memory_formats():
    values = torch.randn(8, 4, 3, 3)
    here = values.clone().to(memory_format=torch.channels_last).requires_grad_()
    there = values.to("cuda").to(memory_format=torch.channels_last).requires_grad_()
    assert there.stride() == here.stride()
    optimizers = [torch.optim.Adam([param], lr=0.1) for param in (here, there)]
    for _ in range(2):
        grad = torch.randn(8, 4, 3, 3)
        here.grad, there.grad = grad, grad.to("cuda").to(memory_format=torch.channels_last)
        for optimizer in optimizers:
            optimizer.step()
        there.grad = grad.to("cuda")  # in another order than the parameter
        for optimizer in optimizers:
            optimizer.step()
    assert_same([there], [here], torch.float32)
    odd = torch.zeros(41, device="cuda")[1:].requires_grad_()  # at an address that is no multiple of 16
    odd.grad = torch.ones(40, device="cuda")
    torch.optim.SGD([odd], lr=0.5).step()
    assert (odd.detach().cpu() == -0.5).all()


def test_versions_and_states_of_files():
    here, there = parameters(torch.float32)
    optimizer = torch.optim.NAdam(there, lr=0.1)
    give_gradients(here, there, 0)
    before = there[1]._version
    optimizer.step()
    assert there[1]._version == before + 1
    other = torch.optim.NAdam([param.detach().clone().requires_grad_() for param in there], lr=0.1)
    other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    for mine, theirs in zip(other.param_groups[0]["params"], there, strict=True):
        mine.grad = theirs.grad
    optimizer.step()
    other.step()
    for mine, theirs in zip(other.param_groups[0]["params"], there, strict=True):
        assert mine.detach().cpu().equal(theirs.detach().cpu())


def test_what_the_pass_leaves():
    """Parameters that do not lie in one piece go by the rule, op by op."""
    base = torch.randn(6, 8)
    here, there = base.clone()[:, ::2].requires_grad_(), base.to("cuda")[:, ::2].requires_grad_()
    optimizers = [torch.optim.Adam([param], lr=0.1) for param in (here, there)]
    for step in range(3):
        give_gradients([here], [there], step)
        for optimizer in optimizers:
            optimizer.step()
    assert_same([there], [here], torch.float32)


@pytest.mark.parametrize("name", ["LBFGS", "Adafactor", "Muon"])  # SparseAdam: test_sparse.py
def test_others(name):
    here, there = parameters(torch.float32, [(6, 5), (4, 4)])
    options = {"lr": 0.1}
    optimizers = [getattr(torch.optim, name)(params, **options) for params in (here, there)]
    for params, optimizer in zip((here, there), optimizers, strict=True):

        def closure(params=params, optimizer=optimizer):
            optimizer.zero_grad()
            loss = sum((param**2).sum() + param.sin().sum() for param in params)
            loss.backward()
            return loss

        for _ in range(3):
            if name == "LBFGS":
                optimizer.step(closure)
            else:
                closure()
                optimizer.step()
    rtol, atol = 1e-3, 1e-4  # sums and products of another order, and roots of them
    for mine, theirs in zip(there, here, strict=True):
        torch.testing.assert_close(mine.detach().cpu(), theirs.detach(), rtol=rtol, atol=atol)


# ---- Loss scaling


def test_unscale():
    grads = [torch.randn(shape).to("cuda") for shape in SHAPES]
    grads += [torch.randn(40, dtype=torch.float64).to("cuda"), torch.randn(9).half().to("cuda")]
    grads.append(torch.randn(6, 8).to("cuda")[:, ::2])
    expected = [grad.cpu() * 0.25 for grad in grads]
    found, inverse = torch.zeros((), device="cuda"), torch.full((), 0.25, device="cuda")
    torch._amp_foreach_non_finite_check_and_unscale_(grads, found, inverse)
    assert found.item() == 0
    for mine, theirs in zip(grads, expected, strict=True):
        torch.testing.assert_close(mine.cpu(), theirs)
    for number, bad in ((4, float("inf")), (5, float("nan")), (-2, float("-inf")), (-1, float("nan"))):
        found.zero_()
        grads[number].view(-1)[-1:].fill_(bad) if number != -1 else grads[number][-1:].fill_(bad)
        torch._amp_foreach_non_finite_check_and_unscale_([grads[0], grads[number]], found, inverse)
        assert found.item() == 1
        grads[number].zero_()


def test_grad_scaler():
    results = []
    for device in ("cpu", "cuda"):
        torch.manual_seed(0)
        weight = torch.randn(5, 4).to(device).requires_grad_()
        scaler = torch.amp.GradScaler(device, init_scale=1024.0, growth_interval=2)
        assert scaler.is_enabled()
        optimizer = torch.optim.SGD([weight], lr=0.1)
        scales = []
        for step in range(6):
            optimizer.zero_grad()
            x = torch.full((3, 5), float("inf") if step == 3 else 1.0 + step).to(device)
            scaler.scale((x @ weight).mean()).backward()
            scaler.step(optimizer)
            scaler.update()
            scales.append(scaler.get_scale())
        results.append((weight.detach().cpu(), scales, scaler.state_dict()))
    torch.testing.assert_close(results[0][0], results[1][0])
    assert results[0][1] == results[1][1]
    assert results[0][2] == results[1][2]


def test_a_scaler_without_a_device_says_so():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.cuda.amp.GradScaler is not None
        torch.amp.GradScaler("cuda")


# ---- Clipping


@pytest.mark.parametrize("order", [1.0, 2.0, 3.0, float("inf")])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_clipping(order, dtype):
    here, there = parameters(dtype, [shape for shape in [*SHAPES, (9000,)] if shape != (0,)])
    give_gradients(here, there, 0)
    norms = [torch.nn.utils.clip_grad_norm_(params, 3.0, norm_type=order) for params in (here, there)]
    rtol = 1e-2 if dtype is torch.bfloat16 else 1e-5
    torch.testing.assert_close(norms[1].cpu(), norms[0], rtol=rtol, atol=0)
    for mine, theirs in zip(there, here, strict=True):
        torch.testing.assert_close(mine.grad.cpu(), theirs.grad, rtol=rtol, atol=1e-5)


def test_norms():
    tensors = [torch.randn(1 + 7 * i).to("cuda") for i in range(120)] + [torch.full((3,), float("nan"), device="cuda")]
    for order in (1.0, 2.0, float("inf")):
        expected = torch.stack([torch.linalg.vector_norm(tensor.cpu(), order) for tensor in tensors])
        torch.testing.assert_close(torch._C._norms(tensors, order).cpu(), expected, equal_nan=True)
    assert torch._C._norms([torch.ones(3)], 2.0) is None


@pytest.mark.parametrize("name", ["Adadelta", "Adam", "Adamax", "AdamW", "ASGD", "NAdam", "RAdam", "RMSprop", "Rprop"])
def test_steps_that_count_on_the_cpu_are_not_captured(name):
    def made(**options):
        w = torch.ones(3, device="cuda", requires_grad=True)
        w.grad = torch.ones(3, device="cuda")
        optimizer = getattr(torch.optim, name)([w], **options)
        optimizer.step()
        return w, optimizer

    w, optimizer = made()
    before = w.tolist()
    words = f"capture of step.. for an instance of {name} but param_groups' capturable is False"
    with pytest.raises(RuntimeError, match=words), torch.cuda.graph(torch.cuda.CUDAGraph()):
        optimizer.step()
    assert w.tolist() == before
    (w, optimizer), (plain, eager) = made(capturable=True), made()
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        optimizer.step()
    for _ in range(3):
        g.replay()
        eager.step()
    torch.testing.assert_close(w, plain)
