"""Arguments on several devices: every op is right or raises, and no kernel reads the memory of another device.

A kernel that reads the program's memory spoils the device for all that follows, so each test ends by using it. On the
stand-in such a read goes well, and is found by `python -m tests.cuda --check`.
"""

import contextlib
import io
import pickle

import pytest

import adjoint as torch

from ..samples import collect, find
from .test_samples import CLOSE, ELSEWHERE, called, gradients, on_device, tensors_in

# Of losses whose arguments are broadcast.
pytestmark = pytest.mark.filterwarnings("ignore:Using a target size")
REFUSED = (RuntimeError, TypeError, ValueError, IndexError)
SAMPLES = [
    pytest.param(name, sample, id=f"{name}-{number}")
    for name, samples in sorted(collect().items())
    if name not in ELSEWHERE
    for number, sample in enumerate(samples)
]


def each_tensor(value, change):
    """The same arguments with change(place, tensor) in the place of each tensor; places count from 0."""
    places = iter(range(1 << 20))

    def walk(value):
        if isinstance(value, torch.Tensor):
            return change(next(places), value)
        if isinstance(value, list | tuple):
            return type(value)(walk(item) for item in value)
        if isinstance(value, dict):
            return {name: walk(item) for name, item in value.items()}
        return value

    return walk(value)


def as_number(tensor):
    """One element as a tensor of no dimension, on the CPU."""
    flat = tensor.detach().reshape(-1)
    number = flat[0].clone() if len(flat) else torch.ones((), dtype=tensor.dtype)
    return number.requires_grad_(tensor.requires_grad)


def as_it_is(tensor):
    return tensor


def at(chosen, change, others):
    """For each_tensor: `change` of the tensor in one place, and `others` of the others."""
    return lambda place, tensor: (change if place == chosen else others)(tensor)


def outcome(name, sample, change):
    """What a call with changed arguments gives, with its first gradients, or None where it is refused."""
    args, kwargs, _ = sample.make(torch)
    args, kwargs = each_tensor([list(args), kwargs], change)
    try:
        result = called(find(torch, name), args, kwargs, sample.seed)
        first = gradients(result, args, kwargs, False)
        torch.cuda.synchronize()  # which raises what a GPU refuses
    except REFUSED:
        with contextlib.suppress(*REFUSED):  # of a call that both refuse
            torch.cuda.synchronize()
        return None
    return [each.detach().cpu() for each in (*tensors_in(result), *first) if each is not None]


def assert_works():
    torch.cuda.synchronize()
    assert torch.ones(2, device="cuda").sum().item() == 2


def assert_right(ours, expected, sample):
    """An error, or what the CPU gives; of random numbers the sizes."""
    if ours is None or expected is None:
        return
    for mine, theirs in zip(ours, expected, strict=True):
        assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape)
        if not sample.seed:
            rtol, atol = CLOSE.get(str(mine.dtype).partition(".")[2], (0, 0))
            torch.testing.assert_close(mine, theirs, rtol=rtol, atol=atol, equal_nan=True)


@pytest.mark.parametrize(("name", "sample"), SAMPLES)
def test_one_argument_elsewhere(name, sample):
    args, kwargs, _ = sample.make(torch)
    count = len(list(tensors_in([*args, *kwargs.values()])))
    if count < 2:
        return
    expected = outcome(name, sample, at(0, as_it_is, as_it_is))
    for other in range(count):
        for changes in ((as_it_is, on_device), (on_device, as_it_is)):
            assert_right(outcome(name, sample, at(other, *changes)), expected, sample)
            assert_works()


@pytest.mark.parametrize(("name", "sample"), SAMPLES)
def test_one_number_elsewhere(name, sample):
    args, kwargs, _ = sample.make(torch)
    count = len(list(tensors_in([*args, *kwargs.values()])))
    if count < 2:
        return
    for other in range(count):
        expected = outcome(name, sample, at(other, as_number, as_it_is))
        assert_right(outcome(name, sample, at(other, as_number, on_device)), expected, sample)
        assert_works()


@pytest.mark.parametrize(
    "call",
    [
        lambda x: torch.index_select(x, 0, torch.tensor(1)),
        lambda x: torch.gather(x, 0, torch.tensor(1)),
        lambda x: x.scatter(0, torch.tensor(1), 2.0),
        lambda x: x.scatter(0, torch.tensor(1, device="cuda"), torch.tensor(2.0)),
        lambda x: torch.take(x, torch.tensor(1)),
        lambda x: torch.searchsorted(x, torch.tensor(0.5)),
        lambda x: torch.bucketize(torch.tensor(0.5), x),
        lambda x: torch.dot(x, torch.tensor(1.0).expand(4)),
        lambda x: torch.cat([x, torch.ones(2)]),
        lambda x: torch.normal(torch.tensor(1.0), x),
        lambda x: torch.where(x > 1, x, torch.ones(4)),
        lambda x: x.cpu().__setitem__(torch.tensor([1], device="cuda"), 5.0),
        lambda x: x.index_put((torch.tensor([1, 2]),), torch.ones(2)),
    ],
)
def test_refusals(call):
    x = torch.arange(4.0, device="cuda")
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device, but found at least two"):
        call(x)
    assert_works()


