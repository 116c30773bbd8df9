"""Attention within windows, and a transformer of it."""

import torch
from local_attention import LocalAttention
from local_attention.transformer import LocalTransformer
from report import report, train

torch.manual_seed(0)
words = torch.randint(0, 32, (2, 16))
model = LocalTransformer(num_tokens=32, dim=16, depth=2, max_seq_len=16, local_attn_window_size=4, dim_head=8, heads=2)
train(model, lambda: model(words, return_loss=True))
q, k, v = torch.randn(3, 2, 16, 8)
report(attended=LocalAttention(dim=8, window_size=4, causal=True)(q, k, v))
