"""Samples of random tensors, of the same seeds in both libraries."""

from . import Sample, T

FLOATS = {"seed": True, "out": False, "dtypes": ("float64", "float32", "bfloat16")}
_RATES = T(4, 5, low=0.1, high=9.0)

SAMPLES = {
    "rand": [
        Sample(33).options(seed=True, out=False),
        Sample((2, 3)).options(seed=True, out=False),
        Sample(0).options(seed=True),
    ],
    "randperm": [Sample(7).options(seed=True, out=False), Sample(0).options(seed=True)],
    "normal": [
        Sample(T(4, 5), 0.5).options(**FLOATS),
        Sample(T(4, 5), T(5, low=0.1)).options(**FLOATS),
        Sample(1.5, T(4, 5, low=0.1)).options(**FLOATS),
        Sample(T(4, 5)).options(**FLOATS),
        Sample(0.5, 2.0, (3, 4)).options(seed=True, out=False),
    ],
    "bernoulli": [
        Sample(T(4, 5, low=0.0, high=1.0)).options(**FLOATS),
        Sample(T(4, 5), 0.3).options(seed=True, out=False),
    ],
    "poisson": [Sample(_RATES).options(**FLOATS)],
    "binomial": [
        Sample(T(4, 5, values=[[3.0, 4.0, 5.0, 6.0, 7.0]] * 4), T(5, low=0.1, high=0.9)).options(seed=True, node=False),
    ],
}
