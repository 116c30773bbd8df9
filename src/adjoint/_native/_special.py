"""torch._C._special: the functions of torch.special by the names that they have there, such as special_expit."""

from .. import special


def __getattr__(name):
    short = name.removeprefix("special_")
    if name.startswith("__") or short == name or not hasattr(special, short):
        raise AttributeError(f"module 'torch._C._special' has no attribute {name!r}")
    return getattr(special, short)
