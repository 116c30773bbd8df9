"""The order in which einsum multiplies: from left to right."""

import contextlib
import sys

enabled = False
strategy = None
_module = sys.modules[__name__]


def is_available():
    """Whether the package opt_einsum is in use: no.

    >>> import adjoint as torch
    >>> torch.backends.opt_einsum.is_available()
    False
    """
    return False


def get_opt_einsum():
    """The package opt_einsum where it is in use: None.

    >>> import adjoint as torch
    >>> torch.backends.opt_einsum.get_opt_einsum() is None
    True
    """


def set_flags(_enabled=None, _strategy=None):
    """Sets the flags that are not None, of which there are none to set; returns what they were.

    >>> import adjoint as torch
    >>> torch.backends.opt_einsum.set_flags(_enabled=False)
    (False, None)
    """
    if _enabled:
        raise ValueError(
            "opt_einsum is not available, so setting `enabled` to True will not reap the benefits of calculating an "
            "optimal path for einsum; write the products in the order that is best"
        )
    if _strategy is not None:
        raise ValueError(
            f"opt_einsum is not available, so setting `strategy` to {_strategy} will not be meaningful; leave it None"
        )
    former = enabled, strategy
    if _enabled is not None:
        _module.enabled = _enabled
    return former


@contextlib.contextmanager
def flags(enabled=None, strategy=None):
    """A context in which the flags have these values.

    >>> import adjoint as torch
    >>> with torch.backends.opt_einsum.flags(enabled=False):
    ...     torch.backends.opt_einsum.enabled
    False
    """
    former = set_flags(enabled, strategy)
    try:
        yield
    finally:
        _module.enabled, _module.strategy = former
