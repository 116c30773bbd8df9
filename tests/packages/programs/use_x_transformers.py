"""A decoder with rotary positions, RMSNorm and gated feed-forward layers, and an encoder, of x-transformers."""

import torch
from report import report, train
from x_transformers import AutoregressiveWrapper, Decoder, Encoder, TransformerWrapper

torch.manual_seed(0)
words = torch.randint(0, 32, (2, 12))
layers = Decoder(dim=16, depth=2, heads=2, attn_dim_head=8, rotary_pos_emb=True, use_rmsnorm=True, ff_glu=True)
model = AutoregressiveWrapper(TransformerWrapper(num_tokens=32, max_seq_len=16, attn_layers=layers))
train(model, lambda: model(words))
encoder = Encoder(dim=16, depth=1, heads=2, attn_dim_head=8, alibi_pos_bias=True)
with torch.no_grad():
    report(encoded=encoder(torch.randn(2, 6, 16)), generated=model.eval().generate(words[:, :4], 5, temperature=0.0))
