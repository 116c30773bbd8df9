"""Devices that packages add to torch: their names are refused here, for no code of theirs could run."""

_REASON = "a device of another package brings kernels for PyTorch's own core, which is not here; use the CPU"


def rename_privateuse1_backend(backend_name):
    """Refused: no device can be added.

    >>> import adjoint as torch
    >>> torch.utils.rename_privateuse1_backend("mine")
    Traceback (most recent call last):
        ...
    RuntimeError: rename_privateuse1_backend('mine'): a device of another package brings kernels for PyTorch's own \
core, which is not here; use the CPU
    """
    if not isinstance(backend_name, str):
        raise RuntimeError(f"_rename_privateuse1_backend expects a str, but got {type(backend_name).__name__}")
    raise RuntimeError(f"rename_privateuse1_backend({backend_name!r}): {_REASON}")


def generate_methods_for_privateuse1_backend(*args, **kwargs):
    """Refused: no device can be added.

    >>> import adjoint as torch
    >>> torch.utils.generate_methods_for_privateuse1_backend()
    Traceback (most recent call last):
        ...
    RuntimeError: generate_methods_for_privateuse1_backend(): a device of another package brings kernels for \
PyTorch's own core, which is not here; use the CPU
    """
    raise RuntimeError(f"generate_methods_for_privateuse1_backend(): {_REASON}")
