"""Launches, waits, allocations and failures, as the stand-in driver counts, delays and makes them."""

import threading
import time

import pytest

import adjoint as torch

from .driver import Calls, driver, fail, standin_only

pytestmark = standin_only


LAUNCH, WAIT, ALLOCATE = "cuLaunchKernel", "cuStreamSynchronize", "cuMemAlloc_v2"


def test_an_op_is_a_launch_and_waits_for_nothing():
    x = torch.ones(1000, device="cuda")
    x * x
    calls = Calls(LAUNCH, WAIT, ALLOCATE)
    x * x
    assert (calls[LAUNCH], calls[WAIT], calls[ALLOCATE]) == (1, 0, 0)


def test_gradients_of_a_node_are_one_launch():
    x, y, g = (torch.full((50,), float(i), device="cuda") for i in range(1, 4))
    x.requires_grad_()
    y.requires_grad_()
    z = torch.addcmul(x, x, y)
    calls = Calls(LAUNCH)
    torch.autograd.grad(z, [x, y], g, retain_graph=True)
    assert calls[LAUNCH] <= 2  # the gradients together, and the sum of two of them
    assert torch.autograd.grad(z, y, g)[0].cpu().tolist() == [3.0] * 50


def test_gradients_with_hooks_on_saved_tensors():
    x, y = (torch.full((5,), float(i), device="cuda").requires_grad_() for i in (2, 3))
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.cpu(), lambda t: t.cuda()):
        z = x * y
    z.sum().backward()
    assert x.grad.tolist() == [3.0] * 5
    assert y.grad.tolist() == [2.0] * 5


def test_work_is_done_when_a_value_is_asked_for():
    x = torch.ones(10, device="cuda")
    y = x + 1
    assert driver().standin_waiting() > 0
    assert y[0].item() == 2
    assert driver().standin_waiting() == 0


def test_other_threads_run_while_a_value_is_waited_for():
    x, times, over = torch.ones(1 << 20, device="cuda"), [], threading.Event()
    for _ in range(5):
        x = x.sin()
    total = x.sum()

    def tick():
        while not over.wait(0.001):
            times.append(time.perf_counter())

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.perf_counter()
    total.item()
    end = time.perf_counter()
    over.set()
    thread.join()
    assert sum(start < moment < end for moment in times) >= 5


def test_freed_memory_serves_again():
    for _ in range(3):
        torch.ones(1 << 20, device="cuda")
    calls = Calls(ALLOCATE)
    for _ in range(50):
        torch.ones(1 << 20, device="cuda") * 2
    assert calls[ALLOCATE] == 0


def test_a_launch_that_fails():
    x = torch.ones(3, device="cuda")
    x + 1
    fail(LAUNCH, 700)
    with pytest.raises(
        RuntimeError, match=r"^CUDA error: an illegal memory access .*ILLEGAL_ADDRESS\), in launching a kernel"
    ):
        x + 1
    assert (x + 1).tolist() == [2, 2, 2]


def test_memory_that_runs_out():
    torch.cuda.empty_cache()
    fail(ALLOCATE, 2)
    x = torch.empty(30 << 20, dtype=torch.uint8, device="cuda")  # the second try succeeds
    assert x.numel() == 30 << 20
    with pytest.raises(torch.OutOfMemoryError, match=r"CUDA out of memory\. Tried to allocate 16\.00 GiB"):
        torch.empty(1 << 34, dtype=torch.uint8, device="cuda")


def test_more_dimensions_than_a_kernel_takes():
    x = torch.arange(2.0**10).reshape((2,) * 10).permute(9, 0, 7, 2, 5, 4, 3, 6, 1, 8)
    y = x.transpose(0, 5)
    assert torch.equal((x.cuda() * y.cuda()).cpu(), x * y)


def test_negative_numbers_of_strides_and_offsets():
    x = torch.arange(24.0).reshape(2, 3, 4)
    assert torch.equal(
        (x.cuda()[:, 1:, ::2] * x.cuda().flip(2)[:, :2, 1::2]).cpu(), x[:, 1:, ::2] * x.flip(2)[:, :2, 1::2]
    )


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 255, 256, 257, 1023, 4097])
@pytest.mark.parametrize("offset", [0, 1])
@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.float16, torch.bool, torch.int8, torch.complex64]
)
def test_ends_of_vectors(size, offset, dtype):
    x = torch.arange(size + offset).remainder(2).to(dtype)
    there = x.cuda()[offset:]
    out = torch.zeros(size + offset + 2, dtype=dtype, device="cuda")
    out[offset : offset + size] = there + there
    expected = torch.zeros(size + offset + 2, dtype=dtype)
    expected[offset : offset + size] = x[offset:] + x[offset:]
    assert torch.equal(out.cpu(), expected)
