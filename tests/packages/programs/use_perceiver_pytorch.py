"""A Perceiver on small images, with Fourier features."""

import torch
from perceiver_pytorch import Perceiver
from report import train

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
images, labels = torch.randn(2, 4, 4, 3), torch.tensor([0, 2])
model = Perceiver(
    input_channels=3, input_axis=2, num_freq_bands=2, max_freq=4.0, depth=2, num_latents=4, latent_dim=8, cross_heads=1,
    latent_heads=2, cross_dim_head=4, latent_dim_head=4, num_classes=3, self_per_cross_attn=1,
)  # fmt: skip
train(model, lambda: torch.nn.functional.cross_entropy(model(images), labels))
