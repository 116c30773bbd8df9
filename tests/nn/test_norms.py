"""Batch, instance, layer, group and RMS norm beside torch's."""

import copy

import pytest

import adjoint
from tests.compare import same

from .compare import check, check_signature, check_trajectory, floats

SIZES = {1: (5,), 2: (4, 3), 3: (2, 2, 2)}


@pytest.mark.parametrize(
    "name",
    [f"{kind}{dims}d" for kind in ("BatchNorm", "LazyBatchNorm", "InstanceNorm", "LazyInstanceNorm") for dims in SIZES]
    + ["SyncBatchNorm", "LayerNorm", "GroupNorm", "RMSNorm", "LocalResponseNorm", "CrossMapLRN2d"],
)
def test_signatures(name):
    check_signature(name)


OPTIONS = [
    {},
    {"eps": 1e-2, "momentum": 0.3},
    {"momentum": None},
    {"affine": False},
    {"affine": True, "bias": False},
    {"track_running_stats": False},
    {"track_running_stats": True, "affine": True},
]


def several_times(module, x):
    """Training twice and evaluation once: the running statistics have a part in all results."""
    results = [module.train()(x), module(x * 2 + 1)]
    return [*results, module.eval()(x)]


@pytest.mark.parametrize("dims", SIZES)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_batch_norm(dims, options):
    make = lambda L: getattr(L.nn, f"BatchNorm{dims}d")(3, **options)
    check(make, floats(4, 3, *SIZES[dims]), call=several_times)
    if dims == 1:
        check(make, floats(4, 3), call=several_times)


@pytest.mark.parametrize("dims", SIZES)
@pytest.mark.parametrize(
    "options", [options for options in OPTIONS if "momentum" not in options or options["momentum"]]
)
def test_instance_norm(dims, options):
    make = lambda L: getattr(L.nn, f"InstanceNorm{dims}d")(3, **options)
    check(make, floats(4, 3, *SIZES[dims]), call=several_times)
    check(make, floats(3, *SIZES[dims]), call=several_times)


@pytest.mark.parametrize(
    "make",
    [
        lambda L: L.nn.LayerNorm(4),
        lambda L: L.nn.LayerNorm((6, 4), eps=0.1),
        lambda L: L.nn.LayerNorm([6, 4], bias=False),
        lambda L: L.nn.LayerNorm(4, elementwise_affine=False),
        lambda L: L.nn.RMSNorm(4),
        lambda L: L.nn.RMSNorm((6, 4), eps=0.1),
        lambda L: L.nn.RMSNorm(4, elementwise_affine=False),
        lambda L: L.nn.GroupNorm(2, 6),
        lambda L: L.nn.GroupNorm(6, 6, eps=0.1, bias=False),
        lambda L: L.nn.GroupNorm(1, 6, affine=False),
        lambda L: L.nn.LocalResponseNorm(2),
        lambda L: L.nn.LocalResponseNorm(3, 0.5, 0.6, 2.0),
        lambda L: L.nn.SyncBatchNorm(6),
    ],
)
def test_other_norms(make):
    check(make, floats(3, 6, 4))


@pytest.mark.parametrize("size", [2, 3, 4, 5, 7])
def test_cross_map_norm(size):
    # Torch's gradient is not the derivative of what it computes; ours is.
    make = lambda L: L.nn.CrossMapLRN2d(size, 0.7, 0.6, 1.5)
    check(make, floats(2, 6, 3, 2), call=lambda module, x: module(x.detach()))
    x = adjoint.from_numpy(floats(1, 6, 1, 2)).requires_grad_()
    assert adjoint.autograd.gradcheck(make(adjoint), (x,))


