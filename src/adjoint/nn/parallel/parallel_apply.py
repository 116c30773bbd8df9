"""Modules that are called each with its own arguments."""

import contextlib

from ..._utils import _get_device_index


def parallel_apply(modules, inputs, kwargs_tup=None, devices=None):
    """Calls each of the modules with its own inputs, with its GPU for the current one.

    One call begins after the other, while GPUs go on with what they were given.

    >>> import adjoint as torch
    >>> torch.nn.parallel.parallel_apply([torch.nn.Tanh(), torch.nn.ReLU()], [torch.zeros(1), torch.ones(1)])
    [tensor([0.]), tensor([1.])]
    """
    if len(modules) != len(inputs):
        raise AssertionError(f"The number of modules {len(modules)} is not equal to the number of inputs {len(inputs)}")
    keywords = kwargs_tup or ({},) * len(modules)
    devices = devices or [None] * len(modules)
    given = [one if isinstance(one, (list, tuple)) else (one,) for one in inputs]
    results = []
    for module, one, words, device in zip(modules, given, keywords, devices, strict=True):
        with _on(device):
            results.append(module(*one, **words))
    return results


def _on(device):
    if device is None:
        return contextlib.nullcontext()
    from ... import cuda

    return cuda.device(_get_device_index(device))
