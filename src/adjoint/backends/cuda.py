"""CUDA: flags of products, of Fourier transforms and of attention.

Of those of products, float32 ones go by `matmul.fp32_precision`; the others are kept, and change nothing.
"""

import contextlib
import enum
import warnings

from .. import _C, _settings
from . import _flags, _precision


class _Flags:
    """Flags by name; others cannot be set."""

    def __init__(self, **flags):
        vars(self).update(flags)

    def __getattr__(self, name):
        raise AttributeError(f"Unknown attribute {name}")

    def __setattr__(self, name, value):
        if name not in vars(self):
            raise AttributeError(f"Unknown attribute {name}")
        vars(self)[name] = value


class cuBLASModule(_Flags):
    """Flags of products: whether float32 matrices may be rounded to TF32 is what torch's precision says, too.

    >>> import adjoint as torch
    >>> torch.backends.cuda.matmul.allow_tf32
    False
    """

    @property
    def allow_tf32(self):
        return self.fp32_precision == "tf32"

    @property
    def fp32_precision(self):
        return _precision.get("cuda", "matmul")

    def __setattr__(self, name, value):
        if name == "allow_tf32":
            _settings.choose_gpu_precision("high" if _flags.truth("set_allow_tf32_cublas")(value) else "highest")
        elif name == "fp32_precision":
            _precision.put("cuda", "matmul", value)
        elif name.endswith("_reduced_precision_reduction"):
            super().__setattr__(name, _reduced(name, value))
        elif name == "allow_fp16_accumulation":
            super().__setattr__(name, _flags.truth("set_allow_fp16_accumulation_cublas")(value))
        else:
            super().__setattr__(name, value)


def _reduced(name, value):
    """Whether sums may be of a half type, from that, or from it and whether sums may be split, too."""
    both = list(value) if isinstance(value, tuple | list) else [value]
    if not 1 <= len(both) <= 2 or not all(isinstance(each, bool) for each in both):
        raise TypeError(f"{name} expects a bool or a tuple/list of one or two bools, but got {value!r}")
    if both == [True, False]:
        raise RuntimeError("allow_splitk=False is not supported when reduced precision reductions are enabled")
    return both[0]


matmul = cuBLASModule(
    allow_fp16_reduced_precision_reduction=True,
    allow_bf16_reduced_precision_reduction=True,
    allow_fp16_accumulation=False,
)


class cuFFTPlanCache:
    """The plans of Fourier transforms of one GPU: cuFFT's are kept as long as the program runs, and not counted.

    >>> import adjoint as torch
    >>> torch.backends.cuda.cuFFTPlanCache(0).size
    0
    """

    def __init__(self, device_index):
        self.device_index, self.size, self.max_size = device_index, 0, 4096

    def clear(self):
        """Does nothing: plans are kept."""


class cuFFTPlanCacheManager:
    """The plans of all GPUs, by their numbers; its own attributes are those of the current one.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     assert torch.backends.cuda.cufft_plan_cache[0].size == 0
    """

    def __init__(self):
        self.caches = {}

    def __getitem__(self, device):
        index = device if isinstance(device, int) else _C.device(device).index or 0
        if index not in range(_C._cuda_device_count()):
            raise RuntimeError(
                f"cufft_plan_cache: expected 0 <= device index < {_C._cuda_device_count()}, but got device with index "
                f"{index}"
            )
        return self.caches.setdefault(index, cuFFTPlanCache(index))

    def _here(self):
        return self[_C._cuda_current_device()]

    size = property(lambda self: self._here().size, doc="The number of plans that are counted: 0.")
    max_size = property(
        lambda self: self._here().max_size,
        lambda self, value: setattr(self._here(), "max_size", value),
        doc="The most plans that torch would keep.",
    )

    def clear(self):
        """Does nothing: plans are kept."""
        self._here().clear()


cufft_plan_cache = cuFFTPlanCacheManager()
_sdp = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}


def is_built():
    """Whether this build is for CUDA, as far as programs should care: whether a GPU can be used.

    >>> import adjoint as torch
    >>> torch.backends.cuda.is_built() == torch.cuda.is_available()
    True
    """
    return not _C._cuda_why_unavailable()


def flash_sdp_enabled():
    """Whether attention may use the flash kernel of a GPU."""
    return _sdp["flash"]


def enable_flash_sdp(enabled):
    """Lets attention use the flash kernel of a GPU."""
    _sdp["flash"] = _flags.truth("set_sdp_use_flash")(enabled)


