"""flex_attention, block masks, causal biases and attention over sequences of different lengths, against torch."""

import importlib

import pytest
import torch

import adjoint

from ..compare import LIBRARIES, Bound, in_tensors, programs, raised, same

program, test_program = programs(bound=in_tensors(Bound(2e-6, 2e-6)), warned=None)


def flex(L):
    module = importlib.import_module(f"{L.__name__}.nn.attention.flex_attention")
    if L is torch:
        module._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = True  # torch would trace the call with its compiler
    return module


def causal(b, h, q, k):
    return q >= k


def window(b, h, q, k):
    return (q - k).abs() < 5 + b


def numbers(L, *shape, start=0):
    total = 1
    for size in shape:
        total *= size
    return L.sin(L.arange(start, start + total, dtype=L.float32) * 0.7).reshape(shape)


def heads(L, queries=6, keys=7, batch=2, count=2, width=4):
    return (
        numbers(L, batch, count, queries, width),
        numbers(L, batch, count, keys, width, start=3),
        numbers(L, batch, count, keys, width, start=5),
    )


# ---- Masks


@program
def block_masks(L):
    X = flex(L)
    seen = []
    for mask, args, options in (
        (causal, (1, 1, 300, 300), {}),
        (causal, (1, 1, 300, 300), {"separate_full_blocks": False}),
        (causal, (None, None, 8, 6), {"BLOCK_SIZE": (4, 2)}),
        (window, (2, 3, 16, 12), {"BLOCK_SIZE": 4}),
    ):
        made = X.create_block_mask(mask, *args, device="cpu", **options)
        tensors = [value for value in made.as_tuple() if not callable(value)]
        seen.append((made.shape, made.numel(), made.sparsity(), made.to_dense(), tensors, str(made), repr(made)))
    return seen


@program
def parts_of_block_masks(L):
    X = flex(L)
    made = X.create_block_mask(window, 2, 3, 16, 16, device="cpu", BLOCK_SIZE=4)
    parts = (made[0], made[1, 2], made[:, 1:], made[0, 0, 1:], made[-1], made._adjust(9, 16), made._adjust(20, 16))
    sliced = raised(lambda: made[0].mask_mod(0, 0, 0, 0), 50)
    return [(repr(part), part.to_dense(), part.q_indices) for part in parts], sliced, made.to("cpu").mask_mod is window


@program
def masks_from_blocks(L):
    X = flex(L)
    made = X.create_block_mask(window, 1, 1, 16, 16, device="cpu", BLOCK_SIZE=4)
    again = X.BlockMask.from_kv_blocks(made.kv_num_blocks, made.kv_indices, BLOCK_SIZE=4)
    flat = X.BlockMask.from_kv_blocks(made.kv_num_blocks[0, 0], made.kv_indices[0, 0], BLOCK_SIZE=4)
    return (
        [repr(again), str(flat), again.mask_mod.__name__],
        raised(lambda: X.BlockMask.from_kv_blocks(L.zeros(2), L.zeros(2)), 60),
        raised(lambda: X.BlockMask.from_kv_blocks(made.kv_num_blocks, made.kv_indices, made.kv_num_blocks), 60),
    )


@program
def pictures(L):
    X = flex(L)
    large = X.create_block_mask(window, 1, 1, 80, 80, device="cpu", BLOCK_SIZE=2)
    several = X.create_block_mask(causal, 2, 3, 8, 8, device="cpu", BLOCK_SIZE=4)
    return (
        [str(large), large.to_string(grid_size=-1), large.to_string(grid_size=(5, 7))],
        [several.to_string(limit=limit) for limit in (1, 4, 6)],
    )


@program
def masks_as_tensors(L):
    X = flex(L)
    both, either = X.and_masks(causal, window), X.or_masks(causal, window)
    return (
        [X.create_mask(mask, 2, 1, 7, 8, device="cpu") for mask in (causal, both, either, X.noop_mask)],
        X.create_mask(lambda s, b, h, q, k: L.where(q >= k, s, -float("inf")), 1, 1, 3, 3, device="cpu"),
        [both.__name__, either.__name__],
    )


@program
def masks_that_are_refused(L):
    X = flex(L)
    return [
        raised(lambda: X.and_masks(3), 60),
        raised(lambda: X.create_block_mask(3, 1, 1, 3, 3, device="cpu"), 60),
        raised(lambda: X.create_block_mask(lambda b, h, q: q, 1, 1, 3, 3, device="cpu"), 60),
        raised(lambda: X.create_block_mask(lambda b, h, q, k: q - k, 1, 1, 3, 3, device="cpu"), 60),
    ]


def test_masks_of_nested_tensors_are_refused():
    with pytest.raises(NotImplementedError, match="nested tensors"):
        flex(adjoint).create_nested_block_mask(causal, 1, 1, None)


