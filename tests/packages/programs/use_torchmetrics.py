"""Metrics of classification, regression, images and retrieval, gathered over batches."""

import torch
import torchmetrics
from report import report, steps
from torchmetrics.image import PeakSignalNoiseRatio, StructuralSimilarityIndexMeasure

torch.manual_seed(0)
metrics = torchmetrics.MetricCollection(
    {
        "accuracy": torchmetrics.Accuracy(task="multiclass", num_classes=4),
        "f1": torchmetrics.F1Score(task="multiclass", num_classes=4, average="macro"),
        "auroc": torchmetrics.AUROC(task="multiclass", num_classes=4),
        "calibration": torchmetrics.CalibrationError(task="multiclass", num_classes=4),
        "confusion": torchmetrics.ConfusionMatrix(task="multiclass", num_classes=4),
    }
)
similarity, noise = StructuralSimilarityIndexMeasure(data_range=1.0), PeakSignalNoiseRatio(data_range=1.0)
spearman, r2 = torchmetrics.SpearmanCorrCoef(), torchmetrics.R2Score()
for _ in steps():
    metrics.update(torch.randn(20, 4).softmax(-1), torch.randint(0, 4, (20,)))
    images = torch.rand(2, 3, 16, 16)
    similarity.update(images, (images + 0.1 * torch.rand(2, 3, 16, 16)).clamp(0, 1))
    noise.update(images, images.flip(0))
    values = torch.randn(20)
    spearman.update(values, values + torch.randn(20))
    r2.update(values, values + torch.randn(20))
report(
    **metrics.compute(), ssim=similarity.compute(), psnr=noise.compute(), spearman=spearman.compute(), r2=r2.compute()
)
image = torch.rand(1, 3, 16, 16, requires_grad=True)
torchmetrics.functional.image.structural_similarity_index_measure(image, images[:1], data_range=1.0).backward()
report(gradient=image.grad)
