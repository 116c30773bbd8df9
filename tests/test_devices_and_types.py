"""Names of devices and element types, the default device, and the constructors of old, beside torch."""

import copy
import operator
import pickle
import threading

import numpy as np
import pytest

import adjoint

from .compare import EXACT, lines, programs, raised, same

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


STRINGS = [
    *(
        "cpu",
        "cpu:0",
        "cpu:1",
        "cpu:127",
        "cuda",
        "cuda:",
        "cuda:-1",
        "cuda:01",
        "cuda:0",
        "cuda:00",
        "cuda: 2",
        "cuda :2",
    ),
    *("cuda:2 ", "cuda:+2", "cuda:1.0", "cuda:a", "cuda:1:2", "cuda::1", " cpu", "cpu ", "CPU", "Cpu", "mps", "mps:0"),
    *("xpu:1", "meta", "meta:0", "privateuseone", "privateuseone:3", "", ":", ":1", "cuda:99999999999999999999"),
    *("hip", "xla", "lazy", "vulkan:0", "ipu", "opengl", "hpu", "mtia", "maia", "fpga", "ve", "ideep"),
    *("opencl", "foo", "foo:1", "foo:x", "foo_bar", "cuda\0", "cpu:0\n", "cuda:\u0663", "\u00e9", "cuda0", "gpu"),
    *("cpu:-0", "cuda:-1a", "xpu:", "cpu:1_0", "cuda:10", "cuda:100"),
]


@pytest.mark.parametrize("text", STRINGS)
def test_strings_of_devices(text):
    same(lambda L: [str(L.device(text)), repr(L.device(text)), L.device(text).index])
    same(lambda L: str(L.device(text.encode())))
    same(lambda L: str(L.device(text, 1)))
    same(lambda L: L.device(text).__reduce__()[1])


CALLS = lines("""
    L.device()
    L.device(0)
    L.device(1)
    L.device(-1)
    L.device(True)
    L.device(1.0)
    L.device(None)
    L.device(b"cpu")
    L.device(L.device("cpu"))
    L.device(L.device("cuda:1"), 2)
    L.device(L.device("cuda"), 2)
    L.device(L.device("cuda:1"), None)
    L.device("cuda", 2)
    L.device("cuda", -1)
    L.device("cuda", -2)
    L.device("cuda", 127)
    L.device("cuda", 2**70)
    L.device("cuda", 1.0)
    L.device("cuda", "1")
    L.device("cuda", True)
    L.device("cuda", None)
    L.device("cuda", np.int64(2))
    L.device("cuda", L.tensor(2))
    L.device("cuda:1", 2)
    L.device("cuda:1", None)
    L.device("foo", 2)
    L.device("cpu", 0)
    L.device("cpu", 1)
    L.device(type="cuda", index=1)
    L.device(type="cuda")
    L.device(index=1)
    L.device(device="cuda")
    L.device(device="cuda:1")
    L.device(device=L.device("cuda:1"))
    L.device(type=L.device("cuda:1"))
    L.device(device=1)
    L.device(type=1)
    L.device("cuda", index=1)
    L.device("cuda", 1, 2)
    L.device("cuda", foo=2)
    L.device(0, 1)
    L.device("cpu").type
    L.device("cpu").index
    L.device("cpu:0").index
    L.device("cuda:1").index
    L.device("cuda:1") == L.device("cuda", 1)
    L.device("cuda:1") == "cuda:1"
    L.device("cuda:1") != "cuda:1"
    L.device("cuda") == L.device("cuda:0")
    L.device("cpu") < L.device("cuda")
    hash(L.device("cuda:1")) == hash(L.device("cuda", 1))
    hash(L.device("cuda")) == hash(L.device("cuda:0"))
    len({L.device("cuda"), L.device("cuda"), L.device("cpu")})
    pickle.loads(pickle.dumps(L.device("cuda:1")))
    pickle.loads(pickle.dumps(L.device("cpu")))
    isinstance(L.device("cpu"), L.device)
    L.empty(0, device="cuda: 2")
    L.empty(0, device=" cpu")
    L.empty(0, device="cpu:0").device
    L.empty(0, device="cpu:1").device
    L.empty(0, device="meta:1").device
    L.empty(0, device=3)
    L.empty(0, device=-1)
    L.empty(0, device=True)
    L.empty(0, device=None).device
    L.empty(0, device=b"cpu")
    L.ones(2).to("cpu:0").device
    L.ones(2).to("cpu:1").device
    L.ones(2).to(" cpu")
    L.ones(2).to("cuda: 2")
    L.ones(2).to(0)
    L.ones(2).to("foo")
    L.ones(2).to("meta").device
    L.ones(2).to(device=0)
    L.tensor([1], device="cpu:0").device
    L.tensor([1], device="cpu:3").device
    L.tensor([1], device="foo")
    L.zeros(2, device=L.device("cpu", 0)).device
    L.ones_like(L.ones(2), device="cpu:0").device
    L.nn.Linear(2,2,device="cpu: 0")
    L.nn.Linear(2,2).to("cpu:0").weight.device
    L.Generator(device="cpu").device
    L.Generator("cpu:0").device
    L.Generator(device="foo")
    L.autocast("cpu")(3)
    L.autocast("cpu")(None)
    L.autocast("cpu")("a")
    L.autocast("cpu")()
    L.autocast("cpu")(int)("3")
    L.autocast("foo")
    L.autocast("cuda: 2")
    L.autocast("CPU")
""")


