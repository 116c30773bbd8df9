"""The modules of torch.distributed, so that programs can import from them; what they would start is refused."""

import enum

from .._absent import absent_module, refusing
from . import _types

ADVICE = (
    "Adjoint runs in one process, and has no process groups (torch.distributed.is_available() is False); run the "
    "program on one process, or with PyTorch"
)


class ShardingStrategy(enum.Enum):
    """How FSDP would share out parameters."""

    FULL_SHARD = 1
    SHARD_GRAD_OP = 2
    NO_SHARD = 3
    HYBRID_SHARD = 4
    _HYBRID_SHARD_ZERO2 = 5


class BackwardPrefetch(enum.Enum):
    """When FSDP would fetch parameters for backward."""

    BACKWARD_PRE = 1
    BACKWARD_POST = 2


class StateDictType(enum.Enum):
    """What a state_dict of FSDP would hold."""

    FULL_STATE_DICT = 1
    LOCAL_STATE_DICT = 2
    SHARDED_STATE_DICT = 3


class OptimStateKeyType(enum.Enum):
    """By what the state of an optimizer would be named."""

    PARAM_NAME = 1
    PARAM_ID = 2


class CheckpointImpl(enum.Enum):
    """How a checkpoint would be recomputed."""

    REENTRANT = 1
    NO_REENTRANT = 2


class BackendType(enum.Enum):
    """What remote calls would go through."""

    TENSORPIPE = "TENSORPIPE"


class SplitPoint(enum.Enum):
    """Where a pipeline would be cut."""

    BEGINNING = 1
    END = 2


def _absent(name, functions="", classes="", **values):
    return absent_module(f"distributed.{name}", ADVICE, functions, classes, **values)


def _shared(module, names):
    return {name: vars(module)[name] for name in names.split()}


def make():
    """Makes the modules, with torch.distributed itself for their parent."""
    _make_fsdp()
    _make_checkpoint()
    _make_tensor()
    _make_algorithms()
    _make_processes()


def _make_fsdp():
    configs = "CPUOffload FullOptimStateDictConfig FullStateDictConfig LocalStateDictConfig MixedPrecision"
    configs += " OptimStateDictConfig ShardedOptimStateDictConfig ShardedStateDictConfig StateDictConfig"
    enums = {one.__name__: one for one in (ShardingStrategy, BackwardPrefetch, StateDictType, OptimStateKeyType)}
    new = "CPUOffloadPolicy FSDPModule MixedPrecisionPolicy OffloadPolicy UnshardHandle"
    fsdp = _absent(
        "fsdp",
        "fully_shard register_fsdp_forward_method share_comm_ctx",
        f"FullyShardedDataParallel FlatParameter {configs} {new}",
        **enums,
    )
    old = _shared(fsdp, f"FullyShardedDataParallel {configs}")
    _absent("fsdp.fully_sharded_data_parallel", **old, **enums)
    _absent("fsdp.api", **_shared(fsdp, configs), **enums)
    _absent("fsdp.sharded_grad_scaler", classes="ShardedGradScaler")
    _absent("fsdp._common_utils", "_get_module_fsdp_state", "_FSDPState")
    policies = "_or_policy _module_wrap_policy lambda_auto_wrap_policy size_based_auto_wrap_policy"
    policies += " transformer_auto_wrap_policy always_wrap_policy enable_wrap wrap"
    _absent("fsdp.wrap", policies, "ModuleWrapPolicy CustomPolicy _Policy")
    _absent("fsdp._fully_shard", **_shared(fsdp, f"fully_shard {new}"))
    _absent("_composable", "checkpoint replicate", **_shared(fsdp, "fully_shard"))
    _absent("_composable.fsdp", **_shared(fsdp, f"fully_shard {new}"))


def _make_checkpoint():
    planners = "DefaultLoadPlanner DefaultSavePlanner LoadPlan LoadPlanner SavePlan SavePlanner"
    storage = "FileSystemReader FileSystemWriter StorageReader StorageWriter"
    checkpoint = _absent(
        "checkpoint",
        "async_save load load_state_dict save save_state_dict",
        f"{planners} {storage} BytesStorageMetadata CheckpointException Metadata TensorStorageMetadata",
    )
    _absent("checkpoint.default_planner", "create_default_local_load_plan", "", **_shared(checkpoint, planners))
    _absent("checkpoint.planner", "", "WriteItem ReadItem", **_shared(checkpoint, planners))
    _absent("checkpoint.filesystem", "", "", **_shared(checkpoint, "FileSystemReader FileSystemWriter"))
    _absent("checkpoint.storage", "", "WriteResult", **_shared(checkpoint, "StorageReader StorageWriter"))
    _absent(
        "checkpoint.metadata", "", "StorageMeta MetadataIndex", **_shared(checkpoint, "Metadata TensorStorageMetadata")
    )
    _absent("checkpoint.stateful", "", "Stateful")
    _absent("checkpoint.optimizer", "load_sharded_optimizer_state_dict")
    _absent("checkpoint.hf_storage", "", "HuggingFaceStorageReader HuggingFaceStorageWriter")
    _absent("checkpoint.state_dict_loader", "_load_state_dict", "", **_shared(checkpoint, "load load_state_dict"))
    _absent("checkpoint.state_dict_saver", "", "", **_shared(checkpoint, "async_save save save_state_dict"))
    converts = "dcp_to_torch_save torch_save_to_dcp _load_state_dict"
    _absent("checkpoint.format_utils", converts, "_EmptyStateDictLoadPlanner")
    _absent("checkpoint._consolidate_hf_safetensors", "consolidate_safetensors_files")
    _absent(
        "checkpoint.state_dict",
        "get_model_state_dict get_optimizer_state_dict get_state_dict set_model_state_dict set_optimizer_state_dict "
        "set_state_dict",
        "StateDictOptions",
    )


