"""torch.compile and its settings: nothing is compiled, functions and modules stay as they are."""

import importlib
import inspect
import warnings

import numpy as np
import pytest
import torch

import adjoint

from .compare import same


def test_compile_returns_what_it_is_given():
    layer = adjoint.nn.Linear(2, 1)
    assert adjoint.compile(layer) is layer

    @adjoint.compile
    def one(x):
        return x + 1

    @adjoint.compile(mode="reduce-overhead", fullgraph=True, dynamic=True, backend="inductor")
    def two(x):
        return x + 2

    assert (one(adjoint.ones(1)).item(), two(adjoint.ones(1)).item()) == (2, 3)
    assert inspect.isfunction(one)
    assert adjoint.compile(one, backend=lambda graph, inputs: graph) is one
    assert adjoint.compile(one, options={"max_autotune": True}, disable=True) is one
    assert adjoint.compiler.compile is adjoint.compile


def test_arguments_are_torchs():
    ours, theirs = inspect.signature(adjoint.compile).parameters, inspect.signature(torch.compile).parameters
    assert [(p.name, p.kind, p.default) for p in ours.values()] == [
        (p.name, p.kind, p.default) for p in theirs.values()
    ]


@pytest.mark.parametrize(
    "call",
    [
        lambda L: L.compile(abs, mode="fastest"),
        lambda L: L.compile(abs, mode="default", options={"debug": True}),
        lambda L: L._dynamo.mark_static_address(3),
        lambda L: L._dynamo.config.absent,
        lambda L: L.export.Dim("a", min=3, max=2),
        lambda L: L.export.Dim("1a"),
    ],
)
def test_errors(call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch imports its compiler
        importlib.import_module("torch._dynamo")

    same(call)


def test_only_functions_are_compiled():
    for given in (3, "text"):
        with pytest.raises(AssertionError, match=f"A callable function is expected, but {type(given)} is provided"):
            adjoint.compile(given)


def test_unknown_backends():
    with pytest.raises(adjoint._dynamo.exc.InvalidBackend, match=r"Invalid backend: 'absent', see `torch\._dynamo"):
        adjoint.compile(abs, backend="absent")

    @adjoint._dynamo.register_backend
    def absent_before(graph, inputs):
        return graph

    assert "absent_before" in adjoint.compiler.list_backends()
    assert adjoint.compile(abs, backend="absent_before") is abs
    assert adjoint._dynamo.lookup_backend("absent_before") is absent_before
    del adjoint.compiler._backends["absent_before"]


def test_hints_do_nothing():
    dynamo, compiler, x = adjoint._dynamo, adjoint.compiler, adjoint.ones(2)
    for hint in (dynamo.disable, dynamo.allow_in_graph, dynamo.disallow_in_graph, compiler.disable, dynamo.run):
        assert hint(abs) is abs
    for decorate in (
        dynamo.disable(),
        compiler.disable(recursive=False),
        dynamo.optimize("eager"),
        compiler.set_stance("default"),
    ):
        assert decorate(lambda: 3)() == 3
    dynamo.graph_break()
    dynamo.mark_dynamic(x, 0)
    dynamo.mark_static(x)
    dynamo.reset()
    compiler.cudagraph_mark_step_begin()
    with compiler.set_stance("force_eager"), dynamo.error_on_graph_break(True):
        assert not dynamo.is_compiling()
    assert not isinstance(adjoint.compile(adjoint.nn.Linear(1, 1)), dynamo.OptimizedModule)
    assert dynamo.eval_frame.OptimizedModule is dynamo.OptimizedModule
    assert compiler.save_cache_artifacts() is None


def test_settings_are_kept():
    config = adjoint._dynamo.config
    config.cache_size_limit = 64
    assert config.cache_size_limit == 64
    config.cache_size_limit = 8
    with config.patch({"verbose": True, "new": 1}):
        assert (config.verbose, config.new) == (True, 1)
    assert config.verbose is False
    assert not hasattr(config, "new")

    @config.patch("suppress_errors", True)
    def inside():
        return config.suppress_errors

    assert inside() is True
    assert config.suppress_errors is False
    adjoint._inductor.config.max_autotune = False
    assert "max_autotune" in adjoint._inductor.list_options()


def test_functions_of_numpy():
    same(lambda L: L.compiler.wrap_numpy(lambda x: np.cumsum(x, 0))(L.ones(3, dtype=L.float64)))


@pytest.mark.parametrize(
    "call",
    [
        lambda: adjoint._dynamo.explain(abs),
        lambda: adjoint._dynamo.export(abs),
        lambda: adjoint.export.export(adjoint.nn.Tanh(), (adjoint.ones(1),)),
        lambda: adjoint.export.ExportedProgram(),
        lambda: adjoint.onnx.export(adjoint.nn.Tanh(), (adjoint.ones(1),), "model.onnx"),
        lambda: adjoint.package.PackageExporter("file"),
        lambda: adjoint.compiler.load_compiled_function(None),
        lambda: adjoint.utils.cpp_extension.load("name", ["file.cpp"]),
        lambda: adjoint.ao.quantization.prepare(adjoint.nn.Tanh()),
        lambda: adjoint.quantization.quantize_dynamic(adjoint.nn.Tanh()),
        lambda: adjoint.nn.quantized.Linear(1, 1),
        lambda: adjoint.SymInt(3),
    ],
)
def test_what_refuses_says_so(call):
    with pytest.raises(NotImplementedError, match=r"here|neither"):
        call()


def test_every_name_of_torchs_pages():
    internal = {"keep_portable_guards_unsafe", "keep_tensor_guards_unsafe"}  # guards of compiled code
    for page, left in (
        ("compiler", internal),
        ("onnx", {"InputObserver"}),
        ("export", {"Constraint"}),
        ("futures", set()),
    ):
        ours, theirs = getattr(adjoint, page), getattr(torch, page)
        missing = {name for name in theirs.__all__ if not hasattr(ours, name)} - left
        assert {name for name in missing if not name.startswith("skip_")} == set()


def test_kinds_of_onnx():
    same(lambda L: {name: int(kind.value) for name, kind in L.onnx.TensorProtoDataType.__members__.items()})
    same(lambda L: list(L.onnx.OperatorExportTypes.__members__) + list(L.onnx.TrainingMode.__members__))
    assert not adjoint.onnx.is_in_onnx_export()
    assert issubclass(adjoint.onnx.OnnxExporterError, RuntimeError)
