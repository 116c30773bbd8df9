"""A graph as text, as DOT and as SVG."""

from bisect import bisect_left

from .. import _C
from . import folding
from . import nodes as describe
from .facts import facts_of
from .modules import ModuleCalls
from .names import names_for

TEXT_LIMIT = 100
SVG_LIMIT = 400


class Graph:
    """The nodes that backward from a result passes, newest first and leaves last; each appears once.

    It keeps the nodes alive, and with them what they saved.

    >>> import adjoint as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> [node.name() for node in torch.inspect.graph((x * 2).sum()).nodes]
    ['SumBackward0', 'MulBackward0', 'torch::autograd::AccumulateGrad']
    """

    def __init__(self, roots, names=()):
        self.nodes = _C._reached_nodes(roots)
        self._roots = {id(root) for root in roots}
        self._numbers = {id(node): i for i, node in enumerate(self.nodes)}
        self.inner_count = bisect_left(self.nodes, True, key=describe.is_leaf)
        self._saved = {}
        for index, _, _, _, count, alone in _C._saved_memory(self.nodes):
            held = self._saved.setdefault(index, [0, 0])
            held[0 if alone else 1] += count
        in_frames = names_for(self.leaves)
        self._calls = ModuleCalls(in_frames)
        self._names = in_frames.tensors | {id(tensor): name for name, tensor in dict(names).items()}
        self._values, self._norms = None, None

    def __len__(self):
        return len(self.nodes)

    @property
    def leaves(self):
        """The tensors at which gradients arrive."""
        return [node.variable for node in self.nodes[self.inner_count :]]

    def inputs(self, number):
        """The numbers of the nodes that the gradients of node `number` go to."""
        return [self._numbers[id(node)] for node, _ in self.nodes[number].next_functions if node is not None]

    def label(self, number):
        """What node `number` is called: its op, or the name of a leaf."""
        node = self.nodes[number]
        if not describe.is_leaf(node):
            return describe.op_name(node)
        return f"leaf {self._names.get(id(node.variable), '')}".rstrip()

    def module(self, number):
        """The module whose forward made node `number`, by its path, such as "net.0"; "" for none.

        >>> import adjoint as torch
        >>> net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
        >>> g = torch.inspect.graph(net(torch.ones(1, 2)).sum())
        >>> [g.module(i) for i in range(3)]
        ['', 'net.1', 'net.0']
        """
        node = self.nodes[number]
        return "" if describe.is_leaf(node) else describe.module_of(node, self._calls)

    def chain(self, number):
        """The calls of modules that node `number` was made in, outermost first."""
        call = self._calls.of(self.nodes[number])
        return call.chain if call else ()

    def saved(self, number):
        """The memory that node `number` holds, in words; a leaf's own is not counted while the leaf is in use."""
        return self.saved_by([number])

    def saved_by(self, numbers):
        """The memory that these nodes hold, in words."""
        alone = sum(self._saved.get(number, (0, 0))[0] for number in numbers)
        inner = [number for number in numbers if not describe.is_leaf(self.nodes[number])]
        shared = sum(self._saved.get(number, (0, 0))[1] for number in inner)
        if not alone and not shared and any(describe.is_freed(self.nodes[number]) for number in numbers):
            return "freed"
        return describe.saved_text(alone, shared)

    def is_root(self, number):
        return id(self.nodes[number]) in self._roots

    def note_values(self):
        """Looks at the values of the outputs, for tables and drawings."""
        from . import values

        self._values = values.values_of(self.nodes)

    def note_gradients(self, results):
        """Runs backward from the results for the norms of the gradients, for tables and drawings."""
        from . import values

        self._norms = values.gradient_norms(results, self.nodes)

    def value(self, number):
        """The output of node `number` in words: of graph(y, values=True), where something keeps its values; or ""."""
        return (self._values or {}).get(number, "")

    def gradient_norm(self, number):
        """The norm of the gradient that arrives at node `number`: of graph(y, gradients=True); or None."""
        return (self._norms or {}).get(number)

    def summary(self):
        """One line about the whole graph."""
        leaves = len(self.nodes) - self.inner_count
        held = describe.bytes_text(sum(alone for alone, _ in self._saved.values()))
        nodes_text = "1 node" if len(self.nodes) == 1 else f"{len(self.nodes):,} nodes"
        leaves_text = "1 leaf" if leaves == 1 else f"{leaves:,} leaves"
        return f"graph: {nodes_text}, {leaves_text}, {held} saved"

    def picture(self, limit=None, fold=None, unfold=()):
        """The boxes to draw: see svg()."""
        unfold = (unfold,) if isinstance(unfold, str) else tuple(unfold)
        known = self._calls.names if unfold else ()
        for name in unfold:
            if name not in known:
                raise ValueError(f"unfold: expected a module of this graph; got {name!r}; it has {_listed(known)}")
        if unfold or fold or (fold is None and len(self.nodes) > folding.SCREEN):
            return folding.fold(self, bool(fold), unfold, limit)
        return folding.plain(self, limit)

    def text(self, limit=TEXT_LIMIT, fold=None, unfold=()):
        """The nodes as a table of at most `limit` rows (None: all).

        `fold` and `unfold` are those of svg(); by default a graph that has more nodes than `limit` is folded.
        """
        large = limit is not None and len(self.nodes) > limit
        folded = fold or unfold or (fold is None and large)
        picture = self.picture(None, fold, unfold) if folded else None
        boxes = picture.boxes[:limit] if picture else folding.single(range(len(self.nodes))[:limit])
        lines = [self.summary(), *describe.columns(self._rows(boxes, picture), right=(0,))]
        older = len(self.nodes) - sum(len(box.numbers) + len(box.owned) for box in boxes)
        if older:
            lines.append(f"... and {older:,} older nodes; text(limit=None) shows all")
        if picture:
            lines.append("Loops and modules are folded; text(fold=False) shows single nodes.")
        return "\n".join(lines)

    def _rows(self, boxes, picture):
        """The cells of the table, without columns in which nothing is said."""
        head = ("#", "node", "module", "parameters", "output", "saved", "value", "gradient norm", "gradient to")
        head += ("line", "")
        rows = []
        for i, box in enumerate(boxes):
            facts = facts_of(self, box)
            if picture is None:
                targets = [str(target) for target in self.inputs(i)]
            else:
                targets = [str(picture.boxes[source].heads[0]) for source in picture.sources(i)]
                targets += [f"{picture.boxes[source].heads[0]} (step before)" for source in box.carried]
            to = ", ".join(targets[:6]) + (", ..." if len(targets) > 6 else "")
            cells = (facts.name, facts.module, facts.owned, facts.output, facts.saved, facts.value, facts.norm, to)
            rows.append((str(box.heads[0]), *cells, facts.place.short, facts.place.brief))
        optional = {"module", "parameters", "value", "gradient norm"}
        kept = [i for i, name in enumerate(head) if name not in optional or any(row[i] for row in rows)]
        return [tuple(row[i] for i in kept) for row in (head, *rows)]

    def __str__(self):
        return self.text()

    __repr__ = __str__

    def dot(self, fold=False, unfold=()):
        """The graph in the language of Graphviz; data flows along the arrows, from leaves to the result.

        All nodes, unless it is folded: see svg().
        """
        picture = self.picture(None, fold, unfold)
        lines = ["digraph {", '  node [shape=box, style="rounded,filled", fontname=monospace, fontsize=10];']
        names = [f"n{box.heads[0]}" for box in picture.boxes]
        for name, box in zip(names, picture.boxes, strict=True):
            facts = facts_of(self, box)
            text = "\\n".join(_quoted(line) for line in facts.lines)
            lines.append(f'  {name} [label="{text}", fillcolor="{facts.color}"];')
        for i, box in enumerate(picture.boxes):
            lines += [f"  {names[source]} -> {names[i]};" for source in picture.sources(i)]
            lines += [f"  {names[source]} -> {names[i]} [style=dashed, constraint=false];" for source in box.carried]
        return "\n".join([*lines, "}"]) + "\n"

    def svg(self, limit=SVG_LIMIT, fold=None, unfold=()):
        """The graph drawn: an SVG document, leaves above and the result below.

        A graph of more than 40 nodes is folded: the steps of a loop are drawn once, with "x 20", and modules are one
        box with their parameters where single nodes would not fit. fold=False draws single nodes (beyond `limit`, only
        those nearest to the result), fold=True folds small graphs as well, and unfold="net.0", or several such names,
        opens these modules.

        >>> import adjoint as torch
        >>> net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
        >>> g = torch.inspect.graph(net(torch.ones(1, 2)).sum())
        >>> "net.0: Linear" in g.svg(fold=True), "net.0: Linear" in g.svg(fold=True, unfold="net.0")
        (True, False)
        """
        from . import svg

        if limit < 1:
            raise ValueError(f"svg: expected a limit of at least 1; got {limit}")
        return svg.draw(self, self.picture(limit, fold, unfold))

    def _repr_svg_(self):
        return self.svg()


