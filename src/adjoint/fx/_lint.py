"""Whether a graph is in order."""


def has_attribute(module, path):
    """Whether a module has something at a dotted name."""
    for part in path.split("."):
        if not hasattr(module, part):
            return False
        module = getattr(module, part)
    return True


def has_member(module, path):
    """Whether a module has a module, a parameter or a buffer at a dotted name."""
    from ..nn import Module, Parameter

    parent, _, name = path.rpartition(".")
    if not has_attribute(module, path):
        return False
    owner = module.get_submodule(parent)
    return isinstance(getattr(owner, name), Module | Parameter) or name in owner._buffers


def lint(graph):
    """Raises if nodes are used before they are there or belong elsewhere, or their targets are missing."""
    names = set()
    seen = set()
    for node in graph.nodes:
        if node.graph is not graph:
            raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
        for arg in node.all_input_nodes:
            _check_argument(graph, arg, node, seen)
        seen.add(node)
        if node.name in names:
            raise RuntimeError(f"Node redefined name {node.name}!")
        names.add(node.name)
    if graph.owning_module is not None:
        for node in graph.nodes:
            if node.op in ("call_module", "get_attr"):
                _check_target(graph.owning_module, node)


def _check_argument(graph, arg, node, seen):
    if arg.graph is not graph:
        raise RuntimeError(
            f"Argument '{arg}' of Node '{node}' does not belong to this Graph, but was used as an argument! If you are "
            "copying nodes from another graph, make sure to use ``arg_transform`` on node_copy() to remap values\n"
            f"{graph}"
        )
    if arg not in seen:
        raise RuntimeError(
            f"Argument '{arg}' of Node '{node}' was used before it has been defined! Please check that Nodes in the "
            f"graph are topologically ordered\n{graph}"
        )


def _check_target(module, node):
    from ..nn import Module

    name = ""
    for part in node.target.split("."):
        if not hasattr(module, part):
            raise RuntimeError(f"Node {node} target {node.target} references nonexistent attribute {part} of {name}")
        before, name = name, f"{name}.{part}" if name else part
        module = getattr(module, part)
    if node.op == "call_module" and not isinstance(module, Module):
        raise RuntimeError(f"Node {node} target {node.target} {part} of {before} does not reference an nn.Module")