# ---- Attention

SCORES = {
    "none": lambda L: None,
    "scaled": lambda L: lambda s, b, h, q, k: s * 2,
    "distance": lambda L: lambda s, b, h, q, k: s - (q - k).abs() * 0.1,
    "by head": lambda L: lambda s, b, h, q, k: s * L.tensor([1.0, 0.5])[h],
    "soft cap": lambda L: lambda s, b, h, q, k: L.tanh(s / 2) * 2,
    "hidden": lambda L: lambda s, b, h, q, k: L.where(q > 0, s, -float("inf")),
}


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("score", SCORES)
def test_attention(score, masked):
    def call(L):
        X = flex(L)
        mask = X.create_block_mask(window, 2, None, 6, 7, device="cpu", BLOCK_SIZE=4) if masked else None
        return X.flex_attention(*heads(L), SCORES[score](L), mask, return_aux=X.AuxRequest(lse=True))

    same(call, bound=in_tensors(Bound(2e-6, 2e-6)), warned=None)


@program
def options_of_attention(L):
    X = flex(L)
    query, key, value = heads(L)
    hidden = X.create_block_mask(lambda b, h, q, k: q > 2, 1, 1, 6, 7, device="cpu")
    return [
        X.flex_attention(query, key, value, scale=0.3),
        X.flex_attention(query, key[:, :1], value[:, :1], enable_gqa=True),
        X.flex_attention(query, key, value, kernel_options={"BLOCK_M": 16}),
        X.flex_attention(query, key, value, return_lse=True),
        X.flex_attention(query, key, value[..., :2], block_mask=hidden, return_lse=True),
        [str(each.dtype) for each in X.flex_attention(*(x.half() for x in (query, key, value)), return_lse=True)],
        X.flex_attention(*(x.double() for x in (query, key, value))),
        X.flex_attention(query, key, value, return_aux=X.AuxRequest())[1] == X.AuxOutput(None, None),
    ]


@program
def attention_that_is_refused(L):
    X = flex(L)
    query, key, value = heads(L)
    short = X.create_block_mask(causal, 1, 1, 3, 3, device="cpu")
    long = X.create_block_mask(causal, 1, 1, 30, 30, device="cpu")
    aux = X.AuxRequest(lse=True)
    return [
        raised(lambda: X.flex_attention(query[0], key[0], value[0]), 60),
        raised(lambda: X.flex_attention(query, key[..., :2], value), 90),
        raised(lambda: X.flex_attention(query, key[:, :1], value[:, :1]), 90),
        raised(lambda: X.flex_attention(query[:, [0, 1, 1]], key, value, enable_gqa=True), 90),
        raised(lambda: X.flex_attention(query[:1], key, value), 90),
        raised(lambda: X.flex_attention(query, key, value, block_mask=short), 180),
        raised(lambda: X.flex_attention(query, key, value, block_mask=long), 180),
        raised(lambda: X.flex_attention(query, key, value, return_lse=True, return_aux=aux), 60),
    ]


@pytest.mark.parametrize("masked", [False, True])
def test_gradients(masked):
    # torch's has none on the CPU: its attention with the same mask has.
    weights = numbers(adjoint, 2, 2, 6, 4, start=11)
    bias = numbers(adjoint, 6, 7, start=2).requires_grad_()
    inputs = [each.requires_grad_() for each in heads(adjoint)]
    X = flex(adjoint)
    mask = X.create_block_mask(window, 2, 1, 6, 7, BLOCK_SIZE=4) if masked else None
    out = X.flex_attention(*inputs, lambda s, b, h, q, k: s + bias[q, k], mask)
    ours = adjoint.autograd.grad((out * weights).sum(), [*inputs, bias])

    added = numbers(torch, 6, 7, start=2).requires_grad_()
    theirs = [each.requires_grad_() for each in heads(torch)]
    total = added.expand(2, 1, 6, 7)
    if masked:
        seen = torch.tensor(X.create_mask(window, 2, 1, 6, 7).tolist())
        total = total.masked_fill(~seen, -float("inf"))
    result = torch.nn.functional.scaled_dot_product_attention(*theirs, attn_mask=total)
    expected = torch.autograd.grad((result * numbers(torch, 2, 2, 6, 4, start=11)).sum(), [*theirs, added])
    for mine, other in zip(ours, expected, strict=True):
        torch.testing.assert_close(torch.tensor(mine.tolist()), other, rtol=2e-5, atol=2e-6)


def test_second_derivatives():
    X = flex(adjoint)
    inputs = [each.double().requires_grad_() for each in heads(adjoint, queries=2, keys=3, batch=1, count=1, width=2)]

    def attend(query, key, value):
        return X.flex_attention(query, key, value, lambda s, b, h, q, k: s * (1 + (q - k).abs()))

    assert adjoint.autograd.gradcheck(attend, inputs)
    assert adjoint.autograd.gradgradcheck(attend, inputs)


