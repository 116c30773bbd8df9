"""torch.distributed as it is without any: is_available() is False, and what needs other processes refuses.

Its names are here, so that programs for one process and for many import them, and ask.
"""

import os
import sys
import types

from .._absent import refusing, refusing_type
from ._names import ADVICE, make
from ._types import Backend as Backend
from ._types import DebugLevel as DebugLevel
from ._types import DistBackendError as DistBackendError
from ._types import DistError as DistError
from ._types import DistNetworkError as DistNetworkError
from ._types import DistStoreError as DistStoreError
from ._types import GroupMember as GroupMember
from ._types import QueueEmptyError as QueueEmptyError
from ._types import ReduceOp as ReduceOp
from ._types import default_pg_timeout as default_pg_timeout
from ._types import group as group

# What torch also refuses as long as no group was made.
_COLLECTIVES = (
    *("all_gather", "all_gather_coalesced", "all_gather_into_tensor", "all_gather_object", "all_reduce"),
    *("all_reduce_coalesced", "all_to_all", "all_to_all_single", "barrier", "batch_isend_irecv", "broadcast"),
    *("broadcast_object_list", "gather", "gather_object", "get_backend", "get_backend_config", "get_global_rank"),
    *("get_group_rank", "get_process_group_ranks", "get_rank", "get_world_size", "irecv", "isend", "monitored_barrier"),
    *("new_group", "new_subgroups", "new_subgroups_by_enumeration", "recv", "recv_object_list", "reduce"),
    *("reduce_scatter", "reduce_scatter_tensor", "scatter", "scatter_object_list", "send", "send_object_list"),
    *("split_group", "_all_gather_base", "_reduce_scatter_base", "_get_default_group"),
)
_STARTS = ("init_process_group", "register_rendezvous_handler", "rendezvous", "_new_process_group_helper")
_TYPES = (
    *("FileStore", "GradBucket", "HashStore", "P2POp", "PrefixStore", "ProcessGroup", "ProcessGroupGloo"),
    *("ProcessGroupMPI", "ProcessGroupNCCL", "Reducer", "Store", "TCPStore", "Work", "_remote_device"),
)
_NO_GROUP = "Default process group has not been initialized, please make sure to call init_process_group. "
_pg_map: dict = {}

for _name in _COLLECTIVES:
    globals()[_name] = refusing("distributed", _name, ADVICE, ValueError, _NO_GROUP)
for _name in _STARTS:
    globals()[_name] = refusing("distributed", _name, ADVICE)
for _name in _TYPES:
    globals()[_name] = refusing_type("distributed", _name, ADVICE)


def is_available():
    """Whether processes can work together: no.

    >>> import adjoint as torch
    >>> torch.distributed.is_available()
    False
    """
    return False


def is_initialized():
    """Whether there is a process group: no.

    >>> import adjoint as torch
    >>> torch.distributed.is_initialized()
    False
    """
    return False


def is_backend_available(backend):
    """Whether processes can talk to each other in one way: no.

    >>> import adjoint as torch
    >>> torch.distributed.is_backend_available("gloo")
    False
    """
    return False


def is_gloo_available():
    """Whether Gloo is here: no.

    >>> import adjoint as torch
    >>> torch.distributed.is_gloo_available()
    False
    """
    return False


is_mpi_available = is_nccl_available = is_ucc_available = is_xccl_available = is_gloo_available


def is_torchelastic_launched():
    """Whether torchrun has started this process.

    >>> import adjoint as torch
    >>> torch.distributed.is_torchelastic_launched()
    False
    """
    return "TORCHELASTIC_RUN_ID" in os.environ


def get_node_local_rank(fallback_rank=None):
    """The number of this process among those of its machine, as the environment has it.

    >>> import adjoint as torch
    >>> torch.distributed.get_node_local_rank(fallback_rank=0)
    0
    """
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow `get_node_local_rank` to work, "
        "assuming you are not running in a multi-device context and want the code to run locally instead."
    )


def destroy_process_group(group=None):
    """Raises: there is no process group."""
    raise AssertionError("Process group cannot be None: there is none; ask torch.distributed.is_initialized() first")


def get_debug_level():
    """How much is checked of what processes do together: nothing.

    >>> import adjoint as torch
    >>> torch.distributed.get_debug_level()
    <DebugLevel.OFF: 0>
    """
    return DebugLevel.OFF


def supports_complex(reduceOp):
    """Whether a reduction has a meaning for complex numbers.

    >>> import adjoint as torch
    >>> torch.distributed.supports_complex(torch.distributed.ReduceOp.SUM)
    True
    """
    return reduceOp not in (ReduceOp.MAX, ReduceOp.MIN, ReduceOp.PRODUCT, ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)


make()
device_mesh = sys.modules[f"{__name__}.device_mesh"]
DeviceMesh, init_device_mesh = device_mesh.DeviceMesh, device_mesh.init_device_mesh
_world = types.SimpleNamespace(pg_map=_pg_map, pg_group_ranks={}, default_pg=None)
# The same names under that of the file where torch has them.
distributed_c10d = types.ModuleType(f"{__name__}.distributed_c10d", __doc__)
distributed_c10d.__spec__ = type(__spec__)(distributed_c10d.__name__, None)
vars(distributed_c10d).update({name: value for name, value in globals().items() if not name.startswith("__")})
sys.modules[distributed_c10d.__name__] = distributed_c10d
