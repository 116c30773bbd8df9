"""Small names that packages import: checks, sizes that are numbers, private names of torch's core."""

import datetime
import functools
import os
import pickle
import sys

import pytest

import adjoint

from .compare import same
from .processes import python, script


@pytest.mark.parametrize(
    "call",
    [
        lambda L: L._check(True),
        lambda L: L._check(False),
        lambda L: L._check(False, lambda: "said"),
        lambda L: L._check(3),
        lambda L: L._check(False, "no function"),
        lambda L: L._check_index(False),
        lambda L: L._check_value(False, lambda: "said"),
        lambda L: L._check_type(False),
        lambda L: L._check_not_implemented(False),
        lambda L: L._check_with(KeyError, False, lambda: "said"),
        lambda L: L._check_tensor_all(L.tensor([True, False])),
        lambda L: L._check_tensor_all(L.tensor([True, True])),
        lambda L: L._check_tensor_all(3),
        lambda L: L._check_tensor_all(L.ones(2)),
        lambda L: [L.sym_int(-2.5), L.sym_float(2), L.sym_max(1, 2.0), L.sym_min(1, 2), L.sym_max(True, False)],
        lambda L: [L.sym_not(3), L.sym_sum([1, 2]), L.sym_ite(True, 1, 2)],
        lambda L: L.sym_ite(1, 1, 2),
        lambda L: L.sym_ite(True, 1, 2.0),
        lambda L: repr(L.qint8) + repr(L.uint4),
    ],
)
def test_checks_and_sizes(call):
    same(call)


def test_where_to():
    def parsed(L):
        parse = L._C._nn._parse_to
        return [
            [str(part) for part in parse(*args, **kwargs)]
            for args, kwargs in (
                (("cpu",), {}),
                ((L.float64,), {}),
                (("cpu", L.float64, True), {"memory_format": L.channels_last}),
                ((L.ones(1, dtype=L.int64),), {"non_blocking": True}),
            )
        ]

    same(parsed)


def test_tensors_inside_of_vmap():
    core = adjoint._C._functorch

    def inside(x):
        assert core.is_batchedtensor(x)
        assert core.maybe_get_bdim(x) == 0
        assert adjoint._C._are_functorch_transforms_active()
        whole = core.get_unwrapped(x)
        assert whole.shape == (2, 3)
        level = core.maybe_get_level(x)
        assert core._remove_batch_dim(x, level, 2, 1).shape == (3, 2)
        return core._add_batch_dim(whole * 2, 0, level)

    assert adjoint.vmap(inside)(adjoint.ones(2, 3)).tolist() == [[2, 2, 2], [2, 2, 2]]
    assert not core.is_batchedtensor(adjoint.ones(1))
    assert core.maybe_get_level(adjoint.ones(1)) == -1
    assert not adjoint._C._are_functorch_transforms_active()
    with pytest.raises(AttributeError, match=r"module 'torch\._C' has no attribute 'absent'"):
        _ = adjoint._C.absent


def test_marks_of_quantizing_compute_in_floats():
    def run(L):
        f, x = L.nn.quantized.FloatFunctional(), L.tensor([1.0, -2.0])
        stubs = L.ao.quantization.QuantWrapper(L.nn.ReLU())(x)
        values = f.add(x, x), f.add_scalar(x, 2.0), f.mul(x, x), f.mul_scalar(x, 3.0), f.cat([x, x]), f.add_relu(x, x)
        return stubs, values, f.matmul(x, x), repr(f), repr(L.ao.quantization.QuantStub()), f(x)

    same(run)


def test_events():
    monitor = adjoint.monitor
    event = monitor.Event("step", datetime.datetime(2020, 1, 1), {"loss": 0.5})
    seen = []
    handle = monitor.register_event_handler(seen.append)
    monitor.log_event(event)
    monitor.unregister_event_handler(handle)
    monitor.log_event(event)
    assert seen == [event]


def test_windows_of_numbers():
    monitor, seen = adjoint.monitor, []
    stat = monitor.Stat("s", [monitor.Aggregation.SUM, monitor.Aggregation.MEAN], datetime.timedelta(hours=1))
    stat.add(2)
    stat.add(4)
    assert (stat.count, stat.get()) == (2, {monitor.Aggregation.SUM: 0.0, monitor.Aggregation.MEAN: 0.0})
    handle = monitor.register_event_handler(seen.append)
    stat._end = 0.0  # the window is over
    assert stat.get() == {monitor.Aggregation.SUM: 6.0, monitor.Aggregation.MEAN: 3.0}
    monitor.unregister_event_handler(handle)
    assert seen[0].data == {"s.sum": 6.0, "s.mean": 3.0}
    assert stat.count == 0


def test_reports():
    assert adjoint.__config__.show().startswith("Adjoint built with:")
    assert "get_num_threads()" in adjoint.__config__.parallel_info()
    assert python("-m", "adjoint.utils.collect_env").stdout.startswith("Collecting environment information...\nPyTorch")


