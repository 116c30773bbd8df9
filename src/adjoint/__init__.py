"""PyTorch's eager autograd, small and fast: `import adjoint as torch`.

>>> import adjoint as torch
>>> x = torch.tensor([1.0, 2.0], requires_grad=True)
>>> (x * x).sum().backward()
>>> x.grad
tensor([2., 4.])
"""

from math import e as e
from math import inf as inf
from math import nan as nan
from math import pi as pi

from . import _C as _C
from . import _install
from . import autograd as autograd
from . import fft as fft
from . import linalg as linalg
from . import masked as masked
from . import ops as ops
from . import serialization as serialization
from . import signal as signal
from . import special as special
from ._printing import get_printoptions as get_printoptions
from ._printing import printoptions as printoptions
from ._printing import set_printoptions as set_printoptions
from ._type_info import finfo as finfo
from ._type_info import iinfo as iinfo
from .autograd import enable_grad as enable_grad
from .autograd import inference_mode as inference_mode
from .autograd import is_inference_mode_enabled as is_inference_mode_enabled
from .autograd import no_grad as no_grad
from .autograd import set_grad_enabled as set_grad_enabled
from .autograd.anomaly_mode import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from .autograd.anomaly_mode import is_anomaly_enabled as is_anomaly_enabled
from .autograd.anomaly_mode import set_anomaly_enabled as set_anomaly_enabled
from .serialization import load as load
from .serialization import save as save

__version__ = "0.1.0"
newaxis = None

_install.install()


