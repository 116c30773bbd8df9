"""How a gradient travels: which nodes lie between a loss and a tensor, and what each of them receives and sends on."""

from typing import NamedTuple

from .. import _C
from . import nodes as describe


def gradient_kind(gradient):
    """One word about a gradient: "none", "nan", "inf", "zero" (all of it) or "finite"."""
    if gradient is None:
        return "none"
    if gradient.numel() == 0:
        return "finite"
    if bool(gradient.isnan().any()):
        return "nan"
    if bool(gradient.isinf().any()):
        return "inf"
    return "finite" if bool((gradient != 0).any()) else "zero"


class Passage(NamedTuple):
    """What a node received for its outputs and sent to the edges that lead to the target."""

    node: _C.Node
    received: list[str]
    sent: list[str]


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
        ones = _C.ones_like(self.loss.detach())
        passed = {id(node) for node in self.nodes}
        retaining = [t for t in describe.living_results() if t.retains_grad and id(t.grad_fn) in passed]
        kept = [tensor.grad for tensor in retaining]
        try:
            for tensor in retaining:
                tensor.grad = None
            return _C.run_backward((self.loss,), (ones,), True, False, (self.target,), False, True)[0]
        finally:
            for tensor, grad in zip(retaining, kept, strict=True):
                tensor.grad = grad

    def passages(self):
        """What happens at each node on the way, in the order of backward."""
        found = []

        def watch(node):
            on_way = [self.leads(*edge) for edge in node.next_functions]

            def hook(sent, received):
                kinds = [gradient_kind(gradient) for gradient, is_on_way in zip(sent, on_way, strict=True) if is_on_way]
                found.append(Passage(node, [gradient_kind(gradient) for gradient in received], kinds))

            return node.register_hook(hook)

        handles = [watch(node) for node in self.nodes if id(node) in self._leads]
        try:
            self.gradient()
        finally:
            for handle in handles:
                handle.remove()
        return found


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
