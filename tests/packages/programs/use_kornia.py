"""Vision with gradients: filters, warps, colours, features and augmentations of kornia."""

import kornia
import torch
from report import report, train

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
image = torch.rand(2, 3, 16, 16)
shift = torch.nn.Parameter(torch.eye(3).repeat(2, 1, 1) + 0.01 * torch.randn(2, 3, 3))


def loss():
    moved = kornia.geometry.transform.warp_perspective(image, shift, (16, 16))
    blurred = kornia.filters.gaussian_blur2d(moved, (3, 3), (1.0, 1.0))
    return (blurred - image.flip(-1)).square().mean() + kornia.losses.ssim_loss(moved, image, 5)


train({"shift": shift}, loss)
report(
    hsv=kornia.color.rgb_to_hsv(image),
    lab=kornia.color.rgb_to_lab(image),
    edges=kornia.filters.canny(image)[0],
    corners=kornia.feature.harris_response(kornia.color.rgb_to_grayscale(image)),
    rotation=kornia.geometry.axis_angle_to_rotation_matrix(torch.randn(3, 3)),
)
