"""Full pickles, on demand: any object can be written, and reading one can run code."""

import io
import sys

from .. import _C
from ..nn.parameter import is_lazy
from . import rebuild
from .refusal import warn_of_hooks
from .safe_globals import torch_name
from .storage import StorageType

# Where the functions of torch's native core are, for modules that keep one: torch.relu is getattr(the class, "relu").
_NATIVE = {"torch._C._VariableFunctionsClass": sys.modules["adjoint"], "torch._C.TensorBase": _C.Tensor}
_MOVED = {"torch._C._nn": "torch.nn.functional"}


class _StorageOf:
    """Stands for a tensor's storage while it is pickled."""

    def __init__(self, tensor):
        self.tensor = tensor


def _arguments(tensor):
    """The arguments of _rebuild_tensor_v3 for a tensor's data."""
    place = (_StorageOf(tensor), tensor.storage_offset(), tuple(tensor.size()), tensor.stride())
    return (*place, tensor.requires_grad, None, tensor.dtype)


def dump(obj, contents, pickle_module, protocol):
    """Pickles anything; the values of tensors become storages of the file, as in a safe one."""

    class Pickler(pickle_module.Pickler):
        def reducer_override(self, value):
            plain = isinstance(value, _C.Tensor) and value.layout is _C.strided
            if not plain or is_lazy(value) or value.device.type == "meta":
                inherited = getattr(super(), "reducer_override", None)
                return inherited(value) if inherited else NotImplemented
            warn_of_hooks(value)
            if type(value) is _C.Tensor and not value.__dict__:
                return rebuild._rebuild_tensor_v3, _arguments(value)
            state = value.__dict__
            return rebuild._rebuild_from_type_v2, (rebuild._rebuild_tensor_v3, type(value), _arguments(value), state)

        def persistent_id(self, value):
            if type(value) is not _StorageOf:
                return None
            tensor = value.tensor
            count = tensor._storage_nbytes() // tensor.itemsize
            return ("storage", StorageType(tensor.dtype), contents.key_of(tensor), "cpu", count)

    out = io.BytesIO()
    Pickler(out, protocol).dump(obj)
    contents.pickle = out.getvalue()


def load(file, persistent_load, pickle_module, arguments):
    """Reads a pickle with all its powers; torch's names mean the package's own things."""

    class Unpickler(pickle_module.Unpickler):
        def find_class(self, module, name):
            full = torch_name(f"{module}.{name}")
            if full.startswith("torch."):
                for table in (rebuild.CALLABLE, rebuild.VALUES, _NATIVE):
                    if full in table:
                        return table[full]
                module = torch_name(module)
                module = "adjoint" + _MOVED.get(module, module)[len("torch") :]
            return super().find_class(module, name)

        def persistent_load(self, identifier):
            if isinstance(identifier, tuple) and identifier and identifier[0] == "module":
                return identifier[1]  # the class of a module; its source, which old files add, is not needed
            return persistent_load(identifier)

    return Unpickler(file, **arguments).load()
