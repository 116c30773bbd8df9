"""Draws a graph as an SVG document, with nothing but text."""

import html
import re

from .facts import facts_of
from .layout import Layout

CHARACTER = 6.9  # width of a monospace character at FONT
FONT = 11
LINE = 14
PADDING = 8
LAYER_GAP = 26
MARGIN = 16
BULGE = 40  # of edges that lead back
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


class Drawing:
    """The boxes of a picture, placed."""

    def __init__(self, graph, picture):
        self.picture = picture
        self.count = len(picture.boxes)
        self.facts = [facts_of(graph, box) for box in picture.boxes]
        self.texts = [facts.lines for facts in self.facts]
        self.edges = [(source, v) for v in range(self.count) for source in dict.fromkeys(picture.sources(v))]
        self.cut = sorted(picture.cut)
        widths = [max(map(len, text)) * CHARACTER + 2 * PADDING for text in self.texts]
        self.layout = Layout(widths, self.edges)
        self.notes = [graph.summary()]
        if (most := max(box.times for box in picture.boxes)) > 1:
            self.notes.append(f'"x {most:,}": the steps of a loop, drawn once; dashed: from the step before.')
        if any(box.calls for box in picture.boxes):
            self.notes.append('Modules are folded: svg(unfold="name") opens one, svg(fold=False) all.')
        if picture.left_out:
            self.notes.append(f"Drawn: the {len(graph) - picture.left_out:,} nodes nearest to the result.")
            self.notes.append("All: text(limit=None), dot(), or svg(limit=...), which gets hard to read.")
        self._stack_layers()

    def _stack_layers(self):
        """Heights of the layers, from the top of the page."""
        rows = self.layout.rows
        heights = [max((self.height(v) for v in row if v < self.count), default=0.0) for row in rows]
        at = MARGIN + LINE * (len(self.notes) + 1) + (LAYER_GAP if self.cut else 0)
        self.middle = [0.0] * len(rows)
        for layer in reversed(range(len(rows))):
            self.middle[layer] = at + heights[layer] / 2
            at += heights[layer] + LAYER_GAP
        self.page_height = at - LAYER_GAP + MARGIN
        note = max(len(text) for text in self.notes) * CHARACTER
        loops = BULGE if any(box.carried for box in self.picture.boxes) else 0
        self.page_width = max(self.layout.total_width + loops, note) + 2 * MARGIN

    def height(self, v):
        return len(self.texts[v]) * LINE + 2 * PADDING - 4 if v < self.count else 0.0

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
        chains = [self.layout.chain(upper) for upper in range(self.count)]
        lines = [self.curve(chain) for chain in chains if len(chain) > 1]
        arrow = ' marker-end="url(#arrow)"'
        return lines + [self.curve([self.layout.branch(upper, lower), lower], arrow) for upper, lower in self.edges]

    def stub(self, v):
        """The beginning of edges from nodes that are not drawn."""
        x, y = self.center(v)
        y -= self.height(v) / 2
        return f'<path class="cut" d="M{x - 12:.1f} {y - LAYER_GAP * 0.6:.1f} L{x - 4:.1f} {y:.1f}"/>'

    def loop(self, source, v):
        """An edge from the step before: around the right sides of the boxes, up to where the next step begins."""
        (x, y), (to_x, to_y) = self.center(source), self.center(v)
        x, to_x = x + self.layout.widths[source] / 2, to_x + self.layout.widths[v] / 2
        y, to_y = (y, to_y) if source != v else (y + 7, to_y - 7)
        around = max(x, to_x) + BULGE
        curve = f"M{x:.1f} {y:.1f} C{around:.1f} {y:.1f} {around:.1f} {to_y:.1f} {to_x:.1f} {to_y:.1f}"
        return f'<path class="cut" d="{curve}" marker-end="url(#arrow)"/>'

    def node(self, v):
        """A box with its text; the full place and the line of code appear when the pointer rests on it."""
        facts = self.facts[v]
        x, y = self.center(v)
        width, height = self.layout.widths[v], self.height(v)
        top = y - height / 2
        title = facts.name + (f" made at {facts.place.quoted()}" if facts.place.file else "")
        lines = [
            f'<g class="box"><title>{escaped(title)}</title>',
            f'<rect class="node" x="{x - width / 2:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" '
            f'rx="5" fill="{facts.color}"/>',
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
        lines += [self.loop(source, v) for v, box in enumerate(self.picture.boxes) for source in box.carried]
        lines += [self.node(v) for v in range(self.count)]
        return "\n".join([*lines, "</svg>"]) + "\n"


def draw(graph, picture):
    """An SVG document of a graph's picture."""
    return Drawing(graph, picture).document()
