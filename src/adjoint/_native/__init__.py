"""Names of torch's native core that programs import from `torch._C`, beyond those that the core here has itself.

`adjoint._C` asks here for a name that it does not have. A file of this folder is found as a module of `torch._C`.
"""

import enum
import importlib

from .. import _C
from .._absent import refusing_type
from .._streams import Event as Event
from .._streams import Stream as Stream

_MODULES = ("_autograd", "_distributed_c10d", "_distributed_rpc", "_fft", "_functorch", "_linalg", "_nn", "_special")
_TensorMeta = type(_C.Tensor)
# Parts of compiled code, for isinstance() and annotations.
Graph, Node, Value = (
    refusing_type("_C", name, "nothing is compiled here, and there is no graph") for name in ("Graph", "Node", "Value")
)
DeviceObjType = refusing_type("", "DeviceObjType", "nothing is compiled here, and there is no graph")
PyTorchFileReader, PyTorchFileWriter = (
    refusing_type("", name, "files are read by torch.load and written by torch.save")
    for name in ("PyTorchFileReader", "PyTorchFileWriter")
)


class DispatchKey(enum.Flag):
    """Where torch would look for a kernel; here a call goes to the one kernel of its device."""

    AutocastCPU = enum.auto()
    AutocastCUDA = enum.auto()
    AutocastXPU = enum.auto()
    Autograd = enum.auto()
    CPU = enum.auto()
    CUDA = enum.auto()
    Meta = enum.auto()


DispatchKeySet = DispatchKey  # several of them, joined by |


class _ExcludeDispatchKeyGuard:
    """A context in which torch would not look in some places: without autocast, where they are autocast's."""

    def __init__(self, keys):
        from ..amp.autocast_mode import autocast

        self._context = autocast("cpu", enabled=not keys & DispatchKey.AutocastCPU)

    def __enter__(self):
        return self._context.__enter__()

    def __exit__(self, *error):
        return self._context.__exit__(*error)


class _DisableTorchDispatch:
    """A context in which classes with `__torch_dispatch__` are not asked: their tensors count as plain ones."""

    def __enter__(self):
        self._before = _C._set_dispatching(False)
        return self

    def __exit__(self, *_):
        _C._set_dispatching(self._before)


def _log_api_usage_once(event):
    """Does nothing: torch would tell whoever listens that a part of it is used."""


def _get_tracing_state():
    """What is being traced: something true inside of torch.jit.trace, else None."""
    from ..jit import is_tracing

    return "tracing" if is_tracing() else None


def _is_tracing():
    """Whether the code that asks runs inside of torch.jit.trace."""
    return _get_tracing_state() is not None


def _are_functorch_transforms_active():
    """Whether the code that asks runs inside of vmap or a derivative of torch.func."""
    return bool(_C._open_levels())


def _get_accelerator(check=None):
    """The device of the accelerator: the CPU where there is none."""
    return _C.device("cpu" if _C._cuda_why_unavailable() else "cuda")


def _get_default_device():
    """The name of the device that tensors are made on."""
    return str(_C.get_default_device())


def _get_privateuse1_backend_name():
    """The name of a device that programs add themselves."""
    return "privateuseone"


def _get_cudnn_enabled():
    """Whether cuDNN may be used, where there is a GPU."""
    from ..backends import cudnn

    return cudnn.enabled


# ---- What libraries that make kernels ask of torch's core


def _cuda_getDevice():
    """The number of the GPU that this thread uses where none is named."""
    return _C._cuda_current_device()


def _cuda_setDevice(device):
    """Chooses the GPU that this thread uses where none is named."""
    _C._cuda_set_device(device)


def _cuda_getDeviceCount():
    """The number of GPUs."""
    return _C._cuda_device_count()


def _cuda_getCurrentRawStream(device):
    """The driver's handle of the stream that this thread uses of a GPU, as a number."""
    return _C._cuda_current_stream(device)


def _cuda_emptyCache():
    """Gives the memory that no tensor uses back to the driver."""
    _C._cuda_empty_cache()


def _cuda_clearCublasWorkspaces():
    """Does nothing: working spaces of products are taken from the memory that is kept, and go back to it."""


def _show_config():
    """How the library was built."""
    from .. import __config__

    return __config__.show()


def _switch(*args):
    """Takes the setting of a compiler, and does nothing with it."""
    return False


_jit_can_fuse_on_cpu = _jit_can_fuse_on_gpu = _jit_override_can_fuse_on_cpu = _jit_override_can_fuse_on_gpu = _switch
_jit_set_nvfuser_enabled = _jit_set_nvfuser_guard_mode = _jit_set_texpr_fuser_enabled = _switch
_jit_set_profiling_executor = _jit_set_profiling_mode = _switch
_set_math_sdp_allow_fp16_bf16_reduction = _switch


def get(name):
    """The name that `torch._C` was asked for."""
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if not name.startswith("__") and name in globals() and name not in ("enum", "get", "importlib", "refusing_type"):
        return globals()[name]
    raise AttributeError(f"module 'torch._C' has no attribute {name!r}")
