"""What a network's answer is due to: integrated gradients, DeepLIFT, GradCAM, occlusion and Shapley values."""

import torch
from captum.attr import (
    DeepLift,
    FeatureAblation,
    GuidedBackprop,
    IntegratedGradients,
    LayerGradCam,
    Occlusion,
    Saliency,
    ShapleyValueSampling,
)
from report import report, train

torch.manual_seed(0)
x, labels = torch.randn(2, 1, 8, 8), torch.tensor([0, 2])
model = torch.nn.Sequential(
    torch.nn.Conv2d(1, 4, 3),
    torch.nn.ReLU(),
    torch.nn.Flatten(),
    torch.nn.Linear(144, 8),
    torch.nn.ReLU(),
    torch.nn.Linear(8, 3),
)
train(model, lambda: torch.nn.functional.cross_entropy(model(x), labels))
report(saliency=Saliency(model).attribute(x.clone(), target=labels))
report(integrated=IntegratedGradients(model).attribute(x, target=labels, n_steps=8))
report(lift=DeepLift(model).attribute(x, torch.zeros_like(x), target=labels))
report(guided=GuidedBackprop(model).attribute(x.clone(), target=labels))
report(cam=LayerGradCam(model, model[0]).attribute(x, target=labels))
report(occlusion=Occlusion(model).attribute(x, sliding_window_shapes=(1, 4, 4), strides=(1, 4, 4), target=labels))
mask = torch.arange(64).reshape(1, 1, 8, 8) // 16
report(ablation=FeatureAblation(model).attribute(x, target=labels, feature_mask=mask))
report(shapley=ShapleyValueSampling(model).attribute(x, target=labels, feature_mask=mask, n_samples=3))
