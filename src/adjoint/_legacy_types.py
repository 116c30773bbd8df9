"""The tensor types of old: torch.FloatTensor(2, 3), isinstance(x, torch.LongTensor), x.type(torch.DoubleTensor)."""

from . import _C
from .ops.conversion import TYPE_NAMES


class tensortype(type):
    """The type of the tensor types."""

    def __call__(cls, *args, **kwargs):
        if cls.is_cuda:
            raise TypeError(
                f"type {cls.__module__}.{cls.__name__} not available. Torch not compiled with CUDA enabled."
            )
        return _C._legacy_tensor(cls.dtype, args, kwargs)

    def __instancecheck__(cls, instance):
        return isinstance(instance, _C.Tensor) and not cls.is_cuda and instance.dtype == cls.dtype

    def __reduce__(cls):
        return find, (f"{cls.__module__}.{cls.__name__}",)


def _make(name, dtype, module, is_cuda):
    doc = f"Tensors of {dtype}: {name}(sizes) or {name}(data)."
    about = {"dtype": dtype, "layout": _C.strided, "is_cuda": is_cuda, "is_sparse": False}
    return tensortype(name, (), {"__doc__": doc, "__module__": module, "__slots__": (), **about})


# torch has classes for the types that are older than its complex ones.
_WITHOUT = ("Complex", "UInt", "Float8")
TYPES = {
    name: _make(name, dtype, "torch", False) for name, dtype in TYPE_NAMES.items() if not name.startswith(_WITHOUT)
}
CUDA_TYPES = {name: _make(name, one.dtype, "torch.cuda", True) for name, one in TYPES.items()}


def find(name):
    """The type of a name such as "torch.FloatTensor"; None when there is none."""
    module, _, short = name.rpartition(".")
    return {"torch": TYPES, "torch.cuda": CUDA_TYPES}.get(module, {}).get(short)


def __getattr__(name):
    if name in TYPES:
        return TYPES[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