@pytest.mark.parametrize(
    "program",
    [
        lambda L: list(L.nn.BatchNorm2d(3, bias=False).state_dict()),
        lambda L: list(L.nn.BatchNorm2d(3, affine=False)._parameters),
        lambda L: L.nn.BatchNorm2d(3, track_running_stats=False)._buffers,
        lambda L: dict(L.nn.BatchNorm2d(3).state_dict()._metadata),
        lambda L: {k: v for k, v in vars(L.nn.BatchNorm1d(3)).items() if k[0] != "_"},
        lambda L: {k: v for k, v in vars(L.nn.LayerNorm(3)).items() if k[0] != "_"},
        lambda L: {k: v for k, v in vars(L.nn.GroupNorm(1, 3)).items() if k[0] != "_"},
        lambda L: L.nn.BatchNorm1d(3, dtype=L.float64).running_mean,
        lambda L: str(L.nn.BatchNorm1d(3).double().num_batches_tracked.dtype),
        lambda L: list(L.nn.LayerNorm(3, bias=False)._parameters),
        lambda L: L.nn.LayerNorm(L.Size([3, 4])).normalized_shape,
        lambda L: repr(L.nn.GroupNorm(2, 4, affine=False, eps=1)),
        lambda L: repr(L.nn.RMSNorm((3, 4), eps=1e-3, elementwise_affine=False)),
        lambda L: repr(L.nn.CrossMapLRN2d(3)),
        lambda L: repr(L.nn.SyncBatchNorm.convert_sync_batchnorm(L.nn.Sequential(L.nn.BatchNorm1d(3, bias=False)))),
        lambda L: isinstance(L.nn.BatchNorm1d(3), L.nn.modules.batchnorm._BatchNorm),
        lambda L: L.nn.BatchNorm1d(3)(L.ones(0, 3)).shape,
    ],
)
def test_attributes(program):
    same(program)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda L: L.nn.BatchNorm2d(3)(L.ones(2, 3)),
        lambda L: L.nn.BatchNorm1d(3)(L.ones(2, 3, 4, 4)),
        lambda L: L.nn.BatchNorm3d(3)(L.ones(2, 3, 4)),
        lambda L: L.nn.BatchNorm1d(3)(L.ones(1, 3)),
        lambda L: L.nn.BatchNorm1d(3)(L.ones(2, 4)),
        lambda L: L.nn.BatchNorm1d(-1),
        lambda L: L.nn.BatchNorm2d(3)(L.ones(2, 3, 4, 4, dtype=L.float64)),
        lambda L: L.nn.BatchNorm2d(3)(L.ones(2, 3, 4, 4, dtype=L.int64)),
        lambda L: L.nn.SyncBatchNorm(3)(L.ones(3)),
        lambda L: L.nn.SyncBatchNorm(3)(L.ones(2, 0)),
        lambda L: L.nn.LayerNorm(3)(L.ones(2, 4)),
        lambda L: L.nn.LayerNorm(3)(L.ones(2, 3, dtype=L.float64)),
        lambda L: L.nn.LayerNorm(3)(L.ones(2, 3, dtype=L.int64)),
        lambda L: L.nn.GroupNorm(3, 4),
        lambda L: L.nn.GroupNorm(2, 4)(L.ones(2, 6, 3)),
        lambda L: L.nn.GroupNorm(2, 4)(L.ones(4)),
        lambda L: L.nn.GroupNorm(4, 4)(L.ones(1, 4)),
        lambda L: L.nn.RMSNorm(3)(L.ones(2, 4)),
        lambda L: L.nn.LocalResponseNorm(2)(L.ones(2)),
        lambda L: L.nn.CrossMapLRN2d(3)(L.ones(4, 5, 5)),
        lambda L: L.nn.InstanceNorm2d(3)(L.ones(4, 4, 4)).shape,
        lambda L: L.nn.InstanceNorm2d(3)(L.ones(2, 4, 4, 4)).shape,
        lambda L: L.nn.InstanceNorm2d(3, affine=True)(L.ones(2, 4, 4, 4)),
        lambda L: L.nn.InstanceNorm1d(3, affine=True)(L.ones(4, 5)),
        lambda L: L.nn.InstanceNorm1d(3)(L.ones(2, 3, 2, 2)),
        lambda L: L.nn.InstanceNorm3d(3)(L.ones(2, 2)),
        lambda L: L.nn.InstanceNorm2d(3)(L.ones(2, 3, 1, 1)),
        lambda L: L.nn.modules.batchnorm._NormBase(3)._check_input_dim(L.ones(1)),
    ],
)
def test_errors(wrong):
    same(wrong)


def loaded(L, module, state):
    result = module.load_state_dict(state)
    return str(result), module.state_dict()


@pytest.mark.parametrize(
    "program",
    [
        lambda L: loaded(
            L, L.nn.BatchNorm1d(1), {k: L.ones(1) for k in ("weight", "bias", "running_mean", "running_var")}
        ),
        lambda L: loaded(L, L.nn.InstanceNorm1d(1), {"running_mean": L.ones(1), "running_var": L.ones(1)}),
        lambda L: loaded(L, L.nn.InstanceNorm1d(1), {"running_var": L.ones(1)}),
        lambda L: loaded(L, L.nn.InstanceNorm1d(1), L.nn.InstanceNorm1d(1, track_running_stats=True).state_dict()),
        lambda L: loaded(
            L, L.nn.InstanceNorm1d(1, track_running_stats=True), {"running_mean": L.ones(1), "running_var": L.ones(1)}
        ),
    ],
)
def test_states_of_before_version_2(program):
    same(program)


def test_state_of_version_2_must_count_batches():
    def program(L):
        state = L.nn.BatchNorm1d(3).state_dict()
        del state["num_batches_tracked"]
        return L.nn.BatchNorm1d(3).load_state_dict(state)

    same(program)


def test_statistics_can_be_taken_away():
    def program(L):
        norm = L.nn.BatchNorm1d(2)
        norm.track_running_stats = False
        x = L.tensor([[1.0, 2.0], [3.0, 5.0]])
        norm(x)
        first = copy.deepcopy(norm).state_dict()
        norm.running_mean = norm.running_var = None
        return first, norm.eval()(x).shape

    same(program)


def loss(result):
    return (result.sin() - 0.5).square().mean()


def test_training():
    def net(L):
        return L.nn.Sequential(L.nn.Linear(4, 6), L.nn.BatchNorm1d(6), L.nn.Linear(6, 4), L.nn.LayerNorm(4))

    check_trajectory(net, floats(8, 4), loss=loss)
    check_trajectory(
        lambda L: L.nn.Sequential(L.nn.Conv2d(2, 4, 3), L.nn.GroupNorm(2, 4)), floats(3, 2, 5, 5), loss=loss
    )
    check_trajectory(lambda L: L.nn.Sequential(L.nn.Linear(4, 6), L.nn.RMSNorm(6)), floats(8, 4), loss=loss)
    check_trajectory(
        lambda L: L.nn.Sequential(L.nn.Conv1d(2, 3, 3), L.nn.InstanceNorm1d(3, affine=True, track_running_stats=True)),
        floats(3, 2, 8),
        loss=loss,
    )


def test_no_channels_to_normalise_over():
    same(lambda L: L.nn.CrossMapLRN2d(0)(L.ones(1, 2, 3, 3)))
