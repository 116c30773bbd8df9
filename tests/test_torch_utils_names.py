"""What programs take from torch._utils, and torch.return_types as a whole, against torch."""

import functools
import importlib
import sys
import warnings

import pytest
import torch

import adjoint

from .compare import programs, raised

program, test_program = programs()


@program
def tensors_as_one(L):
    U = L._utils
    some = [L.arange(6.0).reshape(2, 3), L.zeros(0, 2), L.tensor(3.0), L.arange(4.0).reshape(2, 2).t()]
    flat = U._flatten_dense_tensors(some)
    one = L.ones(2, 2)
    return (
        flat,
        U._unflatten_dense_tensors(flat, some),
        U._flatten_dense_tensors([one]).data_ptr() == one.data_ptr(),
        U._flatten_dense_tensors([L.ones(1), L.ones(1, dtype=L.float64)]),
        raised(lambda: U._flatten_dense_tensors(3), 60),
        raised(lambda: U._unflatten_dense_tensors(L.ones(3), some), 40),
    )


@program
def tensors_by_size_and_type(L):
    U = L._utils
    mixed = [L.ones(3), L.ones(3, dtype=L.float64), L.ones(2), L.ones(0), L.ones(1, dtype=L.float64)]
    turned = [L.ones(1, dtype=L.float64), L.full((1,), 2.0), L.full((1,), 3.0)]
    order = [L.ones(1), L.ones(1, dtype=L.float64), L.ones(1)]
    return [
        list(U._take_tensors(mixed, 16)),
        list(U._take_tensors([L.ones(3)] * 3, 24)),
        U._reorder_tensors_as(turned, order),
        U._handle_complex(L.ones(2, dtype=L.complex64)),
        [U._element_size(dtype) for dtype in (L.float16, L.int64, L.complex128)],
    ]


@program
def tensors_made_again(L):
    U = L._utils
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of storages with types, on torch's side
        storage = L.arange(6.0).storage()
    parameter = U._rebuild_parameter_with_state(L.ones(2), False, {}, {"mine": 1})
    return (
        U._rebuild_tensor(storage, 1, (2, 2), (2, 1)),
        U._rebuild_tensor_v2(storage, 1, (2, 2), (2, 1), True, {}),
        U._rebuild_parameter(L.ones(2), True, {}),
        [type(parameter).__name__, parameter.requires_grad, parameter.mine],
        U._rebuild_meta_tensor_no_storage(L.float32, (2,), (1,), False).shape,
    )


@program
def numbers_of_devices(L):
    U = L._utils
    return [
        raised(lambda args=args: U._get_device_index(*args), 60)
        for args in (
            ("cpu",), ("cpu", False, True), (None,), (None, True), (3,), (L.device("cuda:1"),), ("cuda:1",),
            ("cuda", True), (1.5,), (1.5, True), (L.device("cuda"),), ("nonsense",),
        )
    ]  # fmt: skip


class TwoArguments(Exception):
    def __init__(self, first, second):
        super().__init__(first)


@program
def errors_from_elsewhere(L):
    def wrapped(error, **options):
        try:
            raise error
        except type(error):
            return L._utils.ExceptionWrapper(**options)

    def again(wrapper):
        try:
            wrapper.reraise()
        except Exception as error:
            lines = str(error).splitlines()
            return type(error).__name__, lines[0], lines[-1], type(error.args[0]).__name__

    zero = wrapped(ZeroDivisionError("by zero"), where="in a worker")
    try:
        raise KeyError("k")
    except KeyError:
        given = L._utils.ExceptionWrapper(sys.exc_info())
    return (
        [zero.exc_type.__name__, zero.where, zero.exc_msg.splitlines()[0]],
        again(zero),
        again(wrapped(KeyError("k"))),
        again(given),
        again(wrapped(TwoArguments(1, 2))),
    )


@program
def small_things(L):
    U = L._utils

    class Named:
        @U.classproperty
        def label(cls):
            return cls.__name__

    called = []
    registry = U.CallbackRegistry("mine")
    registry.add_callback(called.append)
    registry.fire_callbacks(1)
    return [
        Named.label,
        called,
        U._import_dotted_name("collections.abc.Mapping").__name__,
        U.try_import("no_such_module"),
        raised(lambda: U._dummy_type("Missing")(), 60),
        U._get_async_or_non_blocking("cuda", True, {}),
        raised(lambda: U._get_async_or_non_blocking("cuda", True, {"a": 1}), 60),
        repr(U.KeyErrorMessage("a\nb")),
        [U._get_available_device_type(), U._get_all_device_indices(), U._get_current_device_index()],
        raised(lambda: U._get_device_module("nonsense"), 60),
        U._get_device_module("cpu") is L.cpu,
        U.is_compiling(),
        U.cpu_count(),
        U.get_tensor_metadata(L.ones(1)),
    ]


