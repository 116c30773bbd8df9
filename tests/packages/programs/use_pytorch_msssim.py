"""Similarity of images, at one scale and at several, as a loss."""

import torch
from pytorch_msssim import MS_SSIM, ssim
from report import report, train

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)  # the gradient of the bias is a sum that cancels: float32 keeps few digits
image, aim = torch.rand(1, 3, 96, 96), torch.rand(1, 3, 96, 96)
model = torch.nn.Conv2d(3, 3, 3, padding=1)
scales = MS_SSIM(data_range=1.0, channel=3, win_size=5)
train(model, lambda: 1 - scales(model(image).sigmoid(), aim))
window = torch.exp(-(torch.arange(11) - 5.0).square() / 4.5)  # its own is of float32
report(ssim=ssim(image, aim, data_range=1.0, win=(window / window.sum()).expand(3, 1, 1, 11)))
