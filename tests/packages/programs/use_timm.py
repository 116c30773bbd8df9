"""A small vision transformer, a ResNet and a MobileNet of timm, with its optimizers and mixed images."""

from report import report, train, without_ops_of_torchvision

without_ops_of_torchvision()

import timm
import torch
from timm.loss import LabelSmoothingCrossEntropy, SoftTargetCrossEntropy
from timm.models.vision_transformer import VisionTransformer
from timm.optim import create_optimizer_v2

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
x, labels = torch.randn(4, 3, 32, 32), torch.tensor([0, 1, 2, 1])
model = VisionTransformer(img_size=32, patch_size=8, embed_dim=32, depth=2, num_heads=2, num_classes=3)
optimizer = create_optimizer_v2(model, opt="sgd", lr=0.05, weight_decay=1e-3, momentum=0.9)
train(model, lambda: LabelSmoothingCrossEntropy()(model(x), labels), optimizer)
for name in ("resnet10t", "mobilenetv3_small_050"):
    other = timm.create_model(name, num_classes=3)
    out = other(x)
    loss = SoftTargetCrossEntropy()(out, torch.nn.functional.one_hot(labels, 3).double())
    loss.backward()
    report(**{f"{name} out": out, f"{name} gradient": next(other.parameters()).grad})
