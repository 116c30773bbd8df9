"""Which nodes a backend takes together."""

from ..._names import qualified_name
from ..operator_support import OperatorSupportBase
from ..utils.fuser_utils import fuse_by_partitions

__all__ = ["CapabilityBasedPartitioner", "Partition"]


class Partition:
    """Nodes that can be fused."""

    def __init__(self, id=None, nodes=None, node_orders=None):
        self.id = id
        self.nodes = dict.fromkeys(nodes or ())

    def __repr__(self):
        return str(self.nodes)

    def add_node(self, node, node_order=None):
        """One node more."""
        self.nodes[node] = node_order

    def remove_node(self, node):
        """One node less."""
        del self.nodes[node]

    def size(self):
        """How many there are."""
        return len(self.nodes)


class CapabilityBasedPartitioner:
    """Puts the nodes that an OperatorSupport takes together, as many in one as there can be without a cycle.

    >>> import adjoint as torch
    >>> from adjoint.fx.passes.infra.partitioner import CapabilityBasedPartitioner
    >>> from adjoint.fx.passes.operator_support import create_op_support
    >>> gm = torch.fx.symbolic_trace(lambda x: (x + 1).relu())
    >>> calls = create_op_support(lambda submodules, node: node.op.startswith("call"))
    >>> [partition.size() for partition in CapabilityBasedPartitioner(gm, calls).propose_partitions()]
    [2]
    """

    def __init__(
        self, graph_module, operator_support, allows_single_node_partition=False, non_compute_ops=None,
        allowed_single_node_partition_ops=None, skip_horizontal_fusion=False,
    ):  # fmt: skip
        if not isinstance(operator_support, OperatorSupportBase):
            raise TypeError(f"expected an OperatorSupportBase, got {type(operator_support).__name__}")
        self.graph_module, self.operator_support = graph_module, operator_support
        self.allows_single_node_partition = allows_single_node_partition
        self.non_compute_ops = non_compute_ops or []
        self.allowed_single_node_partition_ops = allowed_single_node_partition_ops or []

    def _is_node_supported(self, node):
        return self.operator_support.is_node_supported(dict(self.graph_module.named_modules()), node)

    def propose_partitions(self):
        """The sets of nodes, as Partitions."""
        nodes = [node for node in self.graph_module.graph.nodes if node.op not in ("placeholder", "get_attr", "output")]
        after = _reached(self.graph_module.graph)
        groups = []
        for node in nodes:
            if not self._is_node_supported(node):
                continue
            for group in groups:
                if not _makes_cycle(group, node, after):
                    group.append(node)
                    break
            else:
                groups.append([node])
        kept = [group for group in groups if self._is_worth(group)]
        return [Partition(id=number, nodes=group) for number, group in enumerate(kept)]

    def _is_worth(self, group):
        if self.allows_single_node_partition:
            return True
        work = [node for node in group if _name(node) not in self.non_compute_ops]
        single = len(work) == 1 and _name(work[0]) in self.allowed_single_node_partition_ops
        return len(work) > 1 or single

    def fuse_partitions(self, partitions, prefix="fused_"):
        """The module with a submodule for each Partition."""
        return fuse_by_partitions(self.graph_module, [list(one.nodes) for one in partitions], prefix=prefix)

    def remove_bookend_non_compute_ops(self, partitions):
        """Takes nodes that compute nothing from the beginnings and ends of Partitions."""
        for partition in partitions:
            changed = True
            while changed:
                inside = set(partition.nodes)
                ends = [
                    node for node in inside
                    if _name(node) in self.non_compute_ops
                    and (not inside & set(node.all_input_nodes) or not inside & set(node.users))
                ]  # fmt: skip
                changed = bool(ends)
                for node in ends:
                    partition.remove_node(node)

    def partition_and_fuse(self, prefix="fused_"):
        """Proposes and fuses."""
        return self.fuse_partitions(self.propose_partitions(), prefix=prefix)


def _name(node):
    return qualified_name(node.target) if callable(node.target) else node.target


def _reached(graph):
    """The nodes that each node's value goes into, directly or not."""
    after = {}
    for node in reversed(graph.nodes):
        after[node] = set(node.users).union(*(after[user] for user in node.users))
    return after


def _makes_cycle(group, node, after):
    """Whether a way from the group to the node, or back, leads over something outside of both."""
    inside = {*group, node}
    for member in inside:
        for user in member.users:
            if user not in inside and after[user] & inside:
                return True
    return False
