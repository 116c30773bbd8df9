"""Attention whose queries and keys are rotated by their positions, with learned frequencies."""

import torch
from report import report, train
from rotary_embedding_torch import RotaryEmbedding, apply_rotary_emb

torch.manual_seed(0)
x = torch.randn(2, 2, 10, 16)
model = torch.nn.Linear(16, 48)
rotary = RotaryEmbedding(dim=16, learned_freq=True)
model.add_module("rotary", rotary)


def loss():
    q, k, v = model(x).chunk(3, dim=-1)
    q, k = rotary.rotate_queries_or_keys(q), rotary.rotate_queries_or_keys(k)
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).square().mean()


train(model, loss)
axial = RotaryEmbedding(dim=8, freqs_for="pixel", max_freq=10)
report(axial=apply_rotary_emb(axial.get_axial_freqs(4, 5), torch.randn(1, 4, 5, 16)))
