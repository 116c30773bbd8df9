"""Hashes of tensors: torch.hash_tensor, the exclusive or of the bits of all elements."""

from . import _C
from .ops.checks import takes_tensors

_op = _C.op_object


@takes_tensors("input")
def hash_tensor(input, dim=(), *, keepdim=False, mode=0, out=None):
    """The exclusive or of the elements over the given dimensions, or all: floats by the bits of their doubles.

    Sums of tensors may agree where a bit differs; these do not.
    """
    if mode != 0:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    if out is not None and out.dtype != _C.uint64:
        kind = out.type()[6:].removesuffix("Tensor")
        raise RuntimeError(f"Expected result to be of dtype uint64, but got {kind}")
    result = hashed_bits(input, dim, keepdim).view(_C.uint64)
    return result if out is None else out.resize_(result.shape).copy_(result)


def hashed_bits(input, dim, keepdim):
    """The same as int64."""
    dims = _dims(input, dim)
    if not dims and input.numel() == 0 and not _listed(dim):
        raise RuntimeError(
            "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim "
            "with the 'dim' argument."
        )
    bits = _bits(input.detach())
    dims = dims or range(input.ndim)
    for d in dims:
        bits = _reduced(bits, d)
    return bits if keepdim else bits.reshape([n for d, n in enumerate(bits.shape) if d not in dims])


def _listed(dim):
    return [] if dim is None else [dim] if isinstance(dim, int) else list(dim)


def _dims(input, dim):
    rank, found = max(input.ndim, 1), []
    for d in _listed(dim):
        if not -rank <= d < rank:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {d})")
        if d % rank in found:
            raise RuntimeError(f"dim {d % rank} appears multiple times in the list of dims")
        found.append(d % rank)
    return found if input.ndim else []


def _bits(input):
    if input.is_complex() or input.dtype in (_C.uint16, _C.uint32, _C.uint64):
        kind = {_C.complex64: "ComplexFloat", _C.complex128: "ComplexDouble", _C.uint16: "UInt16"}
        name = (kind | {_C.uint32: "UInt32", _C.uint64: "UInt64"}).get(input.dtype, str(input.dtype))
        raise NotImplementedError(f"\"xor_sum_cpu\" not implemented for '{name}'")
    return input.double().contiguous().view(_C.int64) if input.is_floating_point() else input.to(_C.int64)


def _reduced(bits, dim):
    """One element along a dimension: the halves are joined until one is left."""
    size = bits.shape[dim]
    if size == 0:
        raise IndexError(f"hash_tensor: Expected reduction dim {dim} to have non-zero size.")
    while size > 1:
        half = size // 2
        joined = bits.narrow(dim, 0, half) ^ bits.narrow(dim, half, half)
        bits = _op("cat")([joined, bits.narrow(dim, size - 1, 1)], dim) if size % 2 else joined
        size = half + size % 2
    return bits
