"""adjoint.inspect.explain_grad: why a gradient is None, zero or nan, which line is to blame, and what helps."""

import sys
import warnings
from pathlib import Path

import pytest

import adjoint as torch
from adjoint.inspect import explain_grad, graph

from .processes import script

HERE = Path(__file__).name


def leaf(*values):
    return torch.tensor(values or (1.5, 2.5, 3.5), requires_grad=True)


def here(offset):
    """The place, in the words of an explanation, some lines above its caller."""
    frame = sys._getframe(1)
    return f"{HERE}:{frame.f_lineno + offset} in {frame.f_code.co_name}"


def test_fine():
    w = leaf()
    loss = (w * w).sum()
    why = explain_grad(loss, w)
    assert why.reason == "ok"
    assert str(why).startswith("The gradient of w is fine: finite, and not zero. w.grad is None because backward()")
    loss.backward(retain_graph=True)
    assert "None" not in str(explain_grad(loss, w))
    assert w.grad.tolist() == [3.0, 5.0, 7.0]
    loss.backward()


def test_does_not_require_grad():
    w, q = torch.ones(3), leaf()
    why = explain_grad((w * q).sum(), w)
    assert why.reason == "requires_no_grad"
    assert "w.requires_grad_()" in str(why)
    assert not why.details
    assert "detach() or .data of it" in str(explain_grad((q * q).sum(), q.detach()))


def test_integers_have_no_gradient():
    w, q = torch.ones(3, dtype=torch.int64), leaf()
    why = explain_grad((w * q).sum(), w)
    assert why.reason == "integer"
    assert "torch.int64" in str(why)


def test_loss_does_not_require_grad():
    w = leaf()
    with torch.no_grad():
        loss = (w * 2).sum()
    why = explain_grad(loss, w)
    assert why.reason == "loss_requires_no_grad"
    assert why.line == here(-4)
    assert "`with torch.no_grad():` records nothing" in str(why)


def test_loss_is_computed_in_a_no_grad_block():
    w = leaf()
    with torch.no_grad():
        why = explain_grad((w * 2).sum(), w)
    assert "Recording is off here" in str(why)


def test_integer_loss():
    w = leaf()
    loss = w.argmax()
    why = explain_grad(loss, w)
    assert why.reason == "loss_requires_no_grad"
    assert "it is a tensor of torch.int64" in str(why)
    assert why.line == here(-4)


def test_detached_parameter():
    w, q = leaf(), leaf(3.0, 4.0, 5.0)
    loss = (w.detach() * q).sum()
    why = explain_grad(loss, w)
    assert why.reason == "detached"
    assert why.line == here(-3)
    assert why.op == "MulBackward0"


def test_data_of_a_parameter():
    w, q = leaf(), leaf(3.0, 4.0, 5.0)
    plain = w.data
    loss = (plain * q).sum()
    why = explain_grad(loss, w)
    assert (why.reason, why.line) == ("detached", here(-3))
    assert "`plain = w.data` gives the values without their history" in str(why)


def test_detached_result():
    w, q = leaf(), leaf(3.0, 4.0, 5.0)
    h = w.exp()
    k = h.detach()
    loss = (k * q).sum()
    why = explain_grad(loss, w)
    assert (why.reason, why.line) == ("detached", here(-3))
    assert f"a result of w (made at {here(-5)}: `h = w.exp()`) is used at {here(-3)}" in str(why)


def test_numpy_round_trip():
    w, q = leaf(), leaf(3.0, 4.0, 5.0)
    k = torch.from_numpy(w.detach().numpy())
    loss = (k * q).sum()
    why = explain_grad(loss, w)
    assert (why.reason, why.op) == ("detached", "MulBackward0")
    assert here(-4) in str(why)


def test_required_grad_too_late():
    w, q = torch.tensor([2.0, 5.0]), leaf(3.0, 4.0)
    loss = (w * q).sum()
    w.requires_grad_()
    why = explain_grad(loss, w)
    assert (why.reason, why.line) == ("detached", here(-3))
    assert "w did not require grad yet" in str(why)


