"""Parts of layers that torch has under a leading underscore, or in torch.ops.aten alone, beside torch."""

import pytest
import torch

import adjoint

from .compare import OPS, same


def aten(L, name):
    return getattr(L.ops.aten, name)


def rows(L, *shape, seed=0):
    return L.randn(*shape, dtype=L.float64, generator=L.Generator().manual_seed(seed))


PROGRAMS = {
    "softmax": lambda L: (L._softmax(rows(L, 2, 3), 1, False), L._log_softmax(rows(L, 2, 3), -1, False)),
    "softmax of halves": lambda L: L._softmax(rows(L, 2, 3).half(), 0, False),
    "gradient of log_softmax": lambda L: L._log_softmax_backward_data(
        rows(L, 2, 3), rows(L, 2, 3, seed=1).log_softmax(1), 1, L.float64
    ),
    "gradient of softmax in aten": lambda L: aten(L, "_softmax_backward_data")(
        rows(L, 2, 3), rows(L, 2, 3, seed=1).softmax(1), 1, L.float64
    ),
    "nothing to see": lambda L: L._safe_softmax(L.tensor([[0.0, 1.0], [-L.inf, -L.inf], [-L.inf, 0.0]]), -1),
    "a nan to see": lambda L: L._safe_softmax(L.tensor([L.nan, -L.inf]), 0),
    "safe softmax of integers": lambda L: L._safe_softmax(L.arange(3), 0, L.float32),
    "dropout": lambda L: (L.manual_seed(0), L.native_dropout(L.ones(20), 0.25, True))[1],
    "dropout, train=None": lambda L: (L.manual_seed(0), L.native_dropout(L.ones(20), 0.25, None))[1],
    "no dropout": lambda L: L.native_dropout(L.ones(3), 0.5, False),
    "all dropped": lambda L: L.native_dropout(L.ones(3), 1.0, True),
    "none dropped": lambda L: L.native_dropout(L.ones(3), 0.0, True),
    "dropout of nothing": lambda L: L.native_dropout(L.ones(0), 0.5, True),
    "gradient of dropout": lambda L: aten(L, "native_dropout_backward")(L.ones(2), L.tensor([True, False]), 3.0),
    "batch norm without statistics": lambda L: L._native_batch_norm_legit(rows(L, 3, 2), None, None, True, 0.1, 1e-5),
    "batch norm by statistics": lambda L: L._native_batch_norm_legit_no_training(
        rows(L, 3, 2), L.ones(2).double(), None, L.ones(2).double(), L.full((2,), 4.0).double(), 0.1, 1e-5
    ),
    "masked index": lambda L: L._unsafe_masked_index(
        rows(L, 4), L.tensor([True, False, True, False]), [L.tensor([1, 99, -1, -99])], 7.5
    ),
    "masked index of nothing": lambda L: L._unsafe_masked_index(
        L.empty(0), L.tensor([False, False]), [L.tensor([0, 1])], 7
    ),
    "masked put": lambda L: L._unsafe_masked_index_put_accumulate(
        rows(L, 3), L.tensor([True, False, True]), [L.tensor([1, 99, 1])], rows(L, 3, seed=1)
    ),
    "index": lambda L: L._unsafe_index(rows(L, 2, 3), [L.tensor([1, 0]), L.tensor([2, 0])]),
    "put": lambda L: L._unsafe_index_put(rows(L, 2, 3), [L.tensor([1])], L.tensor(2.0).double(), True),
    "chunks": lambda L: L._chunk_cat([rows(L, 3, 4), rows(L, 2)], 0, 2),
    "chunks from the end": lambda L: L._chunk_cat([rows(L, 2, 3), rows(L, 2, 3)], -1, 2),
    "chunks, out=": lambda L: L._chunk_cat([rows(L, 2)], 0, 2, out=L.empty(0, dtype=L.float64)),
    "slice": lambda L: aten(L, "slice")(rows(L, 5), 0, 1, 4, 2),
    "int8": lambda L: L._int_mm(L.arange(-6, 6).view(3, 4).to(L.int8), L.arange(-4, 4).view(4, 2).to(L.int8)),
    "uint8": lambda L: L._int_mm(L.arange(250, 256).view(2, 3).to(L.uint8), L.full((3, 1), -128, dtype=L.int8)),
    "int8 of nothing": lambda L: L._int_mm(L.ones(2, 0, dtype=L.int8), L.ones(0, 3, dtype=L.int8)),
    "int8, out=": lambda L: L._int_mm(
        L.ones(2, 3, dtype=L.int8), L.ones(3, 1, dtype=L.int8), out=L.empty(2, 1, dtype=L.int32)
    ),
    "resampling by a factor": lambda L: aten(L, "_upsample_bilinear2d_aa")(
        rows(L, 1, 2, 5, 6), None, False, [0.7, 0.5]
    ),
    "resampling to a size": lambda L: aten(L, "_upsample_bilinear2d_aa")(rows(L, 1, 2, 5, 6), [3, 4], True),
    "resampling by hand": lambda L: aten(L, "_upsample_bilinear2d_aa")(rows(L, 1, 2, 5, 6), [3, 4], False, 1.7, 0.9),
    "gradient of pooling": lambda L: aten(L, "max_pool2d_with_indices_backward")(
        rows(L, 1, 1, 2), rows(L, 1, 2, 4, seed=1), [2, 2], [2, 2], [0, 0], [1, 1], False, L.tensor([[[4, 3]]])
    ),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_as_in_torch(program):
    same(program, bound=OPS)


def test_statistics_are_updated():
    def program(L):
        mean, var = L.zeros(2, dtype=L.float64), L.ones(2, dtype=L.float64)
        found = aten(L, "_batch_norm_with_update")(rows(L, 3, 2), None, None, mean, var, 0.1, 1e-5)
        return found, mean, var

    same(program)


def test_gradients():
    def program(L):
        x = rows(L, 4, 3).requires_grad_()
        y = L._safe_softmax(L.cat([x, L.full((1, 3), -L.inf)]), 1) * rows(L, 5, 3, seed=1)
        z = L._unsafe_masked_index(x, L.tensor([[True], [False]]), [L.tensor([1, 9])], 0.5) ** 2
        L.manual_seed(0)
        w = L.native_dropout(x, 0.5, True)[0] ** 2
        return [L.autograd.grad(value.sum(), x)[0] for value in (y, z, w)]

    same(program)


WRONG = {
    "conversion": lambda L: L._softmax(L.ones(2), 0, True),
    "another type": lambda L: L._softmax_backward_data(L.ones(2), L.ones(2), 0, L.float16),
    "types that differ": lambda L: L._softmax_backward_data(L.ones(2), L.ones(2).double(), 0, L.float32),
    "sizes that differ": lambda L: L._softmax_backward_data(L.ones(2), L.ones(1), 0, L.float32),
    "no such dimension": lambda L: L._safe_softmax(L.ones(2), 3),
    "a negative probability": lambda L: L.native_dropout(L.ones(3), -1.0, True),
    "a probability above 1": lambda L: L.native_dropout(L.ones(3), 1.5, True),
    "dropout of integers": lambda L: L.native_dropout(L.ones(3, dtype=L.int64), 0.5, True),
    "no tensors": lambda L: L._chunk_cat([], 0, 2),
    "no chunks": lambda L: L._chunk_cat([L.ones(2)], 0, 0),
    "no such dimension of chunks": lambda L: L._chunk_cat([L.ones(2)], 1, 2),
    "chunks of two types": lambda L: L._chunk_cat([L.ones(2), L.ones(2).long()], 0, 2),
    "an empty tensor": lambda L: L._chunk_cat([L.ones(2), L.ones(0)], 0, 2),
    "other sizes before": lambda L: L._chunk_cat([L.ones(2, 3), L.ones(3, 3)], 1, 2),
    "one tensor": lambda L: L._chunk_cat(L.ones(2), 0, 2),
    "other ranks": lambda L: L._chunk_cat([L.ones(2, 3), L.ones(2, 3, 2)], -1, 2),
    "int32": lambda L: L._int_mm(L.ones(2, 2).int(), L.ones(2, 2).to(L.int8)),
    "mat2 of int64": lambda L: L._int_mm(L.ones(2, 2).to(L.int8), L.ones(2, 2).long()),
    "sizes of a product": lambda L: L._int_mm(L.ones(2, 3).to(L.int8), L.ones(2, 3).to(L.int8)),
    "a vector": lambda L: L._int_mm(L.ones(2).to(L.int8), L.ones(2, 3).to(L.int8)),
    "out= of floats": lambda L: L._int_mm(L.ones(2, 2).to(L.int8), L.ones(2, 2).to(L.int8), out=L.empty(2, 2)),
    "out= of no size": lambda L: L._int_mm(
        L.ones(2, 2).to(L.int8), L.ones(2, 2).to(L.int8), out=L.empty(0, dtype=L.int32)
    ),
    "an image without channels": lambda L: aten(L, "_upsample_bilinear2d_aa")(L.ones(1, 4, 4), [2, 2], False),
    "no size": lambda L: aten(L, "_upsample_bilinear2d_aa")(L.ones(1, 1, 4, 4), None, False, None),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_errors_begin_with_torchs_words(wrong):
    messages = []
    for library in (torch, adjoint):
        with pytest.raises((RuntimeError, IndexError, TypeError, ValueError)) as error:
            wrong(library)
        messages.append((error.type, str(error.value).removesuffix(".").partition("\nGot ")[0]))
    assert messages[1][0] is messages[0][0]
    assert messages[1][1].startswith(messages[0][1])


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: adjoint._chunk_cat([adjoint.tensor(1.0)], 0, 2), "Dimension out of range"),  # torch crashes
        (lambda: adjoint._native_batch_norm_legit(adjoint.ones(2, 1), None, None, False, 0.1, 0.0), "running_mean"),
        (
            lambda: adjoint.ops.aten.max_pool2d_with_indices_backward(
                adjoint.ones(1, 1, 1), adjoint.ones(1, 2, 2), 2, 2, 0, 1, False, adjoint.tensor([[[4]]])
            ),
            "expected indices of elements",
        ),
        (
            lambda: adjoint.ops.aten.max_pool2d_with_indices_backward(
                adjoint.ones(1, 1, 1), adjoint.ones(1, 2, 2), 2, 2, 0, 1, False, adjoint.tensor([[[1, 2]]])
            ),
            "expected a gradient of the size of the indices",
        ),
    ],
)
def test_what_would_read_beside_the_memory_is_refused(wrong, words):
    with pytest.raises((RuntimeError, IndexError), match=words):
        wrong()