@pytest.mark.parametrize(
    "call",
    [
        lambda x, number: x * number(2.0),
        lambda x, number: x.masked_fill(x > 1, number(7.0)),
        lambda x, number: x.clone().masked_fill_(x > 1, number(7.0)),
        lambda x, number: x.index_fill(0, x[1:3].long(), number(7.0)),
        lambda x, number: x.index_put((x[1:3].long(),), number(7.0)),
        lambda x, number: x.index_put((x[1:3].long(),), number(7.0), accumulate=True),
        lambda x, number: x.clone().fill_(number(7.0)),
        lambda x, number: torch.where(x > 1, x, number(7.0)),
        lambda x, number: torch.where(x > 1, number(7.0), number(8.0)),
        lambda x, number: torch.lerp(x, x + 1, number(0.5)),
        lambda x, number: x.clamp(number(1.0), number(2.0)),
        lambda x, number: torch.addcmul(x, x, x, value=number(2.0)),
        lambda x, number: x.sum(number(0)),
        lambda x, number: x.narrow(0, number(1), 2),
    ],
)
def test_numbers_in_tensors_of_the_cpu(call):
    x = torch.arange(4.0)
    expected = call(x, torch.tensor)
    ours = call(x.cuda(), torch.tensor)
    assert ours.is_cuda
    assert torch.equal(ours.cpu(), expected)


def test_python_numbers():
    """What composites make of them is made where the other arguments are."""
    x = torch.arange(6.0)
    for call in (
        lambda x: torch.searchsorted(x, 2.5),
        lambda x: torch.bucketize(2.5, x),
        lambda x: torch.quantile(x, 0.3),
        lambda x: torch.nanquantile(x, 0.3),
        lambda x: torch.combinations(x, 2),
        lambda x: torch.combinations(x, 2, with_replacement=True),
        lambda x: torch.normal(3.0, x * 0),
    ):
        ours = call(x.cuda())
        assert ours.is_cuda
        torch.testing.assert_close(ours.cpu(), call(x))
    slopes = torch.nn.functional.rrelu(-torch.ones(100, device="cuda"), 0.25, 0.5, training=True)
    assert (slopes.clamp(-0.5, -0.25) == slopes).all()
    assert slopes.std() > 0
    drawn = torch.zeros(100, device="cuda").bernoulli_(torch.tensor([0.0, 1.0]).repeat(50))
    assert torch.equal(drawn.cpu(), torch.tensor([0.0, 1.0]).repeat(50))


@pytest.mark.parametrize(("name", "sample"), SAMPLES)
def test_out_elsewhere(name, sample):
    for move, there in ((as_it_is, "cuda"), (on_device, "cpu")):
        args, kwargs, _ = sample.make(torch)
        args, kwargs = each_tensor([list(args), kwargs], at(0, move, move))
        with torch.no_grad():
            try:
                found = called(find(torch, name), args, kwargs, sample.seed)
            except REFUSED:
                return
            outs = [torch.empty_like(each, device=there) for each in tensors_in(found)]
            if not outs or any(out.device == each.device for out, each in zip(outs, tensors_in(found), strict=True)):
                return
            given = tuple(outs) if isinstance(found, list | tuple) else outs[0]
            with pytest.raises(REFUSED):
                called(find(torch, name), args, {**kwargs, "out": given}, sample.seed)
        assert_works()


def test_a_loop_that_there_is_not_has_the_name_of_the_device():
    x = torch.ones(2, dtype=torch.complex64)
    for tensor, loop in ((x, "atan2_cpu"), (x.cuda(), "atan2_cuda")):
        with pytest.raises(NotImplementedError, match=f"\"{loop}\" not implemented for 'ComplexFloat'"):
            torch.atan2(tensor, tensor)


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="takes two GPUs")
@pytest.mark.parametrize("norm_type", [2.0, float("inf")])
@pytest.mark.parametrize("places", [("cuda:0", "cuda:1"), ("cuda:1", "cpu", "cuda:0"), ("cpu", "cuda")])
def test_gradients_of_several_devices_are_clipped_together(places, norm_type):
    def parameters(places):
        made = [torch.ones(2, device=place, requires_grad=True) for place in places]
        for i, parameter in enumerate(made):
            parameter.grad = torch.full_like(parameter, 3.0 + i)
        return made

    apart, together = parameters(places), parameters(["cpu"] * len(places))
    norms = [torch.nn.utils.clip_grad_norm_(each, 1.0, norm_type) for each in (apart, together)]
    assert norms[0].device == apart[0].device
    torch.testing.assert_close(norms[0].cpu(), norms[1])
    for mine, theirs in zip(apart, together, strict=True):
        torch.testing.assert_close(mine.grad.cpu(), theirs.grad)


@pytest.mark.parametrize("place", ["cuda", "meta"])
@pytest.mark.parametrize("zipped", [True, False])
def test_files_and_storages_are_read_where_a_program_has_another_default_device(place, zipped, tmp_path):
    x, file = torch.arange(3.0), io.BytesIO()
    torch.save({"x": x, "there": torch.ones(2, device="cuda")}, file, _use_new_zipfile_serialization=zipped)
    file.seek(0)
    torch.safetensors.save_file({"x": x, "none": torch.empty(0)}, tmp_path / "x.safetensors")
    (tmp_path / "x.bin").write_bytes(x.numpy().tobytes())
    with torch.device(place):
        found = torch.load(file)
        read = torch.safetensors.load_file(tmp_path / "x.safetensors")
        mapped = torch.from_file(str(tmp_path / "x.bin"), size=3)
        storages = [torch.UntypedStorage([1, 2]), pickle.loads(pickle.dumps(x.untyped_storage()))]
    assert found["there"].is_cuda
    for each in (found["x"], read["x"], mapped):
        assert each.device.type == "cpu"
        assert each.tolist() == [0.0, 1.0, 2.0]
    assert [each.device.type for each in (read["none"], *storages)] == ["cpu"] * 3
    assert storages[0].tolist() == [1, 2]
