"""Why a gradient is None, zero or not a number."""

import re
import sys
from typing import NamedTuple

from .. import _C
from . import cuts, flow
from . import nodes as describe

MOST_CLUES = 8
NOWHERE = describe.Place("", 0, "")

# Ops that put other values in the place of their input.
OVERWRITING = {"Zero", "Fill", "Copy", "CopySlices", "MaskedFill", "MaskedScatter"}
OVERWRITING |= {"IndexPut", "IndexFill", "IndexCopy"}
FLAT = {
    "Relu": "its inputs are all at or below zero, where relu is flat",
    "Threshold": "its inputs are all at or below the threshold",
    "Clamp": "its inputs all lie outside of the limits, where clamp is flat",
    "Hardtanh": "its inputs all lie outside of the limits, where hardtanh is flat",
    "Where": "its condition picks the other values everywhere",
    "Mul": "the other factor is zero everywhere",
    "Mm": "the other matrix is zero",
    "Bmm": "the other matrices are zero",
    "Addmm": "the other matrix is zero",
    "Mv": "the other factor is zero",
    "Dot": "the other vector is zero",
    "Exp": "exp of its inputs is zero: they are too far below zero",
    "Tanh": "its inputs are so far from zero that tanh is flat there",
    "Sigmoid": "its inputs are so far from zero that sigmoid is flat there",
    "Softmax": "it is saturated: one value has all the weight, or all incoming gradients are equal",
    "LogSoftmax": "it is saturated: the target already has all the weight",
    "Maximum": "the other argument is larger everywhere",
    "Minimum": "the other argument is smaller everywhere",
    **dict.fromkeys(("Round", "Floor", "Ceil", "Trunc", "Sign", "Sgn", "FloorDivide"), "it is flat: a step function"),
}


class Explanation(NamedTuple):
    """Why a gradient is as it is; str() says it in words.

    `reason` is one of: "ok", "not_leaf", "requires_no_grad", "integer", "loss_requires_no_grad", "not_reached",
    "detached", "copied", "no_rule", "zero", "overwritten", "cancelled", "hook", "nan", "inf", "freed", "error".
    `place` is the line to look at (its fields are empty when there is none), `op` the node, `details` further facts.
    """

    reason: str
    text: str
    place: describe.Place = NOWHERE
    op: str = ""
    details: tuple[str, ...] = ()

    @property
    def line(self):
        """ "file.py:12 in f", or "" """
        return str(self.place) if self.place.file else ""

    def __str__(self):
        return "\n".join([self.text, *(f"  - {detail}" for detail in self.details)])

    def __repr__(self):
        return str(self)


def explain_grad(loss, p):
    """Says why the gradient of `loss` with respect to `p` is None, zero or nan, and which line is to blame.

    Runs backward on the way from `loss` to `p` (hooks run, .grad and the graph are left alone). Where the graph was
    cut nothing of it remains: then shared memory, equal values and the code around are searched, and what is found is
    called a clue.

    >>> import adjoint as torch
    >>> w = torch.tensor([-1.0, -2.0], requires_grad=True)
    >>> why = torch.inspect.explain_grad(torch.relu(w).sum(), w)
    >>> why.reason, why.op
    ('zero', 'ReluBackward0')
    >>> print(why.text.split(";")[0])
    The gradient of w is zero: it ends in ReluBackward0
    """
    for name, value in (("loss", loss), ("p", p)):
        if not isinstance(value, _C.Tensor):
            raise TypeError(f"explain_grad: expected a tensor for {name}; got {type(value).__name__}")
    caller = sys._getframe(1)
    return _Question(loss, p, caller).answer()


