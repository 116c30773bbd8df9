"""How tensors are printed, by the names that torch has for the parts of it; adjoint._printing does it."""

import sys

from . import _printing
from ._printing import get_printoptions as get_printoptions
from ._printing import printoptions as printoptions
from ._printing import set_printoptions as set_printoptions


class _PrintOptions:
    """The options in force, as attributes."""

    def __getattr__(self, name):
        return getattr(_printing._options, name)

    def __repr__(self):
        return repr(_printing._options)


PRINT_OPTS = _PrintOptions()


def _tensor_str(self, indent):
    """The elements of a tensor, in brackets, as they stand behind so many columns.

    >>> import adjoint as torch
    >>> torch._tensor_str._tensor_str(torch.ones(2), 0)
    '[1., 1.]'
    """
    if self.numel() == 0:
        return "[]"
    options = _printing._options
    return _printing._elements(self.detach(), indent, options, int(min(max(options.linewidth, 0), sys.maxsize)))


def _add_suffixes(tensor_str, suffixes, indent, force_newline):
    """A text with what is told of a tensor behind it, on lines that are not too long, and a closing bracket.

    >>> import adjoint as torch
    >>> torch._tensor_str._add_suffixes("Mine([1, 2]", ["size=2"], 2, False)
    'Mine([1, 2], size=2)'
    """
    parts, column = [tensor_str], len(tensor_str) - tensor_str.rfind("\n") + 1
    for suffix in suffixes:
        if force_newline or column + len(suffix) + 2 > _printing._options.linewidth:
            parts.append(",\n" + " " * indent + suffix)
            column, force_newline = indent + len(suffix), False
        else:
            parts.append(", " + suffix)
            column += len(suffix) + 2
    return "".join([*parts, ")"])


def _str(self, *, tensor_contents=None):
    """The text of a tensor, with another text for its elements where one is given."""
    if tensor_contents is None:
        return _printing.tensor_repr(self)
    name, _ = _printing._class_name(self)
    suffixes = list(_printing._suffixes(self, _printing._options, holds_values=True))
    return _add_suffixes(f"{name}({tensor_contents}", suffixes, len(name) + 1, False)


_str_intern = _str
