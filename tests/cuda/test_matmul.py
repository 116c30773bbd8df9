"""Matrix products on the device against the CPU: sizes, strides, types, and what happens without cuBLAS."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import adjoint as torch

from .driver import Calls, counted, fail

F = torch.nn.functional
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


def layouts(rows, cols, dtype=torch.float64):
    """Matrices of one shape that lie in many ways."""
    yield torch.randn(rows, cols, dtype=dtype)
    yield torch.randn(cols, rows, dtype=dtype).t()
    yield torch.randn(rows, 2 * cols, dtype=dtype)[:, ::2]
    yield torch.randn(rows, cols + 3, dtype=dtype)[:, 2:-1]
    yield torch.randn(cols + 1, rows, dtype=dtype)[1:].t()
    yield torch.randn(1, cols, dtype=dtype).expand(rows, cols)
    yield torch.randn(rows, 1, dtype=dtype).expand(rows, cols)
    yield torch.randn((), dtype=dtype).expand(rows, cols)


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
    """With matrices large enough for tensor cores: for a vector cuBLAS multiplies in float32 whatever is allowed."""
    program = """
import adjoint as torch
a = torch.zeros(256, 256)
a[:, 3] = 1 + 2.0**-20
assert (a.cuda() @ torch.ones(256, 256).cuda()).unique().tolist() == [{expected}]
"""
    in_another_process(program.format(expected="1 + 2.0**-20"))
    in_another_process(program.format(expected="1"), TORCH_ALLOW_TF32_CUBLAS_OVERRIDE="1")


def test_rows_that_do_not_begin_at_vectors():
    """Large products of halves are computed from copies with longer rows (Note [Rows of vectors])."""
    a, b, c = (torch.randint(-2, 3, size).half() for size in [(1031, 1025), (1025, 1023), (1031, 1023)])
    expected = a.float() @ b.float()  # sums of whole numbers are exact
    ours = torch.addmm(c.cuda(), a.cuda(), b.cuda(), beta=2)
    assert ours.stride() == (1023, 1)
    assert (ours.cpu() == expected + 2 * c).all()
    turned = (there(x.t().contiguous().t()) for x in (a, b))
    ours = torch.full((1031, 1024), 7.0, device="cuda").half()
    torch.mm(*turned, out=ours[:, :1023])
    assert (ours[:, :1023].cpu() == expected).all()
    assert (ours[:, 1023] == 7).all().item()


# ---- Products with a bias, which cuBLASLt adds in the same launch

ROWS = [torch.float32, torch.float16, torch.bfloat16]
MULTIPLY, PROPOSE, PLAIN = "cublasLtMatmul", "cublasLtMatmulAlgoGetHeuristic", "cublasGemm"
BIASED = "cublasLtMatmul with a bias"
COUNTED = MULTIPLY, PROPOSE, PLAIN, BIASED


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
@pytest.mark.parametrize(
    "sizes",
    [(1, 1, 1), (3, 5, 4), (65, 17, 33), (1, 129, 70), (70, 130, 1), (4, 300, 6), (4, 0, 5), (0, 3, 5), (4, 3, 0)],
)
def test_linear_with_a_bias(dtype, sizes):
    m, k, n = sizes
    x, weight, bias = numbers(m, k, dtype=dtype), numbers(n, k, dtype=dtype), numbers(n, dtype=dtype)
    close(F.linear(x.cuda(), weight.cuda(), bias.cuda()), F.linear(x, weight, bias))
    close(torch.addmm(bias.cuda(), x.cuda(), weight.t().cuda()), torch.addmm(bias, x, weight.t()))
    close(torch.addmm(bias.cuda(), x.cuda(), there(weight.t())), torch.addmm(bias, x, weight.t()))
    close(
        torch.addmm(bias.cuda(), x.cuda(), there(weight.t()), beta=2, alpha=3),
        torch.addmm(bias, x, weight.t(), beta=2, alpha=3),
    )


@pytest.mark.parametrize("dtype", [*ROWS, torch.float64])
@pytest.mark.parametrize("shape", [(7, 5), (5,), (2, 3, 5), (2, 0, 5)])
def test_gradients_of_linear(dtype, shape):
    leaves = [numbers(*shape, dtype=dtype), numbers(6, 5, dtype=dtype), numbers(6, dtype=dtype)]
    g = numbers(*shape[:-1], 6, dtype=dtype)
    here = [leaf.clone().requires_grad_() for leaf in leaves]
    device = [leaf.cuda().requires_grad_() for leaf in leaves]
    F.linear(*here).backward(g)
    F.linear(*device).backward(g.cuda())
    for mine, theirs in zip(device, here, strict=True):
        close(mine.grad, theirs.grad)


@pytest.mark.parametrize(("m", "n"), [(5, 6), (1, 6), (5, 1), (1, 1)])
def test_operands_with_a_bias_that_lie_in_any_way(m, n):
    calls = Calls(*COUNTED)
    longer = torch.randn(2 * n + 1)
    biases = [longer[:n], longer[1 : n + 1], longer[::2][:n], longer[:1].expand(n), longer[:1], longer[-n:]]
    for a in layouts(m, LONG, torch.float32):
        for b in layouts(LONG, n, torch.float32):
            for bias in biases:
                close(torch.addmm(there(bias), there(a), there(b)), torch.addmm(bias, a, b))
    # Every other element, and one for all, are no vector that cuBLASLt takes.
    assert calls[BIASED] == 64 * (3 if n > 1 else len(biases))
    assert calls[MULTIPLY] == 64 * len(biases)


@pytest.mark.parametrize("dtype", ROWS)
def test_a_bias_takes_no_launch_of_its_own(dtype):
    layer = torch.nn.Linear(LONG, 10, device="cuda", dtype=dtype)
    for shape in [(7, LONG), (LONG,), (3, 5, LONG), (2, 3, 4, LONG)]:
        x = torch.randn(*shape).to(dtype).cuda()
        calls = Calls(*COUNTED)
        with counted() as launches:
            layer(x)
        assert (launches, calls[MULTIPLY], calls[PLAIN]) == ([0], 1, 0)


def test_rows_and_addresses_that_are_odd():
    """Rows of 143 halves start where no vector does, and so do matrices that begin at their second element."""
    for dtype in ROWS:
        wide, weights, biases = numbers(9, 143, dtype=dtype), numbers(7, 143, dtype=dtype), numbers(8, dtype=dtype)
        calls = Calls(*COUNTED)
        for first in range(3):
            x, weight, bias = wide[first:, first : first + LONG], weights[:, 2 - first : LONG + 2 - first], biases[1:]
            close(F.linear(there(x), there(weight), there(bias)), F.linear(x, weight, bias))
        assert (calls[MULTIPLY], calls[PLAIN]) == (3, 0)


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex64])
def test_other_types_have_their_bias_spread(dtype):
    x, weight, bias = numbers(4, LONG, dtype=dtype), numbers(3, LONG, dtype=dtype), numbers(3, dtype=dtype)
    calls = Calls(*COUNTED)
    close(F.linear(x.cuda(), weight.cuda(), bias.cuda()), F.linear(x, weight, bias))
    assert (calls[MULTIPLY], calls[PLAIN]) == (0, 1)


@pytest.mark.parametrize(("dtype", "most"), [(torch.float16, 2048), (torch.bfloat16, 256)])
def test_the_bias_is_added_before_the_sum_is_rounded(dtype, most):
    """cuBLASLt rounds long sums first, which it splits: then the bias comes before the product."""
    x, weight = torch.ones(2, most + 1, dtype=dtype), torch.ones(3, most + 1, dtype=dtype)
    result = F.linear(x.cuda(), weight.cuda(), torch.ones(3, dtype=dtype).cuda())
    assert result.tolist() == [[most + 2] * 3] * 2


def test_plans_are_kept():
    x, weight, bias = torch.randn(11, LONG).cuda(), torch.randn(23, LONG).cuda(), torch.randn(27).cuda()
    calls = Calls(*COUNTED)
    results = [F.linear(x, weight, bias[:23]) for _ in range(4)]
    assert (calls[MULTIPLY], calls[PROPOSE]) == (4, 1)
    others = [tensor.clone() + 1 for tensor in (x, weight, bias[:23])]  # in other memory
    results.append(F.linear(*others))
    close(results[0], F.linear(x.cpu(), weight.cpu(), bias[:23].cpu()))
    close(results[4], F.linear(*(tensor.cpu() for tensor in others)))
    assert (calls[MULTIPLY], calls[PROPOSE]) == (5, 1)
    F.linear(x, weight, bias[1:24])  # another alignment
    F.linear(x[:10], weight, bias[:23])
    F.linear(x.half(), weight.half(), bias[:23].half())
    assert calls[PROPOSE] == 4
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        F.linear(x, weight, bias[:23])
    finally:
        torch.backends.cuda.matmul.allow_tf32 = False
    assert (calls[PROPOSE], calls[MULTIPLY], calls[PLAIN]) == (5, 9, 0)


def test_more_plans_than_are_kept():
    x, weight, bias = torch.randn(1100, LONG), torch.randn(3, LONG), torch.randn(3)
    there, expected = [tensor.cuda() for tensor in (x, weight, bias)], F.linear(x, weight, bias)
    calls = Calls(*COUNTED)
    for rows in range(1, 1101):
        result = F.linear(there[0][:rows], *there[1:])
    assert calls[MULTIPLY] == 1100
    close(result, expected)


@pytest.mark.parametrize("name", [MULTIPLY, PROPOSE])
def test_what_cublaslt_refuses_goes_another_way(name):
    sizes = (31, 149, 17) if name == MULTIPLY else (29, 148, 16)  # of no other test: a plan is made
    m, k, n = sizes
    x, weight, bias = torch.randn(m, k), torch.randn(n, k), torch.randn(n)
    calls = Calls(*COUNTED)
    fail(name, 15)
    close(F.linear(x.cuda(), weight.cuda(), bias.cuda()), F.linear(x, weight, bias))
    assert (calls[MULTIPLY], calls[PROPOSE]) == ((2, 2) if name == MULTIPLY else (1, 2))  # without the bias it works
    close(F.linear(x.cuda(), weight.cuda(), bias.cuda()), F.linear(x, weight, bias))
    assert (calls[PROPOSE], calls[PLAIN]) == (2, 0)  # that there is no way is kept, too
    fail(MULTIPLY, 15)
    close(x.cuda() @ weight.t().cuda(), x @ weight.t())
    assert calls[PLAIN] == 1


LINEAR = """
import ctypes, os
import adjoint as torch
library = ctypes.CDLL(os.environ["ADJOINT_CUDA_LIBRARIES"] + "/libcuda.so.1")
{before}
x, weight, bias = torch.randn(9, 150), torch.randn(4, 150), torch.randn(4)
result = torch.nn.functional.linear(x.cuda(), weight.cuda(), bias.cuda())
torch.testing.assert_close(result.cpu(), torch.nn.functional.linear(x, weight, bias), rtol=1e-4, atol=1e-4)
assert library.standin_count(b"cublasGemm") == 1
assert library.standin_count(b"cublasLtMatmul") == 0
"""


def test_without_cublaslt(tmp_path):
    """Nothing is said of it: there is another way, hardly slower."""
    folder = Path(os.environ.get("ADJOINT_CUDA_LIBRARIES", ""))
    if not (folder / "cuda_shim.h").exists():
        pytest.skip("on the stand-in only")
    for name in ("libcuda.so.1", "libcublas.so.13", "libnvrtc.so.13", "cuda_shim.h"):
        (tmp_path / name).symlink_to(folder / name)
    assert in_another_process(LINEAR.format(before=""), ADJOINT_CUDA_LIBRARIES=str(tmp_path)) == ""
    before = 'library.standin_fail(b"cublasLtCreate", 3, 0)'
    assert in_another_process(LINEAR.format(before=before)) == ""


def test_a_captured_linear_layer():
    """Also where its plan is made while the graph is captured."""
    layer = torch.nn.Linear(300, 14, device="cuda", dtype=torch.float16)
    x = torch.zeros(15, 300, device="cuda", dtype=torch.float16)
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(graph):
        result = layer(x)
    for _ in range(2):
        x.copy_(torch.randn(15, 300))
        graph.replay()
        close(result, F.linear(x.cpu(), layer.weight.detach().cpu(), layer.bias.detach().cpu()))


def test_linear_layers_of_several_threads_and_streams():
    layer, x = torch.nn.Linear(300, 40), torch.randn(20, 300)
    expected, results = layer(x).detach(), []
    layer, there = layer.cuda(), x.cuda()
    torch.cuda.synchronize()

    def run():
        with torch.no_grad(), torch.cuda.stream(torch.cuda.Stream()):
            results.append(layer(there).cpu())

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    for result in results:
        torch.testing.assert_close(result, expected, rtol=1e-5, atol=1e-5)


def test_tf32_of_linear_is_a_choice():
    program = """
