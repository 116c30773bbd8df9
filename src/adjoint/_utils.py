"""Small things that programs take from torch._utils, underscore or not: packing tensors, carrying errors."""

import contextlib
import functools
import importlib
import os
import sys
import traceback
import warnings

from . import _C
from .ops import language
from .serialization.rebuild import _rebuild_meta_tensor_no_storage as _rebuild_meta_tensor_no_storage
from .serialization.rebuild import _rebuild_parameter as _rebuild_parameter
from .serialization.rebuild import _rebuild_parameter_with_state as _rebuild_parameter_with_state
from .serialization.rebuild import _rebuild_tensor as _rebuild_tensor
from .serialization.rebuild import _rebuild_tensor_v2 as _rebuild_tensor_v2
from .serialization.rebuild import _rebuild_tensor_v3 as _rebuild_tensor_v3

# ---- Several tensors as one


def _flatten_dense_tensors(tensors):
    """All elements of some tensors, one after the other; of a single tensor a view, if that can be.

    >>> import adjoint as torch
    >>> torch._utils._flatten_dense_tensors([torch.zeros(1, 2), torch.ones(1)])
    tensor([0., 0., 1.])
    """
    if not isinstance(tensors, tuple | list):
        raise TypeError(
            "flatten_dense_tensors(): argument 'tensors' (position 1) must be tuple of Tensors, not "
            f"{type(tensors).__name__}"
        )
    flat = [tensor.contiguous().view(-1) for tensor in tensors]
    return flat[0] if len(flat) == 1 else language.cat(flat)


def _unflatten_dense_tensors(flat, tensors):
    """Parts of a flat tensor in the shapes of some tensors, as _flatten_dense_tensors has put them there.

    >>> import adjoint as torch
    >>> torch._utils._unflatten_dense_tensors(torch.arange(3), [torch.zeros(1, 2), torch.zeros(1)])
    (tensor([[0, 1]]), tensor([2]))
    """
    parts, start = [], 0
    for tensor in tensors:
        count = tensor.numel()
        # One without elements is no view of the others' memory.
        parts.append(flat.narrow(0, start, count).view(tensor.shape) if count else flat.new_empty(tensor.shape))
        start += count
    return tuple(parts)


def _take_tensors(tensors, size_limit):
    """Lists of tensors of one type and about `size_limit` bytes each; the order within a type is kept.

    >>> import adjoint as torch
    >>> [len(some) for some in torch._utils._take_tensors([torch.zeros(3)] * 3, 24)]
    [2, 1]
    """
    waiting = {}
    for tensor in tensors:
        kind, size = tensor.type(), tensor.numel() * tensor.element_size()
        held, total = waiting.get(kind, ([], 0))
        if total + size > size_limit and total > 0:
            yield held
            held, total = [], 0
        waiting[kind] = ([*held, tensor], total + size)
    for held, _ in waiting.values():
        if held:
            yield held


def _reorder_tensors_as(tensors, ordered_tensors):
    """Tensors, in order within each type, in the order of types of others.

    >>> import adjoint as torch
    >>> torch._utils._reorder_tensors_as([torch.ones(1), torch.ones(1).int()], [torch.ones(1).int(), torch.ones(1)])
    (tensor([1], dtype=torch.int32), tensor([1.]))
    """
    by_type = {}
    for tensor in tensors:
        by_type.setdefault(tensor.type(), []).append(tensor)
    each = {kind: iter(some) for kind, some in by_type.items()}
    return tuple(next(each[tensor.type()]) for tensor in ordered_tensors)


def _handle_complex(tensor):
    """A complex tensor as pairs of real numbers; others stay."""
    return language.view_as_real(tensor) if isinstance(tensor, _C.Tensor) and tensor.is_complex() else tensor


def _element_size(dtype):
    """The bytes of an element."""
    return dtype.itemsize


# ---- Devices


def _get_device_index(device, optional=False, allow_cpu=False):
    """The number of a device; -1 for the CPU, if that is allowed; the current one's for no number, if it is `optional`.

    >>> import adjoint as torch
    >>> torch._utils._get_device_index("cuda:1"), torch._utils._get_device_index(2)
    (1, 2)
    """
    if isinstance(device, str):
        device = _C.device(device)
    if isinstance(device, _C.device):
        if device.type == "cpu" and not allow_cpu:
            raise ValueError(f"Expected a non cpu device, but got: {device}")
        index = -1 if device.type == "cpu" else device.index
    else:
        index = device if isinstance(device, int) else None
    if index is None and not optional:
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")
    return _get_current_device_index() if index is None else index


def _get_available_device_type():
    """ "cuda", or None where there is no device beside the CPU."""
    return None if _C._cuda_why_unavailable() else "cuda"


def _get_all_device_indices():
    """The numbers of all GPUs, or None where there is no device beside the CPU."""
    return None if _C._cuda_why_unavailable() else list(range(_C._cuda_device_count()))


