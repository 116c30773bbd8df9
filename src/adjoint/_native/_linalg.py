"""torch._C._linalg: the functions of torch.linalg by the names that they have there, such as linalg_norm."""

from .. import linalg


def __getattr__(name):
    short = name.removeprefix("linalg_")
    if name.startswith("__") or short == name or not hasattr(linalg, short):
        raise AttributeError(f"module 'torch._C._linalg' has no attribute {name!r}")
    return getattr(linalg, short)
