"""Passes over graphs: shapes found by running, drawings, modules cut in parts, patterns.

>>> import adjoint as torch
>>> gm = torch.fx.symbolic_trace(lambda x: x + 1)
>>> y = torch.fx.passes.shape_prop.ShapeProp(gm).propagate(torch.ones(2, 3))
>>> [node.meta["tensor_meta"].shape for node in gm.graph.nodes if node.name == "add"]
[torch.Size([2, 3])]
"""

import importlib

_MODULES = (
    "dialect","graph_drawer", "graph_manipulation", "infra", "operator_support", "pass_manager", "shape_prop",
            "split_module", "split_utils", "tools_common", "utils")  # fmt: skip


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