@pytest.mark.parametrize("call", CALLS)
def test_calls_with_devices(call):
    names = {"pickle": pickle, "np": np}
    same(lambda L: str(eval(call, {"L": L, **names})).replace("adjoint", "torch").partition(" object at")[0])


def test_indices_of_devices_fit_in_a_byte():
    """In torch they wrap around."""
    for call in (lambda: adjoint.device("cuda:128"), lambda: adjoint.device("cuda", 128)):
        with pytest.raises(RuntimeError, match="at most 127"):
            call()


SIZES = lines("""
    L.Size(L.ones(3))
    L.Size(L.tensor([1,2]))
    L.Size(L.tensor(3))
    L.Size(L.ones(2,2))
    L.Size(L.tensor([True]))
    L.Size([1.0])
    L.Size([L.tensor(2)])
    L.Size([L.tensor(2.0)])
    L.Size([L.tensor([2])])
    L.Size([L.tensor([2,3])])
    L.Size([True])
    L.Size(["a"])
    L.Size("ab")
    L.Size("")
    L.Size(3)
    L.Size(None)
    L.Size([1,2],[3])
    L.Size([2**70])
    L.Size([-1])
    L.Size([np.int64(3)])
    L.Size([np.float64(3)])
    L.Size([np.bool_(True)])
    L.Size(np.array([1,2]))
    L.Size(np.array([1.,2]))
    L.Size({1:2})
    L.Size({1})
    L.Size(range(3))
    L.Size(i for i in range(3))
    L.Size([None])
    L.Size([[1]])
    L.Size(x=[1])
    L.Size((2,3)).numel()
    L.Size((2**40,2**40)).numel()
    L.Size((2,3))[True]
    L.Size((2,3))["a"]
    L.Size((2,3))[5]
    L.Size((2,3))[0:1]
    L.Size((2,3)) + (4,)
    (4,) + L.Size((2,3))
    (4,"a") + L.Size((2,3))
    L.Size((2,3)) + ("a",)
    L.Size((2,3)) + [1]
    L.Size((2,3)) * 2
    L.Size((2,3)) * 2.0
    2 * L.Size((2,3))
    L.Size((2,3)) == (2,3)
    L.Size((2,3)) < (2,4)
    hash(L.Size((2,3))) == hash((2,3))
    L.Size((2,3)).count(2)
    L.Size((2,3)).index(7)
    L.Size((2,3)).index(3)
    pickle.loads(pickle.dumps(L.Size((2,3))))
""")


