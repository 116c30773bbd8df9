"""Attention: softmax(queries keys) values, alone and with the projections of several heads."""

import math
import warnings

from .. import _C
from .batching import folded, of_some, one_by_one
from .checks import boolean, holds
from .language import (
    _attention,
    _attention_gradients,
    _attention_kept,
    _softmax,
    baddbmm,
    bmm,
    cat,
    composite,
    dropout,
    linear,
    matmul,
    op,
    randint,
    softmax,
    where,
    zeros_like,
)

_FUNCTIONAL = {"namespace": "nn.functional"}


def _check_attention(query, key, value, attn_mask, dropout_p, is_causal):
    """Torch's errors for tensors that do not fit together."""
    if not query.dtype == key.dtype == value.dtype:
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{query.dtype} key.dtype: {key.dtype} and value.dtype: {value.dtype} instead."
        )
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{query.ndim} key.dim: {key.ndim} and value.dim: {value.ndim} instead."
        )
    if not query.is_floating_point():
        raise RuntimeError(f"expected scalar type Float but found {query.dtype}; convert the tensors with .float()")
    if not 0 <= dropout_p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {dropout_p}")
    if attn_mask is None:
        return
    if is_causal:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if attn_mask.dtype not in (_C.bool, _C.float32, query.dtype):
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
            f"{attn_mask.dtype} and  query.dtype: {query.dtype} instead."
        )


