"""Tables of how ops are made of others, which compilers ask for: ops are not taken apart here."""

decomposition_table: dict = {}


def register_decomposition(aten_op, registry=None, *, type="post_autograd", unsafe=False):
    """Notes what a program says an op is made of; nothing here reads it.

    >>> import adjoint as torch
    >>> @torch._decomp.register_decomposition(torch.ops.aten.relu.default, registry={})
    ... def relu(x):
    ...     return x.clamp(min=0)
    """
    table = decomposition_table if registry is None else registry

    def note(function):
        for op in aten_op if isinstance(aten_op, list | tuple) else (aten_op,):
            table[op] = function
        return function

    return note


def get_decompositions(aten_ops, type="post_autograd"):
    """Those of these ops that programs have told.

    >>> import adjoint as torch
    >>> torch._decomp.get_decompositions([torch.ops.aten.exp.default])
    {}
    """
    return {op: decomposition_table[op] for op in aten_ops if op in decomposition_table}


def core_aten_decompositions():
    """All that programs have told."""
    return dict(decomposition_table)


def remove_decompositions(decompositions, aten_ops):
    """Takes those of these ops out of a table."""
    for op in aten_ops:
        decompositions.pop(op, None)
