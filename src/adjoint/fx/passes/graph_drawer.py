"""Graphs drawn as pictures, by pydot."""

import hashlib

from .._names import qualified_name, type_name
from ..graph_module import GraphModule
from ..node import Node, _format_arg
from .shape_prop import TensorMetadata

__all__ = ["FxGraphDrawer"]

_COLORS = {"placeholder": "AliceBlue", "call_module": "LemonChiffon1", "get_param": "Yellow2", "get_attr": "LightGrey",
           "output": "PowderBlue"}  # fmt: skip
_FUNCTION_COLORS = ("CadetBlue1", "Coral", "DarkOliveGreen1", "DarkSeaGreen1", "GhostWhite", "Khaki1", "LavenderBlush1",
                    "LightSkyBlue", "MistyRose1", "MistyRose2", "PaleTurquoise2", "PeachPuff1", "Salmon", "Thistle1",
                    "Thistle3", "Wheat1")  # fmt: skip


class FxGraphDrawer:
    """Draws the graph of a GraphModule, and those of GraphModules in it. pydot must be installed.

    `FxGraphDrawer(gm, "net").get_dot_graph().write_svg("net.svg")` writes a picture.
    """

    def __init__(
        self, graph_module, name, ignore_getattr=False, ignore_parameters_and_buffers=False,
        skip_node_names_in_args=True, parse_stack_trace=False, dot_graph_shape=None, normalize_args=False,
    ):  # fmt: skip
        self._name = name
        self.dot_graph_shape = dot_graph_shape or "record"
        self.normalize_args = normalize_args
        self._ignored = ignore_getattr
        self._skip_names, self._traces = skip_node_names_in_args, parse_stack_trace
        self._without_parameters = ignore_parameters_and_buffers
        self._dot_graphs = {name: self._draw(graph_module, name)}
        for node in graph_module.graph.nodes:
            if node.op == "call_module":
                inner = graph_module.get_submodule(node.target)
                if isinstance(inner, GraphModule):
                    self._dot_graphs[f"{name}_{node.target}"] = self._draw(inner, f"{name}_{node.target}")

    def get_dot_graph(self, submod_name=None):
        """The pydot graph of the module, or of a GraphModule in it."""
        return self.get_main_dot_graph() if submod_name is None else self.get_submod_dot_graph(submod_name)

    def get_main_dot_graph(self):
        """The pydot graph of the module."""
        return self._dot_graphs[self._name]

    def get_submod_dot_graph(self, submod_name):
        """The pydot graph of a GraphModule in the module."""
        return self._dot_graphs[f"{self._name}_{submod_name}"]

    def get_all_dot_graphs(self):
        """All of them, by name."""
        return self._dot_graphs

    def _draw(self, module, name):
        try:
            import pydot
        except ImportError as error:
            raise RuntimeError(
                "FXGraphDrawer requires the pydot package to be installed. Please install pydot through your favorite "
                "Python package manager."
            ) from error
        graph = pydot.Dot(name, rankdir="TB")
        for node in module.graph.nodes:
            if self._ignored and node.op == "get_attr":
                continue
            style = self._style(node)
            graph.add_node(pydot.Node(node.name, label=self._label(module, node), **style))
            if not self._without_parameters and node.op == "call_module":
                inner = module.get_submodule(node.target)
                for member, value in (*inner.named_parameters(), *inner.named_buffers()):
                    label = f"{{{node.name}.{member}|op_code=get_parameter\\l|{_shape(value)}}}"
                    part = f"{node.name}.{member}"
                    graph.add_node(pydot.Node(part, label=label, **(style | {"fillcolor": _COLORS["get_param"]})))
                    graph.add_edge(pydot.Edge(part, node.name))
        for node in module.graph.nodes:
            if self._ignored and node.op == "get_attr":
                continue
            for user in node.users:
                graph.add_edge(pydot.Edge(node.name, user.name))
        return graph

    def _style(self, node):
        color = _COLORS.get(node.op)
        if color is None:
            digest = hashlib.sha256(Node._pretty_print_target(node.target).encode()).digest()
            color = _FUNCTION_COLORS[digest[0] % len(_FUNCTION_COLORS)]
        return {"shape": self.dot_graph_shape, "fillcolor": color, "style": '"filled,rounded"', "fontcolor": "#000000"}

    def _label(self, module, node):
        lines = [f"name=%{node.name}", f"op_code={node.op}"]
        if node.op == "call_module":
            inner = module.get_submodule(node.target)
            lines[1] += f"\\l{type_name(type(inner))}"
            lines += [f"{key}: {getattr(inner, key)}" for key in getattr(inner, "__constants__", ())]
        else:
            target = qualified_name(node.target) if node.op == "call_function" else str(node.target)
            lines.append(f"target={target}")
            if not self._skip_names or not all(isinstance(arg, Node) for arg in node.args):
                lines.append(f"args={_format_arg(node.args)}")
            if node.kwargs:
                lines.append(f"kwargs={_format_arg(node.kwargs)}")
            lines.append(f"num_users={len(node.users)}")
        if self._traces and node.stack_trace:
            lines.append(node.stack_trace.strip().split("\n")[-1].strip())
        if "tensor_meta" in node.meta:
            lines.append(_meta_text(node.meta["tensor_meta"]))
        escaped = [_escape(line) for line in lines]
        return "{" + "|".join(f"{line}\\n" for line in escaped) + "}"


def _escape(text):
    return "".join(f"\\{sign}" if sign in "{}<>|" else sign for sign in text)


def _shape(tensor):
    return f"dtype={tensor.dtype}\\nshape={tuple(tensor.shape)}"


def _meta_text(meta):
    if isinstance(meta, TensorMetadata):
        return f"dtype={meta.dtype}\\nshape={tuple(meta.shape)}\\nrequires_grad={meta.requires_grad}"
    if isinstance(meta, dict):
        return "\\n".join(f"{key}: {_meta_text(value)}" for key, value in meta.items())
    return "\\n".join(_meta_text(one) for one in meta) if isinstance(meta, list | tuple) else str(meta)
