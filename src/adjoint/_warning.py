"""Warnings that point to the line of the program that caused them, however deep in this package they arise."""

import os
import sys
import warnings

_PACKAGE = os.path.join(os.path.dirname(__file__), "")


def warn_user(text, category=UserWarning):
    """Warns at the innermost line outside of this package: Python shows such a warning once for each line.

    >>> import warnings
    >>> from adjoint._warning import warn_user
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_user("something is odd")
    >>> str(caught[0].message)
    'something is odd'
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)
