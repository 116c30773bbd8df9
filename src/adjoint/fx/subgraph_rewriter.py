"""Patterns in graphs, replaced by others."""

import dataclasses
import typing

from ..nn import Module
from ._symbolic_trace import symbolic_trace
from .graph import Graph
from .graph_module import GraphModule, _copy_attr
from .node import Node
from .passes.utils.matcher_utils import SubgraphMatcher

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]


class Match(typing.NamedTuple):
    """A place that was replaced: a node of the pattern, and which node of the graph stood for which of the pattern."""

    anchor: Node
    nodes_map: dict


@dataclasses.dataclass
class ReplacedPatterns:
    """As Match, with the nodes that were put there."""

    anchor: Node
    nodes_map: dict
    replacements: list


def replace_pattern(gm, pattern, replacement):
    """Replaces every place in a GraphModule that does what `pattern` does by what `replacement` does.

    Both are functions or modules with the same parameters, which are traced; places that overlap are replaced once.
    The replaced places come back, as Matches.

    >>> import adjoint as torch
    >>> gm = torch.fx.symbolic_trace(lambda x: (x + 1).relu())
    >>> matches = torch.fx.replace_pattern(gm, lambda a: a + 1, lambda a: a - 1)
    >>> print(gm.code.strip())
    def forward(self, x):
        sub = x - 1;  x = None
        relu = sub.relu();  sub = None
        return relu
    """
    replaced = _replace_pattern(gm, pattern, replacement)
    return [Match(anchor=one.anchor, nodes_map=one.nodes_map) for one in replaced]


def replace_pattern_with_filters(
    gm, pattern, replacement=None, match_filters=None, ignore_literals=False, replacement_callback=None,
    node_name_match="",
):  # fmt: skip
    """`replace_pattern` where every filter, a function of (match, graph, pattern's graph), says so.

    `replacement_callback(match, graph, pattern's graph)` gives a graph for each place, instead of one `replacement`
    for all.

    >>> import adjoint as torch
    >>> from adjoint.fx.subgraph_rewriter import replace_pattern_with_filters
    >>> gm = torch.fx.symbolic_trace(lambda x: x + 1)
    >>> replace_pattern_with_filters(gm, lambda a: a + 1, lambda a: a - 1, [lambda *what: False])
    []
    """
    return _replace_pattern(
        gm, pattern, replacement, match_filters, ignore_literals, replacement_callback, node_name_match
    )


def _graph_of(what):
    if isinstance(what, GraphModule):
        return what.graph
    return what if isinstance(what, Graph) else symbolic_trace(what).graph


def _replace_pattern(
    gm, pattern, replacement=None, match_filters=None, ignore_literals=False, replacement_callback=None,
    node_name_match="",
):  # fmt: skip
    graph, pattern_graph = gm.graph, _graph_of(pattern)
    matcher = SubgraphMatcher(pattern_graph, ignore_literals=ignore_literals)
    matches = [
        match
        for match in matcher.match(graph, node_name_match=node_name_match)
        if all(chosen(match, graph, pattern_graph) for chosen in match_filters or ())
    ]
    if replacement_callback is None and replacement is None:
        raise AssertionError("Must provide either a replacement GraphModule or a replacement callback")
    common = _graph_of(replacement) if replacement is not None else None
    changed = {}
    result = []
    for match in matches:
        new = common if replacement_callback is None else _graph_of(replacement_callback(match, graph, pattern_graph))
        result.append(_replace_match(graph, match, pattern_graph, new, changed))
    gm.recompile()
    if isinstance(replacement, Module):
        _replace_attributes(gm, replacement)
    return result


def _replace_match(graph, match, pattern_graph, new, changed):
    inputs = [node for node in new.nodes if node.op == "placeholder"]
    if len(inputs) != len(match.placeholder_nodes):
        raise AssertionError(
            f"Placeholder count mismatch: {len(match.placeholder_nodes)} vs {len(inputs)}; pattern and replacement "
            "take the same arguments"
        )
    # An earlier replacement may have taken the place of what this one gets.
    match.placeholder_nodes = [_current(given, changed) for given in match.placeholder_nodes]
    match.nodes_map = {
        node: _current(given, changed) if node.op == "placeholder" else given for node, given in match.nodes_map.items()
    }
    val_map = dict(zip(inputs, match.placeholder_nodes, strict=True))
    users = {user for node in match.returning_nodes for user in node.users}
    place = next((node for node in graph.nodes if node in users), None)
    if place is None:
        place = graph.output_node()
    with graph.inserting_before(place):
        copied = graph.graph_copy(new, val_map)
    returned = copied if isinstance(copied, list | tuple) else (copied,)
    replacements = [node for node in val_map.values() if node not in match.placeholder_nodes]
    if len(returned) != len(match.returning_nodes):
        raise AssertionError(
            f"Returning nodes count mismatch: {len(match.returning_nodes)} vs {len(returned)}; pattern and replacement "
            "give as many values"
        )
    for old, node in zip(match.returning_nodes, returned, strict=True):
        old.replace_all_uses_with(node)
        changed[old] = node
    for node in reversed(pattern_graph.nodes):
        if node.op not in ("placeholder", "output"):
            graph.erase_node(match.nodes_map[node])
    return ReplacedPatterns(match.anchors[0], match.nodes_map, replacements)


def _current(given, changed):
    return changed.get(given, given) if isinstance(given, Node) else given


def _replace_attributes(gm, replacement):
    """Takes what the new nodes call from the replacement, and lets go of what nobody calls any more."""
    gm.delete_all_unused_submodules()
    if isinstance(replacement, GraphModule):
        replacement.graph.lint()
    for node in gm.graph.nodes:
        if node.op not in ("call_module", "get_attr") or _has(gm, node.target):
            continue
        if not _has(replacement, node.target):
            raise RuntimeError(
                f'Attempted to create a "{node.op}" node during subgraph rewriting with target {node.target}, but the '
                "referenced attribute does not exist in either the original GraphModule or the replacement"
            )
        _copy_attr(replacement, gm, node.target)
    gm.graph.lint()


def _has(module, target):
    for part in target.split("."):
        if not hasattr(module, part):
            return False
        module = getattr(module, part)
    return True