def _make_tensor():
    mesh = _absent("device_mesh", "init_device_mesh", "DeviceMesh")
    placements = "Partial Placement Replicate Shard"
    makes = "distribute_module distribute_tensor empty full ones rand randn zeros"
    tensor = _absent("tensor", makes, f"DTensor {placements}", **_shared(mesh, "DeviceMesh init_device_mesh"))
    _absent("tensor.placement_types", "", "_StridedShard DTensorSpec", **_shared(tensor, placements))
    _absent("tensor._utils", "compute_local_shape_and_global_offset")
    _absent("tensor.device_mesh", "", "", **_shared(mesh, "DeviceMesh init_device_mesh"))
    _absent("tensor.experimental", "context_parallel implicit_replication local_map")
    _absent("tensor.experimental._attention", "context_parallel set_rotate_method")
    styles = "ColwiseParallel ParallelStyle PrepareModuleInput PrepareModuleOutput RowwiseParallel SequenceParallel"
    parallel = _absent("tensor.parallel", "loss_parallel parallelize_module", styles)
    _absent("tensor.parallel.style", "", "", **_shared(parallel, styles))
    _absent("_tensor", **_shared(tensor, f"DTensor DeviceMesh init_device_mesh distribute_tensor {placements}"))
    _absent("_tensor.api", **_shared(tensor, "DTensor distribute_tensor"))
    _absent("_tensor.placement_types", **_shared(tensor, placements))
    _absent("_tensor.experimental", "implicit_replication local_map")
    _absent("_shard")
    _absent("_shard.sharded_tensor", "", "ShardedTensor Shard")
    _absent("_shard.api", "_shard_tensor", "")


def _make_algorithms():
    algorithms = _absent("algorithms", "", "Join Joinable JoinHook")
    _absent("algorithms.join", **_shared(algorithms, "Join Joinable JoinHook"))
    _absent("algorithms._checkpoint")
    _absent(
        "algorithms._checkpoint.checkpoint_wrapper",
        "apply_activation_checkpointing checkpoint_wrapper offload_wrapper",
        "ActivationWrapper CheckpointWrapper OffloadWrapper",
        CheckpointImpl=CheckpointImpl,
    )
    _absent("algorithms.ddp_comm_hooks")
    compress = "bf16_compress_hook bf16_compress_wrapper fp16_compress_hook fp16_compress_wrapper allreduce_hook"
    _absent("algorithms.ddp_comm_hooks.default_hooks", compress)
    _absent("algorithms.ddp_comm_hooks.post_localSGD_hook", "post_localSGD_hook", "PostLocalSGDState")
    _absent("algorithms.ddp_comm_hooks.powerSGD_hook", "batched_powerSGD_hook powerSGD_hook", "PowerSGDState")
    _absent("algorithms.model_averaging")
    _absent("algorithms.model_averaging.averagers", "", "ModelAverager PeriodicModelAverager")
    _absent("optim", "", "DistributedOptimizer PostLocalSGDOptimizer ZeroRedundancyOptimizer")


def _make_processes():
    gathers = "all_gather all_reduce all_to_all all_to_all_single broadcast gather reduce reduce_scatter scatter"
    nn = _absent("nn", gathers, "RemoteModule")
    _absent("nn.functional", "", "", **_shared(nn, gathers))
    waits = (
        "all_gather_tensor all_reduce all_to_all_single all_to_all_single_autograd permute_tensor reduce_scatter_tensor"
    )
    _absent("_functional_collectives", f"{waits} wait_tensor", "AsyncCollectiveTensor")
    calls = "get_worker_info init_rpc remote rpc_async rpc_sync shutdown"
    _absent("rpc", calls, "RRef TensorPipeRpcBackendOptions WorkerInfo", BackendType=BackendType, is_available=_no)
    _absent("rpc.api", "_all_gather get_worker_info", _require_initialized=_needs_rpc)
    _absent("autograd", "backward get_gradients", "context")
    _absent("run", "get_args_parser main run config_from_args")
    _absent("launch", "main launch")
    _absent("launcher", "", "LaunchConfig elastic_launch")
    _absent("launcher.api", "launch_agent", "LaunchConfig elastic_launch")
    _absent("elastic")
    _absent("elastic.multiprocessing", "start_processes", "Std DefaultLogsSpecs")
    _absent("elastic.multiprocessing.errors", "", "ChildFailedError ProcessFailure", record=_itself)
    _absent("elastic.utils")
    _absent("elastic.utils.store", "barrier")
    _absent("elastic.rendezvous", "", "RendezvousHandler RendezvousParameters")
    _absent("pipelining", "pipeline pipe_split", "PipelineStage Schedule1F1B ScheduleGPipe Pipe", SplitPoint=SplitPoint)
    _absent("pipelining.microbatch", "split_args_kwargs_into_chunks merge_chunks", "TensorChunkSpec")
    _absent("utils", "_sync_module_states _verify_param_shape_across_processes _to_kwargs _replace_by_prefix")
    _absent(
        "constants", default_pg_timeout=_types.default_pg_timeout, default_pg_nccl_timeout=_types.default_pg_timeout
    )


def _no():
    """Whether this part of torch.distributed is here: no."""
    return False


def _needs_rpc(function):
    """A decorator of functions that need remote calls to have been started, which they cannot be."""
    return refusing("distributed.rpc", function.__name__, ADVICE, RuntimeError, "RPC has not been initialized. ")


def _itself(function):
    """The function itself: torch would write down its errors for the process that started it."""
    return function
