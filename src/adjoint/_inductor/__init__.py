"""The names of torch's backend for compiled code, as far as programs that do not compile ask for them."""

from ..compiler import cudagraph_mark_step_begin as cudagraph_mark_step_begin
from . import config as config


def list_mode_options(mode=None, dynamic=None):
    """What the modes of torch.compile would set: nothing is compiled."""
    return {}


def list_options():
    """The names of the settings that are kept.

    >>> from adjoint import _inductor
    >>> "max_autotune" in _inductor.list_options()
    True
    """
    return [name for name in vars(config) if not name.startswith("_")]
