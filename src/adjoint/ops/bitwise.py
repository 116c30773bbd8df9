"""Operations on the bits of integers, and on booleans as single bits."""

from math import prod

from .. import _C
from .checks import integers
from .language import composite, elementwise
from .out_words import FOUND_DTYPE

_NOT_HASHED = (
    *(_C.uint16, _C.uint32, _C.uint64, _C.float8_e4m3fn, _C.float8_e4m3fnuz),
    *(_C.float8_e5m2, _C.float8_e5m2fnuz, _C.float8_e8m0fnu),
)

# fmt: off

elementwise("bitwise_and(input, other)", lambda input, other: input & other, types="only integer bool",
            stored="unsigned",
            numbers="input other")
elementwise("bitwise_or(input, other)", lambda input, other: input | other, types="only integer bool",
            stored="unsigned",
            numbers="input other")
elementwise("bitwise_xor(input, other)", lambda input, other: input ^ other, types="only integer bool",
            stored="unsigned",
            numbers="input other")
elementwise("bitwise_not(input)", lambda input: ~input, out="exact", out_words=FOUND_DTYPE, types="only integer bool")
elementwise("bitwise_left_shift(input, other)", lambda input, other: input << other, types="only integer",
            loop="lshift_cpu",
            numbers="input other")
elementwise("bitwise_right_shift(input, other)", lambda input, other: input >> other, types="only integer",
            loop="rshift_cpu",
            numbers="input other")

# fmt: on


def _reduced_dims(input, dim):
    """The dimensions that hash_tensor() goes over, all of them for none."""
    given = integers("hash_tensor", "dim", dim)
    if not given and input.numel() == 0:
        raise RuntimeError(
            "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. "
            "Specify the reduction dim with the 'dim' argument."
        )
    bound, found = max(input.ndim, 1), []
    for each in given or range(input.ndim):
        if not -bound <= each < bound:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-bound}, {bound - 1}], but got {each})"
            )
        if each % bound in found:
            raise RuntimeError(f"dim {each % bound} appears multiple times in the list of dims")
        if input.ndim and input.shape[each] == 0:
            raise IndexError(f"hash_tensor: Expected reduction dim {each} to have non-zero size.")
        found.append(each % bound)
    return sorted(found) if input.ndim else []


@composite(out="exact", out_words="Expected result to be of dtype uint64, but got {given}")
def hash_tensor(input, dim=(), *, keepdim=False, mode=0):
    """A number that tells tensors apart: the bits of their elements, as float64 or int64, one xor the other.

    >>> import adjoint as torch
    >>> torch.hash_tensor(torch.tensor([1, 2, 7]))
    tensor(4, dtype=torch.uint64)
    """
    if mode != 0:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}; the only one is 0, exclusive or")
    if input.is_complex() or input.dtype in _NOT_HASHED:
        name = input.type().rpartition(".")[2].removesuffix("Tensor")
        raise NotImplementedError(f"\"xor_sum_cpu\" not implemented for '{name}'; convert the tensor first")
    dims = _reduced_dims(input, dim)
    wide = _C.float64 if input.is_floating_point() else _C.int64
    kept = [each for each in range(input.ndim) if each not in dims]
    count = prod(input.shape[each] for each in dims)
    bits = input.detach().permute((*kept, *dims)).reshape([*(input.shape[each] for each in kept), count])
    bits = bits.to(wide).view(_C.int64)
    # Halves on each other, until one is left; what has no partner waits.
    alone = []
    while (count := bits.shape[-1]) > 1:
        half = count // 2
        if count % 2:
            alone.append(bits[..., -1:])
        bits = bits[..., :half] ^ bits[..., half : 2 * half]
    for each in alone:
        bits = bits ^ each
    result = bits[..., 0].to(_C.uint64)
    for each in dims if keepdim else ():
        result = result.unsqueeze(each)
    return result
