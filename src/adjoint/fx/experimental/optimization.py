"""Modules made faster for inference: batch norms folded into convolutions, dropouts taken out."""

import copy

from ...nn import BatchNorm1d, BatchNorm2d, BatchNorm3d, Conv1d, Conv2d, Conv3d, Dropout
from ...nn.utils.fusion import fuse_conv_bn_eval
from .._symbolic_trace import symbolic_trace
from ..graph import Graph
from ..graph_module import GraphModule
from ..interpreter import Transformer

__all__ = [
    "UnionFind", "extract_subgraph", "fuse", "matches_module_pattern", "optimize_for_inference", "remove_dropout",
    "replace_node_module",
]  # fmt: skip


def _parent_name(target):
    """("a.b", "c") of "a.b.c"."""
    parent, _, name = target.rpartition(".")
    return parent, name


def matches_module_pattern(pattern, node, modules):
    """Whether a node calls a module of the second type on the result of one of the first."""
    first, second = pattern
    before = node.args[0] if node.args else None
    calls = [one for one in (before, node) if getattr(one, "op", None) == "call_module" and one.target in modules]
    return len(calls) == 2 and all(
        type(modules[one.target]) is kind for one, kind in zip(calls, (first, second), strict=True)
    )


def replace_node_module(node, modules, new_module):
    """Puts another module where a node finds the one that it calls."""
    parent, name = _parent_name(node.target)
    modules[node.target] = new_module
    setattr(modules[parent], name, new_module)


def fuse(model, inplace=False, no_trace=False):
    """The module with batch norms folded into the convolutions before them; it must be in eval mode.

    >>> import adjoint as torch
    >>> from adjoint.fx.experimental.optimization import fuse
    >>> net = torch.nn.Sequential(torch.nn.Conv2d(1, 1, 1), torch.nn.BatchNorm2d(1)).eval()
    >>> [name for name, _ in fuse(net).named_children()]
    ['0']
    """
    patterns = [(Conv1d, BatchNorm1d), (Conv2d, BatchNorm2d), (Conv3d, BatchNorm3d)]
    if not inplace:
        model = copy.deepcopy(model)
    traced = model if no_trace and isinstance(model, GraphModule) else symbolic_trace(model)
    modules = dict(traced.named_modules())
    graph = copy.deepcopy(traced.graph)
    for pattern in patterns:
        for node in graph.nodes:
            if not matches_module_pattern(pattern, node, modules) or len(node.args[0].users) > 1:
                continue
            norm = modules[node.target]
            if not norm.track_running_stats:
                continue
            replace_node_module(node.args[0], modules, fuse_conv_bn_eval(modules[node.args[0].target], norm))
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)
    return GraphModule(traced, graph)


def remove_dropout(model):
    """The module without its dropouts.

    >>> import adjoint as torch
    >>> from adjoint.fx.experimental.optimization import remove_dropout
    >>> [name for name, _ in remove_dropout(torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Dropout())).named_children()]
    ['0']
    """

    class DropoutRemover(Transformer):
        def call_module(self, target, args, kwargs):
            if isinstance(self.submodules[target], Dropout):
                return args[0]
            return super().call_module(target, args, kwargs)

    return DropoutRemover(symbolic_trace(model)).transform()


def extract_subgraph(orig_module, nodes, inputs, outputs):
    """A GraphModule of some nodes of a graph, which gets the values of `inputs` and gives those of `outputs`."""
    graph = Graph()
    copies = {node: graph.placeholder(node.name) for node in inputs}
    for node in nodes:
        copies[node] = graph.node_copy(node, copies.__getitem__)
    graph.output([copies[node] for node in outputs])
    graph.lint()
    return GraphModule(orig_module, graph)


def optimize_for_inference(model, pass_config=None, tracer=None):
    """`fuse` and `remove_dropout`, unless `pass_config` says False for "conv_bn_fuse" or "remove_dropout"."""
    chosen = {"conv_bn_fuse": True, "remove_dropout": True, **(pass_config or {})}
    if chosen["conv_bn_fuse"]:
        model = fuse(model)
    return remove_dropout(model) if chosen["remove_dropout"] else model


class UnionFind:
    """Sets of numbers that can be joined.

    >>> from adjoint.fx.experimental.optimization import UnionFind
    >>> sets = UnionFind(3)
    >>> for number in range(3):
    ...     sets.make_set(number)
    >>> root = sets.join(0, 2)
    >>> sets.find(0) == sets.find(2)
    True
    """

    def __init__(self, n):
        self.parent, self.size = [None] * n, [0] * n

    def make_set(self, v):
        """A set of one number."""
        self.parent[v], self.size[v] = v, 1

    def find(self, v):
        """The number that stands for a number's set."""
        while self.parent[v] != v:
            self.parent[v] = self.parent[self.parent[v]]
            v = self.parent[v]
        return v

    def join(self, a, b):
        """Makes one set of two; the number that stands for it."""
        a, b = self.find(a), self.find(b)
        if a == b:
            return a
        if self.size[a] < self.size[b]:
            a, b = b, a
        self.parent[b] = a
        self.size[a] += self.size[b]
        return a