@pytest.mark.parametrize("call", SIZES)
def test_sizes(call):
    same(lambda L: repr(eval(call, {"L": L, "np": np, "pickle": pickle})))


# What the constructors of old are given.
ARGUMENTS = lines("""
    3
    2, 3
    (2, 3)
    [2, 3]
    L.Size([2, 3])
    L.Size([2, 3]), device="cpu"
    2, 3, device="cpu"
    [2, 3], device="cpu"
    [1.5, 2]
    [True, False]
    [1j]
    []
    ()
    [[1, 2], [3, 4]]
    [[1, 2], [3]]
    "ab"
    ["a"]
    None
    1.5
    2.0
    True
    -1
    2, -1
    0
    2, 1.5
    2, None
    2**70
    L.tensor(3)
    L.tensor([1.0, 2.0])
    L.tensor([1, 2])
    L.LongTensor([1])
    L.LongTensor([1]), device="cpu"
    L.FloatTensor([1]), device="cpu"
    L.ones(2, dtype=L.float64)
    L.ones(2, dtype=L.bool)
    L.ones(2, requires_grad=True)
    L.ones(2).long().to(L.int64)
    device="cpu"
    device="cuda"
    device="foo"
    device=None
    device=3
    device=L.device("cpu")
    3, device="cuda"
    3, device="meta"
    [1], device="meta"
    L.ones(2), device="meta"
    L.ones(2), L.ones(2)
    dtype=L.float32
    3, dtype=L.float32
    [1,2], dtype=L.float32
    size=(2,3)
    data=[1,2]
    data=(2,3)
    other=L.ones(2)
    size=(2,3), device="cpu"
    data=[1,2], device="cpu"
    foo=3
    3, foo=3
    requires_grad=True
    np.ones(2)
    np.ones(2, dtype=np.float32)
    np.arange(2)
    np.float64(2)
    np.int64(2)
    np.int64(2), 3
    L.ones(2).storage()
    L.ones(2).untyped_storage()
    L.ones(2).double().storage()
    L.ones(2).untyped_storage(), device="cpu"
    L.tensor([1,2]).storage()
    L.tensor([1,2]).untyped_storage()
    range(3)
    {1: 2}
    {1}
    object()
    int
    [L.tensor(1.0), L.tensor(2.0)]
    [L.tensor([1.0]), L.tensor([2.0])]
    [1,2],[3]
    b"ab"
    bytearray(b"ab")
    (i for i in range(3))
    [np.ones(2), np.zeros(2)]
    [2, 3], 4
    np.array(3), 2
    np.int64(2), True
""")
CONSTRUCTORS = ["L.Tensor", "L.FloatTensor", "L.LongTensor", "L.BoolTensor", "L.ones(2).new", "L.arange(2).new"]


@pytest.mark.parametrize("constructor", CONSTRUCTORS)
def test_constructors_of_old(constructor):
    def described(L, call):
        L.use_deterministic_algorithms(True)  # memory that holds nothing yet looks the same
        try:
            result = eval(call, {"L": L, "np": np})
        finally:
            L.use_deterministic_algorithms(False)
        return (
            str(result.dtype),
            tuple(result.shape),
            result.requires_grad,
            result.grad_fn is None,
            repr(result.tolist()),
        )

    for arguments in ["", *ARGUMENTS]:
        call = f"{constructor}({arguments})"
        # Torch warns of storages and of slow lists.
        same(lambda L, call=call: described(L, call), bound=EXACT, warned=None)


def test_constructors_of_old_share_memory():
    def program(L):
        x = L.ones(2)
        same_memory = [L.Tensor(x), L.FloatTensor(x), x.new(x), L.Tensor(x.untyped_storage()), L.Tensor(x.storage())]
        x.fill_(3)
        return same_memory

    same(program, bound=EXACT, warned=None)