def _repeated_heads(query, value):
    """Heads of keys and values repeated so that each head of the queries has one."""
    heads, mine = query.shape[-3], value.shape[-3]
    if not mine or heads % mine:
        raise RuntimeError(
            f"Number of heads in key and value must divide the number of heads in query; got {mine} and {heads}"
        )
    return value.repeat_interleave(heads // mine, -3)


def _causal(scores):
    """The scores with -inf for keys that come after the query."""
    return where(scores.new_ones(scores.shape[-2:], dtype=_C.bool).tril(), scores, -math.inf)


def _broadcasts(mask, sizes):
    ends = zip(reversed(mask.shape), reversed(sizes), strict=False)
    return mask.ndim <= len(sizes) and all(mine in (1, size) for mine, size in ends)


def _shares(query, key, mask, scale, is_causal):
    scores = matmul(query * scale, key.transpose(-2, -1))
    if mask is None:
        return softmax(_causal(scores) if is_causal else scores, -1)
    masked = where(mask, scores, -math.inf) if mask.dtype == _C.bool else scores + mask
    if masked.shape != scores.shape:
        raise RuntimeError(
            f"output with shape {list(scores.shape)} doesn't match the broadcast shape {list(masked.shape)}; "
            "attn_mask must broadcast to (..., queries, keys), the shape of the scores"
        )
    return _attention_weights(masked)


def _kept_of(shares, query, key, dropout_p, draws):
    """Shares of which some are dropped, as the kernels do."""
    return shares if draws is None else shares * _attention_kept(draws, query, key, dropout_p)


def _score_grad(g, query, key, value, mask, scale, is_causal, dropout_p, draws):
    """The gradient of the scores: with shares P, P (dP - sum(P dP)), dP = g value'."""
    shares = _shares(query, key, mask, scale, is_causal)
    grad = _kept_of(matmul(g, value.transpose(-2, -1)), query, key, dropout_p, draws)
    return shares * (grad - (shares * grad).sum(-1, keepdim=True))


def _wide(*tensors):
    """Half types as floats: they round once, at the end."""
    halves = _C.float16, _C.bfloat16
    return [None if x is None else x.float() if x.dtype in halves else x for x in tensors]


def _query_grad(g, query, key, value, mask, scale, *options):
    grad = _score_grad(*_wide(g, query, key, value, mask), scale, *options) * scale
    return matmul(grad, _wide(key)[0]).to(query.dtype)


def _key_grad(g, query, key, value, mask, scale, *options):
    grad = _score_grad(*_wide(g, query, key, value, mask), scale, *options) * scale
    return matmul(grad.transpose(-2, -1), _wide(query)[0]).to(key.dtype)


def _mask_grad(g, query, key, value, mask, scale, *options):
    return _score_grad(*_wide(g, query, key, value, mask), scale, *options).to(mask.dtype)


def _value_grad(g, query, key, mask, scale, is_causal, dropout_p, draws):
    dtype = query.dtype
    g, query, key, mask = _wide(g, query, key, mask)
    shares = _kept_of(_shares(query, key, mask, scale, is_causal), query, key, dropout_p, draws)
    return matmul(shares.transpose(-2, -1), g).to(dtype)


def _attention_batch(op, size, batched, *given):
    """Which weights are dropped follows from where they are among all of a call."""
    return (folded if given[-1] is None else one_by_one)(op, size, batched, *given)


# Without the matrix of all scores in memory; a backward that wants a graph takes the plain formulas, as does the
# gradient of a mask.
op("_attention(query, key, value, mask, scale, is_causal, dropout_p, draws)", native="attention",
   outputs=("out", "logsumexp"), node="ScaledDotProductFlashAttentionForCpuBackward0", public=False, linear="value",
   draws=None,
   fused={
       "query": lambda g, query, key, value, out, logsumexp, mask, scale, is_causal, dropout_p, draws:
           _attention_gradients(g, query, key, value, out, logsumexp, mask, scale, is_causal, dropout_p, draws),
       "key": lambda g, query, key, value, out, logsumexp, mask, scale, is_causal, dropout_p, draws:
           _attention_gradients(g, query, key, value, out, logsumexp, mask, scale, is_causal, dropout_p, draws)[1:],
       "value": lambda g, query, key, value, out, logsumexp, mask, scale, is_causal, dropout_p, draws:
           _attention_gradients(g, query, key, value, out, logsumexp, mask, scale, is_causal, dropout_p, draws)[2],
   },
   query=lambda g, query, key, value, mask, scale, is_causal, dropout_p, draws:
       _query_grad(g, query, key, value, mask, scale, is_causal, dropout_p, draws),
   key=lambda g, query, key, value, mask, scale, is_causal, dropout_p, draws:
       _key_grad(g, query, key, value, mask, scale, is_causal, dropout_p, draws),
   value=lambda g, query, key, mask, scale, is_causal, dropout_p, draws:
       _value_grad(g, query, key, mask, scale, is_causal, dropout_p, draws),
   mask=lambda g, query, key, value, mask, scale, is_causal, dropout_p, draws:
       _mask_grad(g, query, key, value, mask, scale, is_causal, dropout_p, draws),
   batch=of_some(_attention_batch))  # fmt: skip
op("_attention_gradients(grad, query, key, value, out, logsumexp, mask, scale, is_causal, dropout_p, draws)",
   native="attention_gradients", gradient=False, public=False,
   batch=of_some(_attention_batch))  # fmt: skip
op("_attention_kept(draws, query, key, dropout_p)", native="attention_kept", gradient=False, public=False,
   batch=of_some(one_by_one))  # fmt: skip


def _in_one_pass(query, key, value, attn_mask, dropout_p):
    """Whether _attention takes these: (batch, heads, rows, size) of one batch and size."""
    if not query.ndim == key.ndim == value.ndim == 4 or not key.numel():
        return False
    batch, heads, rows, size = query.shape
    if rows == 0 or not (batch, heads, key.shape[2], size) == tuple(key.shape) == tuple(value.shape):
        return False
    if attn_mask is None and dropout_p == 0:
        return True
    fits = attn_mask is None or _broadcasts(attn_mask, (batch, heads, rows, key.shape[2]))
    return fits and _C._attention_takes_extras(query)


@composite(**_FUNCTIONAL, autocast="lower")
def scaled_dot_product_attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
):
    """softmax(query key^T scale + mask) value; True in a mask of bools says where to look.

    >>> import adjoint as torch
    >>> q, k, v = torch.zeros(1, 2), torch.ones(2, 2), torch.tensor([[1.0], [3.0]])
    >>> torch.nn.functional.scaled_dot_product_attention(q, k, v)
    tensor([[2.]])
    """
    boolean("scaled_dot_product_attention", is_causal=is_causal, enable_gqa=enable_gqa)
    _check_attention(query, key, value, attn_mask, dropout_p, is_causal)
    if enable_gqa:
        if min(query.ndim, key.ndim, value.ndim) < 3:
            raise RuntimeError(
                "scaled_dot_product_attention: enable_gqa expects a dimension of heads; got "
                f"{query.ndim}, {key.ndim} and {value.ndim} dimensions"
            )
        key, value = _repeated_heads(query, key), _repeated_heads(query, value)
    if scale is None:
        scale = 1 / math.sqrt(query.shape[-1]) if query.shape[-1] else math.inf
    if _in_one_pass(query, key, value, attn_mask, dropout_p):
        mask = None if attn_mask is None else attn_mask.expand(*query.shape[:3], key.shape[2])
        draws = randint(2**63 - 1, (2,), device=query.device) if dropout_p > 0 else None
        return _attention(query, key, value, mask, scale, is_causal, dropout_p, draws)[0]
    dtype = query.dtype
    query, key, value, attn_mask = _wide(query, key, value, attn_mask)
    weights = _shares(query, key, attn_mask, scale, is_causal)
    if dropout_p > 0:
        weights = dropout(weights, dropout_p, True)
    return matmul(weights, value).to(dtype)


