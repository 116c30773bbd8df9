"""Samples of gamma and Dirichlet numbers. torch has their slopes to three digits; tests/distributions looks closer."""

from . import Sample, T

DRAWN = {
    "seed": True,
    "gradcheck": False,
    "gradgrad": False,
    "tolerance": (2e-3, 2e-3),
    "dtypes": ("float64", "float32"),
}
SLOPES = {"gradcheck": False, "gradgrad": False, "tolerance": (2e-3, 2e-3), "edits": False}


def _sample_dirichlet(torch, input):
    return torch.distributions.Dirichlet(input, validate_args=False).rsample()


SAMPLES = {
    "_standard_gamma": [
        Sample(T(4, 5, low=0.1, high=9.0)).options(**DRAWN),
        Sample(T(2, low=0.01, high=0.2)).options(**DRAWN),
        Sample(T(0, 3, low=1.0)).options(**DRAWN),
        Sample(T(low=1.0)).options(**DRAWN),
    ],
    "_sample_dirichlet": [
        Sample(T(4, 5, low=0.1, high=9.0)).options(**DRAWN, node=False, torch=_sample_dirichlet),
        Sample(T(0, 3, low=1.0)).options(**DRAWN, node=False, torch=_sample_dirichlet),
    ],
    "_standard_gamma_grad": [
        Sample(T(4, 5, low=0.1, high=9.0, grad=False), T(4, 5, low=0.1, high=9.0, grad=False)).options(**SLOPES),
        Sample(T(0, 3, grad=False), T(0, 3, grad=False)).options(**SLOPES),
    ],
    "_dirichlet_grad": [
        Sample(
            T(4, 5, low=0.1, high=0.9, grad=False),
            T(4, 5, low=0.1, high=5.0, grad=False),
            T(4, 5, low=5.2, high=9.0, grad=False),
        ).options(**SLOPES),
    ],
}
