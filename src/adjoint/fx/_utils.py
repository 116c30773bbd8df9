"""Where nodes come from, in words."""


def get_node_context(node, num_nodes=2):
    """A node and those before it, as lines.

    >>> import adjoint as torch
    >>> from adjoint.fx._utils import get_node_context
    >>> get_node_context(torch.fx.Graph().placeholder("x"))
    '%x : [num_users=0] = placeholder[target=x]'
    """
    lines = []
    while node.op != "root" and len(lines) < num_nodes:
        lines.insert(0, node.format_node())
        node = node.prev
    return "\n".join(lines)


def first_call_function_nn_module_stack(graph):
    """The modules around the first call of a function; None if there is none."""
    for node in graph.nodes:
        if node.op == "call_function" and "nn_module_stack" in node.meta:
            return node.meta["nn_module_stack"]
    return None