def _attention_weights(scores):
    """softmax, but zeros where a query may look nowhere."""
    nowhere = (scores == -math.inf).all(-1, keepdim=True)
    # Of a GPU nothing is asked: it would have to be waited for.
    if not scores.is_cuda and holds(~nowhere):
        return softmax(scores, -1)
    return where(nowhere, 0, softmax(where(nowhere, 0, scores), -1))


# ---- Several heads


def _check_heads(query, key, value, key_padding_mask, attn_mask, num_heads):
    """Whether there is a batch, and torch's errors for shapes that do not fit."""
    if query.ndim not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {query.ndim}-D query tensor"
        )
    kind = "batched" if query.ndim == 3 else "unbatched"
    if key.ndim != query.ndim or value.ndim != query.ndim:
        raise AssertionError(
            f"For {kind} ({query.ndim}-D) `query`, expected `key` and `value` to be {query.ndim}-D but found "
            f"{key.ndim}-D and {value.ndim}-D tensors respectively"
        )
    if key_padding_mask is not None and key_padding_mask.ndim != query.ndim - 1:
        raise AssertionError(
            f"For {kind} ({query.ndim}-D) `query`, expected `key_padding_mask` to be `None` or {query.ndim - 1}-D but "
            f"found {key_padding_mask.ndim}-D tensor instead"
        )
    if attn_mask is not None and attn_mask.ndim not in (2, 3):
        raise AssertionError(
            f"For {kind} ({query.ndim}-D) `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found "
            f"{attn_mask.ndim}-D tensor instead"
        )
    if query.ndim == 2 and attn_mask is not None and attn_mask.ndim == 3:
        expected = (num_heads, query.shape[0], key.shape[0])
        if tuple(attn_mask.shape) != expected:
            raise AssertionError(f"Expected `attn_mask` shape to be {expected} but got {attn_mask.shape}")
    return query.ndim == 3


def added_mask(mask, name, dtype, other=None, other_name=""):
    """A mask whose True means "do not look" as one that is added to the scores; `other` is used along with it."""
    if mask is None:
        return None
    if mask.dtype != _C.bool and not mask.is_floating_point():
        raise AssertionError(
            f"only bool and floating types of {name} are supported; got {mask.dtype}: convert it with .bool() (True "
            "hides), or make it a float that is added to the scores"
        )
    if other is not None and other.dtype != mask.dtype:
        warnings.warn(
            f"Support for mismatched {name} and {other_name} is deprecated. Use same type for both instead.",
            stacklevel=3,
        )
    if mask.is_floating_point():
        return mask
    return zeros_like(mask, dtype=dtype).masked_fill_(mask, -math.inf)


def _projected(query, key, value, weights, bias):
    """Queries, keys and values by their projections: one product for what comes from one tensor."""
    if len(weights) == 1 and query is key is value:
        return linear(query, weights[0], bias).chunk(3, -1)
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    if len(weights) == 1:
        weights = weights[0].chunk(3)
    pairs = zip((query, key, value), weights, biases, strict=True)
    return [linear(tensor, weight, term) for tensor, weight, term in pairs]


