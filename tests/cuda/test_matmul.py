"""Matrix products on the device against the CPU: sizes, strides, types, and what happens without cuBLAS."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import adjoint as torch

from .launches import counted

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.complex64, torch.complex128]
INTEGERS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]
LONG = 140  # sums that are not for the kernel of small products
CLOSE = {torch.float16: 2e-3, torch.bfloat16: 2e-2, torch.float32: 1e-5, torch.complex64: 1e-5}


def numbers(*shape, dtype=torch.float32):
    if dtype in INTEGERS:
        return torch.randint(0, 100, shape).to(dtype)
    return torch.randn(*shape, dtype=dtype)


def close(ours, expected):
    assert ours.device.type == "cuda"
    assert ours.stride() == expected.stride()
    tolerance = CLOSE.get(expected.dtype, 1e-10)
    torch.testing.assert_close(ours.cpu(), expected, rtol=tolerance, atol=tolerance * 10)


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
@pytest.mark.parametrize(
    "sizes", [(1, 1, 1), (3, 5, 4), (65, 17, 33), (64, 64, 64), (1, 129, 70), (70, 130, 1), (4, 0, 5), (33, 200, 20)]
)
def test_products_of_every_type(dtype, sizes):
    m, k, n = sizes
    a, b, c = numbers(m, k, dtype=dtype), numbers(k, n, dtype=dtype), numbers(m, n, dtype=dtype)
    close(a.cuda() @ b.cuda(), a @ b)
    close(torch.addmm(c.cuda(), a.cuda(), b.cuda(), beta=2, alpha=3), torch.addmm(c, a, b, beta=2, alpha=3))


def layouts(rows, cols):
    """Matrices of one shape that lie in many ways."""
    yield torch.randn(rows, cols, dtype=torch.float64)
    yield torch.randn(cols, rows, dtype=torch.float64).t()
    yield torch.randn(rows, 2 * cols, dtype=torch.float64)[:, ::2]
    yield torch.randn(rows, cols + 3, dtype=torch.float64)[:, 2:-1]
    yield torch.randn(cols + 1, rows, dtype=torch.float64)[1:].t()
    yield torch.randn(1, cols, dtype=torch.float64).expand(rows, cols)
    yield torch.randn(rows, 1, dtype=torch.float64).expand(rows, cols)
    yield torch.randn((), dtype=torch.float64).expand(rows, cols)


def there(tensor):
    """A copy on the device that lies as the tensor does."""
    storage = torch.as_strided(tensor, (tensor.untyped_storage().nbytes() // tensor.element_size(),), (1,), 0)
    return torch.as_strided(storage.cuda(), tensor.shape, tensor.stride(), tensor.storage_offset())


@pytest.mark.parametrize("k", [7, LONG])
@pytest.mark.parametrize(("m", "n"), [(5, 6), (1, 6), (5, 1), (1, 1)])
def test_operands_that_lie_in_any_way(m, k, n):
    for a in layouts(m, k):
        for b in layouts(k, n):
            close(there(a) @ there(b), a @ b)


@pytest.mark.parametrize("many", [False, True])
def test_products_of_columns_and_rows(many):
    """Over one element each, of few sums and of too many for the kernel of small products."""
    for a in layouts(300 if many else 5, 1):
        for b in layouts(1, 260 if many else 6):
            close(there(a) @ there(b), a @ b)


@pytest.mark.parametrize("k", [5, LONG])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64])
def test_batches(dtype, k):
    a, b, c = numbers(6, 9, k, dtype=dtype), numbers(6, k, 11, dtype=dtype), numbers(6, 9, 11, dtype=dtype)
    close(torch.bmm(a.cuda(), b.cuda()), torch.bmm(a, b))
    close(torch.baddbmm(c.cuda(), a.cuda(), b.cuda(), beta=2), torch.baddbmm(c, a, b, beta=2))
    close(torch.addbmm(c[0].cuda(), a.cuda(), b.cuda(), beta=2), torch.addbmm(c[0], a, b, beta=2))
    # One matrix for the whole batch, on either side.
    close(a.cuda() @ b[0].cuda(), a @ b[0])
    close(a[0].cuda() @ b.cuda(), a[0] @ b)
    close(a[:1].cuda().expand(6, 9, k) @ b.cuda(), a[:1].expand(6, 9, k) @ b)
    # Strides between and within.
    close(there(a[::2]) @ there(b[::2]), a[::2] @ b[::2])
    close(there(a.transpose(1, 2)).transpose(1, 2) @ there(b.flip(0)), a @ b.flip(0))
    close(torch.addbmm(c[0].cuda(), there(a[::2]), there(b[::2])), torch.addbmm(c[0], a[::2], b[::2]))


@pytest.mark.parametrize("k", [4, LONG])
def test_results_that_lie_in_any_way(k):
    a, b = torch.randn(6, k), torch.randn(k, 8)
    for strides in [(8, 1), (1, 6), (20, 2), (3, 18)]:
        mine = torch.full((6 * 40,), -7.0, device="cuda").as_strided((6, 8), strides)
        theirs = torch.full((6 * 40,), -7.0).as_strided((6, 8), strides)
        torch.mm(a.cuda(), b.cuda(), out=mine)
        torch.mm(a, b, out=theirs)
        close(mine, theirs)
        mine.addmm_(a.cuda(), b.cuda(), beta=0.5)
        theirs.addmm_(a, b, beta=0.5)
        close(mine, theirs)


@pytest.mark.parametrize("k", [4, LONG])
@pytest.mark.parametrize("shape", [(), (1,), (7,), (1, 7), (6, 1), (6, 7)])
def test_what_is_added_is_spread(k, shape):
    a, b, c = torch.randn(6, k), torch.randn(k, 7), torch.randn(shape)
    close(torch.addmm(c.cuda(), a.cuda(), b.cuda()), torch.addmm(c, a, b))
    close(torch.addmm(c.cuda(), a.cuda(), b.cuda(), beta=2, alpha=3), torch.addmm(c, a, b, beta=2, alpha=3))
    close(torch.addmm(c.cuda(), a[:, :0].cuda(), b[:0].cuda(), beta=2), torch.addmm(c, a[:, :0], b[:0], beta=2))


def test_a_small_layer_is_one_launch():
    layer, x = torch.nn.Linear(2, 50).cuda(), torch.ones(64, 2, device="cuda")
    layer(x)
    with counted() as launches:
        layer(x)
    assert launches == [1]


def test_beta_of_zero_reads_nothing():
    c = torch.full((3, 3), float("nan"))
    a, b = torch.randn(3, 4), torch.randn(4, 3)
    close(torch.addmm(c.cuda(), a.cuda(), b.cuda(), beta=0), a @ b)
    close(torch.addmm(c.cuda(), a[:, :0].cuda(), b[:0].cuda(), beta=0), torch.zeros(3, 3))
    none = torch.addbmm(a.cuda()[:, :3], torch.empty(0, 3, 2).cuda(), torch.empty(0, 2, 3).cuda(), beta=2)
    torch.testing.assert_close(none.cpu(), a[:, :3] * 2)


def test_integers_wrap():
    a = torch.full((2, 3), 2**62 + 1)
    close(a.cuda() @ a.t().cuda(), a @ a.t())
    b = torch.full((2, 300), 100, dtype=torch.int8)
    close(b.cuda() @ b.t().cuda(), b @ b.t())


def test_products_on_two_devices():
    if torch.cuda.device_count() < 2:
        pytest.skip("one device")
    a = torch.randn(LONG, LONG)
    assert torch.equal((a.to("cuda:0") @ a.to("cuda:0")).cpu(), (a.to("cuda:1") @ a.to("cuda:1")).cpu())


def test_products_of_several_threads():
    a = torch.randn(LONG, LONG, dtype=torch.float64)
    expected, there, results = a @ a, a.cuda(), []
    threads = [threading.Thread(target=lambda: results.append((there @ there).cpu())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    for result in results:
        torch.testing.assert_close(result, expected, rtol=1e-5, atol=1e-5)


def in_another_process(program, **variables):
    result = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | variables, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stderr


PRODUCT = """
import adjoint as torch
for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.complex64):
    a, b = torch.randn(70, 133, dtype=dtype), torch.randn(133, 65, dtype=dtype)
    tolerance = 2e-2 if dtype in (torch.float16, torch.bfloat16) else 1e-5
    torch.testing.assert_close((a.cuda() @ b.cuda()).cpu(), a @ b, rtol=tolerance, atol=10 * tolerance)
