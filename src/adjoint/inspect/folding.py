"""A graph in boxes: nodes by themselves, or the nodes of a module's call, or of all steps of a loop, as one."""

import re

from . import nodes as describe
from .loops import find_loops

SCREEN = 40  # boxes that one can take in
MOST_NODES = 20_000  # folded at most: the newest
OWNED = -1  # the box of leaves that stand in the box of their module


class Box:
    """What is drawn as one: `numbers` are its nodes, newest first, in `times` calls or steps.

    `heads` are the newest node of each. `calls` are those of modules, where it stands for these; `owned` the leaves
    that nothing else uses, `carried` the boxes whose values of the step before it takes.
    """

    def __init__(self, token, numbers, call=None):
        self.token = token
        self.numbers = numbers
        self.heads = numbers[:1]
        self.times = 1
        self.calls = [call] if call else []
        self.owned = []
        self.carried = []

    def merge(self, other):
        """Takes in the same of another step."""
        self.numbers += other.numbers
        self.heads += other.heads
        self.calls += other.calls
        self.times += other.times


class Picture:
    """The boxes of a graph, newest first and leaves last; at most `limit`, where the leaves can be left out.

    `steps` says which steps of which loops nodes are of, in a picture that is folded; else it is None.

    `cut` are the users of nodes that are in no box, `left_out` counts these.
    """

    def __init__(self, graph, boxes, steps, limit=None):
        self.boxes = list(boxes)
        self.of = {number: i for i, box in enumerate(self.boxes) for number in box.numbers}
        self._add_leaves(graph, limit, steps is not None)
        self.left_out = len(graph) - len(self.of)
        self._sources, self.cut, steps = {}, set(), steps or {}
        for user, box in enumerate(self.boxes):
            for number in box.numbers:
                for target in graph.inputs(number):
                    self._add_edge(number, target, user, steps)
            box.carried = list(dict.fromkeys(box.carried))
            if len(box.numbers) > 1:
                self._sources[user] = list(dict.fromkeys(self.sources(user)))

    def sources(self, i):
        """The boxes whose values box `i` takes, in the same step."""
        return self._sources.get(i, [])

    def _add_edge(self, number, target, user, steps):
        source = self.of.get(target)
        if source is None:
            self.cut.add(user)
        elif source == OWNED:
            return
        elif not _same_steps(steps.get(number, {}), steps.get(target, {})):
            self.boxes[user].carried.append(source)
        elif source != user:
            self._sources.setdefault(user, []).append(source)

    def _add_leaves(self, graph, limit, folded):
        """A leaf is a box; those of a folded module stand in its box, and those of the steps of a loop are one box."""
        users = {}
        for i, box in enumerate(self.boxes):
            for number in box.numbers:
                for target in graph.inputs(number):
                    if target >= graph.inner_count:
                        users.setdefault(target, {})[i] = None
        groups = {}
        for leaf, owners in sorted(users.items()):
            box = self.boxes[next(iter(owners))]
            if len(owners) == 1 and box.calls:
                box.owned.append(leaf)
                self.of[leaf] = OWNED
                continue
            label = re.sub(r"\d+", "0", graph.label(leaf))  # net.3.weight is like net.4.weight
            alike = (tuple(owners), label, describe.outputs_text(graph.nodes[leaf])) if folded else leaf
            groups.setdefault(alike, []).append(leaf)
        for leaves in groups.values():
            if limit is not None and len(self.boxes) >= limit:
                break
            box = Box("leaf", leaves)
            box.heads, box.times = leaves, len(leaves)
            self.of.update(dict.fromkeys(leaves, len(self.boxes)))
            self.boxes.append(box)


def _same_steps(a, b):
    """Whether two nodes are not of different steps of a loop."""
    return all(b.get(loop, step) == step for loop, step in a.items())


def single(numbers):
    """Each of these nodes as a box."""
    return [Box(None, [number]) for number in numbers]


def plain(graph, limit=None):
    """Each node as a box: all, or the newest and the leaves that they use, up to `limit`."""
    inner = single(range(graph.inner_count)[:limit])
    # Room for the leaves of the newest: they are boxes as well.
    while limit is not None and len(inner) > 1 and len(inner) + _leaf_count(graph, inner) > limit:
        inner = inner[: max(len(inner) - max((len(inner) + _leaf_count(graph, inner) - limit) // 2, 1), 1)]
    if not inner:
        inner = single(range(len(graph))[:limit])  # leaves only
    return Picture(graph, inner, None, limit)


def _leaf_count(graph, boxes):
    return len({n for box in boxes for n in graph.inputs(box.numbers[0]) if describe.is_leaf(graph.nodes[n])})


def fold(graph, modules=False, unfold=(), limit=None):
    """A picture with few boxes: loops once, and modules as one box, if `modules`, or where they are too many.

    Those modules whose names are in `unfold` are opened.
    """
    inner = list(range(min(graph.inner_count, MOST_NODES)))
    chains = [graph.chain(number) for number in inner]
    deepest = max(map(len, chains), default=0)
    depths = [*range(deepest, 0, -1)]
    for depth in depths if depths and (modules or unfold) else [None, *depths]:
        boxes, steps = _fold_loops(_by_module(graph, inner, chains, depth, unfold))
        picture = Picture(graph, boxes[:limit], steps, limit)
        if len(picture.boxes) <= SCREEN and not picture.left_out:
            break
    return picture


def _by_module(graph, inner, chains, depth, unfold):
    """Boxes of nodes; those that a call of a module made are one: the call that is `depth` deep, or has none inside."""
    has_inner = {id(call) for chain in chains for call in chain[:-1]}
    boxes, last = [], None
    for number, chain in zip(inner, chains, strict=True):
        at = len(chain) if depth is None else min(depth, len(chain)) - 1
        while at < len(chain) and chain and chain[at].name in unfold:
            at += 1
        call = chain[at] if 0 <= at < len(chain) else None
        if call is not None and at + 1 != depth and id(call) in has_inner:
            call = None  # made by the forward of a module that is drawn open
        node = graph.nodes[number]
        what = describe.op_name(node), describe.outputs_text(node)
        if call is not None and call is last:
            boxes[-1].numbers.append(number)
            boxes[-1].token += what
            continue
        last = call
        around = tuple(outer.kind for outer in chain[: at + 1])
        where = None if call else describe.place_of(node)
        boxes.append(Box((around, where, *what), [number], call))
    return boxes


def _fold_loops(boxes):
    """(boxes, {node: {loop: step}}) after the steps of each loop were laid upon each other."""
    steps, count = {}, 0
    while True:
        loops = find_loops([box.token for box in boxes])
        if not loops:
            return boxes, steps
        folded, at = [], 0
        for loop in loops:
            folded += boxes[at : loop.start]
            body = boxes[loop.start : loop.start + loop.period]
            _mark(body, count, 0, steps)
            for step in range(1, loop.steps + 1):
                first = loop.start + step * loop.period
                whole = step < loop.steps
                slots = range(loop.period) if whole else loop.rest
                others = boxes[first : first + len(slots)]
                _mark(others, count, step, steps)
                for slot, box in zip(slots, others, strict=True):
                    body[slot].merge(box)
            for box in body:
                box.token = ("loop", loop.steps, box.token)
            folded += body
            count += 1
            at = loop.end
        boxes = folded + boxes[at:]


def _mark(boxes, loop, step, steps):
    for box in boxes:
        for number in box.numbers:
            steps.setdefault(number, {})[loop] = step