class _Question:
    """One call of explain_grad."""

    def __init__(self, loss, p, caller):
        self.loss, self.p = loss, p
        code = caller.f_code
        self.caller = describe.Place(code.co_filename, caller.f_lineno, code.co_name)
        self.name = cuts.argument_text(caller, 1, "p", "p")

    def answer(self):
        if not self.p.requires_grad:
            return self.without_requires_grad()
        if not self.loss.requires_grad:
            return self.without_graph()
        way = flow.Way(self.loss, self.p)
        if not way.reached:
            return self.not_reached(way.nodes)
        try:
            gradient = way.gradient()
            kind = flow.gradient_kind(gradient)
            passages = way.passages() if kind != "finite" else []
        except RuntimeError as error:
            return self.failed(way.nodes, error)
        if kind == "none":
            return self.no_rule(passages)
        if kind == "zero":
            return self.zero(passages)
        if kind in ("nan", "inf"):
            return self.not_finite(kind, way.nodes, passages)
        return self.fine(gradient)

    # ---- None

    def without_requires_grad(self):
        name = self.name
        if not (self.p.is_floating_point() or self.p.is_complex()):
            text = f"{name} has no gradient: it is a tensor of {self.p.dtype}, and only floating point and complex "
            return Explanation("integer", f"{text}tensors can have one; convert it with float() and requires_grad_().")
        details = ()
        if self.loss.requires_grad:
            leaves = [n.variable for n in self.graph_of_loss() if describe.is_leaf(n)]
            if any(cuts.same_memory(leaf, self.p) for leaf in leaves if leaf.device.type != "meta"):
                details = (f"{name} lies in the memory of a leaf of the graph: it is a detach() or .data of it.",)
        text = f"{name} has no gradient: it does not require one. Call {name}.requires_grad_() before {name} is used."
        return Explanation("requires_no_grad", text, details=details)

    def without_graph(self):
        integer = not (self.loss.is_floating_point() or self.loss.is_complex())
        why = "nothing that it was computed from requires grad, or recording was off, or it was detached"
        why = f"it is a tensor of {self.loss.dtype}" if integer else why
        text = f"{self.name} has no gradient: the loss does not require grad; {why}."
        if not _C.is_grad_enabled():
            text += " Recording is off here: this is a no_grad() or inference_mode() block."
        return self.with_clues("loss_requires_no_grad", text, [])

    def not_reached(self, nodes):
        name = self.name
        if shared := cuts.shared_memory(nodes, self.p):
            what, node = shared
            place, op = describe.place_of(node), describe.op_name(node)
            if what is self.p:
                whose, cause = f"the values of {name} are", f"or {name} did not require grad yet"
            else:
                made = describe.place_of(what.grad_fn).quoted()
                whose, cause = f"a result of {name} (made at {made}) is", "or numpy()"
            text = (
                f"{name} has no gradient: {whose} used at {place.quoted()} without history, "
                f"through detach() or .data, {cause}."
            )
            return self.with_clues("detached", text, nodes, {"detach", "data", "copy"}, place, op)
        if node := cuts.equal_values(nodes, self.p):
            place = describe.place_of(node)
            text = (
                f"{name} has no gradient: the graph does not lead to it, but {place.quoted()} uses a constant with its "
                "values in it: probably a copy, made by tensor(), item() or NumPy. Use stack() or cat() to put tensors "
                "together."
            )
            return self.with_clues("copied", text, nodes, {"copy"}, place, describe.op_name(node))
        leaves = [node for node in nodes if describe.is_leaf(node)]
        listed = ", ".join(describe.outputs_text(node) for node in leaves[:5]) + (", ..." if len(leaves) > 5 else "")
        text = (
            f"{name} has no gradient: the graph of the loss does not lead to it. "
            f"It has {len(leaves)} {'leaf' if len(leaves) == 1 else 'leaves'}: {listed}."
        )
        return self.with_clues("not_reached", text, nodes)

    def with_clues(self, reason, text, nodes, kinds=None, place=NOWHERE, op=""):
        """The line to blame is that of the only clue, or else `place`."""
        clues = self.clues(nodes, kinds)
        place = clues[0].place if len(clues) == 1 else place
        clues = clues or self.clues(nodes, kinds, everywhere=True)
        shown = [f"clue: {clue}" for clue in clues[:MOST_CLUES]]
        if len(clues) > MOST_CLUES:
            shown.append(f"and {len(clues) - MOST_CLUES} more lines that could have cut the graph")
        return Explanation(reason, text, place, op, tuple(shown))

    def clues(self, nodes, kinds, everywhere=False):
        """The lines of code that could have cut the graph, in the functions that made the loss, or in their files."""
        places = {self.caller: None}
        for node in nodes[: cuts.MOST_NODES]:
            places[describe.place_of(node)] = None
        return [clue for clue in cuts.clues(places, everywhere) if kinds is None or clue.kind in kinds]

    def no_rule(self, passages):
        culprits = flow.first_none(passages)
        if not culprits:
            text = f"{self.name} has no gradient: every way to it passes a rule that gives none."
            return Explanation("no_rule", text)
        node = culprits[0].node
        text = (
            f"{self.name} has no gradient: {describe.op_name(node)}, made at {describe.place_of(node).quoted()}, "
            "returns None for it."
        )
        return Explanation("no_rule", text, describe.place_of(node), describe.op_name(node))

    # ---- zero, nan, and gradients as they should be

    def zero(self, passages):
        culprits = flow.first_zero(passages)
        if not culprits:
            return self.zero_in_the_end()
        node = culprits[0].node
        op, place = describe.op_name(node), describe.place_of(node)
        stem = re.sub(r"Backwards?\d*$", "", op)
        overwrites = stem in OVERWRITING
        why = "the values were overwritten there" if overwrites else _flatness(stem)
        details = _inputs(node)
        if len(culprits) > 1:
            others = ", ".join(f"{describe.op_name(c.node)} ({describe.place_of(c.node).short})" for c in culprits[1:4])
            details += (f"on other ways it ends in {others}{' and more' if len(culprits) > 4 else ''}",)
        text = f"The gradient of {self.name} is zero: it ends in {op}; {why}. Made at {place.quoted()}."
        return Explanation("overwritten" if overwrites else "zero", text, place, op, details)

    def zero_in_the_end(self):
        """Every rule on the way sends on something."""
        hooks = list(self.p._hook_dict.values())
        if hooks:
            code = getattr(hooks[0], "__code__", None)
            place = describe.Place(code.co_filename, code.co_firstlineno, code.co_name) if code else NOWHERE
            text = f"The gradient of {self.name} is zero: its hook replaces it, or what arrives cancels."
            return Explanation("hook", text, place, details=(f"the hook: {place.quoted()}",) if code else ())
        text = (
            f"The gradient of {self.name} is zero: what travels to it is not, but cancels: on several ways, as in "
            "x - x, or over several elements. (Or a hook on the way replaced it.)"
        )
        return Explanation("cancelled", text)

    def not_finite(self, kind, nodes, passages):
        details = ()
        if bad := _first_bad_value(nodes):
            details = (f"values were nan or infinite in forward already, first seen in {bad}",)
        culprits = flow.first_not_finite(passages)
        if not culprits:
            text = f"The gradient of {self.name} is {kind}, though every rule on the way was finite: a hook, or a sum."
            return Explanation(kind, text, details=details)
        node = culprits[0].node
        op, place = describe.op_name(node), describe.place_of(node)
        text = (
            f"The gradient of {self.name} is {kind}: {op} received finite gradients and sent on "
            f"{'nan' if 'nan' in culprits[0].sent else 'inf'}. Made at {place.quoted()}."
        )
        return Explanation(kind, text, place, op, _inputs(node) + details)

    def fine(self, gradient):
        name = self.name
        zeros = int((gradient == 0).sum())
        notes = (f"{zeros} of its {gradient.numel()} elements are zero",) if zeros else ()
        if not bool(self.loss.detach().isfinite().all()):
            notes += (f"the loss is not finite: {describe.statistics(self.loss)}",)
        if not self.p.is_leaf and not self.p.retains_grad:
            text = (
                f"{name}.grad is None though its gradient exists: {name} is not a leaf, and .grad of results is not "
                f"kept. Call {name}.retain_grad() before backward(), or use autograd.grad()."
            )
            return Explanation("not_leaf", text, describe.place_of(self.p.grad_fn), "", notes)
        text = f"The gradient of {name} is fine: finite, and not zero."
        if self.p.grad is None:
            text += f" {name}.grad is None because backward() has not been called since it was last cleared."
        return Explanation("ok", text, details=notes)

    def failed(self, nodes, error):
        if any(describe.is_freed(node) for node in nodes):
            text = (
                f"The graph leads to {self.name}, but an earlier backward() has freed what it saved. Ask before "
                "backward(), or call it with retain_graph=True."
            )
            if self.p.grad is not None:
                text += f" {self.name}.grad: {describe.statistics(self.p.grad)}."
            return Explanation("freed", text)
        return Explanation("error", f"Backward from the loss to {self.name} fails: {error}")

    def graph_of_loss(self):
        return _C._reached_nodes((_C._gradient_edge(self.loss)[0],))


def _flatness(stem):
    found = next((FLAT[key] for key in sorted(FLAT, key=len, reverse=True) if stem.startswith(key)), None)
    return found or "its derivative is zero for these inputs"


def _inputs(node):
    """What a node saved, in numbers."""
    return tuple(f"{name}: {describe.statistics(value)}" for name, value in describe.saved_values(node).items())


def _first_bad_value(nodes):
    """The oldest node that saved a value which is not finite, in words."""
    for node in reversed(nodes[: cuts.MOST_NODES]):
        if describe.is_leaf(node):
            continue
        for name, value in describe.saved_values(node).items():
            if (value.is_floating_point() or value.is_complex()) and not bool(value.isfinite().all()):
                return f"{describe.op_name(node)} ({name}), made at {describe.place_of(node).quoted()}"
    return None