def test_detached_and_dropped():
    w, q = leaf(), leaf()
    loss = ((w * 2).detach() + q).sum()
    why = explain_grad(loss, w)
    assert (why.reason, why.line) == ("not_reached", here(-2))
    assert "It has 1 leaf: q." in str(why)


def test_copied_values():
    a, b, q = torch.tensor(1.25, requires_grad=True), torch.tensor(2.0, requires_grad=True), leaf(3.0, 4.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        k = torch.tensor([a, b])
    why = explain_grad((k * q).sum(), a)
    assert (why.reason, why.line) == ("copied", here(-2))
    assert "Use stack() or cat()" in str(why)


def test_integer_cast_on_the_way():
    w, q = leaf(), leaf()
    steps = w.to(torch.int64)
    loss = (steps * q).sum()
    why = explain_grad(loss, w)
    assert (why.reason, why.line) == ("not_reached", here(-3))
    assert "gives integers, which have no gradient" in str(why)


def stop(x):
    return x.sigmoid().detach()


def test_clue_in_a_called_function():
    w, q = leaf(), leaf()
    loss = (stop(w) + q).sum()
    why = explain_grad(loss, w)
    assert why.line == f"{HERE}:{stop.__code__.co_firstlineno + 1} in stop"


OTHER = """
def stopped(x):
    y = x.sigmoid()
    return y.detach()
"""


def test_clue_in_a_function_of_another_file(tmp_path):
    (tmp_path / "other.py").write_text(OTHER)
    program = (
        "import sys, adjoint as torch; sys.path.insert(0, '.')\nfrom other import stopped\n"
        "w, q = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)\n"
        "loss = (stopped(w) + q).sum()\nprint(torch.inspect.explain_grad(loss, w).line)\n"
    )
    (tmp_path / "program.py").write_text(program)
    done = script(f"import os, runpy; os.chdir({str(tmp_path)!r}); runpy.run_path('program.py')")
    assert done.stdout == "other.py:4 in stopped\n"


class Encoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.head, self.extra = (torch.nn.Linear(2, 2) for _ in range(3))

    def forward(self, x):
        with torch.no_grad():
            h = self.enc(x)
        return self.head(h)

    def detached(self, x):
        h = self.enc(x)
        shown = h.detach().mean().item()
        target = h.detach()
        return self.head(target), shown


def test_clues_are_ranked_and_say_why():
    model = Encoder()
    loss = model(torch.ones(1, 2)).sum()
    why = explain_grad(loss, model.enc.weight)
    first = Encoder.forward.__code__.co_firstlineno
    assert (why.reason, why.place.line, why.place.function) == ("not_reached", first + 1, "forward")
    assert why.details[0].startswith("most likely: ")
    assert why.details[0].endswith(
        f"records nothing; `enc` is used there and its result `h` is used at line {first + 3}"
    )
    assert "Nothing in the graph was made by model.enc: it was not called while recording." in why.text
    assert "It has 2 leaves: model.head.bias, model.head.weight." in why.text
    assert all(detail.startswith(("possible: ", "and ")) for detail in why.details[1:])
    assert len(why.details) <= 6


def test_the_line_whose_result_is_used_is_likelier_than_one_that_prints():
    model = Encoder()
    result, _ = model.detached(torch.ones(1, 2))
    why = explain_grad(result.sum(), model.enc.weight)
    assert why.place.code == "target = h.detach()"
    assert "its results were detached, or are not used" in why.text
    printed = next(i for i, detail in enumerate(why.details) if "shown = h.detach()" in detail)
    assert printed > 0


def test_a_module_that_is_not_called():
    model = Encoder()
    why = explain_grad(model(torch.ones(1, 2)).sum(), model.extra.weight)
    assert "Nothing in the graph was made by model.extra: it was not called while recording." in why.text


def test_not_reached_without_any_clue():
    w, q = leaf(), leaf()
    assert explain_grad(q.exp().sum(), w).reason == "not_reached"


def test_other_output_of_a_node_is_not_reached():
    a, b = leaf(1.0, 2.0).unbind()
    assert explain_grad(b * 2, a).reason == "not_reached"
    assert explain_grad(a * 2, a).reason == "not_leaf"


def test_not_a_leaf():
    h = leaf() * 2
    why = explain_grad(h.sum(), h)
    assert (why.reason, why.line) == ("not_leaf", here(-2))
    assert "h.retain_grad()" in str(why)
    h.retain_grad()
    assert explain_grad(h.sum(), h).reason == "ok"
    assert h.grad is None


def test_retained_gradients_are_left_alone():
    w = leaf()
    h = w * 2
    h.retain_grad()
    loss = h.sum()
    loss.backward(retain_graph=True)
    explain_grad(loss, w)
    assert h.grad.tolist() == [1.0, 1.0, 1.0]
    assert w.grad.tolist() == [2.0, 2.0, 2.0]


def test_loss_itself_and_vectors():
    w = torch.tensor(2.0, requires_grad=True)
    assert explain_grad(w, w).reason == "ok"
    v = leaf()
    assert explain_grad(v * 2, v).reason == "ok"
    empty = torch.zeros(0, requires_grad=True)
    assert explain_grad((empty * 2).sum(), empty).reason == "ok"


ZEROS = {
    "ReluBackward0": (lambda w: torch.relu(-w), "at or below zero"),
    "ClampBackward1": (lambda w: w.clamp(0, 1), "outside of the limits"),
    "WhereBackward0": (lambda w: torch.where(w < 0, w, torch.zeros(3)), "condition picks the other values"),
    "MulBackward0": (lambda w: w * torch.zeros(3), "the other factor is zero everywhere"),
    "MmBackward0": (lambda w: w.reshape(1, 3) @ torch.zeros(3, 2), "the other matrix is zero"),
    "RoundBackward0": (lambda w: w.round(), "a step function"),
    "TanhBackward0": (lambda w: (w * 100).tanh(), "tanh is flat"),
    "ExpBackward0": (lambda w: (w * -1000).exp(), "exp of its inputs is zero"),
    "SoftmaxBackward0": (lambda w: torch.softmax(w * 1000, 0), "saturated"),
    "MaximumBackward0": (lambda w: torch.maximum(w, torch.full((3,), 9.0)), "the other argument is larger"),
}


@pytest.mark.parametrize("op", ZEROS)
def test_zero(op):
    w = leaf()
    make, words = ZEROS[op]
    why = explain_grad((make(w + 0) * 2).sum(), w)
    assert (why.reason, why.op) == ("zero", op)
    assert words in str(why)
    assert why.place.line == make.__code__.co_firstlineno


def overwrite_slice(y):
    y[:] = torch.ones(3)


@pytest.mark.parametrize("change", [lambda y: y.zero_(), lambda y: y.fill_(2.0), overwrite_slice])
def test_overwritten(change):
    w = leaf()
    y = w * 2
    change(y)
    why = explain_grad(y.sum(), w)
    assert why.reason == "overwritten"
    assert why.place.function == change.__name__


def test_zero_on_two_ways():
    w = leaf()
    why = explain_grad((torch.relu(-w) + w * 0).sum(), w)
    assert why.reason == "zero"
    assert any(detail.startswith("on other ways it ends in ") for detail in why.details)


def test_cancelled_and_hooks():
    w = leaf()
    assert explain_grad((w - w).sum(), w).reason == "cancelled"
    w.register_hook(lambda g: g * 0)
    why = explain_grad((w * 2).sum(), w)
    assert (why.reason, why.line) == ("hook", f"{HERE}:{sys._getframe().f_lineno - 2} in <lambda>")


def test_function_without_gradient():
    class Stop(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return None

    w = leaf()
    loss = Stop.apply(w).sum()
    why = explain_grad(loss, w)
    assert (why.reason, why.op, why.line) == ("no_rule", "StopBackward", here(-2))


def test_nan():
    w = leaf(0.0, 1.0)
    h = w.sqrt()
    loss = (h * torch.tensor([0.0, 1.0])).sum()
    why = explain_grad(loss, w)
    assert (why.reason, why.op, why.line) == ("nan", "SqrtBackward0", here(-3))
    assert "result: float32 [2], from 0 to 1, of 2 values 1 zero" in str(why)
    assert "received finite gradients and sent on nan" in str(why)


def test_nan_from_forward():
    w = leaf(-1.0, 1.0)
    h = w.sqrt()
    loss = h.exp().sum()
    why = explain_grad(loss, w)
    assert why.reason == "nan"
    assert "values were nan or infinite in forward already" in str(why)
    assert f"SqrtBackward0 (result), made at {here(-5)}" in str(why)


MASKED = {
    "where": lambda w, h: torch.where(w > 0, h, torch.zeros(2)),
    "masked_fill": lambda w, h: h.masked_fill(w == 0, 0.0),
    "index": lambda w, h: h[w > 0],
    "mul": lambda w, h: h * torch.tensor([0.0, 1.0]),
}


@pytest.mark.parametrize("op", ["log", "sqrt", "reciprocal"])
@pytest.mark.parametrize("mask", MASKED)
def test_masked_nan_names_the_double_where(mask, op):
    w = leaf(0.0, 1.0)
    h = getattr(torch, op)(w)
    loss = MASKED[mask](w, h).sum()
    why = explain_grad(loss, w)
    assert (why.reason, why.line) == ("nan", here(-3))
    assert why.details[0].startswith("masked: ")
    assert f"at {HERE}:{MASKED[mask].__code__.co_firstlineno} in <lambda>" in why.details[0]
    assert why.details[1].startswith("cure: mask the input as well (the double where)")
    assert f"torch.func.where_safe(mask, torch.{op}, x)" in why.details[1]
    assert "torch.func.safe_branches()" in why.details[1]
    # and it is one
    safe = torch.where(w > 0, w, 1.0)
    cured = torch.where(w > 0, getattr(safe, op)(), 0.0).sum()
    assert explain_grad(cured, w).reason == "ok"
    assert explain_grad(torch.func.where_safe(w > 0, getattr(torch, op), w).sum(), w).reason == "ok"


def test_nan_that_is_not_masked_has_another_cure():
    w = leaf(0.0, 0.0)
    why = explain_grad(w.square().sum().sqrt(), w)
    assert (why.reason, why.op) == ("nan", "SqrtBackward0")
    assert why.details[0].startswith("the derivative of sqrt is infinite at zero: add a small number inside")
    assert "where" not in str(why.details)


def test_what_went_wrong_in_forward_comes_first():
    w = leaf(1000.0, 0.0)
    e = w.exp()
    why = explain_grad((e / e.sum())[0], w)
    assert why.reason == "nan"
    assert why.details[0].startswith("values were nan or infinite in forward already, first seen in ExpBackward0")
    assert why.details[1].startswith("exp overflows above 88.7")


def test_exploding_and_vanishing():
    for factor, reason in ((5.0, "exploding"), (0.01, "vanishing")):
        w = torch.full((3, 3), factor, requires_grad=True)
        h = torch.ones(3)
        for _ in range(14):
            h = w @ h
        why = explain_grad(h.sum(), w)
        assert (why.reason, why.op) == (reason, "MvBackward0")
        assert why.place.code == "h = w @ h"
        assert "in all in MvBackward0 x 14, made at" in why.details[0]
    assert explain_grad((leaf() * 1e5).sum(), leaf()).reason == "not_reached"
    w = leaf()
    assert explain_grad((w * 1e5).sum(), w).reason == "ok"


def test_modules_and_parameters_in_explanations():
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
    with torch.no_grad():
        net[0].bias.fill_(-100.0)
    loss = net(torch.ones(1, 2)).sum()
    for p in net.parameters():
        why = explain_grad(loss, p)
        assert why.text.startswith("The gradient of p (net.0.")
        assert "it ends in ReluBackward0 of net.1;" in why.text
        assert why.op == "ReluBackward0"


QUIET = """
import warnings
import adjoint as torch
warnings.simplefilter("always")
PATTERN = 'SLASHd'
net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
loss = net(torch.ones(1, 2)).sum()
h = torch.ones(2, requires_grad=True) * 2
other = torch.ones(2, requires_grad=True, dtype=torch.complex64)
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    for p in net.parameters():
        why = torch.inspect.explain_grad(loss, p)
    torch.inspect.explain_grad(h.detach().sum(), h)
    torch.inspect.explain_grad(h.sum(), h)
    torch.inspect.explain_grad((other * other).abs().sum(), other)
    torch.inspect.graph(loss, values=True, gradients=True).svg()
print(len(seen), why.reason, len(why.details), why.text.split(":")[0])
"""


def test_explaining_warns_of_nothing(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(QUIET.replace("SLASH", "\\"))
    assert (
        script(f"import runpy; runpy.run_path({str(file)!r})").stdout
        == "0 ok 0 The gradient of p (net.0.bias) is fine\n"
    )


def test_inf():
    w = leaf(0.0, 1.0)
    why = explain_grad(w.sqrt().sum(), w)
    assert (why.reason, why.op) == ("inf", "SqrtBackward0")


def test_loss_is_nan_and_the_gradient_is_not():
    w = leaf(-1.0, 1.0)
    why = explain_grad(w.log().sum(), w)
    assert why.reason == "ok"
    assert "the loss is not finite" in str(why)


def test_freed():
    w = leaf()
    loss = (w * w).sum()
    loss.backward()
    why = explain_grad(loss, w)
    assert why.reason == "freed"
    assert "w.grad: float32 [3], from 3 to 7" in str(why)


def test_changed_in_place():
    w = leaf()
    h = w.exp()
    loss = (h * h).sum()
    h.add_(1)
    why = explain_grad(loss, w)
    assert why.reason == "error"
    assert "modified by an inplace operation" in str(why)


def test_explain_leaves_no_hooks_and_frees_nothing():
    w = leaf(-1.0, -2.0)
    loss = torch.relu(w).sum()
    explain_grad(loss, w)
    assert not any(node._post_hooks for node in graph(loss).nodes)
    loss.backward()
    assert w.grad.tolist() == [0.0, 0.0]


def test_explain_cleans_up_after_a_failing_hook():
    w = leaf(-1.0, -2.0)
    h = w * 2
    loss = torch.relu(h).sum()
    seen = []

    def fail_later(g):
        seen.append(g)
        if len(seen) > 1:
            raise ZeroDivisionError

    handle = h.register_hook(fail_later)
    with pytest.raises(ZeroDivisionError):
        explain_grad(loss, w)
    handle.remove()
    assert not any(node._post_hooks for node in graph(loss).nodes)


def test_names_are_those_of_the_call():
    class Holder:
        weight = leaf()

    loss = (Holder.weight * 2).sum()
    assert "The gradient of Holder.weight is fine" in str(explain_grad(loss, Holder.weight))
    assert "The gradient of Holder.weight is fine" in str(
        explain_grad(
            p=Holder.weight,
            loss=loss,
        )
    )
    assert "The gradient of p is fine" in str(explain_grad(*(loss, Holder.weight)))
    assert "The gradient of p is fine" in str(eval("explain_grad(loss, Holder.weight)", {**globals(), **locals()}))


def test_explain_takes_tensors():
    with pytest.raises(TypeError, match="explain_grad: expected a tensor for p; got list"):
        explain_grad(leaf().sum(), [1])
