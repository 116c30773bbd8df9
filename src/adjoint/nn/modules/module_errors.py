"""Errors inside modules say in which: their class, their place in the network, and how they were made.

Loaded with the first error that leaves the call of a module; see csrc/python/explained.h.
"""

from ..._refusal import explain_forward, is_raised_by_package

# The types that ops and layers raise. Others, such as a KeyError, show their argument instead of a text.
_KINDS = (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError, AssertionError)
_LONGEST = 120  # characters of extra_repr() that are worth showing


def name_module(module, error):
    """Adds to an error of the library in which module it arose; called for each module that it leaves, innermost first.

    What a program raises itself stays as it is.
    """
    about = error.__dict__.get("_in_module")
    if about is None:
        fits = type(error) in _KINDS and len(error.args) == 1 and isinstance(error.args[0], str)
        text = explain_forward(module, error) if fits else None
        if text is None and not (fits and is_raised_by_package(error)):
            return
        about = (text or error.args[0], _described(module), "", id(module))
    else:
        text, described, path, inner = about
        name = next((name for name, child in module.named_modules() if id(child) == inner), None)
        # One that its caller does not have is not looked for further out.
        about = (text, described, f"{name}.{path}".strip(".") if name else path, None if name is None else id(module))
    error._in_module = about  # plain data: errors are pickled, and must not take a network along
    text, (kind, settings), path, _ = about
    if not path and not settings and kind in text:
        error.args = (text,)
        return
    place = f" {path!r}" if path else ""
    error.args = (f"{text}{' In' if text.endswith(('.', '?')) else '; in'} {kind}{place}{settings}",)


def _described(module):
    """A module's class, and the settings that it was made with."""
    try:
        settings = module.extra_repr()
    except Exception:  # of a program's own, about a module that is half made
        settings = ""
    return type(module).__name__, f" ({settings})" if 0 < len(settings) <= _LONGEST else ""