def test_names_that_stand_elsewhere_too(monkeypatch):
    from adjoint.nn.modules.module import _IncompatibleKeys
    from adjoint.utils.data._utils.worker import _generate_state
    from adjoint.utils.data.dataloader import _BaseDataLoaderIter, _MultiProcessingDataLoaderIter

    assert isinstance(adjoint.nn.Linear(1, 1).load_state_dict({}, strict=False), _IncompatibleKeys)
    found = iter(adjoint.utils.data.DataLoader([1, 2]))
    assert isinstance(found, _BaseDataLoaderIter)
    assert not isinstance(found, _MultiProcessingDataLoaderIter)
    same(lambda L: L.utils.data._utils.worker._generate_state(5, 3))
    assert _generate_state(5, 3) != _generate_state(5, 4)
    assert isinstance(adjoint.nn.UninitializedParameter(), adjoint.nn.parameter.UninitializedTensorMixin)
    monkeypatch.setenv("TORCH_HOME", "/there")
    same(lambda L: L.hub._get_torch_home())
    assert pickle.loads(pickle.dumps(adjoint.hub.tqdm)) is adjoint.hub.tqdm
    assert os.path.basename(adjoint.hub.get_dir()) == "hub"


def test_devices_that_are_not_there():
    with pytest.raises(RuntimeError, match="NVTX functions not installed"):
        adjoint.cuda.nvtx.range_push("part")
    assert adjoint.cuda.random.get_rng_state_all() == []
    assert not adjoint.mtia.is_available()
    assert not adjoint.backends.xnnpack.enabled
    assert adjoint.backends.quantized.supported_engines == ["none"]


def test_tensors_of_modules_are_exchanged():
    def run(L):
        from importlib import import_module

        accessor = import_module(f"{L.__name__}.nn.utils._named_member_accessor")
        layer = L.nn.Linear(1, 1)
        layer.register_buffer("shift", L.ones(1))
        given = {"weight": L.full((1, 1), 2.0), "bias": L.zeros(1)}
        kinds = [type(accessor.swap_tensor(layer, name, L.ones(1))).__name__ for name in ("bias", "shift")]
        accessor.set_tensor(layer, "other", L.zeros(1))
        with L.nn.utils.stateless._reparametrize_module(layer, given):
            inside = layer(L.ones(1))
        return kinds, layer.bias, layer.other, inside, layer.weight.requires_grad

    same(run)


@pytest.mark.parametrize("case", [("absent", 1), ("a.b", 1), ("", 1), ("bias", 3), ("in_features", 1)])
def test_what_cannot_be_exchanged(case):
    def run(L):
        from importlib import import_module

        name, tensor = case
        accessor = import_module(f"{L.__name__}.nn.utils._named_member_accessor")
        accessor.swap_tensor(L.nn.Linear(1, 1), name, L.ones(1) if tensor == 1 else tensor)

    same(run)


@pytest.fixture
def described(tmp_path):
    """A folder that describes a model, with a file of its own beside it."""
    (tmp_path / "hubconf.py").write_text(
        "dependencies = ['numpy']\nfrom part_of_described import ten\n"
        "def model(a, b=2):\n    return a + b + ten\nnumber = 3\n"
    )
    (tmp_path / "part_of_described.py").write_text("ten = 10\n")
    yield tmp_path
    sys.modules.pop("part_of_described", None)


@pytest.mark.parametrize(
    ("args", "options"),
    [
        (("model", 1), {}),
        (("model", 1), {"b": 5}),
        (("absent",), {}),
        (("number",), {}),
        ((3,), {}),
        (("model",), {"source": "elsewhere"}),
    ],
)
def test_models_of_a_folder(described, args, options):
    before = list(sys.path)
    same(lambda L: L.hub.load(described, *args, **{"source": "local", **options}))
    assert sys.path == before


def test_models_that_cannot_be_made(tmp_path):
    same(lambda L: L.hub.load(tmp_path / "absent", "model", source="local"))
    (tmp_path / "hubconf.py").write_text("dependencies = ['not_installed_at_all']\ndef model(): return 1\n")
    same(lambda L: L.hub.load(tmp_path, "model", source="local"))
    for refused in (adjoint.hub.load, adjoint.hub.help):
        with pytest.raises(NotImplementedError, match="code is not downloaded and run here"):
            refused("owner/repository", "model")
    with pytest.raises(NotImplementedError, match="code is not downloaded and run here"):
        adjoint.hub.list("owner/repository")


def test_parts_of_printed_tensors():
    def seen(L):
        parts = L._tensor_str
        texts = [parts._tensor_str(x, 3) for x in (L.ones(2, 2), L.tensor(3), L.ones(0), L.arange(2000))]
        texts += [parts._str(L.ones(2, requires_grad=True)), parts._str(L.ones(2), tensor_contents="[one, one]")]
        texts += [parts._add_suffixes("X([1]", ["a=1", "b=2"], 2, force_newline=False)]
        texts += [parts._add_suffixes("X" * 70, ["a=1111111111", "b=2"], 2, force_newline=False)]
        texts += [parts._add_suffixes("X", ["a=1", "b=2"], 2, force_newline=True)]
        with parts.printoptions(precision=2):
            texts.append(parts._tensor_str(L.tensor([1.23456]), 0))
            precision = parts.PRINT_OPTS.precision
        return texts, precision, parts.PRINT_OPTS.threshold

    same(seen)


