"""Vector quantization with a moving codebook, residual quantization and finite scalar quantization."""

import torch
from report import report, train
from vector_quantize_pytorch import FSQ, ResidualVQ, VectorQuantize

torch.manual_seed(0)
x = torch.randn(2, 10, 8)
linear = torch.nn.Linear(8, 8)
quantize = VectorQuantize(dim=8, codebook_size=16, decay=0.8, commitment_weight=1.0)
residual = ResidualVQ(dim=8, num_quantizers=2, codebook_size=8)
model = torch.nn.ModuleList([linear, quantize, residual])
found = {}


def loss():
    first, found["indices"], commitment = quantize(linear(x))
    second, _, losses = residual(linear(x))
    return (first + second - x).square().mean() + commitment.sum() + losses.sum()


train(model, loss)
report(codes=found["indices"], codebook=quantize.codebook, scalar=FSQ(levels=[8, 5, 5, 8], dim=8)(x)[0])
