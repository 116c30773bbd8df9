"""A graph as text, as DOT and as SVG."""

from .. import _C
from . import nodes as describe

TEXT_LIMIT = 100
SVG_LIMIT = 400


class Graph:
    """The nodes that backward from a result passes, newest first and leaves last; each appears once.

    It keeps the nodes alive, and with them what they saved.
    """

    def __init__(self, roots, names=()):
        self.nodes = _C._reached_nodes(roots)
        self._roots = {id(root) for root in roots}
        self._numbers = {id(node): i for i, node in enumerate(self.nodes)}
        self._saved = {}
        for index, _, _, _, count, alone in _C._saved_memory(self.nodes):
            held = self._saved.setdefault(index, [0, 0])
            held[0 if alone else 1] += count
        self._names = {id(tensor): name for name, tensor in dict(names).items()}

    def __len__(self):
        return len(self.nodes)

    @property
    def leaves(self):
        """The tensors at which gradients arrive."""
        return [node.variable for node in self._leaf_nodes()]

    def _leaf_nodes(self):
        found = []
        for node in reversed(self.nodes):  # leaves are last
            if not describe.is_leaf(node):
                break
            found.append(node)
        return found[::-1]

    def inputs(self, number):
        """The numbers of the nodes that the gradients of node `number` go to."""
        return [self._numbers[id(node)] for node, _ in self.nodes[number].next_functions if node is not None]

    def label(self, number):
        """What node `number` is called: its op, or the name of a leaf."""
        node = self.nodes[number]
        if not describe.is_leaf(node):
            return describe.op_name(node)
        return f"leaf {self._names.get(id(node.variable), '')}".rstrip()

    def saved(self, number):
        """The memory that node `number` holds, in words; a leaf's own is not counted while the leaf is in use."""
        node = self.nodes[number]
        alone, shared = self._saved.get(number, (0, 0))
        if describe.is_leaf(node):
            shared = 0
        if not alone and not shared and describe.is_freed(node):
            return "freed"
        return describe.saved_text(alone, shared)

    def is_root(self, number):
        return id(self.nodes[number]) in self._roots

    def summary(self):
        """One line about the whole graph."""
        leaves = len(self._leaf_nodes())
        held = describe.bytes_text(sum(alone for alone, _ in self._saved.values()))
        nodes_text = "1 node" if len(self.nodes) == 1 else f"{len(self.nodes):,} nodes"
        leaves_text = "1 leaf" if leaves == 1 else f"{leaves:,} leaves"
        return f"graph: {nodes_text}, {leaves_text}, {held} saved"

    def text(self, limit=TEXT_LIMIT):
        """The nodes as a table; at most `limit` of them (None: all)."""
        shown = len(self.nodes) if limit is None else min(limit, len(self.nodes))
        rows = [("#", "node", "output", "saved", "gradient to", "line", "")]
        for i in range(shown):
            node = self.nodes[i]
            place = describe.place_of(node) if not describe.is_leaf(node) else describe.Place("", 0, "")
            targets = ", ".join(map(str, self.inputs(i)[:6])) + (", ..." if len(self.inputs(i)) > 6 else "")
            cells = (
                str(i),
                self.label(i),
                describe.outputs_text(node),
                self.saved(i),
                targets,
                place.short,
                place.code,
            )
            rows.append(cells)
        lines = [self.summary(), *describe.columns(rows, right=(0,))]
        if shown < len(self.nodes):
            lines.append(f"... and {len(self.nodes) - shown:,} older nodes; text(limit=None) shows all")
        return "\n".join(lines)

    def __str__(self):
        return self.text()

    __repr__ = __str__

    def dot(self):
        """The graph in the language of Graphviz; data flows along the arrows, from leaves to the result."""
        lines = ["digraph {", '  node [shape=box, style="rounded,filled", fontname=monospace, fontsize=10];']
        for i in range(len(self.nodes)):
            text = "\\n".join(_quoted(line) for line in self.box(i))
            lines.append(f'  n{i} [label="{text}", fillcolor="{self.color(i)}"];')
        for i in range(len(self.nodes)):
            lines += [f"  n{target} -> n{i};" for target in self.inputs(i)]
        return "\n".join([*lines, "}"]) + "\n"

    def box(self, number):
        """The lines of text in the box of node `number`."""
        node = self.nodes[number]
        held = self.saved(number)
        place = "" if describe.is_leaf(node) else describe.place_of(node).short
        saved = held if held in ("", "freed") else f"saved {held}"
        return [text for text in (self.label(number), describe.outputs_text(node), place, saved) if text]

    def color(self, number):
        """The fill of node `number`: leaves, results and what lies between differ."""
        if describe.is_leaf(self.nodes[number]):
            return "#d5e8f7"
        return "#d9f0d3" if self.is_root(number) else "#f4f4f4"

    def svg(self, limit=SVG_LIMIT):
        """The graph drawn: an SVG document, leaves above and the result below.

        Beyond `limit` nodes only those nearest to the result are drawn, and the drawing says so.
        """
        from . import svg

        return svg.draw(self, limit)

    def _repr_svg_(self):
        return self.svg()


def _quoted(text):
    """Text inside a DOT string."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")


def graph(y, names=()):
    """The graph of `y`: print it, draw it with .svg() (notebooks show that by themselves), or export it with .dot().

    `y` is a tensor, a node, or a sequence of them; `names` maps names to leaves (a dict, or pairs such as a module's
    named_parameters()).

    >>> import adjoint as torch
    >>> w = torch.ones(3, requires_grad=True)
    >>> g = torch.inspect.graph((w * w).sum(), names={"w": w})
    >>> [g.label(i) for i in range(len(g))]
    ['SumBackward0', 'MulBackward0', 'leaf w']
    >>> g.dot().splitlines()[-3:]
    ['  n2 -> n1;', '  n2 -> n1;', '}']
    """
    return Graph(describe.roots_of(y, "graph"), names)
