"""Sound with gradients: resampling, low-pass filters and bands."""

import julius
import torch
from report import report, train

torch.manual_seed(0)
wave = torch.randn(2, 200)
model = torch.nn.Conv1d(1, 1, 5, padding=2)
train(model, lambda: julius.resample_frac(model(wave[:, None]), 4, 3).square().mean())
report(low=julius.lowpass_filter(wave, 0.1), high=julius.highpass_filter(wave, 0.2))
report(
    bands=julius.split_bands(wave, 1.0, cutoffs=[0.1, 0.3]), fft=julius.fft_conv1d(wave[:, None], torch.ones(1, 1, 9))
)
