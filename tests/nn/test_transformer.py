"""Attention and transformers against torch's: masks of every kind, norms first or last, dropout, training."""

import inspect

import numpy as np
import pytest
import torch

import adjoint
from tests.compare import same

from .compare import assert_same, build, check, check_signature, check_trajectory, floats, tensors

NESTED = "ignore:enable_nested_tensor is True"  # torch's advice about a layout of its own, which we give as well
pytestmark = pytest.mark.filterwarnings(NESTED)


@pytest.mark.parametrize(
    "name",
    ["MultiheadAttention", "TransformerEncoder", "TransformerDecoder"],
)
def test_signatures(name):
    check_signature(name)


@pytest.mark.parametrize("name", ["TransformerEncoderLayer", "TransformerDecoderLayer", "Transformer"])
def test_signatures_but_for_the_function_relu(name):
    def described(library):
        parameters = inspect.signature(getattr(library.nn, name)).parameters.values()
        return [(p.name, p.kind, p.default if p.name != "activation" else p.default.__name__) for p in parameters]

    assert described(adjoint) == described(torch)


def masks(kind, length, keys, batch, heads=2):
    """(attn_mask, key_padding_mask) of a kind."""
    random = np.random.default_rng(5)
    square = random.random((length, keys)) < 0.3
    square[:, 0] = False
    padding = np.zeros((batch, keys), bool)
    padding[0, -1] = True
    return {
        "none": (None, None),
        "bool": (square, None),
        "float": (np.where(square, -3.0, 0.5), None),
        "each head": (np.repeat(square[None], batch * heads, 0), None),
        "padding": (None, padding),
        "both": (square, padding),
    }[kind]


KINDS = ("none", "bool", "float", "each head", "padding", "both")


def constants(library, values, dtype):
    return tensors(library, values, dtype, requires_grad=False)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("options", [{}, {"batch_first": True}, {"add_bias_kv": True, "add_zero_attn": True}])
def test_attention(kind, need_weights, options):
    if kind == "each head" and "add_bias_kv" in options and not need_weights:
        return  # one case less: the lengthened mask is tested with weights
    lengths = {"query": (3, 2, 4), "key": (5, 2, 4)}
    if options.get("batch_first"):
        lengths = {"query": (2, 3, 4), "key": (2, 5, 4)}
    given = masks(kind, 3, 5, 2)

    def call(module, query, key, value):
        library = adjoint if isinstance(query, adjoint.Tensor) else torch
        attn, padding = constants(library, given, str(query.dtype).split(".")[1])
        return [part for part in module(query, key, value, padding, need_weights, attn) if part is not None]

    query, key = floats(*lengths["query"]), floats(*lengths["key"], seed=1)
    check(lambda L: L.nn.MultiheadAttention(4, 2, **options), query, key, floats(*key.shape, seed=2), call=call)


def test_attention_of_other_widths_without_bias_and_without_batch():
    check(lambda L: L.nn.MultiheadAttention(4, 2, kdim=3, vdim=5), floats(3, 2, 4), floats(5, 2, 3), floats(5, 2, 5))
    check(lambda L: L.nn.MultiheadAttention(4, 2, bias=False), floats(3, 4), floats(5, 4), floats(5, 4))


def test_attention_weights_of_each_head():
    def call(module, x):
        return module(x, x, x, average_attn_weights=False)

    check(lambda L: L.nn.MultiheadAttention(4, 2), floats(3, 2, 4), call=call)


def test_attention_dropout_draws_the_same_numbers():
    check(lambda L: L.nn.MultiheadAttention(4, 2, dropout=0.4), *[floats(3, 2, 4, seed=i) for i in range(3)])


def test_merge_masks():
    for which in ((True, True), (True, False), (False, True), (False, False)):
        seen = []
        for library, module in zip((adjoint, torch), build(lambda L: L.nn.MultiheadAttention(4, 2)), strict=True):
            attn, padding, query = constants(library, [floats(3, 3), floats(2, 3), floats(2, 3, 4)], "float32")
            seen.append(module.merge_masks(attn if which[0] else None, padding if which[1] else None, query))
        assert_same(*seen)


LAYER = {"d_model": 4, "nhead": 2, "dim_feedforward": 8}


@pytest.mark.parametrize("name", ["TransformerEncoderLayer", "TransformerDecoderLayer"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"dropout": 0.3},
        {"norm_first": True, "activation": "gelu"},
        {"batch_first": True, "bias": False, "layer_norm_eps": 1e-3},
    ],
)
def test_layers(name, options):
    inputs = [floats(3, 2, 4)] + ([floats(3, 2, 4, seed=1)] if "Decoder" in name else [])
    check(lambda L: getattr(L.nn, name)(**LAYER, **options), *inputs)


