"""Fuzzed calls of every op family have the same outcome as in torch: a value, or an exception in both. See tests/fuzz.

The calls are the same in every run; `python -m tests.fuzz COUNT SEED` runs others, as many as wanted. A failure prints
the call as a line to run.
"""

import random
import re

import pytest
import torch

import adjoint

from .compare import lines
from .fuzz import accepted, calls, outcomes
from .fuzz.crash import judge


@pytest.mark.parametrize("family", calls.TABLE)
def test_same_outcome(family):
    for seed in range(100):
        line = calls.line(random.Random(seed), family)
        reason = outcomes.problem(line)
        assert reason is None, f"python -m tests.fuzz 1 {seed} --only {family}\n{line}\n{reason}"


FOUND = """
r = torch.roll(torch.tensor([-1.5, -2.7], dtype=torch.complex64).reshape(1, 2)[..., ::2], (0, 0), (0, 1))
r = np.int64(2) - torch.ones(2)
r = np.float32(2) * torch.ones(2)
r = np.sqrt(torch.tensor([4.0, 9.0]))
r = torch.ones(2, 3).sum(1, keepdim=5)
r = torch.ones(2, 3).cumsum(torch.tensor([1]))
r = torch.ones(2, 3).sum((torch.tensor(True),))
r = torch.ones(2, 3).amax(torch.tensor([0, 1]))
r = torch.lerp(torch.ones(2, dtype=torch.int64), torch.ones(2, dtype=torch.int64), 0.5)
r = torch.lerp(torch.ones(2), torch.ones(2, dtype=torch.float64), 0.5)
r = torch.lerp(torch.ones(2), torch.ones(2), torch.tensor(1.0, dtype=torch.float64))
r = torch.add(torch.ones(2, dtype=torch.int32), 1, alpha=0.5)
r = torch.add(torch.ones(2), torch.ones(2), alpha=1j)
r = torch.add(torch.ones(2), 1, alpha=torch.tensor(2.0, requires_grad=True))
r = torch.nn.functional.softplus(torch.ones(2), 1 + 2j)
r = torch.threshold(torch.ones(2, dtype=torch.uint8), -1.5, 0)
r = torch.addcdiv(torch.ones(2), torch.ones(2, dtype=torch.int32), torch.ones(2, dtype=torch.int32))
r = torch.mm(torch.ones(2, 2, dtype=torch.float64), torch.ones(2, 2, dtype=torch.float64), out=torch.empty(0))
r = torch.cumsum(torch.ones(3, dtype=torch.float64), 0, out=torch.empty(0))
r = torch.sum(torch.ones(3, dtype=torch.float64), 0, out=torch.empty(0, dtype=torch.int64))
r = torch.ones(3).cumsum_(0, dtype=torch.uint8)
r = torch.div(torch.tensor([7, -7]), 2, rounding_mode="floor", out=torch.zeros(2, 3))
r = torch.tensor([200], dtype=torch.uint8).div_(float("inf"), rounding_mode="trunc")
x0 = torch.tensor([0.3, 2.0], requires_grad=True); r = torch.frexp(x0)
x0 = torch.ones(2, 6, requires_grad=True); r = torch.nn.functional.multilabel_soft_margin_loss(torch.ones(6), x0)
x0 = torch.tensor([float("nan"), 2.0], requires_grad=True); r = torch.nn.functional.softshrink(x0)
x0 = torch.zeros(1, requires_grad=True); r = torch.nn.functional.binary_cross_entropy(torch.zeros(1), x0)
x0 = torch.ones(3, requires_grad=True); r = torch.linalg.vector_norm(x0, 0)
r = torch.nn.functional.lp_pool1d(torch.tensor([[[0.3, -1.5, 0.3, 1.0]]]), float("inf"), 3)
r = torch.nn.functional.embedding_bag(torch.tensor([[1, 2]]), torch.ones(4, 3), include_last_offset=True)
r = torch.nn.functional.cross_entropy(torch.ones(2, 3), torch.tensor([0, 1]), label_smoothing=-0.1)
r = torch.nn.functional.layer_norm(torch.ones(2, 3), [3], torch.ones(3, dtype=torch.float64))
r = torch.fft.fftfreq(3, 0)
r = torch.special.logit(torch.tensor([0.3]), 1)
r = torch.full((1,), np.True_)
r = torch.tensor(1.0).mT
r = int(torch.tensor([2 + 0j]))
r = torch.hann_window(3, dtype=float)
r = torch.nanmedian(torch.ones(2, 3), axis=0)
r = torch.is_signed(torch.ones(2))
r = torch.nn.functional.avg_pool2d(torch.ones(1, 2, 4, 4), np.int64(2))
r = torch.nn.functional.max_pool2d(torch.ones(1, 2, 4, 4), torch.tensor(2), stride=np.int64(1))
r = torch.nn.functional.conv2d(torch.ones(1, 2, 4, 4), torch.ones(1, 2, 3, 3), padding=torch.tensor(1))
r = torch.nn.functional.layer_norm(torch.tensor([[0.5, 2.0]]), [2], eps=torch.tensor(0.5))
r = torch.nn.functional.adaptive_avg_pool2d(torch.ones(1, 2, 3, 3, dtype=torch.complex64), 1)
r = torch.fft.fftn(torch.ones(2, 3), np.int64(2), np.int64(0))
r = torch.sort(torch.tensor([2, 1]), stable=None, dim=0)
r = torch.normal(torch.tensor(1), torch.tensor(0.5), (2,))
r = torch.ones(2, 2).view(float)
r = torch.diff(torch.tensor([[1, 4], [9, 2]]), axis=0)
r = torch.tensor_split(torch.ones(2, 4), 2, axis=1)
r = torch.ones(2, 3).quantile(0.5, axis=0, keepdims=True)
r = torch.trapezoid(torch.ones(2, 3), axis=0)
r = torch.roll(torch.arange(4).view(2, 2), 1, dims=None)
r = torch.fft.fftshift(torch.arange(4).view(2, 2), np.int64(1))
r = torch.cosine_similarity(torch.ones(2, 3), torch.ones(2, 3), axis=0)
r = torch.sum(torch.ones(2, 3), dim=0, axis=0)
r = torch.special.logit(torch.tensor([2.0, 0.3], dtype=torch.bfloat16), eps=1e-3)
r = torch.zeros(3, 2).t().resize_(4, 4).shape
r = torch.normal(torch.ones(2, dtype=torch.float16), torch.zeros(2))
r = torch.normal(1.0, torch.ones(2, dtype=torch.int64), out=torch.empty(0, dtype=torch.float64))
r = torch.block_diag(torch.tensor([1], dtype=torch.uint8), torch.tensor(5, dtype=torch.int16))
r = torch.nn.functional.cosine_similarity(torch.ones(2, 3), torch.tensor(2.0, dtype=torch.float64))
r = torch.nn.functional.l1_loss(torch.ones(2), torch.tensor(1.0, dtype=torch.float64))
r = torch.nn.functional.binary_cross_entropy(torch.rand(2), torch.rand(2), torch.ones(2, dtype=torch.float64))
r = torch.nn.functional.binary_cross_entropy_with_logits(torch.ones(2, dtype=torch.float64), torch.ones(2))
r = torch.ones(2, 3).bool().index_reduce(1, torch.tensor([0, 0]), torch.zeros(2, 2).bool(), "prod")
r = torch.index_put(torch.zeros(3), (torch.tensor([True, False, True]),), torch.ones(1, 1, 1))
r = torch.constant_pad_nd(torch.ones(3, dtype=torch.int64), [-1, 0], float("nan"))
r = torch.zeros(2, dtype=torch.bool).masked_fill(torch.tensor([True, False]), 1j)
r = torch.addr(torch.ones(1, 1, dtype=torch.int64), torch.ones(1), torch.ones(1), alpha=1.5)
r = torch.trapezoid(torch.empty(2, 0, dtype=torch.bool))
r = torch.logsumexp(torch.empty(0, 3, dtype=torch.complex64), 0)
r = torch.nn.functional.embedding_bag(torch.tensor([1, 2], dtype=torch.uint8), torch.ones(4, 3), torch.tensor([0]))
r = torch.ones(2, 3).var(None, True, keepdim=True)
x0 = torch.ones(2, 2, requires_grad=True); r = torch.addmm(torch.ones(2, 2), x0, x0, alpha=torch.tensor(0.5))
"""


