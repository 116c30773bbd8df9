"""Switches of the whole process that programs set at their start."""

import warnings

from . import _C

_DEBUG_MODES = ("default", "warn", "error")
_PRECISIONS = ("highest", "high", "medium")
_state = {
    "matmul_precision": "highest",
    "warn_always": False,
    "interop_threads": None,
    "warned": False,
    "device_by_type": False,  # the default device is that of set_default_tensor_type()
}


def use_deterministic_algorithms(mode, *, warn_only=False):
    """Asks for ops that give the same result each time.

    All of them do here; those of which torch does not promise it are refused (or, with `warn_only`, warned of), and new
    memory is filled, as torch.utils.deterministic.fill_uninitialized_memory says.

    >>> import adjoint as torch
    >>> torch.use_deterministic_algorithms(True)
    >>> torch.are_deterministic_algorithms_enabled()
    True
    >>> torch.use_deterministic_algorithms(False)
    """
    for name, place, value in (("mode", " (position 1)", mode), ("warn_only", "", warn_only)):
        if not isinstance(value, bool):
            raise TypeError(
                f"_set_deterministic_algorithms(): argument '{name}'{place} must be bool, not {type(value).__name__}"
            )
    _C._set_deterministic(mode, warn_only, _C._get_deterministic()[2])


def are_deterministic_algorithms_enabled():
    """Whether use_deterministic_algorithms(True) was called.

    >>> import adjoint as torch
    >>> torch.are_deterministic_algorithms_enabled()
    False
    """
    return _C._get_deterministic()[0]


def is_deterministic_algorithms_warn_only_enabled():
    """Whether use_deterministic_algorithms asked for warnings only.

    >>> import adjoint as torch
    >>> torch.is_deterministic_algorithms_warn_only_enabled()
    False
    """
    return _C._get_deterministic()[1]


def get_deterministic_debug_mode():
    """0, 1 or 2: nothing, a warning or an error for ops that may differ from run to run.

    >>> import adjoint as torch
    >>> torch.get_deterministic_debug_mode()
    0
    """
    enabled, warn_only, _ = _C._get_deterministic()
    return (1 if warn_only else 2) if enabled else 0


def set_deterministic_debug_mode(debug_mode):
    """As use_deterministic_algorithms: "default", "warn", "error", or 0, 1, 2.

    >>> import adjoint as torch
    >>> torch.set_deterministic_debug_mode("default")
    """
    if not isinstance(debug_mode, str | int):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str):
        if debug_mode not in _DEBUG_MODES:
            raise RuntimeError(
                f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got {debug_mode}"
            )
        debug_mode = _DEBUG_MODES.index(debug_mode)
    if debug_mode not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
    use_deterministic_algorithms(debug_mode > 0, warn_only=debug_mode == 1)


def set_float32_matmul_precision(precision):
    """How exact products of float32 matrices must be: on a GPU all but "highest" may round their elements to TF32.

    >>> import adjoint as torch
    >>> torch.set_float32_matmul_precision("high")
    >>> torch.get_float32_matmul_precision()
    'high'
    >>> torch.set_float32_matmul_precision("highest")
    """
    if not isinstance(precision, str):
        raise RuntimeError(f"set_float32_matmul_precision expects a str, but got {type(precision).__name__}")
    if precision in _PRECISIONS:
        from .backends import _precision

        choose_gpu_precision(precision)
        _precision.put("mkldnn", "matmul", {"highest": "ieee", "high": "tf32", "medium": "bf16"}[precision])
    else:
        warnings.warn(
            f"{precision} is not one of 'highest', 'high', or 'medium'; the current"
            "setFloat32MatmulPrecision call has no effect.",
            UserWarning,
            stacklevel=2,
        )


def choose_gpu_precision(precision):
    """The part of set_float32_matmul_precision() that products on a GPU go by."""
    from .backends import _precision

    _state["matmul_precision"] = precision
    _precision.put("cuda", "matmul", "ieee" if precision == "highest" else "tf32")


def get_float32_matmul_precision():
    """What set_float32_matmul_precision was told, or what torch.backends.cuda.matmul.fp32_precision means by its words.

    >>> import adjoint as torch
    >>> torch.get_float32_matmul_precision()
    'highest'
    """
    from .backends import _precision

    rounds = _precision.get("cuda", "matmul") == "tf32"
    if rounds == (_state["matmul_precision"] != "highest"):
        return _state["matmul_precision"]
    return "high" if rounds else "highest"


