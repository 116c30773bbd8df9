"""A module cut in several, one for each part of its graph."""

import inspect
import operator
import warnings

from ..graph import Graph
from ..graph_module import GraphModule
from ..node import map_arg

__all__ = ["Partition", "split_module", "split_module_simple"]


class Partition:
    """One part: the nodes in it, what comes in and goes out, and the graph that is made of them."""

    def __init__(self, name):
        self.name, self.submod_name = name, f"submod_{name}"
        self.node_names = []
        self.inputs = {}
        self.outputs = {}
        self.dependencies = {}
        self.dependents = {}
        self.graph = Graph()
        self.environment = {}
        self.targets = {}

    def __repr__(self):
        return (
            f"name: {self.name},\n nodes: {self.node_names},\n inputs: {self.inputs},\n outputs: {self.outputs},\n "
            f"partitions depended on: {self.dependencies},\n partition dependents: {self.dependents}"
        )


def _attribute(module, target):
    for part in target.split("."):
        if not hasattr(module, part):
            raise AttributeError(f"Node target {target} not found!")
        module = getattr(module, part)
    return module


def split_module(
    m, root_m, split_callback, qualname_map=None, keep_original_order=False, keep_original_node_name=False,
    keep_original_input_name=True, *, partition_affix=None, tuple_return=False,
):  # fmt: skip
    """A GraphModule that calls one submodule for each part; `split_callback(node)` says to which part a call belongs.

    The submodules are `submod_0` and so on, by what the callback gave. `qualname_map` is filled with the dotted names
    that parameters and modules had. With `tuple_return` parts return tuples, also of one value.

    >>> import adjoint as torch
    >>> from adjoint.fx.passes.split_module import split_module
    >>> gm = torch.fx.symbolic_trace(lambda x: (x + 1).relu())
    >>> parts = split_module(gm, gm, lambda node: 0 if node.name == "add" else 1)
    >>> print(parts.code.strip())
    def forward(self, x):
        submod_0 = self.submod_0(x);  x = None
        submod_1 = self.submod_1(submod_0);  submod_0 = None
        return submod_1
    """
    splitter = _Splitter(m, split_callback, keep_original_order, partition_affix, tuple_return)
    splitter.keep_names, splitter.keep_inputs = keep_original_node_name, keep_original_input_name
    splitter.qualname_map = {} if qualname_map is None else qualname_map
    return splitter.split()


def split_module_simple(m, node_to_partition, *, partition_affix=None):
    """`split_module` by a dict of nodes and their parts."""
    return split_module(m, m, lambda node: node_to_partition[node], partition_affix=partition_affix)


class _Splitter:
    keep_names: bool
    keep_inputs: bool
    qualname_map: dict

    def __init__(self, module, callback, keep_order, affix, tuple_return):
        self.module, self.callback, self.keep_order = module, callback, keep_order
        self.affix, self.tuple_return = affix, tuple_return
        self.partitions = {}
        self.home = {}  # the name of the part that each node is in
        self.nodes = {node.name: node for node in module.graph.nodes}

    def split(self):
        for node in self.module.graph.nodes:
            if node.op not in ("placeholder", "get_attr", "output"):
                self._assign(node)
        for node in self.module.graph.nodes:
            for used in node.all_input_nodes:
                self._note_use(used, node)
        order = self._order()
        for name in order:
            self._fill(self.partitions[name])
        return self._assemble(order)

    def _assign(self, node):
        name = str(self.callback(node))
        partition = self.partitions.get(name)
        if partition is None:
            self.partitions[name] = partition = Partition(name)
            if self.affix is not None:
                partition.submod_name = f"submod_{self.affix}_{name}"
        partition.node_names.append(node.name)
        self.home[node] = name

    def _note_use(self, defined, user):
        there, here = self.home.get(defined), self.home.get(user)
        if there == here:
            return
        if there is not None:
            self.partitions[there].outputs.setdefault(defined.name)
            if here is not None:
                self.partitions[there].dependents.setdefault(here)
        if here is not None:
            self.partitions[here].inputs.setdefault(defined.name)
            if there is not None:
                self.partitions[here].dependencies.setdefault(there)

    def _order(self):
        waiting = {name: set(partition.dependencies) for name, partition in self.partitions.items()}
        ready = [name for name, needed in waiting.items() if not needed]
        order = []
        while ready:
            name = ready.pop(0)
            order.append(name)
            for dependent in self.partitions[name].dependents:
                waiting[dependent].discard(name)
                if not waiting[dependent]:
                    ready.append(dependent)
        if len(order) != len(self.partitions):
            raise RuntimeError("cycle exists between partitions!")
        if self.keep_order:
            place = {name: index for index, name in enumerate(self.partitions)}
            order.sort(key=place.__getitem__)
        return order

    def _fill(self, partition):
        for number, name in enumerate(partition.inputs):
            node = self.nodes[name]
            shown = name if self.keep_inputs else f"arg_{number}"
            given = partition.graph.placeholder(shown, type_expr=node.type)
            given.meta = node.meta.copy()
            partition.environment[node] = given
        for name in partition.node_names:
            node = self.nodes[name]
            target = node.target
            if node.op in ("call_module", "get_attr"):
                target = node.target.replace(".", "_")
                partition.targets[target] = _attribute(self.module, node.target)
                self.qualname_map[f"{partition.submod_name}.{target}"] = node.target
            args, kwargs = (map_arg(part, partition.environment.__getitem__) for part in (node.args, node.kwargs))
            new = partition.graph.create_node(
                node.op, target, args, kwargs, name=node.name if self.keep_names else None, type_expr=node.type
            )
            new.meta = node.meta.copy()
            partition.environment[node] = new

    def _assemble(self, order):
        graph = Graph()
        environment = {}
        attributes = {}
        for node in self.module.graph.nodes:
            if node.op == "placeholder":
                default = node.args[0] if node.args else inspect.Signature.empty
                given = (default,) if node.args else ()
                environment[node] = graph.create_node("placeholder", node.target, given, type_expr=node.type)
                environment[node].meta = node.meta.copy()
            elif node.op == "get_attr":
                environment[node] = graph.get_attr(node.target, type_expr=node.type)
                environment[node].meta = node.meta.copy()
                attributes[node.target] = _attribute(self.module, node.target)
        for name in order:
            self._call(self.partitions[name], graph, environment, attributes)
        for node in self.module.graph.nodes:
            if node.op == "output":
                out = graph.output(map_arg(node.args[0], environment.__getitem__), type_expr=node.type)
                out.meta = node.meta.copy()
        result = GraphModule(attributes, graph)
        result.meta.update(self.module.meta)
        return result

    def _call(self, partition, graph, environment, attributes):
        outputs = [self.nodes[name] for name in partition.outputs]
        values = tuple(partition.environment[node] for node in outputs)
        single = len(values) == 1 and not self.tuple_return
        if values:
            partition.graph.output(values[0] if single else values)
        else:
            warnings.warn(f"part {partition.name} gives nothing that is used", stacklevel=4)
            partition.graph.output(())
        attributes[partition.submod_name] = GraphModule(partition.targets, partition.graph)
        args = tuple(environment[self.nodes[name]] for name in partition.inputs)
        call = graph.call_module(partition.submod_name, args)
        if single:
            environment[outputs[0]] = call
            return
        for index, node in enumerate(outputs):
            environment[node] = graph.call_function(operator.getitem, (call, index))
            environment[node].meta = node.meta.copy()
