"""The functions of torch by the name under which modules of recurrent networks call them: `_VF.lstm`."""

import sys


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(sys.modules[__package__], name)
