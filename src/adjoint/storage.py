"""The memory behind tensors, as objects: UntypedStorage, and what torch keeps of storages with types."""

from . import _C
from ._typed_storage import LEGACY, NAMES, TYPED
from ._typed_storage import TypedStorage as TypedStorage
from ._typed_storage import _get_always_warn_typed_storage_removal as _get_always_warn_typed_storage_removal
from ._typed_storage import _LegacyStorage as _LegacyStorage
from ._typed_storage import _LegacyStorageMeta as _LegacyStorageMeta
from ._typed_storage import _reset_warn_typed_storage_removal as _reset_warn_typed_storage_removal
from ._typed_storage import _set_always_warn_typed_storage_removal as _set_always_warn_typed_storage_removal
from ._typed_storage import _warn_typed_storage_removal as _warn_typed_storage_removal
from ._untyped_storage import UntypedStorage as UntypedStorage
from ._untyped_storage import _StorageBase as _StorageBase

__all__ = ["TypedStorage", "UntypedStorage"]

_C._set_storage_types(UntypedStorage, TypedStorage)


def _saved(storage):
    """What torch.save() writes of a storage, as bytes."""
    import io

    from .serialization import save

    file = io.BytesIO()
    save(storage, file)
    return file.getvalue()


def _load_from_bytes(b):
    """What a pickled storage is made by; only data is read."""
    import io

    from .serialization import load

    return load(io.BytesIO(b))


def _dtype_to_storage_type_map():
    return dict(NAMES)


def _storage_type_to_dtype_map():
    return dict(TYPED)


def _get_dtype_from_pickle_storage_type(pickle_storage_type):
    if pickle_storage_type not in TYPED:
        raise KeyError(f'pickle storage type "{pickle_storage_type}" is not recognized')
    return TYPED[pickle_storage_type]


def __getattr__(name):
    if name in LEGACY:
        return LEGACY[name]
    if name == "Storage":
        from .types import Storage

        return Storage
    if name == "StorageBase":
        return _C.StorageBase
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
