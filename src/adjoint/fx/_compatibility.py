"""A decorator that PyTorch marks its stable names with; packages that extend fx import it."""


def compatibility(is_backward_compatible):
    """Leaves a function or class as it is.

    >>> from adjoint.fx._compatibility import compatibility
    >>> @compatibility(is_backward_compatible=True)
    ... def same(x):
    ...     return x
    """
    return lambda what: what
