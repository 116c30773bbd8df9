"""Sizes for each dimension from one number or several, and the cleaning of names in a state dict."""

from collections.abc import Iterable


def _ntuple(n, name="parse"):
    """A function that makes a tuple of an iterable, and a tuple of n times the same of anything else.

    >>> from adjoint.nn.modules.utils import _ntuple
    >>> _ntuple(2)(3), _ntuple(2)([4, 5])
    ((3, 3), (4, 5))
    """

    def parse(x):
        return tuple(x) if isinstance(x, Iterable) else (x,) * n

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t, n):
    """The elements from the last to the first, each n times: (1, 2) and 2 give (2, 2, 1, 1)."""
    return tuple(x for x in reversed(t) for _ in range(n))


def _list_with_default(out_size, defaults):
    """Sizes, those that are None taken from the end of `defaults`."""
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    last = defaults[-len(out_size) :]
    return [default if size is None else size for size, default in zip(out_size, last, strict=True)]


def consume_prefix_in_state_dict_if_present(state_dict, prefix):
    """Takes a prefix such as "module." off the keys of a state dict, in place.

    >>> from adjoint.nn.modules.utils import consume_prefix_in_state_dict_if_present
    >>> state = {"module.weight": 1}
    >>> consume_prefix_in_state_dict_if_present(state, "module.")
    >>> state
    {'weight': 1}
    """
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None)
    for key in list(metadata or ()):
        if key and (key == prefix.replace(".", "") or key.startswith(prefix)):
            metadata[key[len(prefix) :]] = metadata.pop(key)