def test_layer_with_a_function_as_activation():
    check(lambda L: L.nn.TransformerEncoderLayer(**LAYER, activation=L.tanh), floats(3, 2, 4))


def transformer(L, **options):
    return L.nn.Transformer(4, 2, 2, 2, 8, **options)


@pytest.mark.parametrize("options", [{}, {"batch_first": True, "dropout": 0.0}, {"norm_first": True, "bias": False}])
@pytest.mark.parametrize("causal", [False, True])
def test_transformer(options, causal):
    def call(module, source, target):
        library = adjoint if isinstance(source, adjoint.Tensor) else torch
        steps = target.shape[1 if options.get("batch_first") else 0]
        mask = library.nn.Transformer.generate_square_subsequent_mask(steps, dtype=target.dtype) if causal else None
        return module(source, target, tgt_mask=mask)

    check(lambda L: transformer(L, **options), floats(3, 3, 4), floats(3, 3, 4, seed=1), call=call)


@pytest.mark.parametrize("training", [True, False])
def test_encoder_with_masks(training):
    def make(L):
        layer = L.nn.TransformerEncoderLayer(**LAYER, dropout=0.0)
        return L.nn.TransformerEncoder(layer, 2, L.nn.LayerNorm(4))

    def call(module, source):
        library = adjoint if isinstance(source, adjoint.Tensor) else torch
        mask, padding = constants(library, masks("both", 5, 5, 2), "float32")
        causal = library.nn.Transformer.generate_square_subsequent_mask(5, dtype=source.dtype)
        return [
            module(source, mask, padding),
            module(source, causal),
            module(source, causal, is_causal=True),
            module(source[:, 0], mask),
        ]

    check(make, floats(5, 2, 4), call=call, training=training)


def test_trajectories():
    check_trajectory(lambda L: L.nn.MultiheadAttention(4, 2), *[floats(3, 2, 4, seed=i) for i in range(3)])
    check_trajectory(lambda L: L.nn.TransformerEncoderLayer(**LAYER, dropout=0.2), floats(3, 2, 4), lr=0.01)
    check_trajectory(lambda L: transformer(L, dropout=0.1), floats(3, 2, 4), floats(4, 2, 4, seed=1), lr=0.001)


X = (3, 2, 4)


def encoder(L, **options):
    return L.nn.TransformerEncoder(L.nn.TransformerEncoderLayer(**(LAYER | options)), 1)


def attention(L, **options):
    x = L.zeros(X)
    return L.nn.MultiheadAttention(4, 2)(x, x, x, **options)[0].shape


# Calls that torch refuses or warns of.
ATTEMPTS = {
    "heads": lambda L: L.nn.MultiheadAttention(4, 3),
    "no width": lambda L: L.nn.MultiheadAttention(0, 1),
    "no heads": lambda L: L.nn.MultiheadAttention(4, 0),
    "activation": lambda L: L.nn.TransformerEncoderLayer(**LAYER, activation="x"),
    "batch": lambda L: transformer(L)(L.zeros(X), L.zeros(3, 1, 4)),
    "features": lambda L: transformer(L)(L.zeros(X), L.zeros(3, 2, 3)),
    "integer mask": lambda L: encoder(L)(L.zeros(X), mask=L.zeros(3, 3, dtype=L.int32)),
    "causal without mask": lambda L: encoder(L)(L.zeros(X), is_causal=True),
    "attention causal": lambda L: attention(L, is_causal=True),
    "mask types": lambda L: attention(L, key_padding_mask=L.zeros(2, 3, dtype=L.bool), attn_mask=L.zeros(3, 3)),
    "encoder mask types": lambda L: encoder(L)(L.zeros(X), L.zeros(3, 3), L.zeros(2, 3, dtype=L.bool)).shape,
    "mask": lambda L: L.nn.Transformer.generate_square_subsequent_mask(3),
    "norm first": lambda L: repr(encoder(L, norm_first=True)),
    "no warning": lambda L: repr(encoder(L, batch_first=True)),
    "odd heads": lambda L: repr(encoder(L, batch_first=True, d_model=3, nhead=3)),
    "no bias": lambda L: repr(encoder(L, batch_first=True, bias=False)),
    "other activation": lambda L: repr(encoder(L, batch_first=True, activation=L.tanh)),
}


@pytest.mark.parametrize("name", ATTEMPTS)
def test_refusals_and_warnings(name):
    same(ATTEMPTS[name])
