"""The fast path of multi-head attention: its switch is kept, and changes nothing."""

_state = {"enabled": True}


def get_fastpath_enabled():
    """Whether layers of attention may take a shorter way when they need no gradients.

    >>> import adjoint as torch
    >>> torch.backends.mha.get_fastpath_enabled()
    True
    """
    return _state["enabled"]


def set_fastpath_enabled(value):
    """Lets layers of attention take a shorter way when they need no gradients; there is one way here.

    >>> import adjoint as torch
    >>> torch.backends.mha.set_fastpath_enabled(True)
    """
    _state["enabled"] = value
