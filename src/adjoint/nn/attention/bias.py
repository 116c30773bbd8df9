"""Causal masks for queries and keys of different numbers, as tensors that attention takes for its mask."""

import enum

from ... import _C
from ...ops import language

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(enum.IntEnum):
    """Which corner of the mask its triangle touches.

    >>> import adjoint as torch
    >>> torch.nn.attention.bias.CausalVariant.LOWER_RIGHT.name
    'LOWER_RIGHT'
    """

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(_C.Tensor):
    """A mask in which no query sees later keys: True where it may look.

    >>> import adjoint as torch
    >>> torch.nn.attention.bias.CausalBias(torch.nn.attention.bias.CausalVariant.LOWER_RIGHT, 2, 3)
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """

    def __new__(cls, variant, seq_len_q, seq_len_kv):
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, got {type(variant).__name__}")
        diagonal = 0 if variant is CausalVariant.UPPER_LEFT else seq_len_kv - seq_len_q
        mask = language.tril(_C.ones(seq_len_q, seq_len_kv, dtype=_C.bool), diagonal)
        return _C.Tensor._make_subclass(cls, mask)

    def __init__(self, variant, seq_len_q, seq_len_kv):
        self.variant, self.seq_len_q, self.seq_len_kv = variant, seq_len_q, seq_len_kv

    def _materialize(self, device=None):
        """The mask as a plain tensor."""
        mask = self.as_subclass(_C.Tensor)
        return mask if device is None else mask.to(device)

    def __repr__(self):
        return repr(self._materialize())

    __str__ = __repr__


def causal_upper_left(*size):
    """The mask whose triangle begins in the upper left corner, as is_causal=True of attention means it.

    >>> import adjoint as torch
    >>> torch.nn.attention.bias.causal_upper_left(2, 3)
    tensor([[ True, False, False],
            [ True,  True, False]])
    """
    if len(size) != 2:
        raise AssertionError("causal_upper_left only supports 2D tensors")
    return CausalBias(CausalVariant.UPPER_LEFT, *size)


def causal_lower_right(*size):
    """The mask whose triangle ends in the lower right corner: the last query sees all keys.

    >>> import adjoint as torch
    >>> torch.nn.attention.bias.causal_lower_right(2, 3)
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """
    if len(size) != 2:
        raise AssertionError("causal_lower_right only supports 2D tensors")
    return CausalBias(CausalVariant.LOWER_RIGHT, *size)
