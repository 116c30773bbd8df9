"""The autocast mode: its context manager and decorator, the functions that ask and set it, and custom Functions in it.

Which ops are cast stands in their declarations; the casting itself is csrc/op/autocast.cpp.
"""

import functools
import warnings
from _thread import _local as thread_local  # threading's, without the rest of threading
from collections.abc import Iterable, Mapping

from .. import _C
from .._C import autocast_decrement_nesting as autocast_decrement_nesting
from .._C import autocast_increment_nesting as autocast_increment_nesting
from .._C import clear_autocast_cache as clear_autocast_cache
from .._C import is_autocast_cache_enabled as is_autocast_cache_enabled
from .._C import set_autocast_cache_enabled as set_autocast_cache_enabled

# The lower types of the devices that programs may name. The CPU and GPUs compute here: for the others the mode is kept
# and asked for, and nothing else.
_LOWER_TYPES = {
    "cpu": _C.bfloat16,
    "cuda": _C.float16,
    "hpu": _C.bfloat16,
    "ipu": _C.float16,
    "maia": _C.bfloat16,
    "mps": _C.float16,
    "mtia": _C.float16,
    "xla": _C.bfloat16,
    "xpu": _C.float16,
}


class _Elsewhere(thread_local):
    """The modes of the devices that do not compute here, in one thread."""

    def __init__(self):
        self.enabled = set()
        self.dtypes = {}


_elsewhere = _Elsewhere()


def _device(function, device_type):
    """The type of device that a string such as "cpu" or "cuda:0" names."""
    if not isinstance(device_type, str):
        kind = type(device_type).__name__
        raise TypeError(f"{function}(): argument 'device_type' (position 1) must be str, not {kind}")
    return _known_device(device_type)


def _known_device(device_type):
    return device_type if device_type in _LOWER_TYPES else _C.device(device_type).type


# ---- The state


def is_autocast_enabled(device_type="cuda"):
    """Whether autocast is on for a type of device in this thread.

    >>> import adjoint as torch
    >>> with torch.autocast("cpu"):
    ...     torch.is_autocast_enabled("cpu")
    True
    """
    device = _device("is_autocast_enabled", device_type)
    if device not in _LOWER_TYPES:
        raise RuntimeError("unknown device type for autocast in get_autocast_dispatch_key_from_device_type")
    if device == "cuda":
        return _C._autocast_gpu_enabled()
    return _C._autocast_enabled() if device == "cpu" else device in _elsewhere.enabled


def set_autocast_enabled(device_type, enabled=None):
    """Turns autocast on or off for a type of device in this thread; the context manager autocast does it for you.

    >>> import adjoint as torch
    >>> torch.set_autocast_enabled("cpu", False)
    """
    place = 2
    if enabled is None:
        device_type, enabled, place = "cuda", device_type, 1
    if not isinstance(enabled, bool):
        kind = type(enabled).__name__
        raise TypeError(f"set_autocast_enabled(): argument 'enabled' (position {place}) must be bool, not {kind}")
    device = _device("set_autocast_enabled", device_type)
    if device == "cpu":
        _C._set_autocast_enabled(enabled)
    elif device == "cuda":
        _C._set_autocast_gpu_enabled(enabled)
    elif enabled:
        _elsewhere.enabled.add(device)
    else:
        _elsewhere.enabled.discard(device)


def get_autocast_dtype(device_type):
    """The lower type of autocast on a type of device.

    >>> import adjoint as torch
    >>> torch.get_autocast_dtype("cpu")
    torch.bfloat16
    """
    device = _device("get_autocast_dtype", device_type)
    if device not in _LOWER_TYPES:
        raise RuntimeError("unsupported scalarType")
    if device == "cuda":
        return _C._autocast_gpu_dtype()
    return _C._autocast_dtype() if device == "cpu" else _elsewhere.dtypes.get(device, _LOWER_TYPES[device])


