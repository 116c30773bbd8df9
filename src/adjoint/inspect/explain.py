"""Why a gradient is None, zero or not a number."""

import sys
from typing import NamedTuple

from .. import _C
from . import causes, cuts, flow, html
from . import nodes as describe
from .modules import ModuleCalls
from .names import names_for

MOST_CLUES = 5
HUGE, TINY = 1e6, 1e-12  # the largest element of gradients that are likely to explode, or to vanish


class Explanation(NamedTuple):
    """Why a gradient is as it is; str() says it in words.

    `reason` is one of: "ok", "exploding", "vanishing", "not_leaf", "requires_no_grad", "integer",
    "loss_requires_no_grad", "not_reached", "detached", "copied", "no_rule", "zero", "overwritten", "cancelled", "hook",
    "nan", "inf", "freed", "error".
    `place` is the line to look at (its fields are empty when there is none), `op` the node, `details` what is known
    besides, what matters most first.

    >>> import adjoint as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> torch.inspect.explain_grad(x.detach().sum(), x).reason
    'loss_requires_no_grad'
    """

    reason: str
    text: str
    place: describe.Place = describe.NOWHERE
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

    def _repr_html_(self):
        return html.explanation(self.text, self.details)


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
        self.globals = caller.f_globals
        self.called = cuts.argument_text(caller, 1, "p", "p")
        found = names_for((p,))
        self.modules = ModuleCalls(found)
        path = found.tensors.get(id(p), "")
        self.owner = path.rpartition(".")[0]
        # p of a loop over named_parameters() says less than model.0.weight
        self.path = path if "." in path and self.called.isidentifier() else ""
        self.name = f"{self.called} ({self.path})" if self.path else self.called

    def made(self, node):
        """An op, and the module that it is of."""
        module = describe.module_of(node, self.modules)
        return describe.op_name(node) + (f" of {module}" if module else "")

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
            extreme = kind == "finite" and _extreme(gradient)
            passages = way.passages() if kind != "finite" or extreme else []
        except RuntimeError as error:
            return self.failed(way.nodes, error)
        if kind == "none":
            return self.no_rule(passages)
        if kind == "zero":
            return self.zero(passages)
        if kind in ("nan", "inf"):
            return self.not_finite(kind, way.nodes, passages)
        return self.extreme(extreme, gradient, passages) if extreme else self.fine(gradient)

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
        text = (
            f"{name} has no gradient: it does not require one. Call {self.called}.requires_grad_() before it is used."
        )
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
        known = names_for([node.variable for node in leaves]).tensors
        listed = ", ".join(known.get(id(n.variable)) or describe.outputs_text(n) for n in leaves[:5])
        text = (
            f"{name} has no gradient: the graph of the loss does not lead to it. It has "
            f"{len(leaves)} {'leaf' if len(leaves) == 1 else 'leaves'}: {listed}{', ...' if len(leaves) > 5 else ''}."
        )
        owner = self.owner
        made = {describe.module_of(node, self.modules) for node in nodes if not describe.is_leaf(node)}
        if owner in self.modules.known and not any(f"{other}.".startswith(f"{owner}.") for other in made):
            was = (
                "its results were detached, or are not used"
                if owner in self.modules.names
                else "it was not called while recording"
            )
            text += f" Nothing in the graph was made by {owner}: {was}."
        return self.with_clues("not_reached", text, nodes)

    def with_clues(self, reason, text, nodes, kinds=None, place=describe.NOWHERE, op=""):
        """The line to blame is that of the likeliest clue, where one stands out, or else `place`."""
        clues = self.clues(nodes, kinds)
        if clues and (len(clues) == 1 or clues[0].score > clues[1].score):
            place = clues[0].place
        clues = clues or self.clues(nodes, kinds, everywhere=True)
        known = [clue for clue in clues if clue.because]
        # Where something speaks for some lines, few of the others are worth reading.
        listed = (known + [clue for clue in clues if not clue.because][:2] if known else clues)[:MOST_CLUES]
        likely = known or len(clues) == 1
        shown = [f"{'most likely' if likely and not i else 'possible'}: {clue}" for i, clue in enumerate(listed)]
        if len(listed) < len(clues):
            shown.append(f"and {len(clues) - len(listed)} more lines that could have cut the graph")
        return Explanation(reason, text, place, op, tuple(shown))

    def clues(self, nodes, kinds, everywhere=False):
        """The lines of code that could have cut the graph, in the functions that made the loss, or in their files."""
        places = {self.caller: None}
        for node in nodes[: cuts.MOST_NODES]:
            places[describe.place_of(node)] = None
        called = cuts.functions_called(places, self.globals)
        found = cuts.clues(places, everywhere, self.path or self.called, called)
        return [clue for clue in found if kinds is None or clue.kind in kinds]

    def no_rule(self, passages):
        culprits = flow.first_none(passages)
        if not culprits:
            text = f"{self.name} has no gradient: every way to it passes a rule that gives none."
            return Explanation("no_rule", text)
        node = culprits[0].node
        text = (
            f"{self.name} has no gradient: {self.made(node)}, made at {describe.place_of(node).quoted()}, "
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
        details = _inputs(node)
        if len(culprits) > 1:
            others = ", ".join(f"{self.made(c.node)} ({describe.place_of(c.node).short})" for c in culprits[1:4])
            details += (f"on other ways it ends in {others}{' and more' if len(culprits) > 4 else ''}",)
        why = f"{self.made(node)}; {causes.flatness(node)}. Made at {place.quoted()}."
        reason = "overwritten" if causes.overwrites(node) else "zero"
        return Explanation(reason, f"The gradient of {self.name} is zero: it ends in {why}", place, op, details)

    def zero_in_the_end(self):
        """Every rule on the way sends on something."""
        hooks = list(self.p._hook_dict.values())
        if hooks:
            code = getattr(hooks[0], "__code__", None)
            place = describe.Place(code.co_filename, code.co_firstlineno, code.co_name) if code else describe.NOWHERE
            text = f"The gradient of {self.name} is zero: its hook replaces it, or what arrives cancels."
            return Explanation("hook", text, place, details=(f"the hook: {place.quoted()}",) if code else ())
        text = (
            f"The gradient of {self.name} is zero: what travels to it is not, but cancels: on several ways, as in "
            "x - x, or over several elements. (Or a hook on the way replaced it.)"
        )
        return Explanation("cancelled", text)

    def not_finite(self, kind, nodes, passages):
        bad = self.first_bad_value(nodes)
        culprits = flow.first_not_finite(passages)
        if not culprits:
            text = f"The gradient of {self.name} is {kind}, though every rule on the way was finite: a hook, or a sum."
            return Explanation(kind, text, details=bad)
        node, masked = culprits[0].node, culprits[0].masked
        op, place = describe.op_name(node), describe.place_of(node)
        text = (
            f"The gradient of {self.name} is {kind}: {self.made(node)} received finite gradients and sent on "
            f"{'nan' if 'nan' in culprits[0].sent else 'inf'}. Made at {place.quoted()}."
        )
        if masked:
            before = passages[: passages.index(culprits[0])]
            mask = next((p.node for p in reversed(before) if causes.chooses(p.node)), None)
            return Explanation(kind, text, place, op, (*causes.masked_cure(node, mask), *_inputs(node), *bad))
        steep = (causes.steepness(node),) if causes.steepness(node) else ()
        # Where forward was not finite already, that is the cause, and the gradient follows from it.
        details = (*bad, *steep, *_inputs(node)) if bad else (*steep, *_inputs(node))
        return Explanation(kind, text, place, op, details)

    def first_bad_value(self, nodes):
        """The oldest node that saved a value which is not finite, in words."""
        for node in reversed(nodes[: cuts.MOST_NODES]):
            for name, value in () if describe.is_leaf(node) else describe.saved_values(node).items():
                if (value.is_floating_point() or value.is_complex()) and not bool(value.isfinite().all()):
                    found = f"{self.made(node)} ({name}), made at {describe.place_of(node).quoted()}"
                    why = causes.steepness(node)
                    said = f"values were nan or infinite in forward already, first seen in {found}"
                    return (said, why) if why else (said,)
        return ()

    def extreme(self, reason, gradient, passages):
        """A gradient that is finite, but so large or small that no step of an optimizer can use it."""
        size = describe.range_text(gradient)
        text = f"The gradient of {self.name} is {reason}: finite, but its values are {size}."
        changes = flow.changes(passages, larger=reason == "exploding")
        if not changes:
            return Explanation(reason, text)
        node = changes[0].node
        place = describe.place_of(node)
        details = []
        for change in changes[:3]:
            times = f" x {change.times}" if change.times > 1 else ""
            made = f"{self.made(change.node)}{times}, made at {describe.place_of(change.node).quoted()}"
            details.append(f"multiplied by {change.factor:.3g} in all in {made}")
        return Explanation(reason, text, place, describe.op_name(node), tuple(details))

    def fine(self, gradient):
        name = self.name
        gradient = describe.elements(gradient)
        zeros = int((gradient == 0).sum())
        notes = (f"{zeros} of its {gradient.numel()} elements are zero",) if 2 * zeros > gradient.numel() else ()
        if not bool(self.loss.detach().isfinite().all()):
            notes += (f"the loss is not finite: {describe.statistics(self.loss)}",)
        if not self.p.is_leaf and not self.p.retains_grad:
            text = (
                f"{name}.grad is None though its gradient exists: {name} is not a leaf, and .grad of results is not "
                f"kept. Call {self.called}.retain_grad() before backward(), or use autograd.grad()."
            )
            return Explanation("not_leaf", text, describe.place_of(self.p.grad_fn), "", notes)
        text = f"The gradient of {name} is fine: finite, and not zero."
        if self.p.grad is None:
            text += f" {self.called}.grad is None because backward() has not been called since it was last cleared."
        return Explanation("ok", text, details=notes)

    def failed(self, nodes, error):
        if any(describe.is_freed(node) for node in nodes):
            text = (
                f"The graph leads to {self.name}, but an earlier backward() has freed what it saved. Ask before "
                "backward(), or call it with retain_graph=True."
            )
            if self.p.grad is not None:
                text += f" {self.called}.grad: {describe.statistics(self.p.grad)}."
            return Explanation("freed", text)
        return Explanation("error", f"Backward from the loss to {self.name} fails: {error}")

    def graph_of_loss(self):
        return _C._reached_nodes((_C._gradient_edge(self.loss)[0],))


def _extreme(gradient):
    """ "exploding" or "vanishing" for a finite gradient that is far from any use; else "" """
    values = describe.elements(gradient)
    largest = float(values.abs().max()) if values.numel() else 1.0
    return "exploding" if largest > HUGE else "vanishing" if largest < TINY else ""


def _inputs(node):
    """What a node saved, in numbers."""
    return tuple(f"{name}: {describe.statistics(value)}" for name, value in describe.saved_values(node).items())
