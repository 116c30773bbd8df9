"""Connectionist temporal classification on the device against the CPU."""

import pytest

import adjoint as torch

from .both import assert_near, both_ways

F = torch.nn.functional


def batch(times, count, classes, most, dtype=torch.float64, seed=0):
    """Scores, padded labels, and lengths of which some are 0."""
    torch.manual_seed(seed)
    scores = torch.randn(times, count, classes, dtype=torch.float64).log_softmax(2).to(dtype)
    target = torch.randint(1, classes, (count, most))
    label_counts = torch.randint(0, most + 1, (count,))
    lengths = torch.randint(times // 2, times + 1, (count,))
    label_counts[0], lengths[-1] = most, times
    return scores, target, lengths, label_counts


@pytest.mark.parametrize(
    ("times", "count", "classes", "most"),
    [(1, 1, 2, 1), (12, 5, 4, 5), (40, 3, 200, 17), (60, 2, 7, 29), (9, 300, 5, 3)],
)
@pytest.mark.parametrize("zero_infinity", [False, True])
def test_padded(times, count, classes, most, zero_infinity):
    scores, target, lengths, label_counts = batch(times, count, classes, most)
    both_ways(lambda s, t: F.ctc_loss(s, t, lengths, label_counts, reduction="none", zero_infinity=zero_infinity),
              scores, target)  # fmt: skip


def test_many_states():
    """More states than threads of a block."""
    scores, target, lengths, label_counts = batch(530, 2, 3, 260)
    lengths[:] = 530
    both_ways(lambda s, t: F.ctc_loss(s, t, lengths, label_counts, reduction="sum"), scores, target)


def test_more_states_than_a_block_has_memory_for():
    scores, target = torch.randn(4, 1, 5, dtype=torch.float64).log_softmax(2), torch.randint(1, 5, (1, 4000))
    both_ways(lambda s, t: F.ctc_loss(s, t, (4,), (2,), reduction="sum"), scores, target)
    both_ways(lambda s, t: F.ctc_loss(s, t, (4, 4), (2, 3998), reduction="none", zero_infinity=True),
              scores.expand(4, 2, 5), target.expand(2, 4000))  # fmt: skip


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_concatenated(reduction):
    scores, target, lengths, label_counts = batch(20, 7, 6, 6, torch.float32)
    joined = torch.cat([row[:n] for row, n in zip(target, label_counts.tolist(), strict=True)])
    both_ways(lambda s, t: F.ctc_loss(s, t, lengths, label_counts, reduction=reduction, zero_infinity=True),
              scores, joined)  # fmt: skip


def test_another_blank_and_a_label_that_is_it():
    scores, target, lengths, label_counts = batch(15, 4, 5, 4)
    both_ways(lambda s, t: F.ctc_loss(s, t, lengths, label_counts, blank=2, reduction="none"), scores, target)


def test_lengths_on_the_device():
    scores, target, lengths, label_counts = batch(15, 4, 5, 4)
    expected = F.ctc_loss(scores, target, lengths, label_counts)
    assert_near(F.ctc_loss(*[each.cuda() for each in (scores, target, lengths, label_counts)]), expected)


def test_no_time_and_no_sequences():
    scores = torch.randn(3, 2, 4, dtype=torch.float64).log_softmax(2)
    none = torch.zeros(2, 0, dtype=torch.int64)
    both_ways(lambda s, t: F.ctc_loss(s, t, (0, 3), (0, 0), reduction="none"), scores, none)
    both_ways(lambda s, t: F.ctc_loss(s, t, (0, 3), (1, 1), reduction="none", zero_infinity=True), scores,
              torch.ones(2, 1, dtype=torch.int64))  # fmt: skip


def test_scores_of_impossible_classes():
    scores, target, lengths, label_counts = batch(10, 3, 5, 2)
    scores[:, :, 4] = -float("inf")
    target = target.clamp(max=3)
    both_ways(lambda s, t: F.ctc_loss(s, t, lengths, label_counts, reduction="none"), scores, target)


def test_gradients_have_one_order():
    scores, target, lengths, label_counts = batch(50, 3, 4, 20)
    found = []
    for _ in range(2):
        leaf = scores.detach().cuda().requires_grad_()
        F.ctc_loss(leaf, target.cuda(), lengths, label_counts).backward()
        found.append(leaf.grad)
    assert torch.equal(*found)


def test_a_label_outside():
    scores = torch.randn(6, 2, 4).log_softmax(2).cuda()
    loss = F.ctc_loss(scores, torch.tensor([[1, 2], [3, 4]]).cuda(), (6, 6), (2, 2), reduction="none")
    with pytest.raises(RuntimeError, match="ctc_loss: expected labels from 0 to 3; got 4 in sequence 1"):
        loss.cpu()
    assert torch.isfinite(scores).all().item()
