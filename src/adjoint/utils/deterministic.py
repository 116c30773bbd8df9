"""What use_deterministic_algorithms() does to new memory.

>>> import adjoint as torch
>>> torch.utils.deterministic.fill_uninitialized_memory
True
"""

import sys
import types

from .. import _C


class _Deterministic(types.ModuleType):
    """A module with an attribute that is a switch of the native core."""

    @property
    def fill_uninitialized_memory(self):
        """Whether memory that holds nothing yet, as empty() gives it, is filled with nan or the largest integer."""
        return _C._get_deterministic()[2]

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode):
        if not isinstance(mode, bool):
            raise RuntimeError(f"expected a bool, but got {type(mode).__name__}; give True or False")
        enabled, warn_only, _ = _C._get_deterministic()
        _C._set_deterministic(enabled, warn_only, mode)


sys.modules[__name__].__class__ = _Deterministic
