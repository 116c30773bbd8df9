"""torch._C._special: the functions of torch.special by the names that traces print, as special_expm1."""

from .. import special


def __getattr__(name):
    public = name.removeprefix("special_")
    if public == name or not hasattr(special, public):
        raise AttributeError(f"module 'torch._C._special' has no attribute {name!r}")
    return getattr(special, public)