def set_autocast_dtype(device_type, dtype):
    """Sets the lower type of autocast on a type of device, in this thread.

    >>> import adjoint as torch
    >>> torch.set_autocast_dtype("cpu", torch.bfloat16)
    """
    device = _device("set_autocast_dtype", device_type)
    if not isinstance(dtype, _C.dtype):
        kind = type(dtype).__name__
        raise TypeError(f"set_autocast_dtype(): argument 'dtype' (position 2) must be torch.dtype, not {kind}")
    if device == "cpu":
        _C._set_autocast_dtype(dtype)
    elif device == "cuda":
        _C._set_autocast_gpu_dtype(dtype)
    else:
        _elsewhere.dtypes[device] = dtype


def is_autocast_available(device_type):
    """Whether there is an autocast mode for a type of device.

    >>> import adjoint as torch
    >>> torch.amp.is_autocast_available("cpu")
    True
    """
    return _device("is_autocast_available", device_type) in _LOWER_TYPES


def _deprecated(name, arguments, instead, function, device):
    """A function of one device under its old name."""
    comma = ", " if arguments else ""
    text = f"torch.{name}({arguments}) is deprecated. Please use torch.{instead}('{device}'{comma}{arguments}) instead."

    def call(*args):
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        return function(device, *args)

    call.__name__ = call.__qualname__ = name
    given = {"enabled": "False", "dtype": str(_LOWER_TYPES[device])}.get(arguments, "")
    answer = "" if given else f"\n{_LOWER_TYPES[device] if 'dtype' in name else False}"
    example = f">>> torch.{instead}({device!r}{comma}{given})  # the name to use{answer}"
    call.__doc__ = f"The old name of {instead}() for {device}; it warns.\n\n>>> import adjoint as torch\n{example}\n"
    return call


is_autocast_cpu_enabled = _deprecated("is_autocast_cpu_enabled", "", "is_autocast_enabled", is_autocast_enabled, "cpu")
set_autocast_cpu_enabled = _deprecated(
    "set_autocast_cpu_enabled", "enabled", "set_autocast_enabled", set_autocast_enabled, "cpu"
)
get_autocast_cpu_dtype = _deprecated("get_autocast_cpu_dtype", "", "get_autocast_dtype", get_autocast_dtype, "cpu")
set_autocast_cpu_dtype = _deprecated("set_autocast_cpu_dtype", "dtype", "set_autocast_dtype", set_autocast_dtype, "cpu")
get_autocast_gpu_dtype = _deprecated("get_autocast_gpu_dtype", "", "get_autocast_dtype", get_autocast_dtype, "cuda")
set_autocast_gpu_dtype = _deprecated(
    "set_autocast_gpu_dtype", "dtype", "set_autocast_dtype", set_autocast_dtype, "cuda"
)


# ---- The context manager


def _checked_device(device_type):
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    return _known_device(device_type)


