"""Nodes replaced by kind, and the bytes of their values."""

import typing

from .shape_prop import ShapeProp, TensorMetadata

__all__ = [
    "get_size_of_all_nodes", "get_size_of_node", "get_tensor_meta", "replace_target_nodes_with", "size_bytes",
]  # fmt: skip


class size_bytes(typing.NamedTuple):
    """Bytes of a node's value, and of it with its parameters."""

    output_size: int
    total_size: int


def replace_target_nodes_with(fx_module, old_op, old_target, new_op, new_target):
    """Has all nodes of one op and target be of another.

    >>> import adjoint as torch
    >>> gm = torch.fx.symbolic_trace(lambda x: x.relu())
    >>> replace = torch.fx.passes.graph_manipulation.replace_target_nodes_with
    >>> replace(gm, "call_method", "relu", "call_method", "tanh")
    >>> [node.target for node in gm.graph.nodes]
    ['x', 'tanh', 'output']
    """
    for node in fx_module.graph.nodes:
        if node.op == old_op and node.target == old_target:
            node.op, node.target = new_op, new_target
    fx_module.recompile()


def get_size_of_all_nodes(fx_module, args=None):
    """Notes the sizes of all nodes as `node.size_bytes`; `args` are run through the module first."""
    if args is not None:
        ShapeProp(fx_module).propagate(*args)
    for node in fx_module.graph.nodes:
        if node.op == "output":
            break
        node.size_bytes = get_size_of_node(fx_module, node)


def get_tensor_meta(node):
    """What ShapeProp has noted of a node."""
    meta = node.meta.get("tensor_meta")
    if not meta:
        raise RuntimeError(
            f"Node {node} has no tensor metadata associated with it! Check that shape propagation has run."
        )
    return meta


def get_size_of_node(fx_module, node):
    """The bytes of a node's value and parameters."""
    total = 0
    if node.op == "call_module":
        module = fx_module.get_submodule(node.target)
        total = sum(parameter.numel() * parameter.itemsize for parameter in module.parameters())
    output = _bytes(get_tensor_meta(node))
    return size_bytes(output, total + output)


def _bytes(meta):
    if not isinstance(meta, TensorMetadata):
        return sum(_bytes(one) for one in meta)
    count = 1
    for size in meta.shape:
        count *= size
    return count * meta.dtype.itemsize
