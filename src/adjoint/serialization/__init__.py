"""save and load: PyTorch's files, safe by default, and written so that a kill never leaves half a file."""

import os
import warnings
from collections.abc import Callable

from .safe_globals import add_safe_globals as add_safe_globals
from .safe_globals import clear_safe_globals as clear_safe_globals
from .safe_globals import get_safe_globals as get_safe_globals
from .safe_globals import safe_globals as safe_globals

DEFAULT_PROTOCOL = 2  # of pickles
MAP_LOCATION = Callable | str | dict[str, str] | None  # what map_location may be; also a device


def save(
    obj,
    f,
    pickle_module=None,
    pickle_protocol=DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization=True,
    _disable_byteorder_record=False,
):
    """Writes tensors and plain containers to a path or a file, so that torch.load(weights_only=True) reads them.

    A file at a path is replaced when the new one is whole and on the disk: a kill at any moment leaves the old or the
    new file. An object with more in it than data, such as a whole module, becomes a full pickle of `pickle_protocol`,
    which only load(weights_only=False) reads; a warning names the place, unless a `pickle_module` says it is meant.

    >>> import adjoint as torch, io
    >>> file = io.BytesIO()
    >>> torch.save({"weight": torch.ones(2), "epoch": 3}, file)
    >>> _ = file.seek(0)
    >>> torch.load(file)
    {'weight': tensor([1., 1.]), 'epoch': 3}
    """
    from . import writing
    from .atomic import replacement

    if not isinstance(f, str | os.PathLike) and not hasattr(f, "write"):
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
    contents, refusal = writing.take_apart(obj, pickle_module, pickle_protocol, not _use_new_zipfile_serialization)
    if refusal and pickle_module is None:
        warnings.warn(refusal, stacklevel=2)

    def write_to(file):
        write = writing.whole_writes(file)
        if _use_new_zipfile_serialization:
            writing.write_zip(contents, write, not _disable_byteorder_record)
        else:
            writing.write_legacy(contents, write)

    if isinstance(f, str | os.PathLike):
        folder = os.path.dirname(os.fspath(f))
        if folder and not os.path.isdir(folder):
            raise RuntimeError(f"Parent directory {folder} does not exist.")
        with replacement(f) as file:
            write_to(file)
    else:
        write_to(f)
        if hasattr(f, "flush"):
            f.flush()


def load(f, map_location=None, pickle_module=None, *, weights_only=None, mmap=None, **pickle_load_args):
    """Reads what torch.save wrote, here or in torch: from a path, or from a file that can seek.

    Only tensors, numbers, text and plain containers are made, and what add_safe_globals allows; `weights_only=False`
    (or a `pickle_module`) reads any pickle, which can run code: only for files you trust. `map_location` says where
    storages go. With `mmap=True` the values stay in the file until they are used, changes to them stay in memory, and
    their checksums are not compared.

    >>> import adjoint as torch, io
    >>> file = io.BytesIO()
    >>> torch.save(torch.nn.Linear(2, 1).state_dict(), file)
    >>> _ = file.seek(0)
    >>> list(torch.load(file))
    ['weight', 'bias']
    """
    from . import reading

    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    if weights_only is None:
        weights_only = pickle_module is None
    if weights_only and pickle_load_args:
        warnings.warn("pickle_load_args only works if `weights_only=False`.", stacklevel=2)
    if not weights_only and pickle_module is None:
        import pickle as pickle_module
    plan = reading.Reading(map_location, pickle_module, pickle_load_args)
    if isinstance(f, str | os.PathLike):
        with open(f, "rb") as file:
            return _load_and_close(file, plan, mmap, f)
    if mmap:
        raise ValueError("f must be a file path in order to use the mmap argument; got " + type(f).__name__)
    for needed in ("seek", "tell", "read", "readline"):
        if not hasattr(f, needed):
            raise AttributeError(
                f"{type(f).__name__!r} object has no attribute {needed!r}. You can only torch.load from a file that is "
                "seekable. Please pre-load the data into a buffer like io.BytesIO and try to load from it instead."
            )
    return _load_and_close(f, plan, False, None)


def _load_and_close(file, plan, mmap, path):
    try:
        return _load(file, plan, mmap, path)
    finally:
        plan.close()


def _load(file, plan, mmap, path):
    from . import reading

    if reading.is_zip(file):
        if not mmap:
            return reading.read_zip(file, plan)
        from mmap import ACCESS_COPY
        from mmap import mmap as map_file

        return reading.read_zip(file, plan, map_file(file.fileno(), 0, access=ACCESS_COPY))
    if mmap:
        raise RuntimeError(
            f"mmap can only be used with files saved with `torch.save({path}, _use_new_zipfile_serialization=True), "
            "please torch.save your checkpoint with this option in order to use mmap."
        )
    if reading.is_tar(file):
        raise RuntimeError("tar files, which torch wrote before 0.2, are not read: load and save it in torch first")
    return reading.read_legacy(file, plan)


def get_unsafe_globals_in_checkpoint(f):
    """The names in a zip file of torch.save that load(weights_only=True) does not allow.

    >>> import adjoint as torch, io, pickle
    >>> file = io.BytesIO()
    >>> torch.save(range(3), file, pickle_module=pickle)
    >>> torch.serialization.get_unsafe_globals_in_checkpoint(file)
    ['__builtin__.xrange']
    """
    from . import reading
    from .archive import ArchiveReader

    if isinstance(f, str | os.PathLike):
        with open(f, "rb") as file:
            return get_unsafe_globals_in_checkpoint(file)
    return reading.unsafe_globals(ArchiveReader(f).read("data.pkl"))


def __getattr__(name):
    # Imported when first used: few ask for them, and the import of enumerations takes longer than all the rest.
    if name in ("LoadEndianness", "get_default_load_endianness", "set_default_load_endianness"):
        from . import settings

        return getattr(settings, name)
    if name == "default_restore_location":
        from . import storage

        return storage.default_restore_location
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
