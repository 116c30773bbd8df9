"""The names of Intel's tracing tool; there is none to tell, so that they do nothing."""


def is_available():
    """Whether VTune can be told of ranges: no.

    >>> import adjoint as torch
    >>> torch.profiler.itt.is_available()
    False
    """
    return False


def range_push(msg):
    """Begins a range that nobody sees."""


def range_pop():
    """Ends it."""


def mark(msg):
    """Marks a moment that nobody sees."""
