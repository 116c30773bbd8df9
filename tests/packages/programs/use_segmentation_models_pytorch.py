"""Segmentation of images: a Unet on a ResNet and a feature pyramid, with Dice and focal losses and metrics."""

from report import report, train, without_ops_of_torchvision

without_ops_of_torchvision()

import segmentation_models_pytorch as smp
import torch

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
x, target = torch.randn(2, 3, 32, 32), torch.randint(0, 2, (2, 1, 32, 32))
model = smp.Unet("resnet18", encoder_weights=None, encoder_depth=3, decoder_channels=(16, 8, 4), classes=1)
dice, focal = smp.losses.DiceLoss("binary"), smp.losses.FocalLoss("binary")
train(model, lambda: dice(model(x), target) + focal(model(x), target), count=3)
counts = smp.metrics.get_stats(model(x).sigmoid(), target, mode="binary", threshold=0.5)
report(iou=smp.metrics.iou_score(*counts, reduction="micro"))
pyramid = smp.FPN("mobilenet_v2", encoder_weights=None, decoder_dropout=0.0)
report(pyramid=pyramid(x))
