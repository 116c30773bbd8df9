"""Programs as graphs: traced symbolically, changed, and turned into Python code and modules again.

>>> import adjoint as torch
>>> gm = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU()))
>>> [node.name for node in gm.graph.nodes]
['input_1', '_0', '_1', 'output']
"""

from . import _names as _names
from . import _pytree as _pytree
from . import immutable_collections as immutable_collections
from ._symbolic_trace import PH as PH
from ._symbolic_trace import ProxyableClassMeta as ProxyableClassMeta
from ._symbolic_trace import Tracer as Tracer
from ._symbolic_trace import symbolic_trace as symbolic_trace
from ._symbolic_trace import wrap as wrap
from .graph import CodeGen as CodeGen
from .graph import Graph as Graph
from .graph_module import GraphModule as GraphModule
from .interpreter import Interpreter as Interpreter
from .interpreter import Transformer as Transformer
from .node import Node as Node
from .node import has_side_effect as has_side_effect
from .node import map_arg as map_arg
from .proxy import Proxy as Proxy
from .subgraph_rewriter import replace_pattern as replace_pattern

__all__ = [
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "Tracer",
    "Transformer",
    "has_side_effect",
    "map_arg",
    "replace_pattern",
    "symbolic_trace",
    "wrap",
]

_LAZY = ("annotate", "experimental", "operator_schemas", "passes", "tensor_type", "traceback", "_utils",
         "_compatibility", "_lazy_graph_module")  # fmt: skip


def __getattr__(name):
    import importlib

    if name in _LAZY:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
