"""A ResNet, a ConvNeXt and a vision transformer of torchvision, and its transforms."""

from report import report, train, without_ops_of_torchvision

without_ops_of_torchvision()

import torch
import torchvision
from torchvision.models import ResNet, VisionTransformer
from torchvision.models.resnet import BasicBlock
from torchvision.transforms import v2

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)  # batch norm over four values makes much of the last bits of float32
x, labels = torch.randn(4, 3, 32, 32), torch.tensor([0, 1, 2, 1])
model = ResNet(BasicBlock, [1, 1, 1, 1], num_classes=3)
train(model, lambda: torch.nn.functional.cross_entropy(model(x), labels))
transformer = VisionTransformer(32, 8, 2, 2, 16, 32, num_classes=3)
out = transformer(x)
out.square().mean().backward()
report(transformer=out, gradient=transformer.conv_proj.weight.grad)
change = v2.Compose([v2.Resize(24, antialias=True), v2.CenterCrop(16), v2.Normalize([0.5] * 3, [0.5] * 3)])
report(changed=change(torch.rand(2, 3, 32, 32)), grid=torchvision.utils.make_grid(torch.rand(4, 3, 5, 5), nrow=2))
