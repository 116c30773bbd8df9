"""Names of PyTorch 2.13 that are not here: what they are, whether they will come, what to use instead.

One table, for the errors of modules and for the list in README.md (`python tools/absent.py` writes it). Methods of
Tensor are in it, too, but their error is Python's own: whatever could change it would slow down every call of a method.
It is loaded when somebody touches a name that is not there. The error is an AttributeError, so that hasattr() is False,
and programs that ask first take their other way.
"""

import functools
import importlib
import sys
from typing import NamedTuple


class Kind(NamedTuple):
    """Why a group of names is absent: `what` they are, whether they come, and what to do `instead`."""

    what: str
    comes: str
    instead: str
    listed: bool = True  # in README.md


NEVER, LATER = "will not come", "may come"
KINDS = {
    "quantized": Kind(
        "quantized tensors, and the functions that make and take them",
        LATER,
        "compute in a small float type, `x.to(torch.bfloat16)`, or quantize with PyTorch",
    ),
    "nested": Kind(
        "nested tensors, of which the functions of `torch.nested` name what to use",
        LATER,
        "pad with `torch.nn.utils.rnn.pad_sequence` and mask, or use `torch.nn.attention.varlen`",
    ),
    "devices": Kind(
        "devices other than the CPU and NVIDIA GPUs, and what speaks to one",
        LATER,
        "leave tensors on the CPU, or on an NVIDIA GPU",
    ),
    "batch_norm": Kind(
        "the parts of batch norm over several GPUs",
        LATER,
        "use `torch.nn.functional.batch_norm` on the whole batch",
    ),
    "kernels": Kind(
        "kernels of cuDNN, MIOpen, oneDNN and FBGEMM under names of their own",
        NEVER,
        "call the function that they compute, such as `torch.nn.functional.conv2d`, `batch_norm` or `linear`",
    ),
    "script": Kind(
        "the types of TorchScript: its compiler, its graphs, what it runs",
        NEVER,
        "call the function or module itself; `torch.fx.symbolic_trace` makes a graph of a program",
    ),
    "compiler": Kind(
        "control flow and sizes in words of a compiler",
        NEVER,
        "write `if` and `while`: programs run as they are, and their sizes are numbers",
    ),
    "dispatcher": Kind(
        "the keys and guards by which PyTorch finds a kernel",
        NEVER,
        "use `torch.library` for ops of your own, and `torch.utils._python_dispatch` for modes",
    ),
    "withdrawn": Kind(
        "functions that PyTorch itself has withdrawn: there, they raise",
        NEVER,
        "use their successor in `torch.linalg`",
    ),
    "sparse_parts": Kind(
        "copies of the parts of sparse tensors, and semi-structured sparsity, which needs a GPU",
        LATER,
        "copy a part: `x.values().clone()`; use the layouts COO, CSR, CSC, BSR and BSC",
    ),
    "masked": Kind(
        "masked tensors, a prototype in PyTorch",
        LATER,
        "give a mask to the functions of `torch.masked`, or use `torch.where`",
    ),
    "datapipes": Kind(
        "data pipes, which PyTorch no longer develops",
        NEVER,
        "use `torch.utils.data.Dataset` and `IterableDataset`",
    ),
    "grouped": Kind(
        "products of matrices in groups, or with scales",
        LATER,
        "use `torch.bmm`, or `torch._scaled_mm` for one product with scales",
    ),
    "functions": Kind(
        "a few functions that nobody has asked for yet",
        LATER,
        "open an issue that says what for",
    ),
    "inner": Kind("an inner part of PyTorch, no part of its interface", NEVER, "do without it", listed=False),
    "imported": Kind(
        "a name that the source of PyTorch happens to import", NEVER, "import it from where it lives", listed=False
    ),
}

