"""The GPUs of this machine: which there are, which one is current, and what is known of them."""

from .. import _C


def refuse(*args, **kwargs):
    """Raises: there is no GPU."""
    _C.empty(0, device="cuda")


def need():
    """Raises where there is no GPU, with what is missing."""
    if _C._cuda_why_unavailable():
        refuse()


def index_of(device, cpu_is=None):
    """The number of a GPU that a number, a name or a device means; None means the current one.

    `cpu_is`: what a device of the CPU gives, where it is no error.
    """
    if device is None:
        return _C._cuda_current_device()
    if isinstance(device, int) and not isinstance(device, bool):
        return device if device >= 0 else _C._cuda_current_device()
    device = _C.device(device)
    if device.type != "cuda":
        if cpu_is is not None:
            return cpu_is
        raise ValueError(f"Expected a cuda device, but got: {device}")
    return _C._cuda_current_device() if device.index is None else device.index


def is_available():
    """Whether there is a GPU that can be used.

    >>> import adjoint as torch
    >>> torch.cuda.is_available() == (torch.cuda.device_count() > 0)
    True
    """
    return not _C._cuda_why_unavailable()


def device_count():
    """The number of GPUs.

    >>> import adjoint as torch
    >>> torch.cuda.device_count() >= 0
    True
    """
    return _C._cuda_device_count()


_initialized = False


def init():
    """Makes the GPUs ready, which otherwise happens by itself; raises where there is none.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     torch.cuda.init()
    """
    global _initialized
    need()
    _C._cuda_refuse_fork()
    _initialized = True


def is_initialized():
    """Whether GPUs are in use: whether init() was called, or there is memory of one.

    >>> import adjoint as torch
    >>> torch.cuda.is_initialized() and not torch.cuda.is_available()
    False
    """
    if not is_available() or _C._cuda_forked():
        return False
    return _initialized or any(_C._cuda_memory_stats(index)["segment_allocations"] for index in range(device_count()))


def current_device():
    """The number of the GPU that this thread uses where none is named.

    >>> import adjoint as torch
    >>> torch.cuda.current_device() if torch.cuda.is_available() else 0
    0
    """
    init()
    return _C._cuda_current_device()


def set_device(device):
    """Chooses the GPU that this thread uses where none is named; a negative number changes nothing.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     torch.cuda.set_device(0)
    """
    if isinstance(device, int) and device < 0:
        return
    init()
    _C._cuda_set_device(index_of(device))


class device:
    """A context in which another GPU is the current one; None or a negative number changes nothing.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     with torch.cuda.device(0):
    ...         _ = torch.zeros(1, device="cuda")
    """

    __module__ = "adjoint.cuda"

    def __init__(self, device):
        unchanged = device is None or (isinstance(device, int) and device < 0)
        self.idx = -1 if unchanged else index_of(device, cpu_is=-1)
        self.prev_idx = -1

    def __enter__(self):
        if self.idx < 0:
            return self
        need()
        self.prev_idx = _C._cuda_current_device()
        _C._cuda_set_device(self.idx)
        return self

    def __exit__(self, *error):
        if self.idx >= 0:
            _C._cuda_set_device(self.prev_idx)
        return False


class device_of(device):
    """A context in which the GPU of a tensor or storage is the current one; nothing changes for those of the CPU.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     with torch.cuda.device_of(torch.zeros(1)):
    ...         torch.cuda.current_device()
    """

    __module__ = "adjoint.cuda"

    def __init__(self, obj):
        super().__init__(obj.get_device() if obj.is_cuda else -1)


def synchronize(device=None):
    """Waits until all work of a GPU is done; errors of kernels show here.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     torch.cuda.synchronize()
    """
    init()
    _C._cuda_synchronize(index_of(device))


# ---- What is known of a GPU


class _CudaDeviceProperties:
    """What is known of a GPU: its name, its compute capability, the sizes of its parts."""

    def __init__(self, **facts):
        vars(self).update(facts)

    @property
    def gcnArchName(self):
        """The name that torch has here where there is no AMD GPU: that of the device."""
        return self.name

    def __repr__(self):
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={self.total_memory // 2**20}MB, multi_processor_count={self.multi_processor_count}, "
            f"uuid={self.uuid}, pci_bus_id={self.pci_bus_id}, pci_device_id={self.pci_device_id}, "
            f"pci_domain_id={self.pci_domain_id}, L2_cache_size={self.L2_cache_size // 2**20}MB)"
        )


_known = {}


