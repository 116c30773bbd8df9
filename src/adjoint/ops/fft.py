"""Fourier transforms as ops, along several dimensions. What people call is in fft_functions.py."""

from .language import _fft_c2c, _fft_r2c, cat, op, real


def _r2c_gradient(g, input_meta, dim, normalization, onesided):
    if onesided:
        missing = list(g.shape)
        missing[dim[-1]] = input_meta.shape[dim[-1]] - g.shape[dim[-1]]
        g = cat((g, g.new_zeros(missing)), dim[-1])
    return real(_fft_c2c(g, dim, normalization, False))


def _c2r_gradient(g, dim, normalization):
    half = _fft_r2c(g, dim, normalization, True)
    # The frequencies that stand for two, themselves and their mirror image.
    last, doubled = dim[-1], g.shape[dim[-1]] - half.shape[dim[-1]]
    factors = half.new_ones([half.shape[last]])
    factors[1 : 1 + doubled] = 2
    return half * factors.reshape([-1] + [1] * (half.ndim - 1 - last))


op("_fft_c2c(input, dim, normalization, forward)", native="fft_c2c", node="FftC2CBackward0", linear="input",
   public=False, input=lambda g, dim, normalization, forward: _fft_c2c(g, dim, normalization, not forward),
   batch="dim",
   doc="A complex transform along `dim`, scaled by 1, 1/sqrt(n) or 1/n.")  # fmt: skip
op("_fft_r2c(input, dim, normalization, onesided)", native="fft_r2c", node="FftR2CBackward0", linear="input",
   public=False, input=lambda g, input_meta, dim, normalization, onesided: _r2c_gradient(
       g, input_meta, dim, normalization, onesided),
   batch="dim",
   doc="A transform of real values along `dim`; onesided: without the last one's mirrored half.")  # fmt: skip
op("_fft_c2r(input, dim, normalization, last_dim_size)", native="fft_c2r", node="FftC2RBackward0", linear="input",
   public=False, input=lambda g, dim, normalization: _c2r_gradient(g, dim, normalization),
   batch="dim",
   doc="The inverse of the onesided _fft_r2c.")  # fmt: skip
