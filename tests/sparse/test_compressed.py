"""Compressed layouts, CSR, CSC, BSR and BSC, beside torch: what is made, converted, taken apart, shown and refused."""

import copy
import pickle
import warnings

import numpy as np
import pytest
import torch

import adjoint

LAYOUTS = ("csr", "csc", "bsr", "bsc")
PARTS = {
    "torch.sparse_csr": ("crow_indices", "col_indices", "values"),
    "torch.sparse_csc": ("ccol_indices", "row_indices", "values"),
    "torch.sparse_bsr": ("crow_indices", "col_indices", "values"),
    "torch.sparse_bsc": ("ccol_indices", "row_indices", "values"),
    "torch.sparse_coo": ("_indices", "_values"),
}


@pytest.fixture(autouse=True)
def _beta():
    """torch says once that these layouts are new."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def seen(value):
    """What there is to see of a result, as plain data."""
    if isinstance(value, torch.Tensor | adjoint.Tensor):
        layout = str(value.layout)
        if layout == "torch.strided":
            return (str(value.dtype), tuple(value.shape), value.detach().numpy().tolist())
        parts = [getattr(value.detach(), part)() for part in PARTS[layout]]
        told = [(str(part.dtype), part.numpy().tolist()) for part in parts]
        return (layout, str(value.dtype), tuple(value.shape), value._nnz(), told)
    if isinstance(value, tuple | list):
        return [seen(item) for item in value]
    return str(value) if not isinstance(value, int | float | bool | str | None) else value


def both(function, *args):
    """What both libraries make of it: a result, or the type of an error and its first words."""
    found = []
    for library in (torch, adjoint):
        try:
            found.append(seen(function(library, *args)))
        except Exception as error:
            found.append((type(error).__name__, str(error)))
    return found


def same(function, *args):
    theirs, ours = both(function, *args)
    assert ours == theirs


def refused(function, *args, words=None):
    """Both refuse, with errors of one type and the same first words."""
    theirs, ours = both(function, *args)
    words = words or 30
    assert ours[0] == theirs[0], (ours, theirs)
    assert ours[1][:words] == theirs[1][:words]


NUMBERS = np.array([[0, 1, 0, 2], [3, 0, 0, 0], [0, 4, 5, 0], [0, 0, 0, 6]], dtype=np.float64)


def dense(L, dtype="float32", numbers=NUMBERS):
    return L.tensor(numbers.tolist(), dtype=getattr(L, dtype))


def matrix(L, layout, dtype="float32", numbers=NUMBERS):
    if layout == "coo":
        return dense(L, dtype, numbers).to_sparse()
    block = ((2, 2),) if layout[0] == "b" else ()
    return getattr(dense(L, dtype, numbers), f"to_sparse_{layout}")(*block)


# ---- New tensors


@pytest.mark.parametrize("index", ["int32", "int64"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_tensor_of_its_parts(layout, index):
    def made(L, size):
        values = L.tensor([1.0, 2.0, 3.0])
        if layout[0] == "b":
            values = L.arange(12.0).reshape(3, 2, 2)
        parts = [L.tensor(part, dtype=getattr(L, index)) for part in ([0, 2, 3], [0, 1, 0])]
        return getattr(L, f"sparse_{layout}_tensor")(*parts, values, *size)

    same(made, ())
    known = {"csr": (2, 5), "csc": (5, 2), "bsr": (4, 6), "bsc": (6, 4)}[layout]
    same(made, (known,))
    same(lambda L: made(L, (known,)).to_dense())
    same(lambda L: repr(made(L, (known,))))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_lists_types_and_keywords(layout):
    block = layout[0] == "b"
    values = [[[1, 2]], [[3, 4]]] if block else [1, 2]

    def made(L, **options):
        return getattr(L, f"sparse_{layout}_tensor")([0, 1, 2], [1, 0], values, **options)

    same(made)
    same(lambda L: made(L, dtype=L.float64, requires_grad=True))
    same(lambda L: made(L, dtype=L.float64, requires_grad=True).requires_grad)
    names = ("crow_indices", "col_indices") if layout[-1] == "r" else ("ccol_indices", "row_indices")
    same(lambda L: getattr(L, f"sparse_{layout}_tensor")(**{names[0]: [0, 1, 2], names[1]: [1, 0], "values": values}))
    same(lambda L: L.sparse_compressed_tensor([0, 1, 2], [1, 0], values, layout=getattr(L, f"sparse_{layout}")))
    same(lambda L: made(L, size={"csr": (2, 4), "csc": (4, 2), "bsr": (2, 8), "bsc": (4, 4)}[layout]))


def test_batches_and_dense_dimensions():
    crow, col = [[0, 2, 3], [0, 1, 3]], [[0, 1, 0], [0, 0, 1]]
    same(lambda L: L.sparse_csr_tensor(crow, col, [[1.0, 2, 3], [4, 5, 6]]))
    same(lambda L: L.sparse_csr_tensor(crow, col, [[1.0, 2, 3], [4, 5, 6]], (2, 2, 3)).to_dense())
    same(lambda L: L.sparse_csr_tensor(crow, col, L.arange(12.0).reshape(2, 3, 2), (2, 2, 3, 2)).to_dense())
    same(lambda L: L.sparse_csr_tensor([0, 2, 3], [0, 1, 0], [[1.0, 2], [3, 4], [5, 6]]))
    same(lambda L: L.sparse_bsr_tensor(crow, col, L.arange(24.0).reshape(2, 3, 2, 2), (2, 4, 6)).to_dense())
    same(lambda L: repr(L.sparse_csr_tensor(crow, col, [[1.0, 2, 3], [4, 5, 6]], (2, 2, 3))))


def test_without_entries():
    same(lambda L: L.sparse_csr_tensor([0, 0, 0], L.empty(0, dtype=L.int64), [], (2, 3)))
    same(lambda L: L.sparse_csr_tensor([0], L.empty(0, dtype=L.int64), [], (0, 3)))
    same(lambda L: repr(L.sparse_csr_tensor([0, 0, 0], L.empty(0, dtype=L.int64), [], (2, 3))))
    for layout in ("csr", "csc"):
        same(lambda L, layout=layout: L.zeros(2, 3, layout=getattr(L, f"sparse_{layout}")))
        same(lambda L, layout=layout: L.zeros(2, 2, 3, layout=getattr(L, f"sparse_{layout}")))
    for shape in ((0, 3), (3, 0), (0, 0), (3, 4)):
        same(lambda L, shape=shape: L.zeros(*shape).to_sparse_csr())
        same(lambda L, shape=shape: L.zeros(*shape).to_sparse_csc().to_dense())
    same(lambda L: L.zeros(2, 4).to_sparse_bsr((1, 2)))
    same(lambda L: L.zeros(2, 3).to_sparse_csr() @ L.ones(3, 2))
    same(lambda L: L.zeros(2, 3).to_sparse_csr().sum())


BAD = [
    ([0, 2, 3], [0, 1, 5], [1.0, 2, 3], (2, 3)),
    ([0, 2, 3], [0, -1, 0], [1.0, 2, 3], (2, 3)),
    ([0, 2, 3], [1, 0, 0], [1.0, 2, 3], (2, 3)),
    ([0, 2, 3], [1, 1, 0], [1.0, 2, 3], (2, 3)),
    ([1, 2, 3], [0, 1, 0], [1.0, 2, 3], (2, 3)),
    ([0, 2, 4], [0, 1, 0], [1.0, 2, 3], (2, 3)),
    ([0, 3, 2], [0, 1, 0], [1.0, 2, 3], (2, 3)),
    ([0, -1, 3], [0, 1, 0], [1.0, 2, 3], (2, 3)),
    ([0, 5, 3], [0, 1, 0], [1.0, 2, 3], (2, 3)),
    ([0, 2**40, 3], [0, 1, 0], [1.0, 2, 3], (2, 3)),
    ([0, 2, 3], [0, 1, 0], [1.0, 2, 3], (3, 3)),
    ([0, 2, 3], [0, 1], [1.0, 2, 3], (2, 3)),
    ([0, 2, 3], [0, 1, 0], [1.0, 2], (2, 3)),
    ([[0, 2, 3]], [0, 1, 0], [1.0, 2, 3], (2, 3)),
    ([0, 2, 3], [[0, 1, 0]], [1.0, 2, 3], (2, 3)),
    ([0, 2, 3], [0, 1, 0], [[1.0, 2, 3]], (2, 3)),
    ([0, 2, 3], [0, 1, 0], 5.0, (2, 3)),
    ([0, 2, 3], [0, 1, 0], [1.0, 2, 3], (2,)),
    ([0, 2, 3], [0, 1, 0], [1.0, 2, 3], (2, 3, 4)),
    ([], [], [], (0, 0)),
]


@pytest.mark.parametrize("parts", BAD, ids=str)
def test_invariants_when_they_are_checked(parts):
    refused(lambda L: L.sparse_csr_tensor(*parts, check_invariants=True), words=60)
    swapped = (*parts[:3], parts[3][::-1])
    refused(lambda L: L.sparse_csc_tensor(*swapped, check_invariants=True), words=60)

    def checked(L):
        with L.sparse.check_sparse_tensor_invariants():
            return L.sparse_csr_tensor(*parts)

    refused(checked, words=60)


@pytest.mark.parametrize("parts", BAD, ids=str)
def test_bad_indices_never_crash(parts):
    """Not checked, they are refused when the tensor is made, or when it is used, or give some result."""
    uses = (
        lambda x: x.to_dense(), lambda x: x.to_sparse(), lambda x: x.to_sparse_csc(), lambda x: x @ adjoint.ones(3, 2),
        lambda x: adjoint.ones(2, 2) @ x, lambda x: x + x, lambda x: x * adjoint.ones(2, 3), lambda x: repr(x),
        lambda x: x.t() @ adjoint.ones(2, 2), lambda x: x[0], lambda x: x.sum(0, keepdim=True), lambda x: x @ x.t(),
        lambda x: adjoint.sparse.sampled_addmm(x, adjoint.ones(2, 4), adjoint.ones(4, 3)),
        lambda x: adjoint.sparse.mm(x, adjoint.ones(3, 2), "amax"),
        lambda x: adjoint.sparse.mm(x, adjoint.ones(3, 2, requires_grad=True)).sum().backward(),
        lambda x: x.to_sparse_bsr((1, 1)), lambda x: x.clone().to_dense(), lambda x: x.sin().to_dense(),
    )  # fmt: skip
    for use in uses:
        try:
            use(adjoint.sparse_csr_tensor(*parts))
        except (RuntimeError, IndexError):
            continue


@pytest.mark.parametrize(
    "call",
    [
        lambda L: L.sparse_csr_tensor(),
        lambda L: L.sparse_csr_tensor([0, 1], [0]),
        lambda L: L.sparse_csr_tensor([0, 1], [0], [1.0], bogus=1),
        lambda L: L.sparse_csr_tensor([0, 1], [0], [1.0], "a"),
        lambda L: L.sparse_csr_tensor([0, 1], [0], [1.0], (1, 2.5)),
        lambda L: L.sparse_csr_tensor([0, 1], [0], [1.0], (1, -3)),
        lambda L: L.sparse_csr_tensor([0, 1], [0], [1.0], (4, 2**62)),
        lambda L: L.sparse_csr_tensor([0, 1], [0], [1.0], (1, 1), layout=L.sparse_csc),
        lambda L: L.sparse_csr_tensor([0, 1], [0], [1.0], (1, 1), layout=L.strided),
        lambda L: L.sparse_compressed_tensor([0, 1], [0], [1.0]),
        lambda L: L.sparse_compressed_tensor([0, 1], [0], [1.0], layout=L.sparse_coo),
        lambda L: L.zeros(2, 3, layout=L.sparse_bsr),
        lambda L: L.zeros(2, layout=L.sparse_csr),
        lambda L: dense(L).to_sparse_bsr((3, 2)),
        lambda L: dense(L).to_sparse_bsr((2,)),
        lambda L: dense(L).to_sparse_bsr((0, 2)),
        lambda L: dense(L).to_sparse_csr(dense_dim=1),
        lambda L: dense(L).to_sparse_csr(dense_dim=-1),
        lambda L: dense(L).to_sparse(layout=L.sparse_bsr),
        lambda L: dense(L).to_sparse(layout=L.sparse_csr, blocksize=(2, 2)),
        lambda L: L.stack([dense(L), dense(L) + 1]).to_sparse_csr(),
        lambda L: matrix(L, "csr").to_sparse(1),
        lambda L: dense(L).to_sparse(1).to_sparse_csr(),
        lambda L: matrix(L, "bsr").to_sparse_csr(),
        lambda L: matrix(L, "bsr").to_sparse_bsr((4, 4)),
        lambda L: matrix(L, "csr").to_sparse_bsr((3, 3)),
        lambda L: matrix(L, "csr").to_sparse(layout=L.sparse_csc, blocksize=(1, 1)),
        lambda L: L._validate_sparse_csr_tensor_args(L.tensor([0, 2]), L.tensor([0, 5]), L.tensor([1.0, 2.0]), (1, 3)),
        lambda L: L._validate_sparse_compressed_tensor_args(
            L.tensor([0, 2]), L.tensor([1, 0]), L.tensor([1.0, 2.0]), (1, 3), L.sparse_csr
        ),
        lambda L: matrix(L, "csr").indices(),
        lambda L: matrix(L, "csr").ccol_indices(),
        lambda L: matrix(L, "csc").crow_indices(),
        lambda L: matrix(L, "csc").col_indices(),
        lambda L: dense(L).crow_indices(),
        lambda L: matrix(L, "csr").coalesce(),
        lambda L: matrix(L, "csr").is_coalesced(),
        lambda L: matrix(L, "csr")._indices(),
        lambda L: matrix(L, "csr")._values(),
        lambda L: matrix(L, "csr").exp(),
        lambda L: matrix(L, "csr").sum(0),
        lambda L: matrix(L, "csc").sum(0, keepdim=True),
        lambda L: matrix(L, "csr").transpose(0, 5),
        lambda L: matrix(L, "csr").copy_(dense(L)),
        lambda L: matrix(L, "csr").copy_(L.eye(4).to_sparse_csr()),
        lambda L: dense(L).copy_(matrix(L, "csr")),
        lambda L: matrix(L, "csr") @ dense(L)[:3],
        lambda L: L.sparse.softmax(matrix(L, "csr"), 1),
        lambda L: L.sparse.mm(matrix(L, "csr"), dense(L), "bogus"),
        lambda L: L.sparse.mm(matrix(L, "csr"), dense(L), "prod"),
        lambda L: L.sparse.mm(matrix(L, "csc"), dense(L), "sum"),
        lambda L: L.sparse.mm(matrix(L, "csr"), matrix(L, "csr"), "sum"),
        lambda L: L.sparse.sampled_addmm(matrix(L, "csr"), dense(L), dense(L)[:, :3]),
        lambda L: L.sparse.sampled_addmm(matrix(L, "csr"), dense(L)[:3], dense(L)),
        lambda L: L.sparse.sampled_addmm(matrix(L, "csr"), dense(L)[:, :3], dense(L)),
        lambda L: L.sparse.sampled_addmm(dense(L), dense(L), dense(L)),
        lambda L: L.sparse.sampled_addmm(matrix(L, "csr"), matrix(L, "csr"), dense(L)),
        lambda L: L.stack([dense(L)] * 2).to_sparse_csr().select(1, 1),
        lambda L: L.stack([dense(L)] * 2).to_sparse_csr().transpose(0, 1),
        lambda L: L.stack([dense(L)] * 2).to_sparse_csr().to_sparse_bsr((2, 2)),
        lambda L: matrix(L, "csr").resize_(4, 3),
        lambda L: matrix(L, "csr").numel() and matrix(L, "csr").item(),
        lambda L: matrix(L, "csr").tolist(),
        lambda L: matrix(L, "csr").data_ptr(),
    ],
)
def test_refusals(call):
    refused(call)


def test_sharing_memory_is_refused():
    refused(lambda L: L.eye(2).to_sparse_csr().share_memory_(), words=27)
    with pytest.raises(RuntimeError, match="Cannot access data pointer"):
        adjoint._C._share_memory(adjoint.eye(2).to_sparse_csr())


# ---- Conversions


@pytest.mark.parametrize("source", ["coo", *LAYOUTS])
@pytest.mark.parametrize("target", ["coo", *LAYOUTS])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool", "complex64", "bfloat16"])
def test_conversions(source, target, dtype):
    def converted(L):
        x = matrix(L, source, dtype)
        y = x.to_sparse() if target == "coo" else getattr(x, f"to_sparse_{target}")(*((2, 2),) * (target[0] == "b"))
        assert y.dtype == x.dtype
        return (y.float() if dtype == "bfloat16" else y), y.to_dense().float() if dtype == "bfloat16" else y.to_dense()

    theirs, ours = both(converted)
    if theirs[0] == "RuntimeError" and ours[0] == "RuntimeError":
        assert ours[1][:30] == theirs[1][:30]
    else:
        assert ours == theirs


def test_conversions_of_batches_and_dense_dimensions():
    def batch(L):
        return L.stack([dense(L), dense(L).t()])

    for layout in ("csr", "csc"):
        same(lambda L, layout=layout: getattr(batch(L), f"to_sparse_{layout}")())
        same(lambda L, layout=layout: getattr(batch(L), f"to_sparse_{layout}")().to_sparse())
        same(lambda L, layout=layout: getattr(batch(L), f"to_sparse_{layout}")().to_dense())
        same(lambda L, layout=layout: getattr(L.stack([dense(L)] * 2, -1), f"to_sparse_{layout}")(dense_dim=1))
        same(lambda L, layout=layout: getattr(L.stack([dense(L)] * 2), f"to_sparse_{layout}")(dense_dim=1))
    same(lambda L: batch(L).to_sparse_csr().to_sparse_csc())
    same(lambda L: batch(L).to_sparse_bsr((2, 2)))
    same(lambda L: batch(L).to_sparse_bsc((2, 1)).to_dense())
    same(lambda L: L.stack([dense(L)] * 2, -1).to_sparse_bsr((2, 2), dense_dim=1).to_dense())
    same(lambda L: L.stack([dense(L)] * 2, -1).to_sparse(2).to_sparse_csr())
    same(lambda L: L.sparse_coo_tensor([[1, 0, 1], [0, 1, 0]], [1.0, 2, 3], (2, 2)).to_sparse_csr())
    same(lambda L: L.sparse.spdiags(L.tensor([[1.0, 2, 3]]), L.tensor([0]), (3, 3), layout=L.sparse_csr))
    same(lambda L: [matrix(L, layout).to_sparse().is_coalesced() for layout in LAYOUTS])


# ---- What a tensor says of itself, and copies


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_it_says(layout):
    def said(L):
        x = matrix(L, layout)
        return [x.sparse_dim(), x.dense_dim(), x._nnz(), len(x), x.dim(), x.numel(), x.is_sparse, x.is_sparse_csr,
                str(x.layout), tuple(x.shape), str(x.device), x.is_floating_point(), x.element_size()]  # fmt: skip

    same(said)
    same(lambda L: repr(matrix(L, layout)))
    same(lambda L: repr(matrix(L, layout, "float64").requires_grad_()))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_copies_and_types(layout):
    for make in (
        lambda x: x.clone(), lambda x: x.detach(), lambda x: x.double(), lambda x: x.int(), lambda x: x.bool(),
        lambda x: x.to("cpu"), lambda x: x.data, lambda x: pickle.loads(pickle.dumps(x)),
        lambda x: x.clone().zero_(), lambda x: x.clone().fill_(3), lambda x: x.clone().copy_(x * 2),
    ):  # fmt: skip
        same(lambda L, make=make: make(matrix(L, layout)))
    for name in ("zeros_like", "ones_like"):
        same(lambda L, name=name: getattr(L, name)(matrix(L, layout)))
    same(lambda L: L.full_like(matrix(L, layout), 2, dtype=L.float64))
    x = matrix(adjoint, layout).requires_grad_()
    other = copy.deepcopy(x)
    assert seen(other) == seen(x)
    assert other.requires_grad
    assert other.values().data_ptr() != x.values().data_ptr()


def test_sizes_in_place():
    same(lambda L: matrix(L, "csr").resize_(6, 6))
    same(lambda L: matrix(L, "csr").resize_(3, 4))
    same(lambda L: matrix(L, "csr").resize_(4, 8).to_dense())
    same(lambda L: matrix(L, "csr").resize_as_(L.ones(1, 1)))


@pytest.mark.parametrize("layout", ["csr", "csc"])
def test_resize_as(layout):
    """Whatever lays out the other tensor: its sizes count."""
    for other in ("csr", "csc", "bsr"):
        same(lambda L, other=other: matrix(L, layout).resize_as_(matrix(L, other)))
    same(lambda L: matrix(L, layout).resize_as_(L.ones(8, 8)))
    same(lambda L: matrix(L, layout).resize_as_(L.ones(8, 8).to_sparse()).to_dense())
    same(lambda L: L.ones(2, 2).resize_as_(matrix(L, layout)).shape)


# ---- Orders and parts


@pytest.mark.parametrize("layout", LAYOUTS)
def test_transposes(layout):
    same(lambda L: matrix(L, layout).t())
    same(lambda L: matrix(L, layout).transpose(0, 1).to_dense())
    same(lambda L: matrix(L, layout).mT)
    same(lambda L: matrix(L, layout).mH)
    same(lambda L: matrix(L, layout).t().t())
    same(lambda L: matrix(L, layout).transpose(0, 0))


def test_transposes_of_batches():
    same(lambda L: L.stack([dense(L), dense(L).t()]).to_sparse_csr().transpose(-2, -1))
    same(lambda L: L.stack([dense(L), dense(L).t()]).to_sparse_csr().mT.to_dense())


@pytest.mark.parametrize("layout", ["csr", "csc"])
def test_parts(layout):
    same(lambda L: matrix(L, layout)[1])
    same(lambda L: matrix(L, layout)[:, 1])
    same(lambda L: matrix(L, layout)[-1])
    same(lambda L: matrix(L, layout)[0, 1])
    same(lambda L: matrix(L, layout).select(0, 2))
    same(lambda L: list(matrix(L, layout)))
    same(lambda L: matrix(L, layout).unbind(1))
    same(lambda L: L.stack([dense(L), dense(L).t()]).to_sparse_csr()[1])
    same(lambda L: L.stack([dense(L), dense(L).t()]).to_sparse_csr()[1, 0])
    same(lambda L: L.stack([dense(L)] * 2, -1).to_sparse_csr(dense_dim=1).select(2, 1))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_strides_are_refused(layout):
    for asked in (lambda x: x.stride(), lambda x: x.stride(0), lambda x: x.is_contiguous()):
        refused(lambda L: asked(matrix(L, layout)), words=100)  # noqa: B023 - called at once
    refused(lambda L: L.hspmm(matrix(L, layout), dense(L)))
    for product in (adjoint.smm, lambda x, y: adjoint.sspaddmm(x, x, y)):
        with pytest.raises(NotImplementedError, match=r"Could not run 'aten::(hspmm|sspaddmm)'"):
            product(matrix(adjoint, layout), dense(adjoint))