def test_libraries_of_ops():
    with pytest.raises(OSError, match=r"Could not load this library: /absent\.so"):
        adjoint.ops.load_library("/absent.so")
    same(lambda L: L.ops.loaded_libraries)
    # A package goes on to speak of the ops in it.
    assert adjoint.library.register_fake("absent_package::op", abs) is abs
    adjoint._ops.refused_libraries.clear()
    with pytest.raises(RuntimeError, match="absent_package::op"):
        adjoint.library.register_fake("absent_package::op", abs)
    assert str(adjoint.ops.aten._pin_memory.default) == "aten._pin_memory.default"


def test_tensors_of_compilers():
    lines = script(
        """
import adjoint; adjoint.as_torch()
import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode, is_fake
from torch._subclasses.functional_tensor import mb_unwrap_functional_tensor
x = torch.ones(1)
print(torch.__name__, torch.torch is torch, isinstance(x, FakeTensor), is_fake(x), mb_unwrap_functional_tensor(x) is x)
try:
    FakeTensorMode()
except NotImplementedError as error:
    print(error)
from torch._tensor import Tensor
print(torch.jit.script, Tensor is torch.Tensor, torch.absent_name if hasattr(torch, "absent_name") else None)
"""
    ).stdout.splitlines()
    assert lines[0] == "torch True False False True"
    assert lines[1].startswith("torch._subclasses.fake_tensor.FakeTensorMode(): nothing is compiled here")
    assert lines[2].endswith("True None")


def test_parts_of_vmap():
    def names(L):
        from importlib import import_module

        get = import_module(f"{L.__name__}._functorch.vmap")._get_name
        return get(abs), get(functools.partial(abs)), get(L.nn.Tanh())

    same(names)
    vmap = adjoint._functorch.vmap

    def inside(x):
        level = adjoint._C._functorch.maybe_get_level(x)
        assert vmap._maybe_remove_batch_dim("f", x, level, 2, 0).shape == (2, 3)
        assert vmap._maybe_remove_batch_dim("f", 3, level, 2, None) == 3
        with pytest.raises(ValueError, match=r"vmap\(f, ...\): `f` must only return Tensors, got type <class 'int'>"):
            vmap._maybe_remove_batch_dim("f", 3, level, 2, 0)
        return x

    assert vmap.vmap(inside)(adjoint.ones(2, 3)).shape == (2, 3)


def arguments_of_a_batch(L):
    from importlib import import_module

    parts = import_module(f"{L.__name__}._functorch.vmap")
    size, dims, leaves, _ = parts._process_batched_inputs((-1, None), (L.ones(2, 3), [L.ones(4)]), abs)
    return size, dims, leaves


def test_arguments_of_a_batch():
    same(arguments_of_a_batch)


@pytest.mark.parametrize("chunk_size", [None, 2])
def test_parts_of_vmap_are_replaced(monkeypatch, chunk_size):
    """By packages with containers that are batched as a whole: they are given the level, and return the whole."""

    def run(L):
        from importlib import import_module

        parts = import_module(f"{L.__name__}._functorch.vmap")
        seen = []
        for name in ("_process_batched_inputs", "_create_batched_inputs", "_unwrap_batched"):
            own = getattr(parts, name)
            noting = lambda *args, own=own, name=name: (seen.append(name), own(*args))[1]
            monkeypatch.setattr(parts, name, noting)
        mapped = L.vmap(lambda x, y: (x + y[0], x.sum()), (1, None), (-1, 0), chunk_size=chunk_size)
        results = mapped(L.arange(6.0).reshape(2, 3), [L.ones(2)])
        monkeypatch.undo()
        return seen, results

    same(run)
    assert not adjoint._functorch.vmap.replaced()


def test_functorch_comes_with_torch():
    lines = script(
        """
import adjoint; adjoint.as_torch()
import functorch, torch
from functorch import grad, vmap
print(vmap is torch.vmap, grad(torch.sin)(torch.zeros(())).item())
try:
    functorch.make_functional(torch.nn.Tanh())
except NotImplementedError as error:
    print("functional_call" in str(error))
try:
    import functorch.dim
except ModuleNotFoundError as error:
    print(error.name)
"""
    ).stdout.splitlines()
    assert lines == ["True 1.0", "True", "functorch.dim"]


def test_what_few_programs_need_is_not_imported_at_once():
    loaded = script("import sys, adjoint; print(*sys.modules)").stdout.split()
    families = ("_dynamo", "_native", "ao", "distributed", "export", "futures", "jit", "monitor", "onnx")
    assert [name for name in families if f"adjoint.{name}" in loaded] == []
