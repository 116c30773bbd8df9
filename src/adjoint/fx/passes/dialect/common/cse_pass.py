"""What is computed twice is computed once."""

from ..... import _ops
from ....graph import Graph
from ....node import Node, map_aggregate
from ...infra.pass_base import PassBase, PassResult

__all__ = ["CSEPass", "get_CSE_banned_ops"]

_RANDOM = ("bernoulli", "binomial", "dropout", "multinomial", "native_dropout", "normal", "poisson", "rand",
           "rand_like", "randint", "randn", "randn_like", "randperm", "rrelu")  # fmt: skip


def get_CSE_banned_ops():
    """The ops of torch.ops.aten whose calls differ though their arguments are the same.

    >>> from adjoint.fx.passes.dialect.common.cse_pass import get_CSE_banned_ops
    >>> any(op.__name__ == "rand" for op in get_CSE_banned_ops())
    True
    """
    space = _ops.namespace("aten")
    return {getattr(space, name) for name in _RANDOM if hasattr(space, name)}


class CSEPass(PassBase):
    """Lets calls of one op with the same arguments be one call. Random ops and those with effects stay.

    >>> import adjoint as torch
    >>> from adjoint.fx.passes.dialect.common.cse_pass import CSEPass
    >>> gm = torch.fx.symbolic_trace(lambda x: x.cos() + x.cos())
    >>> print(CSEPass()(gm).graph_module.code.strip())
    def forward(self, x):
        cos = x.cos();  x = None
        add = cos + cos;  cos = None
        return add
    """

    def __init__(self, banned_ops=None):
        super().__init__()
        self.banned_ops = set(banned_ops or ()) | get_CSE_banned_ops()

    def call(self, graph_module):
        """The module with a new graph, and whether something was there twice."""
        graph = Graph()
        copies, seen, modified = {}, {}, False
        for node in graph_module.graph.nodes:
            key = None if self._stays(node) else _key(node, copies)
            if key is not None and key in seen:
                copies[node], modified = seen[key], True
                continue
            copies[node] = graph.node_copy(node, copies.__getitem__)
            if key is not None:
                seen[key] = copies[node]
        graph._codegen = graph_module.graph._codegen
        graph_module.graph = graph
        return PassResult(graph_module, modified)

    def _stays(self, node):
        if node.op not in ("call_function", "call_method", "get_attr"):
            return True
        packet = getattr(node.target, "overloadpacket", node.target)
        if node.op == "call_method" and node.target.endswith("_"):
            return True
        return node.is_impure() or (callable(packet) and packet in self.banned_ops)


def _key(node, copies):
    """What two calls have in common if they are the same; None if that cannot be said."""

    def shown(value):
        return ("node", id(copies[value])) if isinstance(value, Node) else (type(value), value)

    key = (node.op, node.target, map_aggregate(node.args, shown), map_aggregate(node.kwargs, shown))
    try:
        hash(key)
    except TypeError:
        return None
    return key
