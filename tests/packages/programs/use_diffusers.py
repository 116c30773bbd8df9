"""A small UNet that learns to take noise away, and a picture drawn with it by DDIM."""

import torch
from diffusers import DDIMScheduler, DDPMScheduler, UNet2DModel
from report import report, train

torch.manual_seed(0)
model = UNet2DModel(
    sample_size=8,
    in_channels=1,
    out_channels=1,
    layers_per_block=1,
    block_out_channels=(8, 16),
    down_block_types=("DownBlock2D", "AttnDownBlock2D"),
    up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    norm_num_groups=4,
)
images, noise = torch.randn(2, 1, 8, 8), torch.randn(2, 1, 8, 8)
times = torch.tensor([10, 500])
noisy = DDPMScheduler(num_train_timesteps=1000).add_noise(images, noise, times)
train(model, lambda: torch.nn.functional.mse_loss(model(noisy, times).sample, noise))
schedule = DDIMScheduler(num_train_timesteps=1000)
schedule.set_timesteps(4)
image = torch.randn(1, 1, 8, 8)
with torch.no_grad():
    for time in schedule.timesteps:
        image = schedule.step(model(image, time).sample, time, image).prev_sample
report(drawn=image)
