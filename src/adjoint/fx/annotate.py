"""Types of values in traced functions."""

from .proxy import Proxy

__all__ = ["annotate"]


def annotate(val, type):
    """The value; a proxy's node gets the type.

    >>> import adjoint as torch
    >>> from adjoint.fx.annotate import annotate
    >>> gm = torch.fx.symbolic_trace(lambda x: annotate(x + 1, int))
    >>> gm.graph.output_node().args[0].type
    <class 'int'>
    """
    if not isinstance(val, Proxy):
        return val
    if val.node.type:
        raise RuntimeError(f"Tried to annotate a value that already had a type on it! Existing type is {val.node.type}")
    val.node.type = type
    return val
