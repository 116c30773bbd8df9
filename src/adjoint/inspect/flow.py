"""How a gradient travels: which nodes lie between a loss and a tensor, and what each of them receives and sends on."""

from typing import NamedTuple

from .. import _C
from . import nodes as describe


def gradient_kind(gradient):
    """One word about a gradient: "none", "nan", "inf", "zero" (all of it) or "finite"."""
    if gradient is None:
        return "none"
    gradient = describe.elements(gradient)
    if gradient.numel() == 0:
        return "finite"
    if bool(gradient.isnan().any()):
        return "nan"
    if bool(gradient.isinf().any()):
        return "inf"
    return "finite" if bool((gradient != 0).any()) else "zero"


def gradients_at(results, targets, nodes):
    """The gradients of tensors in a backward from `results` through `nodes`. Hooks run; .grad is left alone."""
    ones = tuple(_C.ones_like(result.detach()) for result in results)
    passed = {id(node) for node in nodes}
    retaining = [t for t in describe.living_results() if t.retains_grad and id(t.grad_fn) in passed]
    kept = [tensor.grad for tensor in retaining]
    try:
        for tensor in retaining:
            tensor.grad = None
        return _C.run_backward(tuple(results), ones, True, False, tuple(targets), False, True)
    finally:
        for tensor, grad in zip(retaining, kept, strict=True):
            tensor.grad = grad


class Passage(NamedTuple):
    """What a node received for its outputs and sent to the edges that lead to the target.

    `masked`: it sent nan, only where it had received zero. `sizes`: the largest elements received and sent
    onward, past the target.
    """

    node: _C.Node
    received: list[str]
    sent: list[str]
    masked: bool
    sizes: tuple[float, float]


class Change(NamedTuple):
    """How much the nodes of one line have changed the size of a gradient: by `factor`, in `times` nodes."""

    node: _C.Node
    factor: float
    times: int


class Way:
    """The part of a graph that lies between a result and a tensor."""

    def __init__(self, loss, target):
        self.loss, self.target = loss, target
        self.edge = _C._gradient_edge(target)
        root = _C._gradient_edge(loss)
        self.nodes = _C._reached_nodes((root[0],))
        self._leads = set()  # nodes with an edge on the way
        for node in reversed(self.nodes):  # a node stands before those that its edges lead to
            if any(self.leads(*edge) for edge in node.next_functions):
                self._leads.add(id(node))
        self.reached = self.leads(*root)

    def leads(self, node, output):
        """Whether a gradient for this output of a node travels to the target."""
        return (node, output) == self.edge or (id(node) in self._leads and node is not self.edge[0])

    def gradient(self):
        """The gradient of the target; None where a rule says that there is none. Hooks run; .grad is left alone."""
        return gradients_at([self.loss], [self.target], self.nodes)[0]

    def passages(self):
        """What happens at each node on the way, in the order of backward."""
        found = []

        def watch(node):
            on_way = [self.leads(*edge) for edge in node.next_functions]
            edges = [edge for edge in node.next_functions if self.leads(*edge)]
            onward = [i for i, edge in enumerate(edges) if edge != self.edge]

            def hook(sent, received):
                sent = [gradient for gradient, is_on_way in zip(sent, on_way, strict=True) if is_on_way]
                kinds = [gradient_kind(gradient) for gradient in received], [gradient_kind(g) for g in sent]
                sizes = _largest(received), _largest([sent[i] for i in onward] or sent)
                found.append(Passage(node, *kinds, _is_masked(received, sent), sizes))

            return node.register_hook(hook)

        handles = [watch(node) for node in self.nodes if id(node) in self._leads]
        try:
            self.gradient()
        finally:
            for handle in handles:
                handle.remove()
        return found


def _is_masked(received, sent):
    """Whether nan was sent, and only where zero was received."""
    sent, got = ([describe.elements(g) for g in gradients if g is not None] for gradients in (sent, received))
    bad = [g for g in sent if bool(g.isnan().any())]
    if not bad or len(got) != 1 or any(g.shape != got[0].shape for g in bad):
        return False
    return not any(bool((g.isnan() & (got[0] != 0)).any()) for g in bad)


def _largest(gradients):
    found = [describe.elements(gradient) for gradient in gradients if gradient is not None]
    return max((float(values.abs().max()) for values in found if values.numel()), default=0.0)


def changes(passages, larger):
    """The lines at which a gradient grew, or shrank, the most first."""
    lines = {}
    for passage in passages:
        before, after = passage.sizes
        if before and after:
            key = describe.op_name(passage.node), describe.place_of(passage.node)
            node, factor, times = lines.get(key, (passage.node, 1.0, 0))
            lines[key] = Change(node, factor * (after / before), times + 1)
    wanted = [change for change in lines.values() if (change.factor > 1) == larger and change.factor != 1]
    return sorted(wanted, key=lambda change: change.factor, reverse=larger)


def first_zero(passages):
    """The passages at which a gradient that was not zero ends."""
    return [p for p in passages if "finite" in p.received and "finite" not in p.sent and "zero" in p.sent]


def first_none(passages):
    """The passages whose rule gives no gradient at all."""
    return [p for p in passages if set(p.received) != {"none"} and set(p.sent) == {"none"}]


def first_not_finite(passages):
    """The passages at which a finite gradient becomes inf or nan."""
    bad = {"nan", "inf"}
    return [p for p in passages if not bad & set(p.received) and bad & set(p.sent)]
