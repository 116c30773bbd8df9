"""Names by which programs look whether a module was compiled: none was."""

from .._absent import refusing_type

# For isinstance(): compile() returns the module itself.
OptimizedModule = refusing_type(
    "_dynamo.eval_frame", "OptimizedModule", "nothing is compiled here; use the module itself"
)


def is_dynamo_supported():
    """Whether torch.compile compiles: no, it returns what it is given."""
    return False


def is_inductor_supported():
    """Whether torch.compile compiles with its own backend: no."""
    return False


def innermost_fn(fn):
    """The function itself: nothing is wrapped around it."""
    return fn
