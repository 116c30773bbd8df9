"""Small functions of passes: names of what nodes call, and graphs put in order."""

import heapq

from ... import _C
from .._names import qualified_name
from ..graph import Graph

__all__ = ["get_acc_ops_name", "get_node_target", "is_node_output_tensor", "legalize_graph", "stable_topological_sort"]


def get_acc_ops_name(k):
    """The name of a type or function, without underscores in its module's."""
    if isinstance(k, str):
        return k
    module = (getattr(k, "__module__", None) or "").replace("torch._ops", "torch.ops")
    return f"{module}.{k.__name__}" if module else k.__name__


def get_node_target(submodules, node):
    """What a node calls, as a text: the type of a module, a function's name, a method's.

    >>> import adjoint as torch
    >>> from adjoint.fx.passes.tools_common import get_node_target
    >>> graph = torch.fx.Graph()
    >>> get_node_target({}, graph.call_function(torch.relu, (1,)))
    'torch.relu'
    """
    if node.op not in ("call_function", "call_module", "call_method"):
        raise AssertionError(f"Expect op types of call_module, call_function, call_method, but found {node.op}")
    if node.op == "call_module":
        module = submodules[node.target]
        return get_acc_ops_name(getattr(module, "_base_class_origin", type(module)))
    return qualified_name(node.target) if node.op == "call_function" else node.target


def is_node_output_tensor(node):
    """Whether a node gives a tensor; ShapeProp must have run."""
    kind = node.meta.get("type")
    return kind is not None and issubclass(kind, _C.Tensor)


def _rebuilt(gm, order):
    graph = Graph()
    known = {}
    for node in order:
        known[node] = graph.node_copy(node, known.__getitem__)
    graph._codegen = gm.graph._codegen
    gm.graph = graph
    return gm


def stable_topological_sort(gm):
    """Puts nodes after those that they use, and leaves the order as it is otherwise; the module itself.

    >>> import adjoint as torch
    >>> gm = torch.fx.symbolic_trace(lambda x: x.relu() + 1)
    >>> torch.fx.passes.tools_common.stable_topological_sort(gm) is gm
    True
    """
    waiting = {node: sum(used is not node for used in node.all_input_nodes) for node in gm.graph.nodes}
    place = {node: index for index, node in enumerate(gm.graph.nodes)}
    ready = [(place[node], node) for node, needed in waiting.items() if not needed]
    heapq.heapify(ready)
    order = []
    while ready:
        _, node = heapq.heappop(ready)
        order.append(node)
        for user in node.users:
            waiting[user] -= 1
            if not waiting[user]:
                heapq.heappush(ready, (place[user], user))
    if len(order) < len(gm.graph.nodes):
        raise RuntimeError(f"Input graph has cycles, unable to add {[node for node in waiting if waiting[node]]}")
    return _rebuilt(gm, order)


def legalize_graph(gm):
    """Puts nodes after those that they use; the module itself, whose graph is new.

    >>> import adjoint as torch
    >>> gm = torch.fx.symbolic_trace(lambda x: x.relu() + 1)
    >>> torch.fx.passes.tools_common.legalize_graph(gm) is gm
    True
    """
    waiting = {node: len(node.all_input_nodes) for node in gm.graph.nodes}
    ready = [node for node, needed in waiting.items() if not needed]
    # What is called without arguments need not come before all else.
    ready.sort(key=lambda node: node.op not in ("placeholder", "get_attr"))
    order = []
    while ready:
        node = ready.pop(0)
        order.append(node)
        for user in node.users:
            waiting[user] -= 1
            if not waiting[user]:
                ready.append(user)
    if len(order) < len(gm.graph.nodes):
        raise RuntimeError(f"Input graph has cycles, unable to add {[node for node in waiting if waiting[node]]}")
    order.sort(key=lambda node: node.op == "output")
    return _rebuilt(gm, order)
