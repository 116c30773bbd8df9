"""torch.distributed and nn.parallel in one process: questions are answered, what needs other processes refuses."""

import inspect

import pytest
import torch

import adjoint

from .compare import same
from .processes import script


def test_there_are_no_other_processes():
    dist = adjoint.distributed
    assert not dist.is_available()
    assert not dist.is_initialized()
    assert not any(ask() for ask in (dist.is_gloo_available, dist.is_nccl_available, dist.is_mpi_available))
    assert not dist.is_backend_available("gloo")
    assert dist.get_debug_level().name == torch.distributed.get_debug_level().name


@pytest.mark.parametrize(
    "call",
    [
        lambda L: L.distributed.get_rank(),
        lambda L: L.distributed.get_world_size(),
        lambda L: L.distributed.all_reduce(L.ones(1)),
        lambda L: L.distributed.all_gather_object([None], 3),
        lambda L: L.distributed.broadcast(L.ones(1), 0),
        lambda L: L.distributed.barrier(),
        lambda L: L.distributed.get_backend(),
        lambda L: L.distributed.new_group(),
        lambda L: L.distributed.destroy_process_group(),
        lambda L: L.distributed.Backend(3),
        lambda L: L.distributed.get_node_local_rank(),
        lambda L: L.nn.parallel.DistributedDataParallel(L.nn.Linear(1, 1)),
    ],
)
def test_errors_of_a_missing_group_are_torchs(call):
    same(call)


@pytest.mark.parametrize(
    "call",
    [
        lambda: adjoint.distributed.init_process_group("gloo", rank=0, world_size=1),
        lambda: adjoint.distributed.init_device_mesh("cpu", (1,)),
        lambda: adjoint.distributed.TCPStore("localhost", 1234),
        lambda: adjoint.distributed.fsdp.FullyShardedDataParallel(adjoint.nn.Linear(1, 1)),
        lambda: adjoint.distributed.checkpoint.save({}),
        lambda: adjoint.distributed.rpc.init_rpc("worker"),
        lambda: adjoint.distributed.tensor.distribute_tensor(adjoint.ones(1)),
        lambda: adjoint.distributed.run.main(),
    ],
)
def test_what_would_start_something_refuses(call):
    with pytest.raises(NotImplementedError, match=r"torch\.distributed\..*\(\): Adjoint runs in one process"):
        call()


def test_reductions_and_backends_have_names():
    def seen(L):
        dist = L.distributed
        kinds = {name: int(kind) for name, kind in dist.ReduceOp.RedOpType.__members__.items() if name != "UNUSED"}
        backends = dist.Backend("GLOO"), dist.Backend.NCCL, dist.Backend.default_device_backend_map["cuda"]
        members = dist.GroupMember.WORLD, dist.group.WORLD, dist.GroupMember.NON_GROUP_MEMBER
        return kinds, repr(dist.ReduceOp.SUM), dist.ReduceOp(dist.ReduceOp.MAX) == dist.ReduceOp.MAX, backends, members

    same(seen)
    same(lambda L: L.distributed.get_node_local_rank(fallback_rank=2))
    same(
        lambda L: [
            L.distributed.supports_complex(op) for op in (L.distributed.ReduceOp.SUM, L.distributed.ReduceOp.MAX)
        ]
    )


@pytest.mark.filterwarnings("ignore:.*is deprecated")  # torch uses torch.jit when it imports its own
def test_names_are_those_of_torch():
    """A name that torch does not have would be found by programs that look for what torch has."""
    from adjoint.distributed import _names

    invented = []
    for module in ("fsdp", "fsdp.wrap", "device_mesh", "tensor", "checkpoint", "checkpoint.state_dict", "optim"):
        ours = __import__(f"adjoint.distributed.{module}", fromlist=["x"])
        theirs = __import__(f"torch.distributed.{module}", fromlist=["x"])
        found = [name for name, value in vars(ours).items() if name[0] != "_" and not inspect.ismodule(value)]
        invented += [f"{module}.{name}" for name in found if not hasattr(theirs, name)]
    assert invented == []
    for kind in (_names.ShardingStrategy, _names.StateDictType, _names.BackwardPrefetch):
        assert list(kind.__members__) == list(getattr(torch.distributed.fsdp, kind.__name__).__members__)


def test_types_stand_in_annotations_and_as_bases():
    dist = adjoint.distributed

    class Mine(dist.fsdp.FSDPModule):
        pass

    assert not isinstance(adjoint.nn.Linear(1, 1), dist.fsdp.FullyShardedDataParallel)
    assert not isinstance(3, (Mine, dist.ProcessGroup, dist.tensor.DTensor))
    assert dist.rpc.RRef[int] is not None
    assert dist.distributed_c10d.ProcessGroup is dist.ProcessGroup
    assert dist.fsdp.api.StateDictType is dist.fsdp.StateDictType


def test_modules_are_imported_in_every_way():
    lines = script(
        """
import adjoint; adjoint.as_torch()
import importlib.util
import torch.distributed.fsdp.wrap
import torch.distributed.algorithms.ddp_comm_hooks.default_hooks as default
from torch.distributed.checkpoint.state_dict import StateDictOptions
from torch.distributed._tensor import DTensor
from torch._C._distributed_c10d import Reducer
from torch.nn.parallel.distributed import DistributedDataParallel
import torch.cuda.nvtx, torch.cuda.random
print(torch.distributed.fsdp.wrap.__name__, default.fp16_compress_hook.__name__, StateDictOptions.__module__)
print(importlib.util.find_spec("torch.distributed.rpc") is not None)
try:
    import torch.distributed.absent
except ModuleNotFoundError as error:
    print(error.name)
"""
    ).stdout.splitlines()
    state = "torch.distributed.checkpoint.state_dict"
    assert lines == [f"adjoint.distributed.fsdp.wrap fp16_compress_hook {state}", "True", "torch.distributed.absent"]


def test_elastic_programs_run():
    @adjoint.distributed.elastic.multiprocessing.errors.record
    def main():
        return 3

    assert main() == 3


def test_parallel_functions_on_the_one_device():
    def run(L):
        first, second = L.nn.Linear(2, 1), L.nn.Tanh()
        with L.no_grad():
            for p in first.parameters():
                p.fill_(0.5)
        model = L.nn.DataParallel(first)
        return model(L.ones(3, 2)), list(model.state_dict()), second(L.ones(3, 2))

    same(run)
    assert adjoint.nn.parallel.data_parallel(adjoint.nn.ReLU(), (adjoint.ones(2),)).tolist() == [1, 1]
    each = adjoint.nn.parallel.parallel_apply(
        [adjoint.nn.Tanh(), adjoint.nn.ReLU()], [adjoint.zeros(2), adjoint.ones(2)]
    )
    assert [one.tolist() for one in each] == [[0, 0], [1, 1]]
    with pytest.raises(AssertionError, match="The number of modules 1 is not equal to the number of inputs 2"):
        adjoint.nn.parallel.parallel_apply([adjoint.nn.Tanh()], [1, 2])
    if not adjoint.cuda.is_available():
        with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
            adjoint.nn.parallel.scatter(adjoint.ones(2), [0])
    same(lambda L: L.nn.parallel.gather([L.ones(2)], 0))
    same(lambda L: L.nn.parallel.replicate(L.nn.Linear(1, 1), [0]))
    same(lambda L: L.nn.parallel.replicate(L.nn.Linear(1, 1), []))
    assert issubclass(adjoint.nn.parallel.DistributedDataParallel, adjoint.nn.Module)
