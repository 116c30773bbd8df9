"""Settings, flags of backends, versions, nested containers, and methods under old names, beside torch."""

import collections
import importlib
import sys
import warnings

import pytest
import torch

import adjoint
from adjoint.torch_version import TorchVersion

from .compare import programs, raised
from .processes import python

program, test_program = programs()
Point = collections.namedtuple("Point", "x y")


@program
def deterministic_algorithms(L):
    seen = []
    for call in (
        lambda: L.use_deterministic_algorithms(True),
        lambda: L.use_deterministic_algorithms(True, warn_only=True),
        lambda: L.set_deterministic_debug_mode("error"),
        lambda: L.set_deterministic_debug_mode("warn"),
        lambda: L.set_deterministic_debug_mode(0),
        lambda: L.set_deterministic_debug_mode("foo"),
        lambda: L.set_deterministic_debug_mode(5),
        lambda: L.set_deterministic_debug_mode(1.5),
        lambda: L.use_deterministic_algorithms(False),
    ):
        seen.append(raised(call))
        seen.append((L.are_deterministic_algorithms_enabled(), L.get_deterministic_debug_mode()))
        seen.append(L.is_deterministic_algorithms_warn_only_enabled())
    return seen


@program
def other_settings(L):
    seen = [
        L.get_float32_matmul_precision(),
        L.set_float32_matmul_precision("medium"),
        L.get_float32_matmul_precision(),
    ]
    L.set_float32_matmul_precision("highest")
    L.set_warn_always(True)
    seen.append(L.is_warn_always_enabled())
    L.set_warn_always(False)
    seen += [L.set_flush_denormal(False), L.get_num_interop_threads() > 0, raised(lambda: L.set_num_interop_threads(0))]
    seen += [L.compiled_with_cxx11_abi(), L.is_vulkan_available(), L.get_device_module("cpu").is_available()]
    return seen, raised(lambda: L.set_warn_always(1)), raised(lambda: L.set_flush_denormal(1))


@program
def default_tensor_type(L):
    warnings.simplefilter("ignore")  # torch says once in a process that it is deprecated
    try:
        L.set_default_tensor_type(L.DoubleTensor)
        seen = [str(L.get_default_dtype())]
        L.set_default_tensor_type("torch.FloatTensor")
        seen.append(str(L.get_default_dtype()))
        return seen, raised(lambda: L.set_default_tensor_type(L.LongTensor))
    finally:
        L.set_default_dtype(L.float32)


@program
def backends(L):
    b = L.backends
    sdp = b.cuda.flash_sdp_enabled(), b.cuda.math_sdp_enabled(), b.cuda.mem_efficient_sdp_enabled()
    b.cuda.enable_flash_sdp(False)
    sdp += (b.cuda.flash_sdp_enabled(),)
    b.cuda.enable_flash_sdp(True)
    return (
        b.mkldnn.enabled,
        sdp,
        b.mps.is_available(),
        b.mps.is_built(),
        b.opt_einsum.is_available(),
        b.cuda.matmul.allow_fp16_reduced_precision_reduction,
        raised(lambda: b.cuda.matmul.foo),
        b.cudnn.is_acceptable(L.zeros(1)),
        b.cpu.get_cpu_capability() != "",
    )


@program
def cuda_without_a_device(L):
    c = L.cuda
    quiet = ["is_available", "device_count", "is_initialized", "memory_allocated", "max_memory_allocated", "seed_all"]
    quiet += ["memory_reserved", "max_memory_reserved", "empty_cache", "get_arch_list", "get_rng_state_all"]
    refused = ["synchronize", "current_device", "get_device_name", "get_device_properties", "current_stream", "init"]
    refused += ["get_device_capability", "initial_seed", "mem_get_info", "get_rng_state"]
    return (
        [getattr(c, name)() for name in quiet],
        [raised(getattr(c, name)) for name in refused],
        c.manual_seed(3),
        c.manual_seed_all(3),
        c.default_generators,
        isinstance(L.zeros(1), c.FloatTensor),
    )


@program
def compiler(L):
    c = L.compiler
    decorated = c.disable(recursive=False)(abs)
    return c.is_compiling(), c.is_dynamo_compiling(), c.disable(abs)(-1), decorated(-2), c.allow_in_graph([abs])[0](-3)


