"""Samples of window functions and frequencies that are not in torch's operator database."""

from . import Sample, T, ref


def _windows(*more):
    return [
        Sample(5),
        Sample(6, False),
        Sample(0),
        Sample(1),
        Sample(7, dtype=ref("float64")),
        Sample(7, dtype=ref("float16")).options(tolerance=(2e-3, 1e-3)),
        *more,
    ]


_WRONG = [Sample(-1), Sample(3, dtype=ref("int32"))]

SAMPLES = {
    "hann_window": _windows(),
    "hamming_window": _windows(Sample(5, True, 0.5, 0.5)),
    "blackman_window": _windows(),
    "bartlett_window": _windows(),
    "kaiser_window": _windows(Sample(5, True, 5.0), Sample(4, True, 0.0)),
    "fft.fftfreq": [Sample(5), Sample(4, 0.5), Sample(1), Sample(0), Sample(3, dtype=ref("float64"))],
    "fft.rfftfreq": [Sample(5), Sample(4, 0.5), Sample(1), Sample(3, dtype=ref("float64"))],
    "fft.fft": [Sample(T(3, 4), dim=0), Sample(T(2, 3, 4), n=5, dim=1, norm="ortho")],
    "fft.rfft": [Sample(T(3, 4), dim=0), Sample(T(3, 5))],
    "fft.irfft": [Sample(T(3, 4), dim=0).options(dtypes=("complex128",)), Sample(T(3, 4), n=5)],
}

ERRORS = {
    "hann_window": _WRONG,
    "kaiser_window": _WRONG,
    "fft.fft": [Sample(T(3), n=0), Sample(T(3), dim=3), Sample(T(3), norm="other"), Sample(T())],
    "fft.fftn": [Sample(T(3, 4), s=(1, 2, 3)), Sample(T(3, 4), s=(1, 2), dim=(0,)), Sample(T(3, 4), dim=(0, 0))],
    "fft.irfft": [Sample(T(1))],
}