class autocast:
    """While it holds, products of matrices and convolutions run in a lower type, losses and others in float32.

    Also a decorator. Do not call half() or bfloat16() on the model: parameters stay in float32, are cast once for all
    their uses, and get gradients in float32. Run backward() outside of it.

    >>> import adjoint as torch
    >>> weight = torch.ones(2, 2, requires_grad=True)
    >>> with torch.autocast("cpu", dtype=torch.bfloat16):
    ...     product = torch.ones(2, 2) @ weight
    >>> product.dtype
    torch.bfloat16
    >>> product.sum().backward()
    >>> weight.grad.dtype
    torch.float32
    """

    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        self.device = _checked_device(device_type)
        self.fast_dtype = get_autocast_dtype(self.device) if dtype is None else dtype
        self._cache_enabled = is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        self._enabled = enabled
        self._before = []  # the states to return to: a context may be entered again inside of itself
        name = self.device.upper()
        if self.device == "cuda":
            if enabled and _C._cuda_why_unavailable():
                self._refuse("CUDA is not available or torch_xla is imported. Disabling autocast.")
        elif enabled and self.fast_dtype not in (_C.bfloat16, _C.float16):
            self._refuse(
                f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n"
                f"{name} Autocast only supports dtypes of torch.bfloat16, torch.float16 currently."
            )

    def _refuse(self, text):
        warnings.warn(text, UserWarning, stacklevel=3)
        self._enabled = False

    def __enter__(self):
        device = self.device
        flags = _C._mode_flags() & _C._AUTOCAST
        enabled = is_autocast_enabled(device)
        self._before.append((flags, enabled, get_autocast_dtype(device), is_autocast_cache_enabled()))
        set_autocast_enabled(device, bool(self._enabled))
        set_autocast_dtype(device, self.fast_dtype)
        set_autocast_cache_enabled(bool(self._cache_enabled))
        autocast_increment_nesting()
        return self

    def __exit__(self, *exception):
        if not self._before:
            raise RuntimeError("autocast: __exit__ was called without __enter__; use it in a with statement")
        if autocast_decrement_nesting() == 0:
            clear_autocast_cache()
        flags, enabled, dtype, cache_enabled = self._before.pop()
        set_autocast_enabled(self.device, enabled)
        # It may be paused, where this is a signal handler that runs inside of an op.
        _C._set_mode_flags(_C._mode_flags() & ~_C._AUTOCAST | flags)
        set_autocast_dtype(self.device, dtype)
        set_autocast_cache_enabled(cache_enabled)
        return False

    def __call__(self, func):
        if not callable(func):
            raise TypeError(
                f"autocast()(func) requires a callable, but got {type(func).__name__}. Did you mean to use autocast "
                "as a context manager? For example: with torch.autocast('cpu'): ..."
            )

        @functools.wraps(func)
        def decorated(*args, **kwargs):
            # A context of its own for each call: threads may be in the function at the same time.
            context = object.__new__(type(self))
            context.__dict__.update(self.__dict__, _before=[])
            with context:
                return func(*args, **kwargs)

        return decorated


# ---- Custom Functions


def _cast(value, device, dtype):
    """Floating point tensors of nested data in another type; float64 is left alone."""
    if isinstance(value, _C.Tensor):
        eligible = value.is_floating_point() and value.dtype != _C.float64 and value.device.type == device
        return value.to(dtype) if eligible else value
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return {_cast(key, device, dtype): _cast(item, device, dtype) for key, item in value.items()}
    if isinstance(value, Iterable):
        items = [_cast(item, device, dtype) for item in value]
        return type(value)(items) if isinstance(value, list | tuple) else iter(items)
    return value


def custom_fwd(fwd=None, *, device_type, cast_inputs=None):
    """Decorates the forward of a Function: its backward, decorated with custom_bwd, runs in the mode of the forward.

    With `cast_inputs`, a forward that runs in autocast gets its floating point tensors in that type, and runs with
    autocast off.

    >>> import adjoint as torch
    >>> class Double(torch.autograd.Function):
    ...     @staticmethod
    ...     @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    ...     def forward(ctx, x):
    ...         return 2 * x
    ...
    ...     @staticmethod
    ...     @torch.amp.custom_bwd(device_type="cpu")
    ...     def backward(ctx, g):
    ...         return 2 * g
    >>> with torch.autocast("cpu"):
    ...     Double.apply(torch.ones(1, dtype=torch.bfloat16))
    tensor([2.])
    """
    device = _checked_device(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorated(*args, **kwargs):
        enabled = is_autocast_enabled(device)
        args[0]._dtype = get_autocast_dtype(device)
        args[0]._fwd_used_autocast = enabled and cast_inputs is None
        if not enabled or cast_inputs is None:
            return fwd(*args, **kwargs)
        with autocast(device, enabled=False):
            return fwd(*_cast(args, device, cast_inputs), **_cast(kwargs, device, cast_inputs))

    return decorated


def custom_bwd(bwd=None, *, device_type):
    """Decorates the backward of a Function: it runs in the autocast mode that its forward ran in; see custom_fwd.

    >>> import adjoint as torch
    >>> torch.amp.custom_bwd(lambda ctx, g: g, device_type="cpu").__name__
    '<lambda>'
    """
    device = _checked_device(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorated(*args, **kwargs):
        with autocast(device, enabled=args[0]._fwd_used_autocast, dtype=args[0]._dtype):
            return bwd(*args, **kwargs)

    return decorated