def mem_efficient_sdp_enabled():
    """Whether attention may use the memory efficient kernel of a GPU."""
    return _sdp["mem_efficient"]


def enable_mem_efficient_sdp(enabled):
    """Lets attention use the memory efficient kernel of a GPU."""
    _sdp["mem_efficient"] = _flags.truth("set_sdp_use_mem_efficient")(enabled)


def math_sdp_enabled():
    """Whether attention may be computed op by op on a GPU."""
    return _sdp["math"]


def enable_math_sdp(enabled):
    """Lets attention be computed op by op on a GPU."""
    _sdp["math"] = _flags.truth("set_sdp_use_math")(enabled)


def cudnn_sdp_enabled():
    """Whether attention may use cuDNN."""
    return _sdp["cudnn"]


def enable_cudnn_sdp(enabled):
    """Lets attention use cuDNN."""
    _sdp["cudnn"] = _flags.truth("set_sdp_use_cudnn")(enabled)


def sdp_kernel(enable_flash=True, enable_math=True, enable_mem_efficient=True, enable_cudnn=True):
    """Deprecated: a context in which attention may use these kernels of a GPU; see nn.attention.sdpa_kernel."""
    warnings.warn(
        "`torch.backends.cuda.sdp_kernel()` is deprecated. In the future, this context manager will be removed. Please "
        "see `torch.nn.attention.sdpa_kernel()` for the new context manager, with updated signature.",
        FutureWarning,
        stacklevel=2,
    )
    return _chosen_kernels(enable_flash, enable_math, enable_mem_efficient, enable_cudnn)


@contextlib.contextmanager
def _chosen_kernels(enable_flash, enable_math, enable_mem_efficient, enable_cudnn):
    former = dict(_sdp)
    _sdp.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
    try:
        yield {"enable_" + name: value for name, value in _sdp.items()}
    finally:
        _sdp.update(former)


def allow_fp16_bf16_reduction_math_sdp(enabled):
    """Lets attention that is computed op by op add up in 16 bits; kept, sums are of float32."""
    _sdp_sums["allowed"] = _flags.truth("set_sdp_allow_fp16_bf16_reduction")(enabled)


def fp16_bf16_reduction_math_sdp_allowed():
    """What allow_fp16_bf16_reduction_math_sdp() was told."""
    return _sdp_sums["allowed"]


_sdp_sums = {"allowed": False}


# ---- Which kernel attention would take


class SDPAParams:
    """The arguments of a call of attention, of which can_use_flash_attention() is asked.

    >>> import adjoint as torch
    >>> x = torch.ones(1, 2, 4, 8)
    >>> torch.backends.cuda.SDPAParams(x, x, x, None, 0.0, False, False).is_causal
    False
    """

    def __init__(self, query, key, value, attn_mask, dropout, is_causal, enable_gqa):
        self.query, self.key, self.value, self.attn_mask = query, key, value, attn_mask
        self.dropout, self.is_causal, self.enable_gqa = dropout, is_causal, enable_gqa


def is_flash_attention_available():
    """Whether there is a kernel that computes attention in one pass on a GPU: where there is one to use.

    >>> import adjoint as torch
    >>> torch.backends.cuda.is_flash_attention_available() == torch.cuda.is_available()
    True
    """
    return is_built()


def is_ck_sdpa_available():
    """Whether attention may use a library for AMD's GPUs: no.

    >>> import adjoint as torch
    >>> torch.backends.cuda.is_ck_sdpa_available()
    False
    """
    return False


def _why_not_fused(params, types, most):
    """Why a fused kernel of torch's would not take a call of attention; empty where it would."""
    query, key, value = tensors = params.query, params.key, params.value
    if not all(each.is_cuda for each in tensors):
        return "query, key and value must be on a GPU"
    if not all(each.dim() == 4 for each in tensors):
        return "query, key and value must have four dimensions"
    if query.dtype not in types or not query.dtype == key.dtype == value.dtype:
        return f"query, key and value must have one type of {', '.join(map(str, types))}"
    if query.size(-1) != key.size(-1) or query.size(-1) > most:
        return f"the heads of query and key must have one size, of at most {most}"
    if query.size(1) != key.size(1) and not params.enable_gqa:
        return "query and key must have as many heads, or enable_gqa=True"
    return ""


def _answer(name, enabled, why, debug):
    why = why if enabled else f"{name} is switched off"
    if why and debug:
        warnings.warn(f"{name} cannot be used: {why}", stacklevel=3)
    return not why


