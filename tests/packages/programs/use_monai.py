"""Segmentation of small volumes: a UNet, Dice and focal losses, sliding windows and a metric."""

import torch
from monai.inferers import sliding_window_inference
from monai.losses import DiceCELoss, FocalLoss
from monai.metrics import DiceMetric
from monai.networks.nets import UNet
from report import report, train

torch.manual_seed(0)
x, target = torch.randn(2, 1, 8, 8, 8), torch.randint(0, 2, (2, 1, 8, 8, 8))
model = UNet(spatial_dims=3, in_channels=1, out_channels=2, channels=(4, 8), strides=(2,), num_res_units=1)
dice = DiceCELoss(to_onehot_y=True, softmax=True)
train(model, lambda: dice(model(x), target) + FocalLoss(to_onehot_y=True)(model(x), target))
with torch.no_grad():
    found = sliding_window_inference(torch.randn(1, 1, 12, 12, 12), (8, 8, 8), 2, model, overlap=0.25)
    score = DiceMetric(include_background=True)(
        torch.nn.functional.one_hot(model(x).argmax(1), 2).movedim(-1, 1), target
    )
report(found=found, score=score)
