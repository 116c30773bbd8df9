"""Learned filterbanks for sound: encoders and decoders of free, sinc and Fourier filters."""

import torch
from asteroid_filterbanks import STFTFB, FreeFB, ParamSincFB, make_enc_dec
from asteroid_filterbanks.transforms import mag
from report import report, train

torch.manual_seed(0)
wave = torch.randn(2, 1, 120)
encoder, decoder = make_enc_dec("free", n_filters=8, kernel_size=8, stride=4)
model = torch.nn.ModuleDict({"encoder": encoder, "decoder": decoder})
train(model, lambda: torch.nn.functional.mse_loss(decoder(torch.relu(encoder(wave))), wave))
report(stft=mag(make_enc_dec(STFTFB, n_filters=16, kernel_size=16, stride=8)[0](wave)))
report(sinc=make_enc_dec(ParamSincFB, n_filters=8, kernel_size=17, stride=8)[0](wave))
report(free=FreeFB(4, 8).filters().shape)
