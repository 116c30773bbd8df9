"""Draws a graph as an SVG document, with nothing but text."""

import html
import re

from . import nodes as describe
from .layout import Layout

CHARACTER = 6.9  # width of a monospace character at FONT
FONT = 11
LINE = 14
PADDING = 8
LAYER_GAP = 34
MARGIN = 16
NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

STYLE = (
    f"text {{ font: {FONT}px monospace; fill: #222 }} .op {{ font-weight: bold }} "
    "rect.node { stroke: #666; stroke-width: 1 } path { fill: none; stroke: #777; stroke-width: 1.2 } "
    "path.cut { stroke-dasharray: 3 3 }"
)
ARROW = (
    '<marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<polygon points="0,0 8,4 0,8" fill="#777"/></marker>'
)


def escaped(text):
    """Text that may stand anywhere in an XML document."""
    return html.escape(NOT_XML.sub("?", text))


def drawn_nodes(graph, limit):
    """The numbers of the nodes to draw: the newest, and the leaves that they use."""
    if len(graph) <= limit:
        return list(range(len(graph)))
    inner, leaves = [], set()
    for i, node in enumerate(graph.nodes):
        if describe.is_leaf(node) or len(inner) + len(leaves) >= limit:
            break
        inner.append(i)
        leaves |= {n for n in graph.inputs(i) if describe.is_leaf(graph.nodes[n])}
    return inner + sorted(leaves)[: max(limit - len(inner), 0)] or [0]


class Drawing:
    """The boxes of the drawn nodes, placed."""

    def __init__(self, graph, limit):
        self.graph = graph
        self.numbers = drawn_nodes(graph, limit)
        place = {number: v for v, number in enumerate(self.numbers)}
        self.texts = [graph.box(number) for number in self.numbers]
        self.edges, self.cut = [], []
        for v, number in enumerate(self.numbers):
            targets = dict.fromkeys(graph.inputs(number))
            self.edges += [(place[target], v) for target in targets if target in place]
            self.cut += [v] if any(target not in place for target in targets) else []
        widths = [max(map(len, text)) * CHARACTER + 2 * PADDING for text in self.texts]
        self.layout = Layout(widths, self.edges)
        self.notes = [graph.summary()]
        if len(self.numbers) < len(graph):
            self.notes.append(f"Drawn: the {len(self.numbers):,} nodes nearest to the result.")
            self.notes.append("All: text(limit=None), dot(), or svg(limit=...), which gets hard to read.")
        self._stack_layers()

    def _stack_layers(self):
        """Heights of the layers, from the top of the page."""
        rows = self.layout.rows
        heights = [max((self.height(v) for v in row if v < len(self.numbers)), default=0.0) for row in rows]
        at = MARGIN + LINE * (len(self.notes) + 1) + (LAYER_GAP if self.cut else 0)
        self.middle = [0.0] * len(rows)
        for layer in reversed(range(len(rows))):
            self.middle[layer] = at + heights[layer] / 2
            at += heights[layer] + LAYER_GAP
        self.page_height = at - LAYER_GAP + MARGIN
        note = max(len(text) for text in self.notes) * CHARACTER
        self.page_width = max(self.layout.total_width, note) + 2 * MARGIN

    def height(self, v):
        return len(self.texts[v]) * LINE + 2 * PADDING - 4 if v < len(self.numbers) else 0.0

    def center(self, v):
        return self.layout.x[v] + MARGIN, self.middle[self.layout.layer[v]]

    def curve(self, points, mark=""):
        """A smooth curve down through these boxes and points."""
        x, y = self.center(points[0])
        y += self.height(points[0]) / 2
        path = [f"M{x:.1f} {y:.1f}"]
        for point in points[1:]:
            to_x, to_y = self.center(point)
            to_y -= self.height(point) / 2
            half = (y + to_y) / 2
            path.append(f"C{x:.1f} {half:.1f} {to_x:.1f} {half:.1f} {to_x:.1f} {to_y:.1f}")
            x, y = to_x, to_y
        return f'<path d="{" ".join(path)}"{mark}/>'

    def curves(self):
        """All edges; what those from one box have in common is drawn once."""
        chains = [self.layout.chain(upper) for upper in range(len(self.numbers))]
        lines = [self.curve(chain) for chain in chains if len(chain) > 1]
        arrow = ' marker-end="url(#arrow)"'
        return lines + [self.curve([self.layout.branch(upper, lower), lower], arrow) for upper, lower in self.edges]

    def stub(self, v):
        """The beginning of edges from nodes that are not drawn."""
        x, y = self.center(v)
        y -= self.height(v) / 2
        return f'<path class="cut" d="M{x - 12:.1f} {y - LAYER_GAP * 0.6:.1f} L{x - 4:.1f} {y:.1f}"/>'

    def node(self, v):
        """A box with its text; the full place and the line of code appear when the pointer rests on it."""
        number = self.numbers[v]
        x, y = self.center(v)
        width, height = self.layout.widths[v], self.height(v)
        top = y - height / 2
        title = self.graph.label(number)
        if not describe.is_leaf(self.graph.nodes[number]):
            title += " made at " + describe.place_of(self.graph.nodes[number]).quoted()
        lines = [
            f'<g class="box"><title>{escaped(title)}</title>',
            f'<rect class="node" x="{x - width / 2:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" '
            f'rx="5" fill="{self.graph.color(number)}"/>',
        ]
        for i, text in enumerate(self.texts[v]):
            kind = ' class="op"' if i == 0 else ""
            at = top + PADDING + LINE * (i + 1) - 5
            lines.append(f'<text{kind} x="{x:.1f}" y="{at:.1f}" text-anchor="middle">{escaped(text)}</text>')
        return "".join(lines) + "</g>"

    def document(self):
        width, height = self.page_width, self.page_height
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}">'
        )
        lines = [head, f"<style>{STYLE}</style><defs>{ARROW}</defs>"]
        lines.append('<rect width="100%" height="100%" fill="white"/>')
        for i, text in enumerate(self.notes):
            lines.append(f'<text x="{MARGIN}" y="{MARGIN + LINE * i + FONT}">{escaped(text)}</text>')
        lines += self.curves()
        lines += [self.stub(v) for v in self.cut]
        lines += [self.node(v) for v in range(len(self.numbers))]
        return "\n".join([*lines, "</svg>"]) + "\n"


def draw(graph, limit):
    """An SVG document of at most `limit` nodes."""
    if limit < 1:
        raise ValueError(f"svg: expected a limit of at least 1; got {limit}")
    return Drawing(graph, limit).document()