def set_warn_always(b):
    """Whether warnings that come once a process should come each time.

    >>> import adjoint as torch
    >>> torch.set_warn_always(False)
    """
    if not isinstance(b, bool):
        raise RuntimeError(f"setWarnOnlyOnce expects a bool, but got {type(b).__name__}")
    _state["warn_always"] = b


def is_warn_always_enabled():
    """What set_warn_always was told.

    >>> import adjoint as torch
    >>> torch.is_warn_always_enabled()
    False
    """
    return _state["warn_always"]


def set_flush_denormal(mode):
    """Whether to compute with zero in the place of denormal numbers, which is not supported; returns whether it is.

    >>> import adjoint as torch
    >>> torch.set_flush_denormal(True)
    False
    """
    if not isinstance(mode, bool):
        raise RuntimeError(f"flush_denormal expects a bool, but got {type(mode).__name__}")
    return not mode


def get_num_interop_threads():
    """The number of threads for work that is independent: what set_num_interop_threads was told, or all.

    >>> import adjoint as torch
    >>> torch.get_num_interop_threads() > 0
    True
    """
    return _state["interop_threads"] or _C.get_num_threads()


def set_num_interop_threads(threads):
    """Accepted for the sake of programs that set it: each op uses the threads of set_num_threads.

    >>> import adjoint as torch
    >>> torch.set_num_interop_threads(torch.get_num_interop_threads())
    """
    if not isinstance(threads, int) or isinstance(threads, bool):
        raise RuntimeError(f"set_num_interop_threads expects an int, but got {type(threads).__name__}")
    if threads <= 0:
        raise RuntimeError("set_num_interop_threads expects a positive integer")
    _state["interop_threads"] = threads


def set_default_tensor_type(t):
    """Sets the default dtype by the name of a tensor type, or by the type itself.

    >>> import adjoint as torch
    >>> import warnings
    >>> warnings.simplefilter("ignore")
    >>> torch.set_default_tensor_type(torch.FloatTensor)
    """
    from . import _legacy_types

    kind = _legacy_types.find(t) if isinstance(t, str) else t
    if isinstance(kind, _legacy_types.tensortype) and kind.is_cuda and _C._cuda_why_unavailable():
        raise TypeError(f"type torch.cuda.{kind.__name__} not available. Torch not compiled with CUDA enabled.")
    if not isinstance(kind, _legacy_types.tensortype):
        raise TypeError(
            "invalid type object: only floating-point types are supported as the default type; give one such as "
            f"torch.FloatTensor, got {t!r}"
        )
    if not _state["warned"]:
        _state["warned"] = True
        warnings.warn(
            "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and "
            "torch.set_default_device() as alternatives.",
            UserWarning,
            stacklevel=2,
        )
    _C.set_default_dtype(kind.dtype)
    if kind.is_cuda or _state["device_by_type"]:
        _C.set_default_device("cuda" if kind.is_cuda else None)
        _state["device_by_type"] = kind.is_cuda


def get_device_module(device=None):
    """The module of a device: torch.cpu, torch.cuda; by default of the accelerator, or of the CPU if there is none.

    >>> import adjoint as torch
    >>> torch.get_device_module("cpu").__name__
    'adjoint.cpu'
    """
    import importlib

    none_named = "cpu" if _C._cuda_why_unavailable() else "cuda"
    kind = none_named if device is None else _C.device(device).type
    if kind not in ("cpu", "cuda"):
        raise RuntimeError(
            f"Device '{kind}' does not have a corresponding module registered as 'torch.{kind}'; use 'cpu'"
        )
    return importlib.import_module(f".{kind}", __package__)


def compiled_with_cxx11_abi():
    """Whether the C++ library's newer types are in use: they are.

    >>> import adjoint as torch
    >>> torch.compiled_with_cxx11_abi()
    True
    """
    return True


def is_vulkan_available():
    """Whether there is a Vulkan device: there is none.

    >>> import adjoint as torch
    >>> torch.is_vulkan_available()
    False
    """
    return False
