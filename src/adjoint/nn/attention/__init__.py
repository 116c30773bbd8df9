"""Which kernels attention may use: the choice is kept, and the one kernel that there is runs."""

import contextlib
import enum

from ...backends import cuda as _flags
from ...backends.cuda import SDPAParams as SDPAParams
from ...backends.cuda import can_use_efficient_attention as can_use_efficient_attention
from ...backends.cuda import can_use_flash_attention as can_use_flash_attention

__all__ = [
    "WARN_FOR_UNFUSED_KERNELS",
    "SDPBackend",
    "activate_flash_attention_impl",
    "current_flash_attention_impl",
    "list_flash_attention_impls",
    "register_flash_attention_impl",
    "restore_flash_attention_impl",
    "sdpa_kernel",
]

WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend(enum.IntEnum):
    """The kernels of scaled_dot_product_attention.

    >>> import adjoint as torch
    >>> torch.nn.attention.SDPBackend.MATH.name
    'MATH'
    """

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    __str__ = enum.Enum.__str__


# The kernels in torch's order of preference, and the switches that turn them on.
_SWITCHES = {
    SDPBackend.CUDNN_ATTENTION: (_flags.cudnn_sdp_enabled, _flags.enable_cudnn_sdp),
    SDPBackend.FLASH_ATTENTION: (_flags.flash_sdp_enabled, _flags.enable_flash_sdp),
    SDPBackend.EFFICIENT_ATTENTION: (_flags.mem_efficient_sdp_enabled, _flags.enable_mem_efficient_sdp),
    SDPBackend.MATH: (_flags.math_sdp_enabled, _flags.enable_math_sdp),
}
_overrideable = True


def _cur_sdpa_kernel_backends(with_priority=False):
    """The kernels that are allowed now."""
    chosen = [backend for backend, (enabled, _) in _SWITCHES.items() if enabled()]
    return chosen + [SDPBackend.OVERRIDEABLE] * _overrideable


def _choose(backends):
    global _overrideable
    for backend, (_, enable) in _SWITCHES.items():
        enable(backend in backends)
    _overrideable = SDPBackend.OVERRIDEABLE in backends


@contextlib.contextmanager
def sdpa_kernel(backends, set_priority=False):
    """A context in which attention may use these kernels only.

    >>> import adjoint as torch
    >>> with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
    ...     x = torch.nn.functional.scaled_dot_product_attention(*[torch.ones(1, 1, 2, 4)] * 3)
    >>> x.shape
    torch.Size([1, 1, 2, 4])
    """
    if not isinstance(backends, list | SDPBackend):
        raise AssertionError(
            "Backend must be an instance of SDPBackend or a list of SDPBackend instances, got "
            f"{type(backends).__name__}"
        )
    former = _cur_sdpa_kernel_backends()
    _choose([backends] if isinstance(backends, SDPBackend) else backends)
    try:
        yield {}
    finally:
        _choose(former)


def _backend_from_string(name):
    """The kernel of a name."""
    return getattr(SDPBackend, name)


# ---- Other implementations of flash attention


_implementations: dict = {"FA3": None, "FA4": None}
_active = None


def register_flash_attention_impl(impl, *, register_fn):
    """Names an implementation of flash attention; `register_fn` is called when it is chosen.

    >>> import adjoint as torch
    >>> torch.nn.attention.list_flash_attention_impls()
    ['FA3', 'FA4']
    """
    _implementations[impl] = register_fn


def activate_flash_attention_impl(impl):
    """Chooses an implementation of flash attention; those of torch need a GPU, and are refused.

    >>> import adjoint as torch
    >>> torch.nn.attention.activate_flash_attention_impl("mine")
    Traceback (most recent call last):
        ...
    ValueError: Unknown flash attention impl 'mine'. Available implementations: ['FA3', 'FA4']
    """
    global _active
    if impl not in _implementations:
        raise ValueError(
            f"Unknown flash attention impl '{impl}'. Available implementations: {list_flash_attention_impls()}"
        )
    if _implementations[impl] is None:
        raise RuntimeError(f"{impl} is an implementation for GPUs, and there is none here; the CPU's kernel is used")
    _implementations[impl]()
    _active = impl


def list_flash_attention_impls():
    """The names of the implementations of flash attention.

    >>> import adjoint as torch
    >>> torch.nn.attention.list_flash_attention_impls()
    ['FA3', 'FA4']
    """
    return sorted(_implementations)


def current_flash_attention_impl():
    """The implementation that was chosen, or None.

    >>> import adjoint as torch
    >>> torch.nn.attention.current_flash_attention_impl()
    """
    return _active


def restore_flash_attention_impl(_raise_warn=True):
    """Forgets the implementation that was chosen.

    >>> import adjoint as torch
    >>> torch.nn.attention.restore_flash_attention_impl()
    """
    global _active
    _active = None


def __getattr__(name):
    if name in ("bias", "flex_attention", "varlen"):  # imported when first used
        import importlib

        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
