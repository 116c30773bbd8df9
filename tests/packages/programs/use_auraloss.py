"""Losses of sound: spectra at several resolutions, and ratios of signal to distortion."""

import auraloss
import torch
from report import report, train

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
wave, aim = torch.randn(2, 1, 400), torch.randn(2, 1, 400)
model = torch.nn.Conv1d(1, 1, 5, padding=2)
spectra = auraloss.freq.MultiResolutionSTFTLoss(fft_sizes=[64, 32], hop_sizes=[16, 8], win_lengths=[64, 32])
train(model, lambda: spectra(model(wave), aim))
report(sisdr=auraloss.time.SISDRLoss()(wave, aim), esr=auraloss.time.ESRLoss()(wave, aim))
report(log_cosh=auraloss.time.LogCoshLoss()(wave, aim))
