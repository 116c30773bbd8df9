"""Fused forms of rules: a backward that wants no graph of the gradients calls them, every other one the rules."""

import subprocess
import sys

import pytest

import adjoint as torch
from adjoint.nn import functional as F

from .op_calls import OF_LIBRARIES

# Declares an op of a test's own, in a process of its own, because an op cannot be taken out of the table again.
DECLARED = """
import adjoint as torch
from adjoint.ops import language

calls = []

def note(word, value):
    calls.append(word)
    return value

language.op(
    "scaled(input, other)", forward=lambda input, other: 3 * input * other,
    fused={"input": lambda g, input, other: note("fused", (3 * g * other, 3 * g * input))},
    input=lambda g, other: note("rule", 3 * g * other), other=lambda g, input: note("other", 3 * g * input))
language.op(
    "products(tensors)", forward=lambda tensors: tensors[0] * tensors[1],
    fused={"tensors": lambda g, tensors: note("fused", (g * tensors[1], g * tensors[0]))},
    tensors=lambda g, tensors: note("rule", (g * tensors[1], g * tensors[0])))

def run(op, create_graph=False, requires=(True, True)):
    calls.clear()
    leaves = [torch.tensor(value, requires_grad=want) for value, want in zip((2.0, 5.0), requires, strict=True)]
    result = op(*leaves)
    grads = torch.autograd.grad(result, [leaf for leaf in leaves if leaf.requires_grad], create_graph=create_graph)
    return calls[:], [grad.item() for grad in grads], [grad.requires_grad for grad in grads]

scaled = language.scaled
products = lambda *tensors: language.products(tensors)
assert run(scaled) == (["fused"], [15.0, 6.0], [False, False])
assert run(scaled, create_graph=True) == (["rule", "other"], [15.0, 6.0], [True, True])
assert run(scaled, requires=(False, True)) == (["other"], [6.0], [False])
assert run(scaled, requires=(True, False)) == (["fused"], [15.0], [False])
assert run(products) == (["fused"], [5.0, 2.0], [False, False])
assert run(products, create_graph=True) == (["rule"], [5.0, 2.0], [True, True])

# Whether a graph is wanted is the backward's to say, and not the grad mode's.
y = scaled(torch.tensor(2.0, requires_grad=True), torch.tensor(5.0))
with torch.no_grad():
    calls.clear()
    y.backward(create_graph=True)
assert calls == ["rule"], calls
"""


def test_the_engine_chooses_the_form():
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", DECLARED], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr


# For each op with a fused form: shapes of arguments, and a call of it.
CALLS = {
    "_layer_norm": ([(3, 4), (4,), (4,)], lambda x, w, b: F.layer_norm(x, (4,), w, b)),
    "_rms_norm": ([(3, 4), (4,)], lambda x, w: F.rms_norm(x, (4,), w, 1e-3)),
    "_plane_norm": ([(3, 2, 4), (2,), (2,)], lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True)),
    "_group_norm": ([(3, 4, 2), (4,), (4,)], lambda x, w, b: F.group_norm(x, 2, w, b)),
    "_batch_norm_eval": (
        [(3, 2, 4), (2,), (2,)],
        lambda x, w, b: F.batch_norm(x, torch.zeros(2).double(), torch.ones(2).double(), w, b),
    ),
    "_attention": ([(1, 2, 3, 4)] * 3, F.scaled_dot_product_attention),
    "_cross_entropy": (
        [(3, 5)],
        lambda x: torch.ops.language._cross_entropy(x, torch.tensor([1, 4, 0]), None, -100, "mean", False)[0],
    ),
    "_lstm_sequence": (
        [(3, 2, 4), (1, 2, 1), (1, 2, 1), (4, 4), (4, 1)],
        lambda x, h, c, *weights: torch.lstm(x, (h, c), weights, False, 1, 0.0, True, False, False)[0],
    ),
    "prod_all": ([(3, 2)], torch.prod),
    "prod_dim": ([(3, 2)], lambda x: x.prod(1)),
    "vector_norm": ([(3, 2)], lambda x: torch.linalg.vector_norm(x, 3, 1)),
    "dist": ([(3, 2), (3, 2)], torch.dist),
    "renorm": ([(3, 2)], lambda x: x.renorm(2, 0, 0.5)),
    "_linalg_solve_ex": ([(3, 3), (3, 2)], torch.linalg.solve),
    "_linalg_det": ([(3, 3)], torch.linalg.det),
    "_linalg_slogdet": ([(3, 3)], lambda A: torch.linalg.slogdet(A)[1]),
}


def test_every_fused_form_is_tested():
    assert {name for name, item in torch.ops.table().items() if item.fused} == CALLS.keys() | OF_LIBRARIES


@pytest.mark.parametrize("name", CALLS)
def test_fused_forms_and_rules_agree(name):
    shapes, call = CALLS[name]
    leaves = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    result = call(*leaves)
    g = torch.randn(result.shape, dtype=torch.float64, requires_grad=True)
    fused = torch.autograd.grad(result, leaves, g, retain_graph=True)
    by_rules = torch.autograd.grad(result, leaves, g, create_graph=True)
    assert not any(value.requires_grad for value in fused)
    assert all(value.requires_grad for value in by_rules)
    for one, other in zip(fused, by_rules, strict=True):
        torch.testing.assert_close(one, other.detach(), rtol=1e-9, atol=1e-11)