def _each(change, *tensors):
    """Each tensor changed; one that is given several times stays one."""
    changed = {}
    for tensor in tensors:
        if id(tensor) not in changed:
            changed[id(tensor)] = change(tensor)
    return [changed[id(tensor)] for tensor in tensors]


def _swapped(tensor):
    return tensor.transpose(0, 1)


def _heads(tensor, batch, num_heads, size):
    """(length, batch, embedding) as (batch, heads, length, size)."""
    if tensor.shape[1] != batch:
        raise RuntimeError(
            f"shape '[{tensor.shape[0]}, {batch * num_heads}, {size}]' is invalid for input of size {tensor.numel()}: "
            f"query has a batch of {batch}, and key and value one of {tensor.shape[1]}"
        )
    return tensor.unflatten(-1, (num_heads, size)).permute(1, 2, 0, 3)


def _static(name, given, batch, num_heads, size):
    if given.shape[0] != batch * num_heads:
        raise AssertionError(f"expecting {name}.size(0) of {batch * num_heads}, but got {given.shape[0]}")
    if given.shape[2] != size:
        raise AssertionError(f"expecting {name}.size(2) of {size}, but got {given.shape[2]}")
    return given.unflatten(0, (batch, num_heads))


def _lengthened(mask):
    """A mask with a last column of zeros: for a key that was added."""
    return None if mask is None else cat([mask, mask.new_zeros((*mask.shape[:-1], 1))], -1)


