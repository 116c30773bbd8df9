"""CUDA: its flags can be set, and this build computes as exactly with all of them."""

import contextlib
import warnings

from .. import _C, _settings


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


class _MatmulFlags(_Flags):
    """Those of products: whether float32 matrices may be rounded to TF32 is what torch's precision says, too."""

    @property
    def allow_tf32(self):
        return _settings.get_float32_matmul_precision() != "highest"

    def __setattr__(self, name, value):
        if name == "allow_tf32":
            _settings.set_float32_matmul_precision("high" if value else "highest")
        else:
            super().__setattr__(name, value)


matmul = _MatmulFlags(
    allow_fp16_reduced_precision_reduction=True,
    allow_bf16_reduced_precision_reduction=True,
    allow_fp16_accumulation=False,
    fp32_precision="none",
)
cufft_plan_cache = _Flags(size=0, max_size=0)
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
    _sdp["flash"] = bool(enabled)


def mem_efficient_sdp_enabled():
    """Whether attention may use the memory efficient kernel of a GPU."""
    return _sdp["mem_efficient"]


def enable_mem_efficient_sdp(enabled):
    """Lets attention use the memory efficient kernel of a GPU."""
    _sdp["mem_efficient"] = bool(enabled)


def math_sdp_enabled():
    """Whether attention may be computed op by op on a GPU."""
    return _sdp["math"]


def enable_math_sdp(enabled):
    """Lets attention be computed op by op on a GPU."""
    _sdp["math"] = bool(enabled)


def cudnn_sdp_enabled():
    """Whether attention may use cuDNN."""
    return _sdp["cudnn"]


def enable_cudnn_sdp(enabled):
    """Lets attention use cuDNN."""
    _sdp["cudnn"] = bool(enabled)


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
