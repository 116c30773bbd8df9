"""scatter and gather: a batch to several GPUs and back. Without GPUs there is nowhere to."""

from ..._absent import refusing

_ADVICE = "there are no GPUs to share a batch among; call the module with the whole batch, or use nn.DataParallel"

scatter = refusing("nn.parallel", "scatter", _ADVICE)
scatter_kwargs = refusing("nn.parallel", "scatter_kwargs", _ADVICE)
gather = refusing("nn.parallel", "gather", _ADVICE)


def is_namedtuple(obj):
    """Whether an object is a tuple whose items have names, as its class says.

    >>> from collections import namedtuple
    >>> from adjoint.nn.parallel.scatter_gather import is_namedtuple
    >>> is_namedtuple(namedtuple("P", "a")(1)), is_namedtuple((1,))
    (True, False)
    """
    return isinstance(obj, tuple) and hasattr(obj, "_asdict") and hasattr(obj, "_fields")
