"""Kullback-Leibler divergences: which function gives that of two distributions, by their types."""

import functools
import warnings

from ..ops.language import full_like

__all__ = ["kl_divergence", "register_kl"]

_KL_REGISTRY: dict = {}  # the functions by a pair of types, as they were registered
_KL_MEMOIZE: dict = {}  # what was found for pairs of types that were asked for


def register_kl(type_p, type_q):
    """Registers a function as the divergence of distributions of two types, or of types derived from them.

    >>> import adjoint as torch
    >>> from adjoint.distributions import Normal, kl_divergence, register_kl
    >>> class Wide(Normal):
    ...     pass
    >>> @register_kl(Wide, Wide)
    ... def kl_wide_wide(p, q):
    ...     return torch.tensor(7.0)
    >>> kl_divergence(Wide(0.0, 1.0), Wide(0.0, 2.0))
    tensor(7.)
    """
    if not isinstance(type_p, type):
        raise TypeError(f"issubclass() arg 1 must be a class; register_kl: expected type_p to be one, but got {type_p}")
    if not isinstance(type_q, type):
        raise TypeError(f"issubclass() arg 1 must be a class; register_kl: expected type_q to be one, but got {type_q}")

    def register(function):
        _KL_REGISTRY[type_p, type_q] = function
        _KL_MEMOIZE.clear()
        return function

    return register


@functools.total_ordering
class _Match:
    """Types in the order of how special they are: a derived one before its base."""

    __slots__ = ("types",)

    def __init__(self, *types):
        self.types = types

    def __eq__(self, other):
        return self.types == other.types

    def __le__(self, other):
        for x, y in zip(self.types, other.types, strict=True):
            if not issubclass(x, y):
                return False
            if x is not y:
                break
        return True


def _dispatch_kl(type_p, type_q):
    """The function for the nearest pair of types, NotImplemented if there is none."""
    matches = [pair for pair in _KL_REGISTRY if issubclass(type_p, pair[0]) and issubclass(type_q, pair[1])]
    if not matches:
        return NotImplemented
    left = min(_Match(*pair) for pair in matches).types
    right = min(_Match(*reversed(pair)) for pair in matches).types
    by_left, by_right = _KL_REGISTRY[left], _KL_REGISTRY[tuple(reversed(right))]
    if by_left is not by_right:
        names = (type_p.__name__, type_q.__name__, left[0].__name__, right[0].__name__)
        warnings.warn(
            "Ambiguous kl_divergence({}, {}). Please register_kl({}, {})".format(*names), RuntimeWarning, stacklevel=3
        )
    return by_left


def _infinite_like(tensor):
    """Infinity in the shape of a tensor."""
    return full_like(tensor, float("inf"))


def kl_divergence(p, q):
    """The Kullback-Leibler divergence of p from q: the expectation under p of log p - log q, a tensor of their batch.

    >>> from adjoint.distributions import Normal, kl_divergence
    >>> kl_divergence(Normal(1.0, 1.0), Normal(0.0, 1.0))
    tensor(0.5000)
    """
    pair = type(p), type(q)
    function = _KL_MEMOIZE.get(pair)
    if function is None:
        function = _KL_MEMOIZE[pair] = _dispatch_kl(*pair)
    if function is NotImplemented:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {p.__class__.__name__} and q type {q.__class__.__name__}"
        )
    return function(p, q)


from ._kl_cross import *  # noqa: E402, F403  # they register themselves
from ._kl_same import *  # noqa: E402, F403