@pytest.mark.parametrize("line", lines(FOUND))
def test_found_before(line):
    assert outcomes.problem(line) is None


REFUSED = """
r = torch.block_diag([torch.ones(2), torch.ones(2)])
r = torch.broadcast_tensors([torch.ones(2), torch.ones(2)])
r = torch.nn.functional.layer_norm(torch.ones(2, 3), 3)
r = torch.nn.functional.pad(torch.ones(2, 3), torch.tensor([0, 1]))
r = torch.hamming_window(4, 1)
r = torch.fft.fftn(torch.ones(2, 3), dim=True)
r = torch.fft.fft2(torch.ones(2, 3), dim=None)
r = torch.linalg.matrix_power(torch.ones(2, 2), True)
r = torch.tensor_split(torch.ones(2, 3), (None,))
r = torch.tensor_split(torch.ones(2, 3), torch.tensor(True))
r = torch.tile(np.ones(2), ())
r = torch.inner(torch.ones(2), np.int64(1))
r = torch.resolve_conj(...)
r = torch.positive(np.float64(0.5))
r = torch.fft.fftshift(torch.ones(2, 2), torch.tensor([0, 1]))
r = torch.dist(torch.ones(2), 1.0)
r = torch.unique(torch.ones(2), axis=0)
r = torch.hstack([3, torch.ones(2)])
r = torch.fft.fft([1.0])
r = torch.ones(2).expand_as(3)
r = torch.is_complex(3)
r = torch.nn.functional.pad(torch.ones(2), (-2, 1, 0))
r = torch.nn.functional.pad(torch.ones(2), (3, -3))
r = torch.nn.functional.binary_cross_entropy_with_logits(torch.ones(2), torch.ones(2, dtype=torch.int64))
r = torch.index_put(torch.zeros(3, dtype=torch.uint8), (torch.tensor([True, False, True]),), torch.tensor(300))
r = torch.addmm(torch.tensor(1), torch.ones(2, 2).long(), torch.ones(2, 2).long(), alpha=float("nan"))
r = torch.repeat_interleave(torch.ones(2), [1, 2])
r = torch.repeat_interleave(torch.ones(2, 3), 4, dim=True)
r = torch.repeat_interleave(torch.ones(2, 3), 4, 5)
r = torch.unflatten(torch.ones(()), 0, (-1, 2))
r = torch.nn.GroupNorm(0, 4)
r = torch.nn.LazyLinear(2)(torch.ones(()))
r = torch.nn.LazyBatchNorm1d()(torch.ones(3))
r = torch.utils.checkpoint.checkpoint_sequential([torch.relu], 0, torch.ones(2), use_reentrant=False)
r = torch.nn.utils.rnn.pack_padded_sequence(torch.ones(3), torch.ones(3))
r = torch.nn.utils.rnn.pad_sequence(torch.arange(3))
r = torch.tensordot(torch.ones(3, 3), torch.ones(3, 3), 2.0)
r = torch.tensordot(torch.ones(3, 3), torch.ones(3, 3), None)
r = torch.tensordot(torch.ones(3, 3), torch.ones(3, 3), (1, 2, 3))
r = torch.nn.functional.pad(torch.ones(2, 3, 5), (-(2**63), -(2**63)), mode="reflect")
r = torch.nn.functional.pad(torch.ones(2, 3, 5), (-(2**63), -(2**63)), mode="replicate")
r = torch.nn.functional.softshrink(torch.ones(2), float("inf"))
r = torch.utils.checkpoint.checkpoint_sequential(None, 2, torch.ones(2), use_reentrant=False)
r = torch.utils.checkpoint.checkpoint_sequential([torch.relu], 1.0, torch.ones(2), use_reentrant=False)
"""


