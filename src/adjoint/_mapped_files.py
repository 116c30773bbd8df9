"""Files as memory: what from_file() of storages and tensors maps."""

import mmap
import os

from . import _C


def _open(path, shared):
    mode = "read-write" if shared else "read-only"
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT if shared else os.O_RDONLY, 0o600)
    except OSError as error:
        raise RuntimeError(f"unable to open file <{path}> in {mode} mode: {error.strerror} ({error.errno})") from None


def _bytes_of_file(path, shared, nbytes):
    """A tensor of the first bytes of a file."""
    file = _open(path, shared)
    try:
        size = os.fstat(file).st_size
        if size < nbytes:
            if not shared:
                raise RuntimeError(f"file <{path}> size <{size}> is smaller than the required mapping size <{nbytes}>")
            os.ftruncate(file, nbytes)
        access = mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY
        return _C.frombuffer(mmap.mmap(file, nbytes, access=access), dtype=_C.uint8)
    except (OSError, ValueError, OverflowError) as error:
        reason = f"{error.strerror} ({error.errno})" if isinstance(error, OSError) else error
        raise RuntimeError(f"unable to mmap {nbytes} bytes from file <{path}>: {reason}") from None
    finally:
        os.close(file)


def storage_of_file(cls, filename, shared, nbytes):
    """UntypedStorage.from_file()."""
    if not isinstance(filename, str | os.PathLike):
        raise TypeError(f"argument 1 must be str, not {type(filename).__name__}")
    if not isinstance(shared, int) or not isinstance(nbytes, int) or isinstance(nbytes, bool):
        raise TypeError(
            f"from_file(): expected shared as a bool and the number of bytes as an int; got {type(shared).__name__} "
            f"and {type(nbytes).__name__}"
        )
    path = os.fspath(filename)
    if nbytes < 0:
        raise RuntimeError(f"unable to mmap {nbytes} bytes from file <{path}>: expected a number from 0 up")
    result = cls() if nbytes == 0 else _C._storage_of(_bytes_of_file(path, bool(shared), nbytes), cls)
    if nbytes:
        result._mapped = True
    if shared:
        result._filename = path
    return result


def from_file(
    filename,
    shared=None,
    size=0,
    *,
    out=None,
    dtype=None,
    layout=None,
    device=None,
    requires_grad=False,
    pin_memory=False,
):
    """A tensor of the first elements of a file, which stay there: see UntypedStorage.from_file().

    >>> import adjoint as torch, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "values")
    >>> _ = torch.from_file(path, shared=True, size=2, dtype=torch.int32).copy_(torch.tensor([3, 4]))
    >>> torch.from_file(path, size=2, dtype=torch.int32)
    tensor([3, 4], dtype=torch.int32)
    """
    from .storage import UntypedStorage

    dtype = _C.get_default_dtype() if dtype is None else dtype
    if device is not None and _C.device(device).type != "cpu":
        raise RuntimeError(f"from_file(): files are mapped to memory of the cpu; got device={device!r}")
    if layout not in (None, _C.strided) or pin_memory or out is not None:
        raise RuntimeError("from_file(): expected a strided layout, no pinned memory and no out=")
    if not isinstance(size, int) or isinstance(size, bool):
        raise TypeError(f"from_file(): argument 'size' must be int, not {type(size).__name__}")
    storage = UntypedStorage.from_file(filename, bool(shared), size * dtype.itemsize)
    return _C._requiring_grad(_C.empty(0, dtype=dtype, device="cpu").set_(storage).data, requires_grad)
