"""Factorizations of tensors with the torch backend, with gradients through the products."""

import tensorly
import torch
from report import report, train
from tensorly.decomposition import parafac, tucker

tensorly.set_backend("pytorch")
torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
tensor = torch.randn(4, 5, 6)
factors = {name: torch.randn(size, 3, requires_grad=True) for name, size in zip("abc", tensor.shape, strict=True)}
train(factors, lambda: (tensorly.cp_to_tensor((None, list(factors.values()))) - tensor).square().mean())
core = tucker(tensor, rank=[2, 2, 2])
report(tucker=tensorly.tucker_to_tensor(core))
report(parafac=tensorly.cp_to_tensor(parafac(tensor, rank=2, init="svd", n_iter_max=20)))