@program
def attention_kernels(L):
    backend = L.nn.attention.SDPBackend
    with L.nn.attention.sdpa_kernel([backend.MATH, backend.FLASH_ATTENTION]):
        return L.nn.functional.scaled_dot_product_attention(*[L.ones(1, 2, 4)] * 3)


@program
def trees(L):
    tree = L.utils._pytree
    values = [
        [1, {"a": 2, "b": (3, None)}],
        Point(1, [2]),
        collections.OrderedDict(b=1, a=2),
        collections.deque([1, 2], maxlen=3),
        5,
        [],
        {"b": 1, "a": []},
    ]
    seen = []
    for value in values:
        leaves, spec = tree.tree_flatten(value)
        back = tree.tree_unflatten(leaves, spec)
        seen.append((leaves, repr(spec), repr(back), spec.num_leaves, spec.num_nodes, spec.is_leaf()))
        seen.append((tree.tree_structure(back) == spec, tree.tree_leaves(value), repr(tree.tree_map(str, value))))
    return seen


@program
def more_of_trees(L):
    tree = L.utils._pytree
    value = [1, {"a": 2.5}]
    calls = [
        lambda: tree.tree_map(lambda x, y: (x, y), value, [3, {"a": [4]}]),
        lambda: tree.tree_map(max, [1, 2], [3]),
        lambda: tree.tree_map(max, [1, 2], (3, 4)),
        lambda: tree.tree_map(max, {"a": 1}, {"b": 1}),
        lambda: tree.tree_map(max, {"a": 1, "b": 2}, collections.OrderedDict(b=3, a=0)),
        lambda: tree.tree_unflatten([1], tree.tree_structure((1, 2))),
        lambda: tree.tree_map_only(int, lambda x: -x, value),
        lambda: tree.tree_map_only(lambda x: x > 2, lambda x: -x, value),
        lambda: (tree.tree_all(lambda x: x > 1, value), tree.tree_any(lambda x: x > 1, value)),
        lambda: tree.tree_flatten(L.max(L.eye(2), 0))[0],
        lambda: tree.tree_leaves(value, is_leaf=lambda x: isinstance(x, dict)),
        lambda: list(tree.tree_iter(value)),
    ]
    return [raised(call) for call in calls]


@program
def old_functions(L):
    warnings.simplefilter("ignore")  # torch says once in a process that range is deprecated
    return (
        L.range(1, 2, 0.5),
        L.range(3, 1, -1, dtype=L.int64),
        raised(lambda: L.dropout(L.ones(2), 1.5, True)),
        L.vander(L.tensor([1.0, 2.0, 3.0]), 2),
        L.vander(L.tensor([1, 2]), increasing=True),
        L.nuclear_norm(L.eye(2)),
        L.frobenius_norm(L.ones(2, 2), (0, 1)),
        L.dropout(L.ones(3), 0.5, False),
        (L.manual_seed(0), L.dropout(L.ones(8), 0.5, True))[1],
        (L.manual_seed(0), L.feature_dropout(L.ones(4, 8, 2), 0.5, True))[1],
        (L.manual_seed(0), L.feature_dropout_(L.ones(4, 8), 0.5, True))[1],
        raised(lambda: L.feature_dropout(L.ones(2), 0.5, True)),
        L.is_signed(L.tensor([True])),
        L.get_device(L.zeros(1)),
        L.is_same_size(L.zeros(2), L.zeros(3)),
        raised(lambda: L.range(1, 0)),
        raised(lambda: L.range(1, 2, 0)),
    )


@program
def old_methods(L):
    x = L.tensor([1.0, -2.0])
    return (
        x.__div__(2),
        L.tensor(3.7).__long__(),
        L.tensor(3.7).__nonzero__(),
        x.clone().apply_(abs),
        x.clone().map_(L.ones(2), max),
        x.clone().map2_(L.ones(2), L.ones(1), lambda a, b, c: a + b + c),
        raised(lambda: L.ones(1, requires_grad=True).apply_(abs)),
        x.resize(2, 1),
        x.resize_as(L.zeros(1, 2)),
        x.as_subclass(L.nn.Parameter).requires_grad,
        type(x.as_subclass(L.nn.Parameter)).__name__,
        x.const_data_ptr() == x.data_ptr(),
    )