# What is imported when first used: few programs need each, and all of it imports the package.
_LAZY = (
    "__config__",
    "__future__",
    "_dynamo",
    "_functorch",
    "_inductor",
    "_jit_internal",
    "_subclasses",
    "_tensor",
    "_tensor_str",
    "_utils",
    "accelerator",
    "amp",
    "ao",
    "array_api",
    "backends",
    "compiler",
    "cpu",
    "cuda",
    "distributed",
    "distributions",
    "export",
    "func",
    "functional",
    "futures",
    "fx",
    "hub",
    "inspect",
    "jit",
    "library",
    "monitor",
    "mps",
    "mtia",
    "multiprocessing",
    "nested",
    "nn",
    "onnx",
    "optim",
    "overrides",
    "package",
    "profiler",
    "quantization",
    "quasirandom",
    "random",
    "return_types",
    "safetensors",
    "sparse",
    "storage",
    "testing",
    "torch_version",
    "types",
    "utils",
    "version",
    "xpu",
)
_LAZY_NAMES = {
    "__config__": ("show_config",),
    "_assertion": ("_assert",),
    "_by_use": (
        *("_chunk_cat", "_int_mm", "_log_softmax", "_log_softmax_backward_data", "_native_batch_norm_legit"),
        *("_native_batch_norm_legit_no_training", "_safe_softmax", "_softmax", "_softmax_backward_data"),
        *("_unsafe_index", "_unsafe_index_put", "_unsafe_masked_index", "_unsafe_masked_index_put_accumulate"),
        "native_dropout",
    ),
    "_by_use_small": (
        *("_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "_add_relu", "_add_relu_", "_addmm_activation"),
        *("_assert_async", "_cast_Byte", "_cast_Char", "_cast_Double", "_cast_Float", "_cast_Half", "_cast_Int"),
        *("_cast_Long", "_cast_Short", "_conj", "_conj_physical", "_convolution", "_dim_arange", "_euclidean_dist"),
        *("_fft_c2c", "_fft_c2r", "_fft_r2c", "_index_put_impl_", "_is_all_true", "_is_any_true", "_logcumsumexp"),
        *("_masked_softmax", "_pack_padded_sequence", "_pad_packed_sequence", "_shape_as_tensor", "_stack", "_unique"),
        *("_unique2", "_weight_norm", "_weight_norm_interface"),
    ),
    "_checks": (
        *("_check", "_check_index", "_check_is_size", "_check_not_implemented", "_check_tensor_all"),
        *("_check_tensor_all_with", "_check_type", "_check_value", "_check_with"),
    ),
    "_lobpcg": ("lobpcg",),
    "_fused": (
        *("_amp_foreach_non_finite_check_and_unscale_", "_amp_update_scale_", "_fused_adagrad_", "_fused_adam_"),
        *("_fused_adamw_", "_fused_sgd_"),
    ),
    "_legacy_types": (
        *("BFloat16Tensor", "BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor"),
        *("IntTensor", "LongTensor", "ShortTensor"),
    ),
    "_mapped_files": ("from_file",),
    "_memory": ("empty_cache", "memory_stats", "reset_peak_memory_stats", "set_memory_limit"),
    "_native": ("DeviceObjType", "PyTorchFileReader", "PyTorchFileWriter"),
    "_old_functions": (
        *("alpha_dropout", "alpha_dropout_", "detach_", "dropout", "dropout_", "feature_alpha_dropout"),
        *("feature_alpha_dropout_", "feature_dropout", "feature_dropout_", "frobenius_norm", "nuclear_norm"),
        *("range", "vander"),
    ),
    "_scaled": ("_scaled_mm", "_scaled_mm_v2"),
    "_segments": ("_segment_reduce", "segment_reduce"),
    "_settings": (
        "are_deterministic_algorithms_enabled",
        "compiled_with_cxx11_abi",
        "get_deterministic_debug_mode",
        "get_device_module",
        "get_float32_matmul_precision",
        "get_num_interop_threads",
        "is_deterministic_algorithms_warn_only_enabled",
        "is_vulkan_available",
        "is_warn_always_enabled",
        "set_default_tensor_type",
        "set_deterministic_debug_mode",
        "set_float32_matmul_precision",
        "set_flush_denormal",
        "set_num_interop_threads",
        "set_warn_always",
        "use_deterministic_algorithms",
    ),
    "_small_types": (
        *("bits16", "bits1x8", "bits2x4", "bits4x2", "bits8", "int1", "int2", "int3", "int4", "int5", "int6", "int7"),
        *("qint32", "qint8", "quint2x4", "quint4x2", "quint8", "uint1", "uint2", "uint3", "uint4", "uint5", "uint6"),
        *("uint7", "float4_e2m1fn_x2"),
    ),
    "_streams": ("Event", "Stream"),
    "_symbolic": (
        *(
            "SymBool",
            "SymFloat",
            "SymInt",
            "sym_float",
            "sym_int",
            "sym_ite",
            "sym_max",
            "sym_min",
            "sym_not",
            "sym_sum",
        ),
    ),
    "_torch_place": ("as_torch",),
    "amp.autocast_mode": (
        "autocast",
        "get_autocast_cpu_dtype",
        "get_autocast_dtype",
        "get_autocast_gpu_dtype",
        "is_autocast_cpu_enabled",
        "is_autocast_enabled",
        "set_autocast_cpu_dtype",
        "set_autocast_cpu_enabled",
        "set_autocast_dtype",
        "set_autocast_enabled",
        "set_autocast_gpu_dtype",
    ),
    "amp.grad_scaler": ("GradScaler",),
    "compiler": ("compile",),
    "cuda": ("AcceleratorError", "OutOfMemoryError"),
    "func": ("vmap",),
    "futures": ("Future",),
    "jit": ("ScriptFunction", "ScriptModule"),
    "sparse": (
        *(
            "_validate_sparse_bsc_tensor_args",
            "_validate_sparse_bsr_tensor_args",
            "_validate_sparse_compressed_tensor_args",
            "_validate_sparse_coo_tensor_args",
            "_validate_sparse_csc_tensor_args",
            "_validate_sparse_csr_tensor_args",
            "dsmm",
            "hsmm",
            "hspmm",
            "saddmm",
            "smm",
            "sparse_bsc_tensor",
            "sparse_bsr_tensor",
            "sparse_compressed_tensor",
            "sparse_coo_tensor",
            "sparse_csc_tensor",
            "sparse_csr_tensor",
            "spmm",
            "sspaddmm",
        ),
    ),
    "_typed_storage": (
        *("BFloat16Storage", "BoolStorage", "ByteStorage", "CharStorage", "ComplexDoubleStorage"),
        *("ComplexFloatStorage", "DoubleStorage", "FloatStorage", "HalfStorage", "IntStorage", "LongStorage"),
        *("QInt32Storage", "QInt8Storage", "QUInt2x4Storage", "QUInt4x2Storage", "QUInt8Storage", "ShortStorage"),
        "Storage",
    ),
    "storage": ("StorageBase", "TypedStorage", "UntypedStorage"),
    "utils.dlpack": ("to_dlpack",),
}


def _star_names():
    """What `from adjoint import *` gives: all that is public but modules, and but names of Python's own, as sum."""
    import builtins
    import types

    names = {name for name, value in globals().items() if not isinstance(value, types.ModuleType)}
    names.update(*_LAZY_NAMES.values())
    return sorted(name for name in names if not name.startswith("_") and not hasattr(builtins, name))


def __getattr__(name):
    import importlib

    if name == "__all__":
        return _star_names()
    if name in _LAZY:
        return importlib.import_module(f".{name}", __package__)
    for module, names in _LAZY_NAMES.items():
        if name in names:
            return getattr(importlib.import_module(f".{module}", __package__), name)
    if name.startswith("_foreach_"):
        return getattr(importlib.import_module("._foreach", __package__), name)
    raise _install.MissingName(__name__, name)