def get_device_properties(device=None):
    """What is known of a GPU: name, major, minor, total_memory, multi_processor_count and more.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     assert torch.cuda.get_device_properties(0).total_memory > 0
    """
    init()
    index = index_of(device)
    if index not in range(device_count()):
        raise AssertionError(f"Invalid device id; there are {device_count()} devices, counted from 0, got {index}")
    if index not in _known:
        import uuid

        facts = _C._cuda_properties(index)
        facts["uuid"] = uuid.UUID(bytes=facts["uuid"])
        _known[index] = _CudaDeviceProperties(**facts)
    return _known[index]


def get_device_name(device=None):
    """The name of a GPU.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     assert len(torch.cuda.get_device_name()) > 0
    """
    return get_device_properties(device).name


def get_device_capability(device=None):
    """The compute capability of a GPU: (9, 0) for an H100.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     assert torch.cuda.get_device_capability() >= (5, 0)
    """
    known = get_device_properties(device)
    return known.major, known.minor


def can_device_access_peer(device, peer_device):
    """Whether one GPU reads the memory of another by itself.

    >>> import adjoint as torch
    >>> if torch.cuda.device_count() > 1:
    ...     assert torch.cuda.can_device_access_peer(0, 1) in (True, False)
    """
    init()
    indices = index_of(device), index_of(peer_device)
    for index in indices:
        if index not in range(device_count()):
            raise AssertionError(f"Invalid device id; there are {device_count()} devices, counted from 0, got {index}")
    return _C._cuda_can_access_peer(*indices)


def is_bf16_supported(including_emulation=True):
    """Whether the GPU computes in bfloat16: by itself from capability 8.0 on, and by way of float32 before.

    >>> import adjoint as torch
    >>> torch.cuda.is_bf16_supported() <= torch.cuda.is_available()
    True
    """
    return is_available() and (including_emulation or get_device_properties().major >= 8)


def is_tf32_supported():
    """Whether the GPU computes in TF32: from capability 8.0 on.

    >>> import adjoint as torch
    >>> torch.cuda.is_tf32_supported() <= torch.cuda.is_available()
    True
    """
    return is_available() and get_device_properties().major >= 8


def get_arch_list():
    """The kinds of GPU that there is code for: those of this machine, for which code is compiled when it is needed.

    >>> import adjoint as torch
    >>> len(torch.cuda.get_arch_list()) <= torch.cuda.device_count()
    True
    """
    found = {get_device_capability(index) for index in range(device_count())}
    return [f"sm_{major}{minor}" for major, minor in sorted(found)]


def get_gencode_flags():
    """The compiler's options for the GPUs of this machine, as nvcc takes them.

    >>> import adjoint as torch
    >>> bool(torch.cuda.get_gencode_flags()) == torch.cuda.is_available()
    True
    """
    kinds = [name.removeprefix("sm_") for name in get_arch_list()]
    return " ".join(f"-gencode compute=compute_{kind},code=sm_{kind}" for kind in kinds)


# ---- Errors


class CudaError(RuntimeError):
    """A call of the driver that failed, by its number.

    >>> import adjoint as torch
    >>> issubclass(torch.cuda.CudaError, RuntimeError)
    True
    """

    __module__ = "adjoint.cuda"

    def __init__(self, code):
        super().__init__(f"CUDA error ({code})")


class DeferredCudaCallError(Exception):
    """What a call that waited for the GPUs to be ready would raise; here none waits.

    >>> import adjoint as torch
    >>> issubclass(torch.cuda.DeferredCudaCallError, Exception)
    True
    """

    __module__ = "adjoint.cuda"

    def __init__(self, *args):
        super().__init__(*args)


def check_error(res):
    """Raises for a number of the driver's that is no success.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     torch.cuda.check_error(0)
    """
    need()
    if res != 0:
        raise CudaError(res)


_MODES = ("default", "warn", "error")


def set_sync_debug_mode(debug_mode):
    """Sets what happens when an operation waits for a GPU: nothing, a warning or an error.

    "default", "warn" and "error" are 0, 1 and 2, too. What waits because a program says so, such as synchronize(), is
    not meant.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     torch.cuda.set_sync_debug_mode("default")
    """
    init()
    if isinstance(debug_mode, str):
        if debug_mode not in _MODES:
            raise RuntimeError("invalid value of debug_mode, expected one of `default`, `warn`, `error`")
        debug_mode = _MODES.index(debug_mode)
    if debug_mode not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected one of 0, 1, 2; got {debug_mode!r}")
    _C._cuda_wait_mode(debug_mode)


def get_sync_debug_mode():
    """What set_sync_debug_mode() has set, as a number.

    >>> import adjoint as torch
    >>> torch.cuda.get_sync_debug_mode() if torch.cuda.is_available() else 0
    0
    """
    init()
    return _C._cuda_wait_mode(None)