import adjoint as torch
a, zero = torch.zeros(256, 256), torch.zeros(256).cuda()
a[:, 0] = 1 + 2.0**-20
assert torch.nn.functional.linear(a.cuda(), torch.ones(256, 256).cuda(), zero).unique().tolist() == [{expected}]
"""
    in_another_process(program.format(expected="1 + 2.0**-20"))
    in_another_process(program.format(expected="1"), TORCH_ALLOW_TF32_CUBLAS_OVERRIDE="1")


# ---- Products with a bias and relu, in the same launch

RELU = "cublasLtMatmul with a bias and relu"
relu_of_sum = torch._addmm_activation


@pytest.mark.parametrize("dtype", ROWS)
def test_relu_takes_no_launch_of_its_own(dtype):
    bias, x, weight = numbers(6, dtype=dtype), numbers(7, LONG, dtype=dtype), numbers(6, LONG, dtype=dtype)
    operands = bias.cuda(), x.cuda(), weight.cuda().t()
    calls = Calls(*COUNTED, RELU)
    with counted() as launches:
        result = relu_of_sum(*operands)
    assert (launches, calls[RELU], calls[MULTIPLY], calls[PLAIN]) == ([0], 1, 1, 0)
    expected = torch.addmm(bias, x, weight.t()).relu()
    assert 0 < expected.count_nonzero() < expected.numel()
    close(result, expected)
    close(torch.addmm(*operands), torch.addmm(bias, x, weight.t()))  # has a plan of its own


@pytest.mark.parametrize("dtype", [*ROWS, torch.float64])
@pytest.mark.parametrize("wanted", [(0, 1, 2), (0,), (1,), (2,), (0, 2), (1, 2)])
def test_gradients_of_relu_of_a_sum(dtype, wanted):
    leaves = [numbers(6, dtype=dtype), numbers(7, LONG, dtype=dtype), numbers(LONG, 6, dtype=dtype)]
    g = numbers(7, 6, dtype=dtype)
    found = []
    for device in ("cuda", "cpu"):
        mine = [leaf.to(device, copy=True).requires_grad_(i in wanted) for i, leaf in enumerate(leaves)]
        relu_of_sum(*mine).backward(g.to(device))
        found.append([mine[i].grad for i in wanted])
        assert all((leaf.grad is None) == (i not in wanted) for i, leaf in enumerate(mine))
    for ours, expected in zip(*found, strict=True):
        close(ours, expected)


def test_second_gradients_of_relu_of_a_sum():
    leaves = [numbers(6), numbers(7, LONG), numbers(LONG, 6)]
    found = []
    for device in ("cuda", "cpu"):
        mine = [leaf.to(device, copy=True).requires_grad_() for leaf in leaves]
        first = torch.autograd.grad((relu_of_sum(*mine) / 10).square().sum(), mine, create_graph=True)
        found.append(torch.autograd.grad(sum((gradient / 10).square().sum() for gradient in first), mine))
    for ours, expected in zip(*found, strict=True):
        close(ours, expected)


def test_operands_of_relu_that_lie_in_any_way():
    bias, calls = torch.randn(6), Calls(RELU)
    for a in layouts(5, LONG, torch.float32):
        for b in layouts(LONG, 6, torch.float32):
            close(relu_of_sum(bias.cuda(), there(a), there(b)), torch.addmm(bias, a, b).relu())
    assert calls[RELU] == 64


def test_where_relu_has_a_launch_of_its_own():
    """After factors, sums of other things than a vector, types that cuBLASLt has not, and sums that it splits."""
    x, weight, bias = torch.randn(5, LONG), torch.randn(LONG, 6), torch.randn(12)
    calls = Calls(RELU)
    for added in (bias[::2], bias[0], bias[:1], torch.randn(5, 6), torch.randn(5, 1)):
        close(relu_of_sum(there(added), x.cuda(), weight.cuda()), torch.addmm(added, x, weight).relu())
    for factors in ({"beta": 2}, {"alpha": 0.5}, {"beta": 0}):
        expected = torch.addmm(bias[:6], x, weight, **factors).relu()
        close(relu_of_sum(bias[:6].cuda(), x.cuda(), weight.cuda(), **factors), expected)
    for dtype, k in ((torch.float64, LONG), (torch.int32, LONG), (torch.float16, 300), (torch.float32, 0)):
        operands = numbers(6, dtype=dtype), numbers(5, k, dtype=dtype), numbers(k, 6, dtype=dtype)
        close(relu_of_sum(*(tensor.cuda() for tensor in operands)), torch.addmm(*operands).relu())
    close(relu_of_sum(bias[:6].cuda(), x[:0].cuda(), weight.cuda()), torch.empty(0, 6))
    assert calls[RELU] == 0


def test_a_refused_relu_goes_another_way():
    x, weight, bias = torch.randn(27, 151), torch.randn(151, 15), torch.randn(15)  # of no other test
    calls = Calls(*COUNTED, RELU)
    fail(PROPOSE, 15)
    close(relu_of_sum(bias.cuda(), x.cuda(), weight.cuda()), torch.addmm(bias, x, weight).relu())
    assert (calls[RELU], calls[BIASED]) == (0, 1)