@program
def diagonals(L):
    calls = [
        lambda: L.zeros(2, 3).fill_diagonal_(3),
        lambda: L.zeros(7, 2).fill_diagonal_(3, wrap=True),
        lambda: L.zeros(7, 3).fill_diagonal_(3, True),
        lambda: L.zeros(2, 2, 2).fill_diagonal_(1.5),
        lambda: L.zeros(2, 3).t().fill_diagonal_(1),
        lambda: L.zeros(2).fill_diagonal_(1),
        lambda: L.zeros(2, 2, 3).fill_diagonal_(1),
    ]
    return [raised(call) for call in calls]


@program
def capsules(L):
    x = L.arange(3.0)
    y = L.utils.dlpack.from_dlpack(L.utils.dlpack.to_dlpack(x))
    return y, y.data_ptr() == x.data_ptr(), L.from_dlpack(L.to_dlpack(x))


VERSIONS = ["2.13.0", "2.9", "2.13.0+cpu", "2.13.0a1", "1.10", "3", "2.13", "not a version"]


@pytest.mark.parametrize("other", [*VERSIONS, (2, 13), (2, 13, 0), (2, 9), (1, 10), (3,)])
@pytest.mark.parametrize("text", ["2.13.0", "2.13.0a0+git1", "1.9.1"])
def test_versions_compare_as_in_torch(text, other):
    ours, theirs = TorchVersion(text), torch.torch_version.TorchVersion(text)
    compared = [[v < other, v <= other, v > other, v >= other, v == other] for v in (ours, theirs)]
    if "+" not in text + str(other):  # what follows a plus counts for nothing here
        assert compared[0] == compared[1]
    assert (str(ours), hash(ours)) == (text, hash(text))


def test_version_module():
    assert adjoint.version.__version__ >= (2, 13)
    assert adjoint.__version__ in adjoint.version.__version__
    assert (adjoint.version.cuda, adjoint.version.hip, adjoint.version.debug) == (None, None, False)


def test_types_for_annotations():
    assert isinstance(1.5, adjoint.types.Number)
    assert adjoint.types.Tensor is adjoint.Tensor
    assert adjoint.types._dtype is adjoint.dtype


HEAVY = ["multiprocessing", "typing", "dataclasses", "inspect", "asyncio", "tempfile", "ctypes"]


def test_importing_the_package_imports_little():
    code = f"import sys, adjoint; print([m for m in {HEAVY} if m in sys.modules])"
    assert python("-S", "-c", code).stdout.strip() == "[]"


@pytest.mark.parametrize("name", [*adjoint._LAZY, *(name for names in adjoint._LAZY_NAMES.values() for name in names)])
def test_lazy_names_are_there(name):
    assert getattr(adjoint, name) is not None


@pytest.mark.parametrize("bare", [False, True])
def test_own_context_managers_decorate_functions_and_generators(bare):
    def run(L):
        utils = importlib.import_module(f"{L.__name__}.utils._contextlib")
        seen = []

        class Noted(utils._NoParamDecoratorContextManager if bare else utils._DecoratorContextManager):
            def __enter__(self):
                seen.append("in")

            def __exit__(self, *error):
                seen.append("out")

        decorate = Noted if bare else Noted()
        double = decorate(lambda x: seen.append("call") or 2 * x)

        @decorate
        def count():
            yield 1
            seen.append("between")
            yield 2

        found = [double(3), *count()]
        with Noted():
            seen.append("inside")
        return found, seen

    assert run(adjoint) == run(torch)


def test_context_managers_must_say_what_they_do():
    for library in (torch, adjoint):
        manager = importlib.import_module(f"{library.__name__}.utils._contextlib")._DecoratorContextManager()
        with pytest.raises(NotImplementedError):
            manager.__enter__()


def test_sizes_of_storages_count_their_bytes():
    def sizes(L):
        empty = sys.getsizeof(L.ones(0).untyped_storage())
        return [sys.getsizeof(L.ones(100, dtype=kind).untyped_storage()) - empty for kind in (L.float32, L.float64)]

    assert sizes(adjoint) == sizes(torch) == [400, 800]