def can_use_flash_attention(params, debug=False):
    """Whether torch's flash attention would take a call; with `debug`, a warning says why not.

    >>> import adjoint as torch
    >>> x = torch.ones(1, 2, 4, 8)
    >>> torch.backends.cuda.can_use_flash_attention(torch.backends.cuda.SDPAParams(x, x, x, None, 0.0, False, False))
    False
    """
    why = _why_not_fused(params, (_C.float16, _C.bfloat16), 256)
    if not why and params.attn_mask is not None:
        why = "there must be no attn_mask"
    return _answer("flash attention", _sdp["flash"], why, debug)


def can_use_efficient_attention(params, debug=False):
    """Whether torch's memory efficient attention would take a call; with `debug`, a warning says why not.

    >>> import adjoint as torch
    >>> x = torch.ones(1, 2, 4, 8)
    >>> params = torch.backends.cuda.SDPAParams(x, x, x, None, 0.0, False, False)
    >>> torch.backends.cuda.can_use_efficient_attention(params)
    False
    """
    why = _why_not_fused(params, (_C.float16, _C.bfloat16, _C.float32), 1 << 16)
    return _answer("memory efficient attention", _sdp["mem_efficient"], why, debug)


def can_use_cudnn_attention(params, debug=False):
    """Whether attention would use cuDNN: no, it has a kernel of its own; with `debug`, a warning says so.

    >>> import adjoint as torch
    >>> x = torch.ones(1, 2, 4, 8)
    >>> torch.backends.cuda.can_use_cudnn_attention(torch.backends.cuda.SDPAParams(x, x, x, None, 0.0, False, False))
    False
    """
    return _answer("cuDNN's attention", _sdp["cudnn"], "attention has a kernel of its own here", debug)


# ---- Which library computes


class _LinalgBackend(enum.Enum):
    """The libraries of linear algebra."""

    Default, Cusolver, Magma = range(3)


class _BlasBackend(enum.Enum):
    """The libraries of products."""

    Default, Cublas, Cublaslt, Ck = range(4)


_LINALG = {"default": _LinalgBackend.Default, "cusolver": _LinalgBackend.Cusolver, "magma": _LinalgBackend.Magma}
_BLAS = {
    "default": _BlasBackend.Default,
    "cublas": _BlasBackend.Cublas,
    "hipblas": _BlasBackend.Cublas,
    "cublaslt": _BlasBackend.Cublaslt,
    "hipblaslt": _BlasBackend.Cublaslt,
    "ck": _BlasBackend.Ck,
}
_preferred: dict = {_LinalgBackend: _LinalgBackend.Default, _BlasBackend: _BlasBackend.Cublas}


def _prefer(kind, names, backend, shown):
    """Keeps the library that is named, if one is, and gives the one that is kept."""
    if isinstance(backend, str):
        if backend not in names:
            raise RuntimeError(f"Unknown input value. Choose from: {', '.join(names)}.")
        backend = names[backend]
    if backend is None:
        return _preferred[kind]
    if not isinstance(backend, kind):
        raise RuntimeError(f"Unknown input value type: expected a name or a {kind.__name__}, got {backend!r}.")
    if backend is not kind.Default and (not is_built() or backend is _BlasBackend.Ck):
        name = shown[backend]
        raise RuntimeError(f"Cannot set preferred backend to {name} if there is no GPU that {name} computes on.")
    _preferred[kind] = backend
    return backend


def preferred_linalg_library(backend=None):
    """The library that programs prefer for linear algebra, or chooses it: it is kept, and cuSOLVER computes.

    >>> import adjoint as torch
    >>> torch.backends.cuda.preferred_linalg_library("default").name
    'Default'
    """
    shown = {_LinalgBackend.Cusolver: "cuSOLVER", _LinalgBackend.Magma: "MAGMA"}
    return _prefer(_LinalgBackend, _LINALG, backend, shown)


def preferred_blas_library(backend=None):
    """The library that programs prefer for products, or chooses it: it is kept, and changes nothing.

    >>> import adjoint as torch
    >>> torch.backends.cuda.preferred_blas_library().name
    'Cublas'
    """
    shown = {_BlasBackend.Cublas: "cuBLAS", _BlasBackend.Cublaslt: "cuBLASLt", _BlasBackend.Ck: "CK"}
    return _prefer(_BlasBackend, _BLAS, backend, shown)


def __getattr__(name):
    from .._install import MissingName

    raise MissingName(__name__, name)
