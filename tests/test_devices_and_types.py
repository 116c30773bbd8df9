"""Names of devices and element types, the default device, and the constructors of old, beside torch."""

import copy
import operator
import pickle
import threading

import pytest

import adjoint

from .both import programs, raised

program, test_program = programs()


@program
def devices_can_be_named(L):
    names = ["cpu", "cuda", "cuda:1", "mps", "xpu", "meta", "cpu:0", "xla:2", "privateuseone"]
    devices = [L.device(name) for name in names]
    return [(str(d), repr(d), d.type, d.index, copy.copy(d) == d) for d in devices]


@program
def devices_compare(L):
    a, b = L.device("cuda", 1), L.device("cuda:1")
    return a == b, hash(a) == hash(b), a != L.device("cuda"), a == "cuda:1", len({a, b, L.device("cpu")})


@program
def bad_devices(L):
    calls = [
        lambda: L.device("foo"),
        lambda: L.device("cuda:x"),
        lambda: L.device("cuda:0", 1),
        lambda: L.device(0),
        lambda: L.device("cuda", -1),
    ]
    return [raised(call) for call in calls]


@program
def tensors_stay_on_the_cpu(L):
    x = L.zeros(2)
    calls = [
        lambda: L.zeros(1, device="cuda"),
        lambda: L.tensor(1.0, device="cuda:0"),
        lambda: x.cuda(),
        lambda: x.to("cuda"),
        lambda: x.to(L.device("cuda"), L.float64),
        lambda: x.to("mps"),
        lambda: x.xpu(),
        lambda: L.zeros(1, device="vulkan"),
        lambda: L.nn.Linear(1, 1).cuda(),
        lambda: L.nn.Linear(1, 1).to("cuda"),
        lambda: L.zeros(1, device=0),
        lambda: x.pin_memory(),
    ]
    return [raised(call) for call in calls]


@program
def places(L):
    x, m = L.zeros(2), L.zeros(2, device="meta")
    names = "is_cpu is_cuda is_meta is_mps is_xpu is_xla is_sparse is_sparse_csr is_mkldnn is_quantized is_nested name"
    return [(getattr(x, n), getattr(m, n)) for n in names.split()], str(x.layout), x.get_device(), x.is_pinned()


@program
def the_default_device_is_for_new_tensors(L):
    x = L.zeros(2)
    makers = [
        lambda: L.zeros(2),
        lambda: L.tensor([1.0]),
        lambda: L.as_tensor([1.0]),
        lambda: L.arange(3),
        lambda: L.rand(2),
        lambda: L.randperm(3),
        lambda: L.full((2,), 1.0),
        lambda: L.eye(2),
        lambda: L.zeros(2, device="cpu"),
        lambda: L.zeros_like(x),
        lambda: L.rand_like(x),
        lambda: x.new_zeros(2),
        lambda: x.new_tensor([1]),
        lambda: L.from_numpy(x.numpy()),
        lambda: L.Tensor(2),
        lambda: x + 1,
    ]
    with L.device("meta"):
        return [str(make().device) for make in makers]


@program
def default_devices_nest(L):
    seen = [str(L.get_default_device())]
    with L.device("meta") as entered:
        seen += [str(entered), str(L.get_default_device())]
        with L.device("cpu"):
            seen.append(str(L.zeros(1).device))
        seen.append(str(L.zeros(1).device))
    L.set_default_device("meta")
    try:
        seen += [str(L.zeros(1).device), str(L.get_default_device())]
        with L.device("cpu"):
            seen.append(str(L.zeros(1).device))
        thread = threading.Thread(target=lambda: seen.append(str(L.zeros(1).device)))
        thread.start()
        thread.join()
        L.set_default_device("cuda")
        seen.append(raised(lambda: L.zeros(1)))
    finally:
        L.set_default_device(None)
    return seen, str(L.zeros(1).device), raised(lambda: L.set_default_device("foo"))


def test_leaving_a_device_that_was_not_entered():
    with pytest.raises(RuntimeError, match="__exit__ without __enter__"):
        adjoint.device("cpu").__exit__(None, None, None)


NAMED = "complex32 chalf uint16 uint32 uint64 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu"


