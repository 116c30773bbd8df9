"""Attention whose scores a function of the program changes, and whose mask is a function, too: as plain ops."""

import collections
import inspect
import math
import typing
import warnings

from ... import _C
from ...func.vmap import vmap
from ...ops import language
from ._block_mask import DEFAULT_BLOCK as _DEFAULT_SPARSE_BLOCK_SIZE
from ._block_mask import BlockMask as BlockMask
from ._block_mask import noop_mask as noop_mask
from ._block_mask import to_ordered, to_table

__all__ = [
    "AuxOutput",
    "AuxRequest",
    "BlockMask",
    "FlexKernelOptions",
    "and_masks",
    "create_block_mask",
    "create_mask",
    "flex_attention",
    "noop_mask",
    "or_masks",
]


class AuxRequest(collections.namedtuple("AuxRequest", ("lse", "max_scores"), defaults=(False, False))):
    """What flex_attention returns beside its result.

    >>> from adjoint.nn.attention.flex_attention import AuxRequest
    >>> AuxRequest(lse=True)
    AuxRequest(lse=True, max_scores=False)
    """

    __slots__ = ()


class AuxOutput(collections.namedtuple("AuxOutput", ("lse", "max_scores"), defaults=(None, None))):
    """What was asked for by an AuxRequest; None for what was not.

    >>> from adjoint.nn.attention.flex_attention import AuxOutput
    >>> AuxOutput()
    AuxOutput(lse=None, max_scores=None)
    """

    __slots__ = ()


class FlexKernelOptions(typing.TypedDict, total=False):
    """Options of kernels for GPUs; they are accepted, and change nothing.

    >>> from adjoint.nn.attention.flex_attention import FlexKernelOptions
    >>> FlexKernelOptions(BLOCK_M=64)
    {'BLOCK_M': 64}
    """

    num_warps: int
    num_stages: int
    BLOCK_M: int
    BLOCK_N: int
    PRESCALE_QK: bool
    ROWS_GUARANTEED_SAFE: bool
    BLOCKS_ARE_CONTIGUOUS: bool
    WRITE_DQ: bool
    FORCE_USE_FLEX_ATTENTION: bool
    USE_TMA: bool
    BACKEND: str


# A dict with names has no signature of its own.
FlexKernelOptions.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
    [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in FlexKernelOptions.__annotations__]
)


# ---- Masks as functions


