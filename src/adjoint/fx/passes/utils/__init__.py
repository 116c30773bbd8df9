"""Subgraphs: found by a pattern, lifted into modules, compared."""

from .common import HolderModule as HolderModule
from .common import compare_graphs as compare_graphs
from .common import lift_subgraph_as_module as lift_subgraph_as_module