@program
def types_can_be_named(L):
    types = [getattr(L, name) for name in NAMED.split()]
    return [(str(t), t.itemsize, t.is_floating_point, t.is_complex, t.is_signed) for t in types]


@program
def named_types_are_themselves(L):
    return L.chalf is L.complex32, L.uint16 == L.uint16, L.uint16 != L.int16, str(L.chalf.to_real())


def test_tensors_of_named_types_are_refused():
    assert pickle.loads(pickle.dumps(adjoint.uint16)) is adjoint.uint16
    for call in (
        lambda: adjoint.zeros(2, dtype=adjoint.uint16),
        lambda: adjoint.zeros(2).to(adjoint.complex32),
        lambda: adjoint.tensor([1], dtype=adjoint.float8_e5m2),
    ):
        with pytest.raises(NotImplementedError, match="are not there: the type can be named only"):
            call()


@program
def legacy_constructors(L):
    names = "FloatTensor DoubleTensor HalfTensor LongTensor IntTensor ShortTensor CharTensor ByteTensor BoolTensor"
    types = [getattr(L, name) for name in names.split()]
    x = L.ones(2)
    return (
        [t([1, 0]) for t in types],
        [(t(2, 3).shape, t().shape, str(t.dtype), t.is_cuda, t.__name__, t.__module__) for t in types],
        [isinstance(x, t) for t in types],
        [x.type(t) for t in types],
        repr(L.FloatTensor),
        L.FloatTensor(x).data_ptr() == x.data_ptr(),
    )


@program
def legacy_errors(L):
    calls = [
        lambda: L.FloatTensor(3.5),
        lambda: L.LongTensor(L.ones(2)),
        lambda: L.FloatTensor([1], device="cuda"),
        lambda: L.FloatTensor("a"),
        lambda: L.cuda.FloatTensor(2),
        lambda: L.Tensor(3.0),
        lambda: L.Tensor(2, device="meta"),
        lambda: L.zeros(2).type("torch.Foo"),
        lambda: L.zeros(2).type("LongTensor"),
    ]
    return [raised(call) for call in calls]


def test_types_that_no_tensor_has():
    for bad in (float, str, object):
        with pytest.raises(ValueError, match=f"invalid type: '{bad.__name__}'"):
            adjoint.zeros(2).type(bad)


@program
def tensor_constructor_keywords(L):
    return L.Tensor(data=[1]), L.Tensor(size=(1, 2)).shape, L.Tensor(device="cpu").shape, L.Tensor(range(3))


@program
def type_of_the_default(L):
    L.set_default_dtype(L.float64)
    try:
        return L.zeros(2).type(L.Tensor), L.zeros(1).type()
    finally:
        L.set_default_dtype(L.float32)


@program
def devices_that_are_not_here(L):
    modules = [L.accelerator, L.cuda, L.xpu, L.mps]
    missing = [raised(module.synchronize)[0] for module in (L.accelerator, L.cuda, L.xpu, L.mps)]
    refused = raised(L.accelerator.current_device_index)
    L.xpu.manual_seed_all(0)
    L.xpu.empty_cache()
    counts = [(module.is_available(), module.device_count()) for module in modules]
    return counts, L.accelerator.current_accelerator(), missing, refused


@program
def sizes_stay_sizes(L):
    size = L.Size([1, 2])
    sums = [operator.add((5,), size), operator.add(size, (5,)), operator.add(size, size)]
    return [str(s) for s in (size * 2, 2 * size, size[1:], *sums)], raised(lambda: operator.add([5], size))[0]


@program
def memory_format_of_is_contiguous(L):
    x = L.ones(2, 3, 4, 5)
    y, z = x.to(memory_format=L.channels_last), L.ones(1, 2, 3, 4, 5).to(memory_format=L.channels_last_3d)
    seen = [t.is_contiguous(memory_format=L.channels_last) for t in (x, y, x[0], x[:, :1], L.ones(2, 3, 1, 1), z)]
    seen += [y.is_contiguous(), z.is_contiguous(memory_format=L.channels_last_3d)]
    wrong = [lambda: x.is_contiguous(L.channels_last), lambda: x.is_contiguous(memory_format=1)]
    return seen, [raised(call)[0] for call in wrong]
