"""Attention over sequences of different lengths that lie one after the other, without padding."""

import collections
import itertools
import math

from ... import _C
from ...ops import language

__all__ = ["AuxRequest", "varlen_attn", "varlen_attn_out"]


class AuxRequest(collections.namedtuple("AuxRequest", ("lse",), defaults=(False,))):
    """What else varlen_attn returns: the logarithms of the sums of exponentials.

    >>> import adjoint as torch
    >>> torch.nn.attention.varlen.AuxRequest(lse=True).lse
    True
    """

    __slots__ = ()


def _allowed(rows, columns, window, device):
    """Which keys each query may see: the last query stands beside the last key."""
    left, right = window
    if left < 0 and right < 0:
        return None
    place = _C.arange(rows, device=device).unsqueeze(1) + columns - rows
    keys = _C.arange(columns, device=device)
    allowed = _C.ones(rows, columns, dtype=_C.bool, device=device)
    if left >= 0:
        allowed = allowed & (keys >= place - left)
    return allowed & (keys <= place + right) if right >= 0 else allowed


def _attend(query, key, value, scale, window):
    """(result, logarithms) of one sequence, [heads, length, width]."""
    scores = language.matmul(query, key.transpose(-2, -1)) * scale
    allowed = _allowed(query.shape[-2], key.shape[-2], window, query.device)
    if allowed is not None:
        scores = scores.masked_fill(~allowed, -math.inf)
    logs = scores.logsumexp(-1)
    shares = (scores - logs.unsqueeze(-1)).exp().nan_to_num(0.0)
    return language.matmul(shares, value), logs


def varlen_attn(
    query,
    key,
    value,
    cu_seq_q,
    cu_seq_k,
    max_q,
    max_k,
    *,
    return_aux=None,
    scale=None,
    window_size=(-1, -1),
    enable_gqa=False,
    seqused_k=None,
    block_table=None,
    num_splits=None,
):
    """Attention within each of several sequences, of queries [all lengths, heads, width], keys and values likewise.

    Sequence i has the queries cu_seq_q[i] to cu_seq_q[i + 1]. `window_size` says how many keys to the left and to the
    right of its own place a query sees; -1: all. (-1, 0) is causal.

    >>> import adjoint as torch
    >>> x = torch.ones(5, 2, 4)
    >>> ends = torch.tensor([0, 2, 5], dtype=torch.int32)
    >>> torch.nn.attention.varlen.varlen_attn(x, x, x, ends, ends, 3, 3).shape
    torch.Size([5, 2, 4])
    """
    for name, given in (("seqused_k", seqused_k), ("block_table", block_table), ("num_splits", num_splits)):
        if given is not None:
            raise NotImplementedError(f"varlen_attn(): {name} is an option of kernels for GPUs; leave it out")
    if query.dim() != 3 or key.dim() != 3 or value.dim() != 3:
        raise RuntimeError("varlen_attn(): expected tensors of [all lengths, heads, width] for query, key and value")
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    ends_q = cu_seq_q.tolist()
    ends_k = ends_q if cu_seq_k is None else cu_seq_k.tolist()
    query, key, value = (each.transpose(0, 1) for each in (query, key, value))
    if query.shape[0] != key.shape[0]:
        if not enable_gqa or query.shape[0] % key.shape[0]:
            raise RuntimeError(
                f"varlen_attn(): the heads of queries ({query.shape[0]}) and keys ({key.shape[0]}) differ; with "
                "enable_gqa=True the first may be a multiple of the second"
            )
        repeats = query.shape[0] // key.shape[0]
        key, value = (each.repeat_interleave(repeats, 0) for each in (key, value))
    parts = []
    for (a, b), (c, d) in zip(itertools.pairwise(ends_q), itertools.pairwise(ends_k), strict=True):
        parts.append(_attend(query[:, a:b], key[:, c:d], value[:, c:d], scale, tuple(window_size)))
    result = language.cat([part for part, _ in parts], 1).transpose(0, 1)
    if return_aux is None or not return_aux.lse:
        return result
    return result, language.cat([logs for _, logs in parts], 1)


def varlen_attn_out(out, query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, **options):
    """As varlen_attn, into a tensor.

    >>> import adjoint as torch
    >>> x, out = torch.ones(2, 1, 4), torch.empty(2, 1, 4)
    >>> ends = torch.tensor([0, 2], dtype=torch.int32)
    >>> torch.nn.attention.varlen.varlen_attn_out(out, x, x, x, ends, ends, 2, 2).shape
    torch.Size([2, 1, 4])
    """
    result = varlen_attn(query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, **options)
    if isinstance(result, tuple):
        return out.copy_(result[0]), result[1]
    return out.copy_(result)
