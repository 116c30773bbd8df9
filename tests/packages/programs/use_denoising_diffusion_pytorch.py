"""A diffusion of small images with a UNet: its loss, and a picture drawn in a few steps."""

from report import report, train, without_ops_of_torchvision

without_ops_of_torchvision()

import torch
from denoising_diffusion_pytorch import GaussianDiffusion, Unet

torch.manual_seed(0)
net = Unet(dim=8, dim_mults=(1, 2), channels=1, flash_attn=False, attn_dim_head=8, attn_heads=2)
model = GaussianDiffusion(net, image_size=8, timesteps=20, sampling_timesteps=3)
images = torch.rand(2, 1, 8, 8)
train(model, lambda: model(images))
with torch.no_grad():
    report(drawn=model.sample(batch_size=1))
