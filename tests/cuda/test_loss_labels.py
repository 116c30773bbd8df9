"""The margin loss of several labels on the device against the CPU."""

import pytest

import adjoint as torch

from .both import both_ways

F = torch.nn.functional


def labels(rows, classes, seed=4):
    """A few labels for each row, some of them twice, then -1, and behind that what does not count."""
    torch.manual_seed(seed)
    drawn = torch.randint(0, classes, (rows, classes))
    ends = torch.randint(0, classes + 1, (rows, 1))
    return drawn.masked_fill(torch.arange(classes) == ends, -1)


@pytest.mark.parametrize(("rows", "classes"), [(1, 1), (5, 3), (300, 31), (7, 65), (3, 700)])
@pytest.mark.parametrize("reduction", ["none", "mean"])
def test_margins(rows, classes, reduction):
    torch.manual_seed(0)
    scores = torch.randn(rows, classes, dtype=torch.float64)
    both_ways(lambda x, y: F.multilabel_margin_loss(x, y, reduction=reduction), scores, labels(rows, classes))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_types(dtype):
    torch.manual_seed(0)
    both_ways(F.multilabel_margin_loss, torch.randn(20, 12).to(dtype), labels(20, 12))


def test_one_row_and_no_rows():
    torch.manual_seed(0)
    both_ways(F.multilabel_margin_loss, torch.randn(40), labels(1, 40)[0])
    both_ways(lambda x, y: F.multilabel_margin_loss(x, y, reduction="none"), torch.zeros(0, 4),
              torch.zeros(0, 4, dtype=torch.int64))  # fmt: skip


@pytest.mark.parametrize("wrong", [6, -2])
def test_a_label_outside(wrong):
    scores, target = torch.ones(2, 6, device="cuda"), torch.tensor([[0, -1, 0, 0, 0, 0], [1, 2, wrong, 0, 0, 0]]).cuda()
    loss = F.multilabel_margin_loss(scores, target)
    with pytest.raises(RuntimeError, match=f"argument #2 'target' is out of range: got {wrong} of 6 classes"):
        loss.item()
    assert scores.sum().item() == 12