# By the module, or "Tensor", and the kind.
NAMES = {
    "": {
        "quantized": """
            choose_qparams_optimized dequantize empty_quantized fake_quantize_per_channel_affine
            fake_quantize_per_tensor_affine fused_moving_avg_obs_fake_quant int_repr per_channel_affine
            per_channel_affine_float_qparams per_channel_symmetric per_tensor_affine per_tensor_symmetric
            q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point qscheme
            quantize_per_channel quantize_per_tensor quantize_per_tensor_dynamic quantized_batch_norm quantized_gru
            quantized_gru_cell quantized_lstm quantized_lstm_cell quantized_max_pool1d quantized_max_pool2d
            quantized_max_pool3d quantized_rnn_relu_cell quantized_rnn_tanh_cell
        """,
        "devices": """
            StreamObjType get_autocast_ipu_dtype get_autocast_xla_dtype is_autocast_ipu_enabled
            is_autocast_xla_enabled profiler_allow_cudagraph_cupti_lazy_reinit_cuda12 set_autocast_ipu_dtype
            set_autocast_ipu_enabled set_autocast_xla_dtype set_autocast_xla_enabled
        """,
        "batch_norm": """
            batch_norm_backward_elemt batch_norm_backward_reduce batch_norm_elemt batch_norm_gather_stats
            batch_norm_gather_stats_with_counts batch_norm_stats batch_norm_update_stats
        """,
        "kernels": """
            cudnn_affine_grid_generator cudnn_batch_norm cudnn_convolution cudnn_convolution_add_relu
            cudnn_convolution_relu cudnn_convolution_transpose cudnn_grid_sampler cudnn_is_acceptable
            fbgemm_linear_fp16_weight fbgemm_linear_fp16_weight_fp32_activation fbgemm_linear_int8_weight
            fbgemm_linear_int8_weight_fp32_activation fbgemm_linear_quantize_weight fbgemm_pack_gemm_matrix_fp16
            fbgemm_pack_quantized_matrix miopen_batch_norm miopen_convolution miopen_convolution_add_relu
            miopen_convolution_relu miopen_convolution_transpose miopen_ctc_loss miopen_depthwise_convolution miopen_rnn
            mkldnn_adaptive_avg_pool2d mkldnn_convolution mkldnn_linear_backward_weights mkldnn_max_pool2d
            mkldnn_max_pool3d mkldnn_rnn_layer
        """,
        "script": """
            AliasDb AnyType Argument ArgumentSpec AwaitType Block BoolType BufferDict CallStack Capsule ClassType Code
            CompilationUnit CompleteArgumentSpec ComplexType ConcreteModuleType ConcreteModuleTypeBuilder
            DeepCopyMemoTable DeserializationStorageContext DictType EnumType ErrorReport ExecutionPlan FileCheck
            FloatType FunctionSchema FutureType Gradient Graph GraphExecutorState IODescriptor InferredType IntType
            InterfaceType JITException ListType LiteScriptModule LockingLogger LoggerBase ModuleDict Node NoneType
            NoopLogger NumberType OperatorInfo OptionalType ParameterDict PyObjectType RRefType ScriptClass
            ScriptClassFunction ScriptDict ScriptDictIterator ScriptDictKeyIterator ScriptList ScriptListIterator
            ScriptMethod ScriptModuleSerializer ScriptObject ScriptObjectProperty SerializationStorageContext
            StaticModule StringType SymBoolType SymIntType TensorType TracingState TupleType Type UnionType Use Value
            classes fork import_ir_module import_ir_module_from_buffer merge_type_from_type_comment parse_ir
            parse_schema parse_type_comment unify_type_list wait
        """,
        "compiler": """
            cond sym_constrain_range sym_constrain_range_for_size sym_fresh_size sym_sqrt while_loop
        """,
        "dispatcher": "DispatchKey DispatchKeySet ExcludeDispatchKeyGuard Tag",
        "withdrawn": "eig lstsq matrix_rank solve symeig",
        "sparse_parts": """
            ccol_indices_copy col_indices_copy crow_indices_copy indices_copy resize_as_sparse_ row_indices_copy
            values_copy
        """,
        "functions": "ThroughputBenchmark detach_copy native_norm slice_inverse thread_safe_generator",
        "inner": """
            AVG AggregationType BenchmarkConfig BenchmarkExecutionStats FatalError PRIVATE_OPS SUM USE_GLOBAL_DEPS
            USE_RTLD_GLOBAL_WITH_LIBTORCH bit classproperty cpp get_file_path has_lapack has_mkl has_openmp has_spectral
            init_num_threads legacy_contiguous_format prepare_multiprocessing_environment windows
        """,
        "imported": """
            TYPE_CHECKING builtins ctypes functools glob importlib math os platform sys textwrap threading torch
            warnings
        """,
    },
    "nn": {"quantized": "quantizable", "inner": "factory_kwargs"},
    "nn.functional": {
        "grouped": "ScalingType SwizzleType grouped_mm scaled_grouped_mm scaled_mm",
        "inner": """
            GRID_SAMPLE_INTERPOLATION_MODES GRID_SAMPLE_PADDING_MODES assert_int_or_pair boolean_dispatch
            reproducibility_notes sparse_support_notes tf32_notes
        """,
        "imported": """
            BroadcastingList1 BroadcastingList2 BroadcastingList3 Callable DType Optional TYPE_CHECKING Tensor
            dataclasses grad handle_torch_function has_torch_function has_torch_function_unary
            has_torch_function_variadic importlib math np torch warnings
        """,
    },
    "nn.init": {"imported": "Callable Literal ParamSpec Tensor TypeVar torch"},
    "optim": {"inner": "swap_in_optimizer_params_and_state"},
    "optim.lr_scheduler": {
        "imported": """
            Any Counter Literal Optimizer Self SupportsFloat TYPE_CHECKING Tensor TypedDict annotations bisect_right
            cast inf math override partial ref types warnings wraps
        """,
    },
    "linalg": {"inner": "common_notes"},
    "fft": {"inner": "common_args factory_common_args", "imported": "Tensor torch"},
    "special": {"inner": "common_args multi_dim_common", "imported": "Tensor torch"},
    "autograd": {
        "script": "NestedIOFunction",
        "inner": "ProfilerConfig ProfilerEvent ProfilerState profiler_legacy",
        "imported": """
            Mapping Sequence cast handle_torch_function has_torch_function is_tensor_like overload torch
        """,
    },
    "utils": {
        "functions": "ThroughputBenchmark throughput_benchmark",
        "inner": "backcompat cmake_prefix_path cpp_backtrace get_cpp_backtrace",
        "imported": "copyreg torch weakref",
    },
    "utils.data": {
        "datapipes": """
            DFIterDataPipe DataChunk IterDataPipe MapDataPipe argument_validation datapipes functional_datapipe graph
            graph_settings guaranteed_datapipes_determinism non_deterministic runtime_validation
            runtime_validation_disabled
        """,
    },
    "sparse": {
        "sparse_parts": """
            SparseSemiStructuredTensor SparseSemiStructuredTensorCUSPARSELT SparseSemiStructuredTensorCUTLASS
            semi_structured to_sparse_semi_structured
        """,
        "imported": "Any DType DimOrDims TYPE_CHECKING Tensor torch",
    },
    "random": {"functions": "thread_safe_generator", "imported": "Generator TYPE_CHECKING torch warnings"},
    "masked": {"masked": "MaskedTensor as_masked_tensor is_masked_tensor masked_tensor maskedtensor"},
    "cuda": {
        "inner": "DEVICE_REQUIREMENT PYTORCH_RELEASES_CODE_CC classproperty",
        "imported": """
            Any Callable Device NewType Optional TYPE_CHECKING cast importlib lru_cache os platform threading torch
            traceback warnings
        """,
    },
    "cuda.memory": {
        "imported": "Any Literal TYPE_CHECKING ctypes deprecated is_initialized pickle signature sys torch",
    },
    "backends.cuda": {
        "devices": "preferred_rocm_fa_library",
        "functions": "blas_workspace_size cublas_workspace_size cublaslt_workspace_size",
        "inner": "cuFFTPlanCacheAttrContextProp",
        "imported": "Any SDPBackend deprecated torch",
    },
    "Tensor": {
        "quantized": """
            dequantize int_repr q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point
            qscheme
        """,
        "nested": "to_padded_tensor",
        "devices": "ipu mtia to_mkldnn",
        "withdrawn": "eig lstsq reinforce solve symeig",
        "sparse_parts": "resize_as_sparse_",
        "functions": "index slice_inverse smm sspaddmm storage_type",
    },
}