def _get_current_device_index():
    """The number of the current GPU, or None where there is no device beside the CPU."""
    return None if _C._cuda_why_unavailable() else _C._cuda_current_device()


def _get_device_module(device_type):
    """The module of a kind of device."""
    package = sys.modules[__package__]
    module = getattr(package, device_type, None)
    if module is None:
        raise RuntimeError(
            f"Device '{device_type}' does not have a corresponding module registered as 'torch.{device_type}'."
        )
    return module


def _get_async_or_non_blocking(function_name, non_blocking, kwargs):
    """non_blocking, also under its former name, `async`."""
    if not kwargs:
        return non_blocking
    if len(kwargs) != 1 or "async" not in kwargs:
        unknown = next(name for name in kwargs if name != "async")
        raise TypeError(f"{function_name}() got an unexpected keyword argument '{unknown}'")
    warnings.warn("'async' is deprecated; use 'non_blocking'", stacklevel=3)
    return kwargs["async"]


# ---- Errors of another thread or process


class KeyErrorMessage(str):
    """A text that a KeyError shows as it is, with its line breaks."""

    __slots__ = ()

    def __repr__(self):
        return self


class ExceptionWrapper:
    """An exception with its traceback as a text, to be raised again in another thread or process.

    >>> import adjoint as torch
    >>> try:
    ...     1 / 0
    ... except ZeroDivisionError:
    ...     wrapped = torch._utils.ExceptionWrapper(where="in a worker")
    >>> wrapped.exc_type.__name__, wrapped.where
    ('ZeroDivisionError', 'in a worker')
    """

    def __init__(self, exc_info=None, where="in background"):
        kind, error, trace = sys.exc_info() if exc_info is None else exc_info
        self.exc_type = kind
        self.exc_msg = "".join(traceback.format_exception(kind, error, trace))
        self.where = where

    def reraise(self):
        """Raises an exception of the same type, whose text is the former traceback."""
        text = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            text = KeyErrorMessage(text)
        elif getattr(self.exc_type, "message", None):
            raise self.exc_type(message=text)
        try:
            error = self.exc_type(text)
        except Exception:  # it wants other arguments
            raise RuntimeError(text) from None
        raise error


# ---- Classes, modules, calls


def _import_dotted_name(name):
    """The object of a full name such as "collections.OrderedDict"."""
    first, *rest = name.split(".")
    return functools.reduce(getattr, rest, importlib.import_module(first))


def try_import(module_name):
    """A module, or None if there is no such one."""
    with contextlib.suppress(ImportError):
        return importlib.import_module(module_name)
    return None


def _dummy_type(name):
    """A class that can be named, and refuses to be made."""

    def refuse(self, *args, **kwargs):
        raise RuntimeError(f"Tried to instantiate dummy base class {name}")

    return type(name, (), {"__init__": refuse, "__module__": __name__})


class classproperty:
    """A property of a class.

    >>> import adjoint as torch
    >>> class Named:
    ...     @torch._utils.classproperty
    ...     def label(cls):
    ...         return cls.__name__
    >>> Named.label
    'Named'
    """

    def __init__(self, func):
        self.func = func

    def __get__(self, instance, owner=None):
        return self.func(type(instance) if owner is None else owner)


class CallbackRegistry:
    """Callables that are called together.

    >>> import adjoint as torch
    >>> registry = torch._utils.CallbackRegistry("example")
    >>> registry.add_callback(print)
    >>> registry.fire_callbacks(1)
    1
    """

    def __init__(self, name):
        self.name, self.callback_list = name, []

    def add_callback(self, cb):
        """Adds a callable."""
        self.callback_list.append(cb)

    def fire_callbacks(self, *args, **kwargs):
        """Calls all of them; an error of one does not keep the others from being called."""
        for callback in self.callback_list:
            try:
                callback(*args, **kwargs)
            except Exception:
                import logging

                logging.getLogger(__name__).exception(
                    "Exception in callback for %s registered with gpu trace", self.name
                )


def _get_obj_state(obj):
    """What pickle would keep of an object beside what it is made of."""
    own = obj.__getstate__() if hasattr(obj, "__getstate__") else getattr(obj, "__dict__", None)
    return own or None


def _set_obj_state(obj, state):
    """Gives an object what _get_obj_state has kept."""
    attributes, slots = state if isinstance(state, tuple) else (state, None)
    obj.__dict__.update(attributes or {})
    for name, value in (slots or {}).items():
        setattr(obj, name, value)
    return obj


def get_tensor_metadata(tensor):
    """What is saved of a tensor beside values and attributes: nothing here."""
    return {}


def set_tensor_metadata(tensor, metadata):
    """Gives a tensor what get_tensor_metadata has kept: nothing here."""


def is_compiling():
    """The former name of compiler.is_compiling."""
    warnings.warn(
        "`torch._utils.is_compiling` is deprecated. Use `torch.compiler.is_compiling` instead.",
        stacklevel=2,
    )
    return False


def cpu_count():
    """The number of CPUs that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
