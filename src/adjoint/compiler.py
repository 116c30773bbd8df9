"""What programs ask of a compiler that is not running: nothing is compiled, and functions stay as they are."""

__all__ = ["allow_in_graph", "assume_constant_result", "disable", "is_compiling", "is_dynamo_compiling", "is_exporting"]


def is_compiling():
    """Whether the code that asks is being compiled: no.

    >>> import adjoint as torch
    >>> torch.compiler.is_compiling()
    False
    """
    return False


def is_dynamo_compiling():
    """Whether the code that asks is being traced: no.

    >>> import adjoint as torch
    >>> torch.compiler.is_dynamo_compiling()
    False
    """
    return False


def is_exporting():
    """Whether the code that asks is being exported: no.

    >>> import adjoint as torch
    >>> torch.compiler.is_exporting()
    False
    """
    return False


def allow_in_graph(fn):
    """The function or functions themselves: a compiler would take each for one op.

    >>> import adjoint as torch
    >>> torch.compiler.allow_in_graph(abs) is abs
    True
    """
    for one in fn if isinstance(fn, list | tuple) else (fn,):
        if not callable(one):
            raise AssertionError("allow_in_graph expects a callable; pass the function itself")
    return fn


def assume_constant_result(fn):
    """The function itself: a compiler would call it once.

    >>> import adjoint as torch
    >>> torch.compiler.assume_constant_result(abs) is abs
    True
    """
    return fn


def disable(fn=None, recursive=True, *, reason=None):
    """The function itself, or a decorator that returns it: a compiler would leave it alone.

    >>> import adjoint as torch
    >>> torch.compiler.disable(abs)(-1)
    1
    """
    return fn if fn is not None else lambda function: function