# Where one name has a better answer than its kind.
INSTEAD = {
    "eig": "use `torch.linalg.eig`",
    "lstsq": "use `torch.linalg.lstsq`",
    "matrix_rank": "use `torch.linalg.matrix_rank`",
    "solve": "use `torch.linalg.solve`",
    "symeig": "use `torch.linalg.eigh`",
    "reinforce": "use `torch.distributions`, and the gradient of a log probability times the reward",
    "fork": "call the function itself",
    "wait": "use the value itself: nothing runs apart",
    "detach_copy": "use `x.detach().clone()`",
    "native_norm": "use `torch.linalg.vector_norm`",
    "thread_safe_generator": "make a `torch.Generator` for each thread",
    "sym_sqrt": "use `math.sqrt`",
    "cond": "write `if`: programs run as they are",
    "while_loop": "write `while`: programs run as they are",
    "has_lapack": "leave it out: LAPACK is always there",
    "has_mkl": "ask `torch.backends.mkl.is_available()`",
    "has_openmp": "ask `torch.backends.openmp.is_available()`",
    "ThroughputBenchmark": "use `torch.utils.benchmark.Timer`",
    "throughput_benchmark": "use `torch.utils.benchmark.Timer`",
    "swap_in_optimizer_params_and_state": "use `optimizer.load_state_dict`",
    "index": "write `x[indices]`",
    "slice_inverse": "use `torch.slice_scatter`",
    "smm": "use `torch.smm`",
    "sspaddmm": "use `torch.sspaddmm`",
    "storage_type": "use `x.untyped_storage()`",
    "quantizable": "use the layers of `torch.nn`",
    "blas_workspace_size": "leave it out: products take their working space from the memory that is kept",
    "cublas_workspace_size": "leave it out: products take their working space from the memory that is kept",
    "cublaslt_workspace_size": "leave it out: products take their working space from the memory that is kept",
    "to_mkldnn": "leave it out: there is one layout of dense tensors",
}


