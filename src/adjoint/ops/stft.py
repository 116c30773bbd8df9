"""The short-time Fourier transform and its inverse."""

import warnings

from .batching import all_values
from .checks import boolean, boolean_or_none
from .language import (
    _fft_c2c,
    _fft_c2r,
    _fft_r2c,
    composite,
    constant_pad_nd,
    ones,
    pad,
    unfold_backward,
    view_as_real,
)


def _window(name, window, win_length, n_fft, hint, **kind):
    """The window in the middle of n_fft points, ones of this kind where none is given."""
    if not 0 < win_length <= n_fft:
        raise RuntimeError(f"{name}: expected 0 < win_length <= n_fft, but got win_length={win_length}, n_fft={n_fft}")
    if window is None:
        warnings.warn(f"A window was not provided. A rectangular window will be applied. {hint}", stacklevel=3)
        window = ones(win_length, **kind)
    elif window.ndim != 1 or window.shape[0] != win_length:
        raise RuntimeError(
            f"{name}: expected a 1D window tensor of size equal to win_length={win_length}, but got window with size "
            f"{list(window.shape)}"
        )
    left = (n_fft - win_length) // 2
    return window if win_length == n_fft else constant_pad_nd(window, (left, n_fft - win_length - left))


@composite(autocast="float32")
def stft(
    input,
    n_fft,
    hop_length=None,
    win_length=None,
    window=None,
    center=True,
    pad_mode="reflect",
    normalized=False,
    onesided=None,
    return_complex=None,
    align_to_window=None,
):
    """The Fourier transforms of overlapping pieces of a signal: (frequencies, pieces).

    >>> import adjoint as torch
    >>> torch.stft(torch.rand(100), 20, window=torch.hann_window(20), return_complex=True).shape
    torch.Size([11, 21])
    """
    boolean("stft", normalized=normalized)
    boolean_or_none("stft", onesided=onesided, return_complex=return_complex)
    complex_input = input.is_complex() or (window is not None and window.is_complex())
    if return_complex is None:
        if not complex_input:
            raise RuntimeError(
                "stft requires the return_complex parameter be given for real inputs, and will further require that "
                "return_complex=True in a future PyTorch release. Pass return_complex=True."
            )
        return_complex = True
    if align_to_window is not None and center:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    if onesided and complex_input:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    if not input.is_floating_point() and not input.is_complex():
        raise RuntimeError(f"stft: expected a tensor of floating point or complex values, but got {input.dtype}")
    if input.ndim not in (1, 2):
        raise RuntimeError(f"stft: expected a 1D or 2D tensor, but got {input.ndim} dimensions")
    hop = n_fft // 4 if hop_length is None else hop_length
    win_length = n_fft if win_length is None else win_length
    signal = input.unsqueeze(0) if input.ndim == 1 else input
    if center:
        signal = pad(signal.unsqueeze(0), (n_fft // 2, n_fft // 2), mode=pad_mode).squeeze(0)
    elif align_to_window:
        left = (n_fft - win_length) // 2
        signal = constant_pad_nd(signal, (left, n_fft - win_length - left))
    if not 0 < n_fft <= signal.shape[1]:
        raise RuntimeError(f"stft: expected 0 < n_fft <= {signal.shape[1]}, but got n_fft={n_fft}")
    if hop <= 0:
        raise RuntimeError(f"stft: expected hop_length > 0, but got hop_length={hop}")
    hint = "Pass window=torch.hann_window(n_fft) against leakage."
    window = _window("stft", window, win_length, n_fft, hint, dtype=signal.dtype, device=signal.device)
    frames = signal.unfold(1, n_fft, hop) * window
    if complex_input:
        spectrum = _fft_c2c(frames, [2], int(normalized), True)
    else:
        spectrum = _fft_r2c(frames, [2], int(normalized), onesided is not False)
    spectrum = spectrum.transpose(1, 2)
    if input.ndim == 1:
        spectrum = spectrum.squeeze(0)
    return spectrum if return_complex else view_as_real(spectrum)


@composite
def istft(
    input,
    n_fft,
    hop_length=None,
    win_length=None,
    window=None,
    center=True,
    normalized=False,
    onesided=None,
    length=None,
    return_complex=False,
):
    """The signal of a short-time Fourier transform.

    >>> import adjoint as torch
    >>> x, window = torch.rand(100), torch.hann_window(20)
    >>> y = torch.istft(torch.stft(x, 20, window=window, return_complex=True), 20, window=window)
    >>> torch.allclose(x, y, atol=1e-6)
    True
    """
    boolean("istft", center=center, normalized=normalized, return_complex=return_complex)
    boolean_or_none("istft", onesided=onesided)
    if not input.is_complex():
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True."
        )
    if input.ndim not in (2, 3):
        raise RuntimeError(f"istft: expected a tensor with 2 or 3 dimensions, but got {input.ndim}")
    if input.numel() == 0:
        raise RuntimeError("istft: input tensor cannot be empty.")
    hop = n_fft // 4 if hop_length is None else hop_length
    win_length = n_fft if win_length is None else win_length
    onesided = input.shape[-2] != n_fft if onesided is None else onesided
    if return_complex and onesided:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    if window is not None and window.is_complex() and not return_complex:
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    if not 0 < hop <= win_length:
        raise RuntimeError(f"istft: expected 0 < hop_length <= win_length, but got {hop} and {win_length}")
    points = n_fft // 2 + 1 if onesided else n_fft
    if input.shape[-2] != points:
        expected = f"n_fft / 2 + 1 when onesided={onesided}" if onesided else f"n_fft when onesided={onesided}"
        raise RuntimeError(
            f"istft: expected the frequency dimension (3rd to the last) of the input tensor to match {expected}, but "
            f"got {input.shape[-2]}"
        )
    hint = "Pass the window that stft used to get it undone."
    window = _window("istft", window, win_length, n_fft, hint, dtype=input.dtype.to_real(), device=input.device)
    spectrum = (input.unsqueeze(0) if input.ndim == 2 else input).transpose(1, 2)
    scale = 1 if normalized else 2
    if return_complex:
        frames = _fft_c2c(spectrum, [2], scale, False)
    else:
        half = spectrum if onesided else spectrum.narrow(2, 0, n_fft // 2 + 1)
        frames = _fft_c2r(half, [2], scale, n_fft)
    count = frames.shape[1]
    total = n_fft + hop * (count - 1)
    signal = unfold_backward(frames * window, [frames.shape[0], total], 1, n_fft, hop)
    weights = (window * window).expand(1, count, n_fft)
    envelope = unfold_backward(weights, [1, total], 1, n_fft, hop)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else total - n_fft // 2 if center else total
    signal, envelope = signal[:, start:end], envelope[:, start:end]
    values = all_values(envelope).detach()
    if not envelope.numel() or (values.numel() and values.abs().min() < 1e-11):
        raise RuntimeError(
            "istft: window overlap add min: 1; the windows leave points of the signal uncovered: use a smaller "
            "hop_length, another window, or center=True"
        )
    signal = signal / envelope
    if end > total:
        warnings.warn(
            "The length of signal is shorter than the length parameter. Result is being padded with zeros in the "
            "tail. Please check your center and hop_length settings.",
            stacklevel=2,
        )
        signal = constant_pad_nd(signal, (0, end - total))
    return signal.squeeze(0) if input.ndim == 2 else signal
