"""Subgraphs as modules of their own, and graphs compared."""

from ....nn import Module
from ...graph_module import GraphModule
from .matcher_utils import SubgraphMatcher

__all__ = ["HolderModule", "compare_graphs", "lift_subgraph_as_module"]


class HolderModule(Module):
    """A module that has nothing but the submodules of a dict."""

    def __init__(self, d):
        super().__init__()
        for name, module in d.items():
            self.add_module(name, module)


def lift_subgraph_as_module(gm, subgraph, comp_name="", class_name="GraphModule"):
    """(a GraphModule of a subgraph whose targets are in `gm`, the dotted names there of what it has).

    >>> import adjoint as torch
    >>> gm = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.ReLU()))
    >>> from adjoint.fx.passes.utils import lift_subgraph_as_module
    >>> type(lift_subgraph_as_module(gm, gm.graph)[0]).__name__
    'GraphModule'
    """
    submodule = HolderModule({})
    names = {}
    for node in subgraph.nodes:
        if node.op not in ("call_module", "get_attr"):
            continue
        *path, name = node.target.split(".")
        source, below = gm, submodule
        for part in path:
            source = getattr(source, part)
            if not hasattr(below, part):
                below.add_module(part, HolderModule({}))
            below = getattr(below, part)
        value = getattr(source, name)
        names[f"{comp_name}.{node.target}" if comp_name else node.target] = node.target
        if not hasattr(below, name):
            setattr(below, name, value)
    return GraphModule(submodule, subgraph, class_name), names


def compare_graphs(left, right):
    """Whether two graphs do the same in the same way.

    >>> import adjoint as torch
    >>> from adjoint.fx.passes.utils import compare_graphs
    >>> add = torch.fx.symbolic_trace(lambda x: x + 1).graph
    >>> compare_graphs(add, torch.fx.symbolic_trace(lambda y: y + 1).graph)
    True
    """
    matcher = SubgraphMatcher(left, match_output=True, match_placeholder=True)
    return len(matcher.match(right)) > 0