# Where a name may be that was looked for elsewhere.
HOMES = (
    "nn",
    "nn.functional",
    "nn.init",
    "optim",
    "optim.lr_scheduler",
    "linalg",
    "fft",
    "special",
    "func",
    "utils.data",
)


@functools.cache
def _kinds_of(place):
    """The kinds of a module's names, by the name."""
    return {name: kind for kind, names in NAMES.get(place, {}).items() for name in names.split()}


def about(place, name):
    """What is said of an absent name, in one line; None where the table does not have it."""
    kind = KINDS.get(_kinds_of(place).get(name, ""))
    if kind is None:
        return None
    instead = INSTEAD.get(name, kind.instead).replace("`", "")
    return f" ({kind.what.replace('`', '')}). It {kind.comes}; {instead}"


def _nearest(name, names):
    """The names that a misspelt one may mean."""
    import difflib

    exact = [other for other in names if other.lower() == name.lower()]
    return exact or difflib.get_close_matches(name, sorted(names), 2, 0.65)


def words(shown, name):
    """The message for a name that a module does not have."""
    head = f"module {shown!r} has no attribute {name!r}"
    place = shown.removeprefix(__package__).removeprefix("torch").lstrip(".")
    told = about(place, name)
    if told is not None:
        return head + told
    if name.startswith("_"):
        return head
    package = sys.modules[__package__]
    module = package if not place else importlib.import_module(f"{__package__}.{place}")
    lazy = {one for names in package._LAZY_NAMES.values() for one in names} | {*package._LAZY} if not place else set()
    homes = [home for home in HOMES if home != place and name in dir(importlib.import_module(f"{__package__}.{home}"))]
    if homes:
        return f"{head}; it is in {' and '.join(f'torch.{home}' for home in homes)}"
    near = _nearest(name, {one for one in {*dir(module)} | lazy if not one.startswith("_")})
    return f"{head}; did you mean {' or '.join(map(repr, near))}?" if near else head


# ---- README.md


def _shown(names):
    """The names of a kind, shortened: the first few, and how many more there are."""
    first = ", ".join(f"`{name}`" for name in names[:3])
    return f"{first} and {len(names) - 3} more" if len(names) > 3 else first


def readme_list():
    """The list of what is not there, in Markdown."""
    lines = []
    for key, kind in KINDS.items():
        if not kind.listed:
            continue
        names = []
        for place, kinds in NAMES.items():
            path = place if place == "Tensor" else f"torch.{place}".rstrip(".")
            names += [f"{path}.{name}" for name in kinds.get(key, "").split()]
        lines.append(f"- {kind.what[0].upper()}{kind.what[1:]} ({_shown(names)}): {kind.comes}; {kind.instead}.")
    return "\n".join(lines)