def _combined(name, mask_mods, join, start):
    if not all(callable(each) for each in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")

    def combined(b, h, q_idx, kv_idx):
        result = b.new_full((), start, dtype=_C.bool)
        for each in mask_mods:
            result = join(result, each(b, h, q_idx, kv_idx))
        return result

    combined.__name__ = combined.__qualname__ = name
    return combined


def and_masks(*mask_mods):
    """The mask that shows what all of these show.

    >>> from adjoint.nn.attention.flex_attention import and_masks, create_mask
    >>> band = and_masks(lambda b, h, q, k: q >= k, lambda b, h, q, k: q - k < 2)
    >>> create_mask(band, 1, 1, 3, 3)[0, 0]
    tensor([[ True, False, False],
            [ True,  True, False],
            [False,  True,  True]])
    """
    return _combined("and_mask", mask_mods, lambda a, b: a & b, True)


def or_masks(*mask_mods):
    """The mask that shows what any of these shows.

    >>> from adjoint.nn.attention.flex_attention import create_mask, or_masks
    >>> create_mask(or_masks(lambda b, h, q, k: k == 0, lambda b, h, q, k: q == k), 1, 1, 2, 2)[0, 0]
    tensor([[ True, False],
            [ True,  True]])
    """
    return _combined("or_mask", mask_mods, lambda a, b: a | b, False)


def _everywhere(function, with_score):
    """A function of one place, (score,) batch, head, query, key, at all places: a vmap for each of them."""
    for place in (3, 2, 1, 0):
        dims = [0 if each == place else None for each in range(4)]
        function = vmap(function, in_dims=(0, *dims) if with_score else tuple(dims), randomness="different")
    return function


def _places(sizes, device):
    return [_C.arange(size, device=device) for size in sizes]


def _positional_count(function):
    if not callable(function):
        raise TypeError(f"{function!r} is not a callable object")
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    return sum(p.kind in kinds and p.default is inspect.Parameter.empty for p in parameters)


def create_mask(mod_fn, B, H, Q_LEN, KV_LEN, device=None):
    """The mask that a function means, [batch, heads, queries, keys]: of truth values, or of scores that are not -inf.

    >>> from adjoint.nn.attention.flex_attention import create_mask
    >>> create_mask(lambda b, h, q, k: q >= k, 1, 1, 2, 2)[0, 0]
    tensor([[ True, False],
            [ True,  True]])
    """
    count = _positional_count(mod_fn)
    if count not in (4, 5):
        raise AssertionError(f"Expected 4 or 5 positional args, got {count}")
    sizes = (1 if B is None else B, 1 if H is None else H, Q_LEN, KV_LEN)
    device = "cpu" if device is None else device
    places = _places(sizes, device)
    if count == 5:
        scores = _everywhere(mod_fn, True)(_C.zeros(*sizes, device=device), *places)
        return ~language.isneginf(scores)
    return _everywhere(mod_fn, False)(*places)


def create_block_mask(
    mask_mod,
    B,
    H,
    Q_LEN,
    KV_LEN,
    device=None,
    BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE,
    _compile=False,
    separate_full_blocks=True,
    compute_dq_write_order=False,
    dq_kv_order=True,
):
    """The blocks that a mask needs; `mask_mod(batch, head, query, key)` says of each place whether it is seen.

    None for the batch or the heads makes one mask for all of them.

    >>> from adjoint.nn.attention.flex_attention import create_block_mask
    >>> create_block_mask(lambda b, h, q, k: q >= k, None, None, 256, 256).shape
    (1, 1, 256, 256)
    """
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    if mask.dtype is not _C.bool:
        raise AssertionError(f"mask.dtype must be torch.bool, got {mask.dtype}")
    sizes = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
    height, width = sizes
    padded = language.constant_pad_nd(mask.to(_C.int32), (0, -KV_LEN % width, 0, -Q_LEN % height), 0)
    counts = padded.unflatten(-1, (-1, width)).unflatten(-3, (-1, height)).sum((-3, -1))
    full = counts == height * width
    needed = counts > 0
    if separate_full_blocks:
        blocks = (*to_ordered(needed & ~full), *to_ordered(full))
    else:
        blocks = (*to_ordered(needed), None, None)
    return BlockMask.from_kv_blocks(*blocks, sizes, mask_mod, (Q_LEN, KV_LEN))


def create_nested_block_mask(*args, **kwargs):
    """Refused: there are no nested tensors here."""
    raise NotImplementedError(
        "create_nested_block_mask(): there are no nested tensors here; pad the sequences, and hide the rest by a "
        "mask_mod that knows their lengths"
    )


# ---- Attention


def _check(query, key, value, block_mask):
    if query.dim() != 4 or key.dim() != 4 or value.dim() != 4:
        raise NotImplementedError("NYI: query, key, and value must be 4D tensors")
    if not query.device == key.device == value.device:
        raise ValueError(
            f"Expected query, key, and value to have the same device type, but got query.device: {query.device}, "
            f"key.device: {key.device}, and value.device: {value.device} instead."
        )
    if query.size(-1) != key.size(-1):
        raise ValueError(
            "Expect query and key/value to have the same embedding dimension but got "
            f"E={query.size(-1)} and E={key.size(-1)}."
        )
    if query.size(0) != key.size(0) and (block_mask is None or key.size(0) != 1):
        raise ValueError(
            "Expect query and key/value to have the same batch size, or non-none block_mask, but got "
            f"block_mask={None if block_mask is None else 'BlockMask'}, Bq={query.size(0)}, and Bkv={key.size(0)}."
        )


def _with_heads(query, key, value, enable_gqa):
    mine, theirs = query.size(1), key.size(1)
    if mine == theirs:
        return key, value
    if not enable_gqa:
        raise ValueError(
            f"Expect query and key/value to have the same number of heads but got Hq={mine} and Hkv={theirs}. "
            "Try setting enable_gqa=True for GQA."
        )
    if mine % theirs:
        raise ValueError(
            f"Expect number of query heads to be a multiple of kv heads for GQA but got Hq={mine} and Hkv={theirs}."
        )
    return key.repeat_interleave(mine // theirs, 1), value.repeat_interleave(mine // theirs, 1)


def _check_lengths(block_mask, query, key):
    lengths, wanted = block_mask.seq_lengths, (query.size(-2), key.size(-2))
    if lengths == wanted:
        return
    opening = (
        f"block_mask was created for block_mask.shape={block_mask.shape} but got q_len={wanted[0]} and "
        f"kv_len={wanted[1]}. "
    )
    if any(have < want for have, want in zip(lengths, wanted, strict=True)):
        raise ValueError(
            f"{opening}As the block mask was created for a smaller length than you're using it for, you likely need to "
            "create a new block mask."
        )
    raise ValueError(
        f"{opening}As the block mask was created for a larger length than you're using it for, you can either 1. "
        "create a new block mask with the correct length, or 2. 'adjust' the existing block mask to the correct length "
        "by calling block_mask._adjust(q_len, kv_len). This essentially 'crops' the block mask to the upper left."
    )


def _visible(block_mask, sizes, device):
    """Which scores count: what the function shows, in blocks that are needed in part, and whole blocks."""
    height, width = block_mask.BLOCK_SIZE
    rows, columns = sizes[-2:]

    def spread(table):
        return table.bool().repeat_interleave(height, -2).repeat_interleave(width, -1)[..., :rows, :columns]

    shown = _everywhere(block_mask.mask_mod, False)(*_places(sizes, device))
    count = block_mask.kv_indices.shape[-1]
    visible = shown & spread(to_table(block_mask.kv_num_blocks, block_mask.kv_indices, count))
    if block_mask.full_kv_num_blocks is None:
        return visible
    return visible | spread(to_table(block_mask.full_kv_num_blocks, block_mask.full_kv_indices, count))


def flex_attention(
    query,
    key,
    value,
    score_mod=None,
    block_mask=None,
    scale=None,
    enable_gqa=False,
    return_lse=False,
    kernel_options=None,
    *,
    return_aux=None,
):
    """Attention of [batch, heads, length, width], its scores changed by score_mod(score, batch, head, query, key).

    `block_mask` hides scores; `kernel_options` are accepted, and change nothing. Everything has gradients, also what
    `score_mod` uses. A row of scores that are all hidden gives zeros.

    >>> import adjoint as torch
    >>> from adjoint.nn.attention.flex_attention import flex_attention
    >>> x = torch.ones(1, 2, 3, 4)
    >>> flex_attention(x, x, x, score_mod=lambda score, b, h, q, k: score - (q - k).abs()).shape
    torch.Size([1, 2, 3, 4])
    """
    _check(query, key, value, block_mask)
    key, value = _with_heads(query, key, value, enable_gqa)
    if return_lse and return_aux is not None:
        raise ValueError(
            "Cannot specify both return_lse and return_aux. return_lse is deprecated, please use "
            "return_aux=AuxRequest(lse=True) instead."
        )
    if return_lse:
        warnings.warn(
            "return_lse is deprecated and will be removed in v2.10. Please use return_aux=AuxRequest(lse=True) "
            "instead.",
            FutureWarning,
            stacklevel=2,
        )
    if block_mask is not None:
        _check_lengths(block_mask, query, key)
    working = _C.float64 if query.dtype is _C.float64 else _C.float32
    scale = 1 / math.sqrt(query.size(-1)) if scale is None else scale
    scores = language.matmul(query.to(working), key.to(working).transpose(-2, -1)) * scale
    if score_mod is not None:
        scores = _everywhere(score_mod, True)(scores, *_places(scores.shape, query.device)).to(working)
    if block_mask is not None:
        scores = language.where(_visible(block_mask, scores.shape, query.device), scores, -math.inf)
    largest = scores.detach().amax(-1, keepdim=True)
    # Of a row that is hidden as a whole, the largest is -inf, and must not be subtracted.
    powers = (scores - language.where(largest == -math.inf, 0.0, largest)).exp()
    total = powers.sum(-1, keepdim=True)
    shares = powers / language.where(total == 0, 1.0, total)
    result = language.matmul(shares, value.to(working)).to(query.dtype)
    if not return_lse and return_aux is None:
        return result
    lse = (largest + total.log()).squeeze(-1)
    if return_lse:
        return result, lse
    return result, AuxOutput(lse if return_aux.lse else None, largest.squeeze(-1) if return_aux.max_scores else None)
