"""How an op of the sweep is written down: its name, what makes its arguments, the sizes it is measured at."""

import math
from collections.abc import Callable
from dataclasses import dataclass

SIZES = {"small": 16, "64 K": 1 << 16, "4 M": 1 << 22}
MEDIUM = ("small", "64 K")  # for what takes long per element, or has a largest size of its own
LARGE = ("64 K", "4 M")  # for variants of an op whose overhead is measured elsewhere
OPS = {}  # name -> Op


@dataclass(frozen=True)
class Op:
    """An op of the sweep: `make(torch, n)` returns a function, its arguments and its keyword arguments."""

    make: Callable
    sizes: tuple
    gradient: bool  # False where there is none to ask for: in-place ops, random numbers


def resolve(torch, name):
    """torch.nn.functional.relu for "nn.functional.relu"."""
    found = torch
    for part in name.split("."):
        found = getattr(found, part)
    return found


def entry(name, arguments, call=None, sizes=tuple(SIZES), gradient=True, **keywords):
    """Adds an op: `arguments(torch, n)` makes a tuple; `call` names the function where the entry's name is another."""
    path = call or name

    def make(torch, n):
        chosen = {key: resolve(torch, value[6:]) if str(value).startswith("torch.") else value
                  for key, value in keywords.items()}  # fmt: skip
        return resolve(torch, path), arguments(torch, n), chosen

    OPS[name] = Op(make, sizes, gradient)


def uniform(low, high, count=1):
    return lambda torch, n: tuple(torch.rand(n) * (high - low) + low for _ in range(count))


def side(n):
    """The side of a square of n elements."""
    return math.isqrt(n)


def squares(count=1, low=-1.0, high=1.0):
    return lambda torch, n: tuple(torch.rand(side(n), side(n)) * (high - low) + low for _ in range(count))


def places(torch, n, high):
    """n integers below `high`."""
    return torch.randint(0, high, (n,))


def matrix(torch, n):
    """A well-conditioned symmetric matrix with a side of at most 256."""
    k = min(side(n), 256)
    a = torch.rand(k, k)
    return a @ a.t() / k + torch.eye(k)


def batch(count=1, k=8):
    """Batches of small well-conditioned symmetric matrices."""

    def make(torch, n):
        a = torch.rand(max(1, n // (k * k)), k, k)
        return (a @ a.mT / k + torch.eye(k),) * count

    return make


def images(torch, n, channels=16):
    """A batch of square images of about n elements in all."""
    k = max(4, min(32, math.isqrt(max(1, n // channels))))
    return torch.rand(max(1, n // (channels * k * k)), channels, k, k)


def volumes(torch, n):
    """A batch of small volumes in four channels, of about n elements in all."""
    return torch.rand(max(1, n // 2048), 4, 8, 8, 8)