"""


def test_without_cublas(tmp_path):
    """An own kernel computes, and a warning says what to install."""
    folder = Path(os.environ.get("ADJOINT_CUDA_LIBRARIES", ""))
    if not (folder / "cuda_shim.h").exists():
        pytest.skip("on the stand-in only")
    for name in ("libcuda.so.1", "libnvrtc.so.13", "cuda_shim.h"):
        (tmp_path / name).symlink_to(folder / name)
    said = in_another_process(PRODUCT, ADJOINT_CUDA_LIBRARIES=str(tmp_path))
    assert said.count("pip install nvidia-cublas") == 1


def test_without_cufft(tmp_path):
    """The CPU computes, and a warning says what to install."""
    folder = Path(os.environ.get("ADJOINT_CUDA_LIBRARIES", ""))
    if not (folder / "cuda_shim.h").exists():
        pytest.skip("on the stand-in only")
    for name in ("libcuda.so.1", "libnvrtc.so.13", "cuda_shim.h"):
        (tmp_path / name).symlink_to(folder / name)
    program = """
import adjoint as torch
a = torch.randn(6)
torch.testing.assert_close(torch.fft.fft(a.cuda()).cpu(), torch.fft.fft(a))
"""
    said = in_another_process(program, ADJOINT_CUDA_LIBRARIES=str(tmp_path))
    assert said.count("pip install nvidia-cufft") == 1


def test_tf32_is_a_choice():
    program = """
import adjoint as torch
a = torch.zeros(1, 140)
a[0, 3] = 1 + 2.0**-20
assert (a.cuda() @ torch.ones(140, 1).cuda()).item() == {expected}
"""
    in_another_process(program.format(expected="1 + 2.0**-20"))
    in_another_process(program.format(expected="1"), TORCH_ALLOW_TF32_CUBLAS_OVERRIDE="1")