def test_a_product_of_floats_with_scales_is_refused():
    """Torch has other words for it on processors that multiply tiles of 8-bit numbers."""
    for library in (torch, adjoint):
        with pytest.raises((RuntimeError, ValueError), match=r"Invalid scaling configuration|to be Float8 matrix"):
            library._scaled_mm(*[library.ones(2, 2)] * 2, *[library.tensor(1.0)] * 2)


def test_without_memory():
    x = adjoint.empty(4, 3, device="meta")
    assert adjoint._safe_softmax(x, 1).shape == (4, 3)
    assert adjoint._chunk_cat([x, x], 0, 3).shape == (3, 12)
    assert adjoint._unsafe_masked_index(x, x > 0, [adjoint.zeros(4, 1).long()], 0.0).device.type == "meta"
    assert adjoint._int_mm(x.to(adjoint.int8), x.t().to(adjoint.int8)).shape == (4, 4)
    assert [y.shape for y in adjoint.native_dropout(x, 0.5, True)] == [(4, 3), (4, 3)]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: adjoint._safe_softmax(3, 0),
        lambda: adjoint.lobpcg("a", k=1),
        lambda: adjoint._unsafe_masked_index(adjoint.ones(2), mask=None, indices=[], fill=0),
        lambda: adjoint.segment_reduce(adjoint.ones(2), "sum", lengths=[1, 1]),
        lambda: adjoint.hash_tensor(None),
        lambda: adjoint._scaled_mm(adjoint.ones(2, 2), 3, 1.0, 1.0),
        lambda: adjoint._cast_Float(3),
        lambda: adjoint._is_all_true(True),
        lambda: adjoint.ops.aten.slice(3),
        lambda: adjoint._amp_update_scale_(1.0, 0, 0.0, 2.0, 0.5, 2),
    ],
)
def test_what_is_no_tensor_is_named(wrong):
    with pytest.raises(TypeError, match=r"argument '\w+'.* must be Tensor, not \w+"):
        wrong()