# ---- Which kernel, causal biases, sequences of different lengths


@program
def choices_of_kernels(L):
    A = L.nn.attention

    def chosen(*args, **options):
        with A.sdpa_kernel(*args, **options) as given:
            switches = [
                getattr(L.backends.cuda, f"{name}_sdp_enabled")() for name in ("math", "flash", "mem_efficient")
            ]
            return given, [each.name for each in A._cur_sdpa_kernel_backends()], switches

    math, flash = A.SDPBackend.MATH, A.SDPBackend.FLASH_ATTENTION
    decorated = A.sdpa_kernel(math)(lambda: [each.name for each in A._cur_sdpa_kernel_backends()])
    return [
        chosen(math),
        chosen([math, flash]),
        chosen([]),
        chosen([math], set_priority=True),
        raised(lambda: chosen(3), 80),
        raised(lambda: chosen((math,)), 80),
        decorated(),
        [each.name for each in A._cur_sdpa_kernel_backends()],
        [str(math), repr(math), A._backend_from_string("MATH") == math],
        [A.list_flash_attention_impls(), A.current_flash_attention_impl()],
        raised(lambda: A.activate_flash_attention_impl("mine"), 80),
    ]


@program
def causal_biases(L):
    B = importlib.import_module(f"{L.__name__}.nn.attention.bias")
    results = []
    for queries, keys in ((3, 3), (2, 5), (5, 2)):
        query, key, value = heads(L, queries, keys)
        for make in (B.causal_upper_left, B.causal_lower_right):
            bias = make(queries, keys)
            results += [bias._materialize(), repr(bias), str(bias), bias.seq_len_q, bias.seq_len_kv, bias.variant.name]
            if queries <= keys:
                results.append(L.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=bias))
    return (
        results,
        raised(lambda: B.CausalBias(3, 2, 3), 60),
        raised(lambda: B.causal_upper_left(2), 60),
        raised(lambda: B.causal_lower_right(1, 2, 3), 60),
    )


@pytest.mark.parametrize("options", [{}, {"window_size": (-1, 0)}, {"window_size": (1, 0)}, {"scale": 0.3}])
def test_sequences_of_different_lengths(options):
    # torch's runs on GPUs only: attention of each sequence by itself.
    V = adjoint.nn.attention.varlen
    ends = adjoint.tensor([0, 2, 2, 6], dtype=adjoint.int32)
    query, key, value = (numbers(adjoint, 6, 2, 4, start=start).requires_grad_() for start in (0, 3, 5))
    out, lse = V.varlen_attn(query, key, value, ends, ends, 4, 4, return_aux=V.AuxRequest(lse=True), **options)
    left, right = options.get("window_size", (-1, -1))
    for start, end in ((0, 2), (2, 6)):
        places = torch.arange(end - start)
        apart = places - places.unsqueeze(1)
        seen = torch.ones_like(apart, dtype=torch.bool)
        seen &= (apart <= right) | (right < 0)
        seen &= (-apart <= left) | (left < 0)
        part = [torch.tensor(x[start:end].tolist()).transpose(0, 1) for x in (query, key, value)]
        expected = torch.nn.functional.scaled_dot_product_attention(*part, attn_mask=seen, scale=options.get("scale"))
        torch.testing.assert_close(torch.tensor(out[start:end].tolist()), expected.transpose(0, 1))
    assert lse.shape == (2, 6)
    out.sum().backward()
    assert query.grad.shape == query.shape
    again = V.varlen_attn_out(
        adjoint.empty(6, 2, 4), query.detach(), key.detach(), value.detach(), ends, ends, 4, 4, **options
    )
    assert adjoint.equal(again, out)


def test_options_of_gpus_are_refused():
    x, ends = adjoint.ones(2, 1, 4), adjoint.tensor([0, 2], dtype=adjoint.int32)
    with pytest.raises(NotImplementedError, match="num_splits"):
        adjoint.nn.attention.varlen.varlen_attn(x, x, x, ends, ends, 2, 2, num_splits=2)
    with pytest.raises(RuntimeError, match="GPU"):
        adjoint.nn.attention.activate_flash_attention_impl("FA3")


def test_the_same_names():
    theirs, ours = (flex(L) for L in LIBRARIES)
    assert [name for name in theirs.__all__ if not hasattr(ours, name)] == []


def test_the_former_choice_of_kernels_warns():
    def call(L):
        with L.backends.cuda.sdp_kernel(enable_flash=False):
            return L.backends.cuda.flash_sdp_enabled()

    same(call, warned=200)
