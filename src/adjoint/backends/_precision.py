"""How exact products of float32 are: "none", "ieee", "tf32" or "bf16", for all libraries, for one, for one operation.

What says "none" follows what stands above it: an operation the library, the library the whole. Only NVIDIA's libraries
round, and only to TF32; they are told after each change.
"""

from .. import _C

_VALUES = ("none", "ieee", "tf32", "bf16")
_KNOWN = {"generic": _VALUES, "cuda": ("none", "ieee", "tf32"), "mkldnn": _VALUES}
# Convolutions and recurrent layers may round to TF32 until somebody says otherwise.
_AT_FIRST = {("cuda", "conv"): "tf32", ("cuda", "rnn"): "tf32"}
_chosen: dict = {}  # by library and operation, or "all"


def _above(library):
    """What a library says, or the whole where it says nothing."""
    own = _chosen.get((library, "all"), "none")
    return _chosen.get(("generic", "all"), "none") if own == "none" else own


def get(library, operation="all"):
    """The precision of an operation of a library."""
    own = _chosen.get((library, operation))
    if own is not None and own != "none":
        return own
    above = _above(library)
    if above == "none" and own is None:
        return _AT_FIRST.get((library, operation), "none")
    return above if above in _KNOWN[library] else "none"


def put(library, operation, value):
    """Chooses the precision of an operation of a library, or of all of them."""
    if not isinstance(value, str):
        raise TypeError(f"fp32_precision must be a str, not {type(value).__name__}")
    if value not in _VALUES:
        raise RuntimeError(f"Unknown precision: {value}; it is one of {', '.join(_KNOWN[library])}")
    if value not in _KNOWN[library]:
        raise RuntimeError(
            f"backend '{library}' does not support precision '{value}'; it is one of {', '.join(_KNOWN[library])}"
        )
    _chosen[library, operation] = value
    _tell()


def _tell():
    _C._cuda_allow_tf32(get("cuda", "matmul") == "tf32")
    _C._cuda_allow_cudnn_tf32(get("cuda", "conv") == "tf32")


def chosen():
    """All choices, for restore()."""
    return dict(_chosen)


def restore(choices):
    """Makes the choices those that chosen() gave."""
    _chosen.clear()
    _chosen.update(choices)
    _tell()


class Precision:
    """The precision of one operation of a library, as the attribute `fp32_precision`."""

    __slots__ = ("_place",)

    def __init__(self, library, operation):
        self._place = library, operation

    @property
    def fp32_precision(self):
        return get(*self._place)

    @fp32_precision.setter
    def fp32_precision(self, value):
        put(*self._place, value)
