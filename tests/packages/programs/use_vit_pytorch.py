"""Vision transformers of vit-pytorch: the plain one, SimpleViT and a convolutional one."""

from report import report, train, without_ops_of_torchvision

without_ops_of_torchvision()

import torch
from vit_pytorch import SimpleViT, ViT
from vit_pytorch.cct import CCT

torch.manual_seed(0)
x, labels = torch.randn(2, 3, 16, 16), torch.tensor([0, 1])
model = ViT(image_size=16, patch_size=4, num_classes=3, dim=16, depth=2, heads=2, mlp_dim=32, dim_head=8)
train(model, lambda: torch.nn.functional.cross_entropy(model(x), labels))
simple = SimpleViT(image_size=16, patch_size=4, num_classes=3, dim=16, depth=1, heads=2, mlp_dim=32, dim_head=8)
compact = CCT(img_size=16, embedding_dim=16, n_conv_layers=1, num_layers=1, num_heads=2, mlp_ratio=2, num_classes=3)
report(simple=simple(x), compact=compact.eval()(x))