# ---- torch.return_types


def test_the_same_types():
    theirs = torch.return_types
    missing = [name for name in theirs.__all__ if not hasattr(adjoint.return_types, name)]
    assert missing == []


@pytest.mark.parametrize("name", [name for name in torch.return_types.__all__ if name[0] != "p" and name[:3] != "all"])
def test_a_type(name):
    theirs, ours = getattr(torch.return_types, name), getattr(adjoint.return_types, name)
    assert ours.n_fields == theirs.n_fields
    assert ours in adjoint.return_types.all_return_types
    value = ours([adjoint.tensor(float(i)) for i in range(ours.n_fields)])
    expected = theirs([torch.tensor(float(i)) for i in range(theirs.n_fields)])
    assert repr(value) == repr(expected)
    P = adjoint.utils._pytree
    leaves, spec = P.tree_flatten(value)
    assert len(leaves) == ours.n_fields
    assert type(P.tree_unflatten(leaves, spec)) is ours


@pytest.mark.parametrize("call", ["rename_privateuse1_backend('mine')", "generate_methods_for_privateuse1_backend()"])
def test_devices_of_other_packages_are_refused(call):
    with pytest.raises(RuntimeError, match="use the CPU"):
        eval(f"adjoint.utils.{call}")


@program
def names_of_devices_are_texts(L):
    return raised(lambda: L.utils.rename_privateuse1_backend(3), 60)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "_VF.lstm",
            "_VF.gru_cell",
            "_VF.norm",
            "_vmap_internals.vmap",
            "_lowrank.svd_lowrank",
            "_lowrank.pca_lowrank",
        ),
        *("_compile._disable_dynamo", "_guards.detect_fake_mode", "_guards.TracingContext.try_get"),
        *("_logging.set_logs", "_logging.getArtifactLogger", "_decomp.get_decompositions"),
        *("_decomp.register_decomposition", "_decomp.core_aten_decompositions", "utils._mode_utils.no_dispatch"),
        *("testing._comparison.assert_close", "_functorch.apis.vmap", "_functorch.apis.grad", "__config__._cxx_flags"),
        *("nn.parallel.scatter_gather.is_namedtuple", "_jit_internal.List", "_jit_internal.Optional"),
    ],
)
def test_names_that_programs_import_by_their_path(name):
    path, _, last = name.rpartition(".")
    while True:
        try:
            places = [importlib.import_module(f"{package}.{path}") for package in ("torch", "adjoint")]
            break
        except ModuleNotFoundError:
            path, _, outer = path.rpartition(".")
            last = f"{outer}.{last}"
    theirs, ours = (functools.reduce(getattr, last.split("."), place) for place in places)
    assert callable(ours) == callable(theirs)


@program
def ops_that_compilers_name(L):
    aten, x = L.ops.aten, L.arange(12.0, dtype=L.float64).reshape(1, 1, 3, 4) / 5 - 1
    g = L.cos(x)
    return [
        [aten.sym_size.int(x, 2), list(aten.sym_stride(x)), aten.sym_numel.default(x), aten.lift_fresh_copy(x)],
        [aten.im2col(x, [2, 2], [1, 1], [0, 0], [1, 1]), aten.threshold_backward(g, x, 0.5), aten.tanh_backward(g, x)],
        aten.col2im(aten.im2col(x, [2, 2], [1, 1], [0, 0], [1, 1]), [3, 4], [2, 2], [1, 1], [0, 0], [1, 1]),
        [aten.sigmoid_backward(g, x), aten.gelu_backward(g, x), aten.gelu_backward(g, x, approximate="tanh")],
        [aten.silu_backward(g, x), aten.mish_backward(g, x), aten.hardtanh_backward(g, x, -1.0, 1.0)],
        [aten.softplus_backward(g, x, 1.0, 20.0), aten.glu_backward(g[..., :2], x, 3)],
        aten.native_dropout(x, 0.0, True),
        aten.native_dropout_backward(g, x > 0, 2.0),
        [aten.view.default.is_view, aten.select.int.is_view, aten.add.Tensor.is_view, aten.relu.default.is_view],
        [aten.transpose.int.is_view, aten.expand.default.is_view, aten.clone.default.is_view],
    ]