@pytest.mark.parametrize("line", lines(REFUSED))
def test_refused_by_both(line):
    expected, got = outcomes.run(line, torch).error, outcomes.run(line, adjoint).error
    assert expected is not None
    assert type(got) is type(expected)
    assert judge.accident(got) is None


def test_differences_are_told():
    here = "torch.__name__ == 'adjoint'"
    assert "value" in outcomes.problem(f"r = torch.tensor(2.0 if {here} else 1.0)")
    assert "dtype" in outcomes.problem(f"r = torch.zeros(2, dtype=torch.int32 if {here} else torch.int64)")
    assert "adjoint: ValueError" in outcomes.problem(f"r = torch.ones(2) if not {here} else int('a')")
    assert "torch: ValueError" in outcomes.problem(f"r = torch.ones(2) if {here} else int('a')")
    assert "ZeroDivisionError" in outcomes.problem(f"r = 1 // 0 if {here} else int('a')")
    assert "requires_grad" in outcomes.problem(f"r = torch.ones(2, requires_grad={here})")
    assert "gradient" in outcomes.problem(
        f"x0 = torch.ones(2, requires_grad=True); r = x0 * x0 if {here} else x0 * x0.detach()"
    )
    assert outcomes.problem("r = int('a')") is None


def test_a_seed_gives_one_line_and_every_row_runs():
    assert calls.line(random.Random(3)) == calls.line(random.Random(3))
    for rows in calls.TABLE.values():
        for row in rows:
            compile(row.line(random.Random(0)), "<line>", "exec")


def test_accepted_differences_have_reasons():
    for call, what, reason in accepted.ACCEPTED:
        assert reason
        re.compile(call)
        re.compile(what)