def _listed(names):
    names = sorted(names)
    return (", ".join(names[:20]) + (", ..." if len(names) > 20 else "")) if names else "none"


def _quoted(text):
    """Text inside a DOT string."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")


def graph(y, names=(), *, values=False, gradients=False):
    """The graph of `y`: print it, draw it with .svg() (notebooks show that by themselves), or export it with .dot().

    `y` is a tensor, a node, or a sequence of them. Leaves and modules go by the names of the variables and modules of
    the running functions that lead to them; `names` maps other names to leaves (a dict, or pairs such as a module's
    named_parameters()). With `values`, tables and drawings show the range of each output that something keeps; with
    `gradients`, the norm of the gradient that arrives in a backward from `y` (.grad and the graph are left alone).

    >>> import adjoint as torch
    >>> w = torch.ones(3, requires_grad=True)
    >>> g = torch.inspect.graph((w * w).sum(), gradients=True)
    >>> [g.label(i) for i in range(len(g))]
    ['SumBackward0', 'MulBackward0', 'leaf w']
    >>> round(g.gradient_norm(2), 4)
    3.4641
    >>> g.dot().splitlines()[-3:]
    ['  n2 -> n1;', '  n2 -> n1;', '}']
    """
    found = Graph(describe.roots_of(y, "graph"), names)
    if values:
        found.note_values()
    if gradients:
        many = y if isinstance(y, tuple | list) else (y,)
        if not all(isinstance(item, _C.Tensor) for item in many):
            raise TypeError("graph: expected tensors, not nodes, with gradients=True; backward begins at a tensor")
        found.note_gradients(many)
    return found
