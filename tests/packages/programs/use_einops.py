"""A patch embedding with Rearrange, Reduce and EinMix layers, and rearrange, reduce, repeat and einsum."""

import torch
from einops import einsum, rearrange, reduce, repeat
from einops.layers.torch import EinMix, Rearrange, Reduce
from report import report, train

torch.manual_seed(0)
images, labels = torch.randn(4, 3, 8, 8), torch.tensor([0, 1, 2, 0])
model = torch.nn.Sequential(
    Rearrange("b c (h p) (w q) -> b (h w) (p q c)", p=4, q=4),
    EinMix("b n c -> b n o", weight_shape="c o", bias_shape="o", c=48, o=16),
    torch.nn.GELU(),
    Reduce("b n o -> b o", "mean"),
    torch.nn.Linear(16, 3),
)
train(model, lambda: torch.nn.functional.cross_entropy(model(images), labels))
flat = rearrange(images, "b c h w -> b (c h w)")
report(
    repeated=repeat(reduce(images, "b c h w -> b c", "max"), "b c -> b c k", k=2),
    similarity=einsum(flat, flat, "i k, j k -> i j"),
)
