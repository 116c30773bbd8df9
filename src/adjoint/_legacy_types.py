"""The tensor types of old: torch.FloatTensor(2, 3), isinstance(x, torch.LongTensor), x.type(torch.DoubleTensor)."""

import warnings

from . import _C
from .ops.conversion import TYPE_NAMES


class tensortype(type):
    """The type of the tensor types."""

    def __call__(cls, *args, **kwargs):
        if cls.is_cuda:
            if _C._cuda_why_unavailable():
                raise TypeError(
                    f"type {cls.__module__}.{cls.__name__} not available. Torch not compiled with CUDA enabled."
                )
            return _C.empty(0, dtype=cls.dtype, device="cuda").new(*args, **kwargs)
        return _C._legacy_tensor(cls.dtype, args, kwargs)

    def __instancecheck__(cls, instance):
        if not isinstance(instance, _C.Tensor) or cls.is_cuda != instance.is_cuda:
            return False
        return instance.dtype == cls.dtype and instance.layout is cls.layout

    def __reduce__(cls):
        return find, (f"{cls.__module__}.{cls.__name__}",)


_ABOUT = """Makes tensors of {dtype}, of sizes or of data; isinstance() of it asks for the type.

>>> import adjoint as torch
>>> torch.{name}([1, 0]).dtype, isinstance(torch.ones(1, dtype={dtype}), torch.{name})
({dtype}, True)
"""
_CUDA = """Makes tensors of {dtype} on a GPU, of sizes or of data; isinstance() of it asks for the type.

>>> import adjoint as torch
>>> isinstance(torch.ones(1, dtype={dtype}), torch.cuda.{name})
False
"""


def _make(name, dtype, module, is_cuda):
    doc = _CUDA if is_cuda else _ABOUT
    doc = doc.format(name=name, dtype=dtype)
    about = {"dtype": dtype, "layout": _C.strided, "is_cuda": is_cuda, "is_sparse": False}
    return tensortype(name, (), {"__doc__": doc, "__module__": module, "__slots__": (), **about})


class _SparseType(tensortype):
    """The type of the types of sparse tensors: torch.sparse.FloatTensor(indices, values, size), or of sizes."""

    def __call__(cls, *args):
        from .sparse import sparse_coo_tensor

        given = bool(args) and isinstance(args[0], _C.Tensor)
        form = ", ".join(("indices", "values", "shape")[: len(args)]) if given else "shape"
        warnings.warn(
            f"torch.sparse.SparseTensor({form}, *, device=) is deprecated.  Please use "
            f"torch.sparse_coo_tensor({form}, dtype=, device=).",
            stacklevel=2,
        )
        if given:
            return sparse_coo_tensor(*args, dtype=cls.dtype)
        size = args[0] if args and isinstance(args[0], tuple | list) else args
        return sparse_coo_tensor(tuple(size), dtype=cls.dtype)


# torch has classes for the types that are older than its complex ones.
_WITHOUT = ("Complex", "UInt", "Float8")
TYPES = {
    name: _make(name, dtype, "torch", False) for name, dtype in TYPE_NAMES.items() if not name.startswith(_WITHOUT)
}
SPARSE_TYPES = {
    name: _SparseType(
        name,
        (),
        {
            "__doc__": f"Sparse tensors of {one.dtype}.",
            "__module__": "torch.sparse",
            "__slots__": (),
            "dtype": one.dtype,
            "layout": _C.sparse_coo,
            "is_cuda": False,
            "is_sparse": True,
        },
    )
    for name, one in TYPES.items()
    if name != "BoolTensor"
}
CUDA_TYPES = {name: _make(name, one.dtype, "torch.cuda", True) for name, one in TYPES.items()}


def find(name):
    """The type of a name such as "torch.FloatTensor"; None when there is none."""
    module, _, short = name.rpartition(".")
    return {"torch": TYPES, "torch.cuda": CUDA_TYPES, "torch.sparse": SPARSE_TYPES}.get(module, {}).get(short)


def __getattr__(name):
    if name in TYPES:
        return TYPES[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
