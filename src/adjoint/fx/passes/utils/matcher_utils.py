"""Places in a graph that look like a pattern."""

import copy
import dataclasses
import itertools

from .... import _C
from ...node import Node

__all__ = ["InternalMatch", "SubgraphMatcher"]


@dataclasses.dataclass
class InternalMatch:
    """One place: which node of the graph stands for which of the pattern."""

    anchors: list
    nodes_map: dict = dataclasses.field(default_factory=dict)
    placeholder_nodes: list = dataclasses.field(default_factory=list)
    returning_nodes: list = dataclasses.field(default_factory=list)
    name_node_map: dict = dataclasses.field(default_factory=dict)

    def __copy__(self):
        return InternalMatch(
            self.anchors, self.nodes_map.copy(), self.placeholder_nodes.copy(), self.returning_nodes.copy()
        )


def _attribute(module, target):
    for part in target.split("."):
        module = getattr(module, part)
    return module


class SubgraphMatcher:
    """Finds the places where a graph does what a pattern graph does.

    `match_output` and `match_placeholder` ask that outputs and inputs be outputs and inputs of the whole graph, too;
    `ignore_literals` lets numbers of the pattern stand for others.

    >>> import adjoint as torch
    >>> from adjoint.fx.passes.utils.matcher_utils import SubgraphMatcher
    >>> pattern = torch.fx.symbolic_trace(lambda x: (x + 1) * 2).graph
    >>> graph = torch.fx.symbolic_trace(lambda a, b: ((a - b) + 1) * 2).graph
    >>> [match.nodes_map[match.anchors[0]] for match in SubgraphMatcher(pattern).match(graph)]
    [mul]
    """

    def __init__(
        self, pattern, match_output=False, match_placeholder=False, remove_overlapping_matches=True,
        ignore_literals=False,
    ):  # fmt: skip
        self.pattern, self.match_output, self.match_placeholder = pattern, match_output, match_placeholder
        self.remove_overlapping_matches, self.ignore_literals = remove_overlapping_matches, ignore_literals
        if len(pattern.nodes) == 0:
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        for node in pattern.nodes:
            if node.op not in ("output", "placeholder") and not node.users:
                raise AssertionError("SubgraphMatcher cannot be initialized with an pattern with dead code")
        self.pattern_placeholder_nodes = [node for node in pattern.nodes if node.op == "placeholder"]
        output = next(iter(reversed(pattern.nodes)))
        self.pattern_returning_nodes = output.all_input_nodes
        self.pattern_anchors = (
            [output] if match_output else [node for node in output.all_input_nodes if len(node.users) == 1]
        )

    def match(self, graph, node_name_match=""):
        """The places, as InternalMatches; with `remove_overlapping_matches` none shares a node with an earlier one."""
        candidates = [
            [node for node in graph.nodes if self._nodes_are_equal(anchor, node, node_name_match)]
            for anchor in self.pattern_anchors
        ]
        matches = []
        for combination in itertools.product(*candidates):
            match = InternalMatch(anchors=self.pattern_anchors)
            pairs = zip(self.pattern_anchors, combination, strict=True)
            if all(self._match_nodes(pn, gn, match, node_name_match) for pn, gn in pairs):
                matches.append(match)
        matches = [match for match in matches if self._is_contained(match.nodes_map)]
        for match in matches:
            match.placeholder_nodes = [match.nodes_map[pn] for pn in self.pattern_placeholder_nodes]
            match.returning_nodes = [match.nodes_map[pn] for pn in self.pattern_returning_nodes]
        return self._remove_overlapping_matches(matches) if self.remove_overlapping_matches else matches

    def _nodes_are_equal(self, pn, gn, node_name_match=""):
        if not self.match_placeholder and pn.op == "placeholder":
            return True
        if node_name_match and node_name_match in gn.name:
            return True
        if pn.op != gn.op:
            return False
        if pn.op in ("placeholder", "output"):
            return True
        return self._match_attributes(pn, gn) if pn.op == "get_attr" else pn.target == gn.target

    def _match_attributes(self, pn, gn):
        owners = pn.graph.owning_module, gn.graph.owning_module
        if None in owners:
            return pn.target == gn.target
        values = [_attribute(owner, node.target) for owner, node in zip(owners, (pn, gn), strict=True)]
        if isinstance(values[0], _C.Tensor) and isinstance(values[1], _C.Tensor):
            return True
        return type(values[0]) is type(values[1])

    def _match_nodes(self, pn, gn, match, node_name_match=""):
        if pn in match.nodes_map:
            return match.nodes_map[pn] is gn
        if any(gn is node for node in match.nodes_map.values()):
            return False
        if not self._nodes_are_equal(pn, gn, node_name_match):
            return False
        saved = copy.copy(match)
        match.nodes_map[pn] = gn
        if pn.op == "placeholder" or self._match_arguments(pn, gn, match, node_name_match):
            return True
        match.nodes_map, match.name_node_map = saved.nodes_map, saved.name_node_map
        return False

    def _match_arguments(self, pn, gn, match, node_name_match):
        if pn.op == "call_function" and (len(pn.args) != len(gn.args) or list(pn.kwargs) != list(gn.kwargs)):
            from ...operator_schemas import normalize_function

            wanted, given = (normalize_function(n.target, n.args, n.kwargs) for n in (pn, gn))
            if wanted is None or given is None:
                return False
            sides = [(*pair.args, *pair.kwargs.values()) for pair in (wanted, given)]
            return self._match_values(*sides, match, node_name_match)
        if set(pn.kwargs) != set(gn.kwargs):
            return False
        sides = [(*node.args, *(node.kwargs[key] for key in pn.kwargs)) for node in (pn, gn)]
        return self._match_values(*sides, match, node_name_match)

    def _match_values(self, wanted, given, match, node_name_match):
        """Nested values of the pattern and the graph, one by one."""
        if isinstance(wanted, Node):
            if isinstance(given, Node):
                return self._match_nodes(wanted, given, match, node_name_match)
            return self._match_literals(wanted, given, match)
        if isinstance(given, Node):
            return False
        if isinstance(wanted, list | tuple) and isinstance(given, list | tuple):
            return len(wanted) == len(given) and all(
                self._match_values(one, other, match, node_name_match) for one, other in zip(wanted, given, strict=True)
            )
        if isinstance(wanted, dict) and isinstance(given, dict):
            return set(wanted) == set(given) and all(
                self._match_values(value, given[key], match, node_name_match) for key, value in wanted.items()
            )
        if isinstance(wanted, slice) and isinstance(given, slice):
            parts = [(part.start, part.stop, part.step) for part in (wanted, given)]
            return self._match_values(*parts, match, node_name_match)
        return self.ignore_literals or (type(wanted) is type(given) and bool(wanted == given))

    def _match_literals(self, pn, literal, match):
        """An input of the pattern that meets a number."""
        if pn.op != "placeholder":
            return False
        if pn in match.nodes_map:
            return not isinstance(match.nodes_map[pn], Node) and match.nodes_map[pn] == literal
        match.nodes_map[pn] = literal
        return True

    def _is_contained(self, nodes_map):
        """Whether nothing outside uses what is inside of the place."""
        reverse = {gn: pn for pn, gn in nodes_map.items() if isinstance(gn, Node)}
        for gn, pn in reverse.items():
            if pn.op == "placeholder" or pn in self.pattern_returning_nodes:
                continue
            if any(user not in reverse for user in gn.users):
                return False
        return True

    def _remove_overlapping_matches(self, matches):
        chosen, taken = [], set()
        for match in matches:
            inside = {gn for pn, gn in match.nodes_map.items() if pn.op not in ("placeholder", "output")}
            if not inside & taken:
                chosen.append(match)
                taken |= inside
        return chosen
