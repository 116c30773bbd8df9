"""What depends on constants alone is computed once."""

from ...nn import Parameter
from .. import GraphModule, Tracer
from ..graph import Graph

__all__ = ["FoldedGraphModule", "get_unique_attr_name_in_module", "split_const_subgraphs"]


class FoldedGraphModule(GraphModule):
    """A GraphModule whose constants are computed at its first call, by `run_folding`."""

    def __init__(
        self, root, graph, const_subgraph=None, fx_const_folded_attrs_name=None, device_for_folded_attrs="cuda"
    ):
        super().__init__(root, graph)
        self.const_subgraph_module = None if const_subgraph is None else GraphModule(root, const_subgraph)
        self.has_folding_been_run = False
        self.fx_const_folded_attrs_name = fx_const_folded_attrs_name
        self.device_for_folded_attrs = device_for_folded_attrs

    def __call__(self, *args, **kwargs):
        if not self.has_folding_been_run:
            self.run_folding()
        return super().__call__(*args, **kwargs)

    def run_folding(self):
        """Computes the constants; once is enough, until what they are made of changes."""
        if self.const_subgraph_module is None or self.fx_const_folded_attrs_name is None:
            return
        self.has_folding_been_run = True
        values = self.const_subgraph_module()
        names = self.fx_const_folded_attrs_name
        if not isinstance(values, tuple):
            values = (values,)
        for name, value in zip(names, values, strict=True):
            made = Parameter(value.detach().clone(), requires_grad=value.requires_grad)
            setattr(self, name, made if value.is_floating_point() else made.data)


def get_unique_attr_name_in_module(mod_traced, name):
    """A name like this one that the module does not have."""
    number = 0
    result = name
    while hasattr(mod_traced, result):
        number += 1
        result = f"{name}_{number}"
    return result


def split_const_subgraphs(module, skip_folding_node_fn=None, device_for_folded_attrs="cpu"):
    """A FoldedGraphModule that computes what depends on no input once; `skip_folding_node_fn(node)` keeps some back.

    >>> import adjoint as torch
    >>> from adjoint.fx.experimental.const_fold import split_const_subgraphs
    >>> class Net(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.a = torch.nn.Parameter(torch.ones(1))
    ...
    ...     def forward(self, x):
    ...         return x + (self.a + 1)
    >>> split_const_subgraphs(Net())(torch.ones(1))
    tensor([3.], grad_fn=<AddBackward0>)
    """
    gm = module if isinstance(module, GraphModule) else GraphModule(module, Tracer().trace(module))
    constant = set()
    for node in gm.graph.nodes:
        if node.op in ("placeholder", "output") or (skip_folding_node_fn is not None and skip_folding_node_fn(node)):
            continue
        if node.op == "get_attr" or (
            node.all_input_nodes and constant.issuperset(node.all_input_nodes) and not node.is_impure()
        ):
            constant.add(node)
    folded = [
        node for node in gm.graph.nodes
        if node in constant and node.op != "get_attr" and any(user not in constant for user in node.users)
    ]  # fmt: skip
    if not folded:
        return FoldedGraphModule(gm, gm.graph, device_for_folded_attrs=device_for_folded_attrs)
    return _fold(gm, constant, folded, device_for_folded_attrs)


def _fold(gm, constant, folded, device):
    const_graph, graph = Graph(), Graph()
    inside = {}
    for node in gm.graph.nodes:
        if node in constant:
            inside[node] = const_graph.node_copy(node, inside.__getitem__)
    values = tuple(inside[node] for node in folded)
    const_graph.output(values if len(values) > 1 else values[0])
    const_graph.eliminate_dead_code()
    prefix = get_unique_attr_name_in_module(gm, "_FX_CONST_FOLDED_ATTRS")
    names = [prefix if number == 0 else f"{prefix}_{number}" for number in range(len(folded))]
    outside = {}
    kept = [node for node in gm.graph.nodes if node not in constant or node.op == "get_attr" or node in folded]
    # Inputs first, then constants.
    for node in sorted(kept, key=lambda node: 0 if node.op == "placeholder" else 1 if node in constant else 2):
        if node in folded:
            outside[node] = graph.get_attr(names[folded.index(node)])
        else:
            outside[node] = graph.node_copy(node, outside.__getitem__)
    graph.eliminate_dead_code()
    root = GraphModule(gm, gm.graph)
    for name in names:
        setattr(root, name, Parameter(_placeholder_value(), requires_grad=False))
    return FoldedGraphModule(root, graph, const_graph, names, device)


def _placeholder_value():
    from ... import empty

    return empty(0)
