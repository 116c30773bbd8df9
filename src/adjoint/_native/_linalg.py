"""torch._C._linalg: the functions of torch.linalg by the names that traces print, as linalg_norm."""

from .. import linalg


def __getattr__(name):
    public = name.removeprefix("linalg_")
    if public == name or not hasattr(linalg, public):
        raise AttributeError(f"module 'torch._C._linalg' has no attribute {name!r}")
    return getattr(linalg, public)
