"""Calls everything public with arguments that make no sense; run by test_robustness.py in a process of its own.

Any Python exception is a fine answer. A crash ends the process, and the last line printed names the call.
"""

import faulthandler
import inspect
import random
import sys
import warnings

import numpy as np

import adjoint


def arguments(rng):
    """One argument: sensible tensors and numbers among nonsense."""
    kinds = [
        lambda: adjoint.rand(2, 3),
        lambda: adjoint.rand(2, 3, requires_grad=True),
        lambda: adjoint.rand(3, 2).t(),
        lambda: adjoint.rand(4),
        lambda: adjoint.tensor(2.0, requires_grad=True) * 1,
        lambda: adjoint.arange(6).reshape(2, 3),
        lambda: adjoint.tensor([[-7, 99, 2], [1, 1, 0]]),
        lambda: adjoint.zeros(0, 3),
        lambda: adjoint.zeros(2, 3, dtype=adjoint.bool),
        lambda: adjoint.rand(2, 3).to(adjoint.complex64),
        lambda: adjoint.rand(2, 3).half(),
        lambda: adjoint.rand(1, 3).expand(2, 3),
        lambda: rng.choice([0, 1, -1, 2, 3, -5, 2**40, 2**62, -(2**63), 2**63, 2**70]),
        lambda: rng.choice([0.5, float("nan"), float("inf"), -1e308, 1 + 2j]),
        lambda: rng.choice([None, True, False, "sum", "mean", "", "\0", b"x", object(), ..., slice(None), int]),
        lambda: rng.choice([(), (0,), (1, 0), (-1,), (2, 3), (0, 0), (2**40, 2**40), [3, -1], [[0], [1, 2]], {}]),
        lambda: [adjoint.rand(2, 3), adjoint.rand(2, 3)],
        lambda: rng.choice([adjoint.float32, adjoint.int64, adjoint.bool, adjoint.device("cpu"), np.float64]),
        lambda: np.ones((2, 3)),
    ]
    return rng.choice(kinds)()


def targets():
    """Functions of the package and methods of Tensor, by name."""
    for name, value in sorted(vars(adjoint).items()):
        if callable(value) and not name.startswith("_") and not inspect.isclass(value) and name not in SKIPPED:
            yield f"adjoint.{name}", value
    for module in (adjoint.nn.functional, adjoint.linalg, adjoint.fft, adjoint.masked, adjoint.signal.windows):
        for name, value in sorted(vars(module).items()):
            if callable(value) and not name.startswith("_") and not inspect.isclass(value):
                yield f"{module.__name__}.{name}", value
    for name in sorted(dir(adjoint.Tensor)):
        value = getattr(adjoint.Tensor, name)
        if callable(value) and name not in SKIPPED and not inspect.isclass(value):
            yield (
                f"Tensor.{name}",
                lambda *args, name=name, **kwargs: getattr(adjoint.rand(2, 3), name)(*args, **kwargs),
            )


# These change the process rather than compute.
SKIPPED = {"set_num_threads", "set_default_dtype", "set_printoptions", "set_grad_enabled", "printoptions", "__class__"}


def main(seed, rounds):
    faulthandler.enable()
    warnings.simplefilter("ignore")
    rng = random.Random(seed)
    calls = 0
    for name, target in targets():
        for _ in range(rounds):
            args = [arguments(rng) for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 4]))]
            print(name, [type(a).__name__ for a in args], file=sys.stderr)
            calls += 1
            try:
                result = target(*args)
                if isinstance(result, adjoint.Tensor):
                    if result.numel() < 1000:
                        repr(result)
                    if result.requires_grad and not result.is_complex():
                        result.sum().backward()
            except Exception:
                pass
            adjoint.set_grad_enabled(True)
    print(f"{calls} calls survived")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
