"""torch.cuda.comm, and modules on several GPUs, or on the one that there is."""

import pytest

import adjoint as torch
from adjoint import nn
from adjoint.cuda import comm

COUNT = torch.cuda.device_count()
ALL = list(range(COUNT))
TWO = pytest.mark.skipif(COUNT < 2, reason="takes two GPUs")


# ---- Tensors


def test_broadcast():
    x = torch.arange(3.0)
    copies = comm.broadcast(x, devices=ALL)
    assert [copy.get_device() for copy in copies] == ALL
    assert all(copy.tolist() == x.tolist() for copy in copies)
    there = x.cuda()
    assert comm.broadcast(there, ["cuda:0"])[0] is there
    outs = [torch.zeros(3, device="cuda") for _ in range(2)]
    assert comm.broadcast(x, out=outs)[1] is outs[1]
    assert outs[1].tolist() == x.tolist()
    with pytest.raises(RuntimeError, match=r"^Exactly one of 'devices' and 'out' must be provided"):
        comm.broadcast(x)
    rows = comm.broadcast_coalesced([there, there + 1], ALL)
    assert [[each.sum().item() for each in row] for row in rows] == [[3.0, 6.0]] * COUNT


def test_scatter_and_gather():
    x = torch.arange(8.0).reshape(4, 2)
    parts = comm.scatter(x, ALL)
    assert [part.get_device() for part in parts] == ALL
    assert torch.equal(comm.gather(parts, destination="cpu"), x)
    assert comm.gather(parts).get_device() == torch.cuda.current_device()
    assert comm.gather(parts, 0, torch.device("cuda", COUNT - 1)).get_device() == COUNT - 1
    out = torch.empty(4, 2, device="cuda")
    assert comm.gather(parts, out=out) is out
    assert torch.equal(out.cpu(), x)
    outs = [torch.empty(4, 1, device="cuda") for _ in range(2)]
    comm.scatter(x, dim=1, out=outs)
    assert outs[1].flatten().tolist() == [1.0, 3.0, 5.0, 7.0]
    with pytest.warns(FutureWarning, match="Using -1 to represent CPU tensor is deprecated"):
        assert comm.gather(parts, destination=-1).device.type == "cpu"
    with pytest.raises(RuntimeError, match="chunk_sizes for 1 GPUs that add up to 4"):
        comm.scatter(x, [0], [3])


@TWO
def test_parts_have_the_sizes_that_are_asked_for():
    parts = comm.scatter(torch.arange(4.0), [1, 0], [1, 3])
    assert [(part.get_device(), part.tolist()) for part in parts] == [(1, [0.0]), (0, [1.0, 2.0, 3.0])]


def test_sums():
    x = [torch.full((2,), index + 1.0, device=f"cuda:{index}") for index in ALL]
    total = sum(index + 1.0 for index in ALL)
    assert comm.reduce_add(x, 0).tolist() == [total] * 2
    assert x[0].tolist() == [1.0, 1.0]
    (first, second) = comm.reduce_add_coalesced([[each, 2 * each] for each in x], "cuda:0")
    assert (first.tolist(), second.tolist()) == ([total] * 2, [2 * total] * 2)
    with pytest.raises(AssertionError, match="reduce_add expects all inputs to be on GPUs"):
        comm.reduce_add([torch.ones(1)])
    with pytest.raises(ValueError, match=r"expected inputs of one shape; got \(2,\), \(1,\)"):
        comm.reduce_add([x[0], torch.ones(1, device="cuda")])


# ---- Modules


class Tree(nn.Module):
    """Takes and gives tensors in lists and dictionaries."""

    def forward(self, pair, scale, name=None):
        x, y = pair
        return {"sum": x + y, "list": [x * scale["by"], None], "name": None}


def make():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))


def test_a_batch_is_shared_among_all():
    plain, shared = make(), nn.DataParallel(make().cuda())
    assert shared.device_ids == ALL
    x, y = torch.randn(5, 3, requires_grad=True), torch.randn(5, 3)
    with torch.no_grad():
        y.copy_(x)
    y.requires_grad_()
    expected, ours = plain(x), shared(y)
    assert ours.get_device() == 0
    torch.testing.assert_close(ours.cpu(), expected)
    expected.square().sum().backward()
    ours.square().sum().backward()
    torch.testing.assert_close(y.grad, x.grad)
    for mine, theirs in zip(shared.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(mine.grad.cpu(), theirs.grad)
    with torch.no_grad():
        assert not shared(y).requires_grad


def test_one_gpu_needs_no_copies():
    module = make()
    shared = nn.DataParallel(module, device_ids=["cuda:0"])
    assert shared.device_ids == [0]
    assert module[0].weight.is_cuda
    assert shared(torch.ones(2, 3)).get_device() == 0
    assert next(iter(shared.state_dict())) == "module.0.weight"


def test_structures_are_shared():
    x = torch.arange(4.0)
    found = nn.DataParallel(Tree())((x, x + 1), scale={"by": x}, name="any")
    assert found["sum"].tolist() == [1.0, 3.0, 5.0, 7.0]
    assert found["list"][0].tolist() == [0.0, 1.0, 4.0, 9.0]
    assert (found["list"][1], found["name"]) == (None, None)
    if COUNT > 1:  # the results of one GPU stay there
        assert nn.parallel.data_parallel(make().cuda(), x.reshape(1, 4)[:, :3], ALL, "cpu").device.type == "cpu"


@TWO
def test_buffers_of_the_first_gpu_are_the_module_s():
    module = nn.BatchNorm1d(3).cuda()
    nn.DataParallel(module)(torch.arange(12.0).reshape(4, 3))
    assert module.num_batches_tracked.item() == 1
    torch.testing.assert_close(module.running_mean.cpu(), torch.tensor([0.15, 0.25, 0.35]))


@TWO
def test_replicas():
    module = make().cuda()
    first, second = nn.parallel.replicate(module, [0, 1])
    assert (first[0].weight.get_device(), second[0].weight.get_device()) == (0, 1)
    assert not list(second.parameters())
    second[0].weight.sum().backward()
    assert module[0].weight.grad.tolist() == [[1.0] * 3] * 4
    detached = nn.parallel.replicate(module, [1], detach=True)[0]
    assert not detached[0].weight.requires_grad
    results = nn.parallel.parallel_apply([first, second], [torch.ones(1, 3, device=f"cuda:{i}") for i in (0, 1)])
    assert [each.get_device() for each in results] == [0, 1]


def test_scalars_become_a_vector():
    tensors = [torch.tensor(1.0, device="cuda"), torch.tensor(2.0, device="cuda")]
    with pytest.warns(UserWarning, match="all input tensors were scalars; will instead unsqueeze"):
        assert nn.parallel.gather(tensors, 0).tolist() == [1.0, 2.0]


def test_what_is_elsewhere_is_refused():
    with pytest.raises(AssertionError, match=r"^Gather function not implemented for CPU tensors"):
        nn.parallel.gather([torch.ones(1)], 0)
    with pytest.raises(AssertionError, match=r"^Broadcast function not implemented for CPU tensors"):
        nn.parallel.replicate(make(), ALL)
    if COUNT > 1:
        with pytest.raises(RuntimeError, match=r"on device cuda:0 \(device_ids\[0\]\) but found one of them on"):
            nn.DataParallel(make())(torch.ones(4, 3))
