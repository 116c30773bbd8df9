"""Leaving what sees calls, where packages import it from."""

import contextlib

from .. import _native
from ._python_dispatch import _disable_current_modes


@contextlib.contextmanager
def no_dispatch():
    """No dispatch mode and no class with `__torch_dispatch__` sees calls while it lasts.

    >>> import adjoint as torch
    >>> from adjoint.utils._mode_utils import no_dispatch
    >>> with no_dispatch():
    ...     print(torch.ones(1) + 1)
    tensor([2.])
    """
    with _disable_current_modes(), _native._DisableTorchDispatch():
        yield


def all_same_mode(modes):
    """Whether all of these are one mode.

    >>> from adjoint.utils._mode_utils import all_same_mode
    >>> all_same_mode([1, 1])
    True
    """
    return all(mode == modes[0] for mode in modes)