def test_libraries_compiled_for_torch_are_refused_as_one_that_is_not_there():
    for library in (torch, adjoint):
        with pytest.raises(OSError, match=r"^Could not load this library: /no/such\.so"):
            library.ops.load_library("/no/such.so")


@pytest.mark.parametrize("create_graph", [False, True])
def test_functions_of_autograd_functional_get_subclasses(create_graph):
    def seen(L):
        kinds = []
        x = L.ones(2).as_subclass(type("Own", (L.Tensor,), {}))
        functional = L.autograd.functional
        found = functional.jacobian(lambda v: kinds.append(type(v).__name__) or v * 2, x, create_graph=create_graph)
        functional.vjp(lambda v: kinds.append(type(v).__name__) or v.sum(), x, create_graph=create_graph)
        return kinds, found.tolist()

    assert seen(adjoint) == seen(torch) == (["Own", "Own"], [[2.0, 0.0], [0.0, 2.0]])


def test_nested_tensors_by_name():
    assert set(adjoint.nested.__all__) == set(torch.nested.__all__)
    assert not adjoint.zeros(2).is_nested
    for name in adjoint.nested.__all__:
        with pytest.raises(NotImplementedError, match=rf"torch\.nested\.{name}\(\): there are no nested tensors here"):
            getattr(adjoint.nested, name)([adjoint.zeros(2)])
    # What the messages name.
    values, offsets = adjoint.arange(6.0), adjoint.tensor([0, 2, 6])
    parts = adjoint.tensor_split(values, offsets[1:-1])
    assert [part.tolist() for part in parts] == [[0.0, 1.0], [2.0, 3.0, 4.0, 5.0]]
    assert adjoint.nn.utils.rnn.pad_sequence(parts, batch_first=True).shape == (2, 4)
    assert callable(adjoint.nn.attention.varlen.varlen_attn)


# ---- Streams of the CPU, and the accelerator where there is none


@program
def streams_of_the_cpu(L):
    stream, event = L.Stream("cpu"), L.Event("cpu")
    with stream:
        x = L.ones(2) + 1
    return repr(stream), repr(event), stream.device, stream.device_index, stream.stream_id, stream == L.Stream("cpu"), x


def test_events_of_the_cpu_are_done():
    stream = adjoint.Stream("cpu")
    event = stream.record_event()
    stream.wait_event(event)
    stream.wait_stream(adjoint.Stream("cpu"))
    assert event.query()
    assert stream.query()
    assert not stream.is_capturing()
    with pytest.raises(NotImplementedError, match="the CPU has no events that measure time"):
        event.elapsed_time(event)
    with pytest.raises(NotImplementedError, match="expected a device with streams, cuda or cpu; got meta"):
        adjoint.Stream("meta")


@program
def streams_of_the_module_cpu(L):
    cpu = L.cpu
    stream, event = cpu.Stream(), cpu.Event()
    before = cpu.current_stream()
    with cpu.stream(stream):
        inside = cpu.current_stream() is stream
    with cpu.stream(None):
        nothing = cpu.current_stream() is before
    done = stream.wait_stream(before), stream.record_event(), stream.wait_event(event), event.record(), event.wait()
    return inside, nothing, cpu.current_stream() is before, event.query(), event.synchronize(), done


def test_what_the_processor_can_do():
    ours, theirs = adjoint.cpu.get_capabilities(), torch.cpu.get_capabilities()
    assert ours["architecture"] == theirs["architecture"]
    told = {name for name in ours if isinstance(ours[name], bool)} & theirs.keys()
    assert {name: ours[name] for name in told} == {name: theirs[name] for name in told}
    assert {"avx2", "avx512_f", "fma3"} <= ours.keys()


@program
def tensors_on_two_devices_are_close(L):
    pairs = [(L.ones(2), L.ones(2, device="meta")), (L.ones(2, device="meta"), L.zeros(2, device="meta"))]
    return [raised(lambda pair=pair: L.testing.assert_close(*pair, check_device=False)) for pair in pairs]
