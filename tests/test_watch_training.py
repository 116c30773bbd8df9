"""watch_training() warns of gradients that accumulate over steps, and of nothing else."""

import gc
import warnings
import weakref

import pytest

import adjoint as torch


def said(loop, steps=3, **options):
    """The warnings of a loop, which is called with an optimizer and a loss."""
    w = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.01, **options)
    with warnings.catch_warnings(record=True) as caught, torch.inspect.watch_training():
        warnings.simplefilter("always")
        for _ in range(steps):
            loop(optimizer, w, (w * w).sum())
    return caught


def test_forgotten():
    def loop(optimizer, w, loss):
        loss.backward()
        optimizer.step()

    (warning,) = said(loop)
    assert warning.filename == __file__
    assert "SGD.step()" in str(warning.message)
    assert said(loop, steps=1) == []


def zeroed(optimizer, w, loss):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def zeros(optimizer, w, loss):
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=False)


def by_hand(optimizer, w, loss):
    loss.backward()
    optimizer.step()
    w.grad.zero_()


def dropped(optimizer, w, loss):
    loss.backward()
    optimizer.step()
    w.grad = None


def several_batches(optimizer, w, loss):
    loss.backward()
    (3 * w).sum().backward()
    optimizer.step()
    optimizer.zero_grad()


def clipped(optimizer, w, loss):
    loss.backward()
    torch.nn.utils.clip_grad_norm_([w], 0.1)
    optimizer.step()
    optimizer.zero_grad()


@pytest.mark.parametrize("loop", [zeroed, zeros, by_hand, dropped, several_batches, clipped])
def test_not_forgotten(loop):
    assert said(loop) == []


def test_clipped_and_forgotten():
    def loop(optimizer, w, loss):
        loss.backward()
        torch.nn.utils.clip_grad_norm_([w], 0.1)
        optimizer.step()

    assert len(said(loop)) == 1


def test_nothing_is_watched_afterwards():
    w = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.01)
    with torch.inspect.watch_training():
        w.sum().backward()
        optimizer.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        w.sum().backward()
    kept = weakref.ref(w)
    del w, optimizer
    gc.collect()
    assert kept() is None