@composite(**_FUNCTIONAL)
def multi_head_attention_forward(
    query,
    key,
    value,
    embed_dim_to_check,
    num_heads,
    in_proj_weight,
    in_proj_bias,
    bias_k,
    bias_v,
    add_zero_attn,
    dropout_p,
    out_proj_weight,
    out_proj_bias,
    training=True,
    key_padding_mask=None,
    need_weights=True,
    attn_mask=None,
    use_separate_proj_weight=False,
    q_proj_weight=None,
    k_proj_weight=None,
    v_proj_weight=None,
    static_k=None,
    static_v=None,
    average_attn_weights=True,
    is_causal=False,
):
    """Attention by several heads with their projections: the result, and the weights of the heads or None."""
    batched = _check_heads(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = _each(lambda tensor: tensor.unsqueeze(1), query, key, value)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    length, batch, embedding = query.shape
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    key_padding_mask = added_mask(key_padding_mask, "key_padding_mask", query.dtype, attn_mask, "attn_mask")
    if is_causal and key_padding_mask is None and not need_weights:
        attn_mask = None
    else:
        is_causal = False
        attn_mask = added_mask(attn_mask, "attn_mask", query.dtype)
    if embedding != embed_dim_to_check:
        raise AssertionError(
            f"was expecting embedding dimension of {embed_dim_to_check}, but got {embedding}; it is the last "
            f"dimension of query, which is {list(query.shape)}"
        )
    size = embedding // num_heads
    if size * num_heads != embedding:
        raise AssertionError(f"embed_dim {embedding} not divisible by num_heads {num_heads}")
    if use_separate_proj_weight:
        if key.shape[:2] != value.shape[:2]:
            raise AssertionError(
                f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}"
            )
        for name, weight in (("q", q_proj_weight), ("k", k_proj_weight), ("v", v_proj_weight)):
            if weight is None:
                raise AssertionError(f"use_separate_proj_weight is True but {name}_proj_weight is None")
        weights = (q_proj_weight, k_proj_weight, v_proj_weight)
    else:
        if key.shape != value.shape:
            raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
        if in_proj_weight is None:
            raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
        weights = (in_proj_weight,)
    # What lies in memory batch by batch is read in this order: nothing has to be copied.
    by_batch = query.stride(0) < query.stride(1)
    given = _each(_swapped, query, key, value) if by_batch else (query, key, value)
    q, k, v = _projected(*given, weights, in_proj_bias)
    if by_batch:
        q, k, v = _each(_swapped, q, k, v)

    if attn_mask is not None:
        expected = (length, key.shape[0])
        if attn_mask.ndim == 2 and tuple(attn_mask.shape) != expected:
            raise RuntimeError(
                f"The shape of the 2D attn_mask is {attn_mask.shape}, but should be {expected}. "
                "It is (length of query, length of key)."
            )
        attn_mask = attn_mask.unsqueeze(0) if attn_mask.ndim == 2 else attn_mask
        first = 1 if attn_mask.shape[0] == 1 else batch * num_heads
        if tuple(attn_mask.shape) != (first, *expected):
            raise RuntimeError(
                f"The shape of the 3D attn_mask is {attn_mask.shape}, but should be {(first, *expected)}."
            )
    if bias_k is not None and bias_v is not None:
        if static_k is not None or static_v is not None:
            raise AssertionError("bias cannot be added to static key or value.")
        k, v = cat([k, bias_k.repeat(1, batch, 1)]), cat([v, bias_v.repeat(1, batch, 1)])
        attn_mask, key_padding_mask = _lengthened(attn_mask), _lengthened(key_padding_mask)
    elif bias_k is not None or bias_v is not None:
        raise AssertionError("bias_k and bias_v must be given together")
    q = _heads(q, batch, num_heads, size)
    k = _heads(k, batch, num_heads, size) if static_k is None else _static("static_k", static_k, batch, num_heads, size)
    v = _heads(v, batch, num_heads, size) if static_v is None else _static("static_v", static_v, batch, num_heads, size)
    if add_zero_attn:
        none = k.new_zeros(batch, num_heads, 1, size)
        k, v = cat([k, none], 2), cat([v, none], 2)
        attn_mask, key_padding_mask = _lengthened(attn_mask), _lengthened(key_padding_mask)
    keys = k.shape[2]
    if key_padding_mask is not None:
        if tuple(key_padding_mask.shape) != (batch, keys):
            raise AssertionError(
                f"expecting key_padding_mask shape of {(batch, keys)}, but got {key_padding_mask.shape}"
            )
        padding = key_padding_mask.reshape(batch, 1, 1, keys).expand(-1, num_heads, -1, -1)
        padding = padding.reshape(batch * num_heads, 1, keys)
        attn_mask = padding if attn_mask is None else attn_mask + padding
    if not training:
        dropout_p = 0.0

    if need_weights:
        q, k, v = (part.flatten(0, 1) for part in (q, k, v))
        pair = q * math.sqrt(1.0 / size), k.transpose(-2, -1)
        shares = _softmax(bmm(*pair) if attn_mask is None else baddbmm(attn_mask, *pair), -1)
        if dropout_p > 0:
            shares = dropout(shares, dropout_p, True)
        result = bmm(shares, v).unflatten(0, (batch, num_heads))
    else:
        if attn_mask is not None and attn_mask.shape[0] != 1:
            attn_mask = attn_mask.reshape(batch, num_heads, -1, keys)
        result = scaled_dot_product_attention(q, k, v, attn_mask, dropout_p, is_causal)
    # On the CPU a dropout draws in the order in which its input lies, and that is torch's.
    by_batch = by_batch and result.is_cuda
    result = result.transpose(1, 2) if by_batch else result.permute(2, 0, 1, 3)
    result = linear(result.flatten(2), out_proj_weight, out_proj_bias)
    if by_batch:
        result = result.transpose(0, 1)
    if not batched:
        result = result.squeeze(1)
    if not need_weights:
        return result, None
    shares = shares.reshape(batch, num_heads, length, keys)
    if average_attn_weights:
        shares = shares.mean(1)
    return result, shares if batched else shares.squeeze(0)


@composite(**_FUNCTIONAL)
def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """Samples of one-hot vectors with these logits, made soft by the temperature `tau`; `hard` rounds the result only.

    >>> import adjoint as torch
    >>> torch.nn.functional.gumbel_softmax(torch.tensor([0.0, 1000.0]), hard=True)
    tensor([0., 1.])
    """
    noise = -zeros_like(logits.detach()).exponential_().log()
    soft = softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    chosen = soft.max(dim, keepdim=True)[1]
    return zeros_like(soft.detach()).scatter_(dim, chosen, 1.0) - soft.detach() + soft
