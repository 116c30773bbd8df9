"""sparse_coo_tensor() and its relatives: every form, every refusal, parts and text."""

import pytest

import adjoint

from ..compare import same
from . import KINDS, coo, seen

DTYPES = ("float64", "float32", "float16", "bfloat16", "complex64", "complex128", "int64", "int32", "uint8", "bool")

FORMS = {
    "lists": lambda L: L.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0]),
    "size": lambda L: L.sparse_coo_tensor([[0, 1], [1, 0]], [1, 2], (3, 3)),
    "dtype": lambda L: L.sparse_coo_tensor([[0, 1], [1, 0]], [1, 2], (3, 3), dtype=L.float64),
    "requires_grad": lambda L: L.sparse_coo_tensor([[0], [1]], [1.0], (3, 3), requires_grad=True),
    "is_coalesced": lambda L: L.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], (3, 3), is_coalesced=True),
    "not_coalesced": lambda L: L.sparse_coo_tensor([[0], [1]], [1.0], (3, 3), is_coalesced=False),
    "size_alone": lambda L: L.sparse_coo_tensor((2, 3)),
    "size_by_name": lambda L: L.sparse_coo_tensor(size=(2, 3), dtype=L.int64),
    "by_name": lambda L: L.sparse_coo_tensor(indices=[[0]], values=[2.0], size=(1,)),
    "hybrid": lambda L: L.sparse_coo_tensor([[0, 1]], [[1.0, 2.0], [3.0, 4.0]], (3, 2)),
    "hybrid_no_size": lambda L: L.sparse_coo_tensor([[0, 1]], [[1.0, 2.0], [3.0, 4.0]]),
    "no_entries": lambda L: L.sparse_coo_tensor(L.empty(2, 0, dtype=L.int64), L.empty(0), (2, 3)),
    "no_entries_no_size": lambda L: L.sparse_coo_tensor(L.empty(2, 0, dtype=L.int64), L.empty(0)),
    "no_dimensions": lambda L: L.sparse_coo_tensor(L.empty(0, 1, dtype=L.int64), L.tensor([3.0]), ()),
    "float_indices": lambda L: L.sparse_coo_tensor(L.tensor([[0.0, 1.0]]), [1.0, 2.0], (3,)),
    "int32_indices": lambda L: L.sparse_coo_tensor(L.tensor([[0, 1]], dtype=L.int32), [1.0, 2.0], (3,)),
    "outside_unchecked": lambda L: L.sparse_coo_tensor([[0, 5]], [1.0, 2.0], (3,)),
    "zeros": lambda L: L.zeros(2, 3, layout=L.sparse_coo),
    "empty": lambda L: L.empty((2, 3), layout=L.sparse_coo, dtype=L.float64),
    "zeros_like": lambda L: L.zeros_like(coo(L, "hybrid")),
    "zeros_like_strided": lambda L: L.zeros_like(coo(L), layout=L.strided),
    "new_zeros": lambda L: coo(L).new_zeros(2, 2),
    "spdiags": lambda L: L.sparse.spdiags(L.tensor([[1.0, 2.0], [3.0, 4.0]]), L.tensor([0, -1]), (3, 2)),
    "to_sparse": lambda L: L.tensor([[0.0, 1.0], [2.0, 0.0]]).to_sparse(),
    "to_sparse_1": lambda L: L.tensor([[0.0, 0.0], [2.0, 0.0]]).to_sparse(1),
    "to_sparse_empty": lambda L: L.zeros(2, 0, 3).to_sparse(2),
    "to_sparse_scalar": lambda L: L.tensor(3.0).to_sparse(),
    "to_sparse_of_sparse": lambda L: coo(L, "coalesced").to_sparse(),
    "resized": lambda L: coo(L).sparse_resize_((5, 6), 2, 0),
    "resized_and_cleared": lambda L: coo(L).sparse_resize_and_clear_((5, 6, 2), 2, 1),
    "flagged": lambda L: coo(L)._coalesced_(True),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms(form):
    same(lambda L: seen(FORMS[form](L)))


REFUSED = {
    "vector_of_indices": lambda L: L.sparse_coo_tensor([0, 2], [1.0, 2.0]),
    "outside": lambda L: L.sparse_coo_tensor([[0, 5], [1, 0]], [1.0, 2.0], (3, 3), check_invariants=True),
    "negative": lambda L: L.sparse_coo_tensor([[0, -1]], [1.0, 2.0], (3,), check_invariants=True),
    "negative_no_size": lambda L: L.sparse_coo_tensor([[0, -1]], [1.0, 2.0]),
    "counts": lambda L: L.sparse_coo_tensor([[0, 1]], [1.0, 2.0, 3.0], (3,)),
    "dims": lambda L: L.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], (3,)),
    "dense_sizes": lambda L: L.sparse_coo_tensor([[0, 1]], [[1.0, 2.0], [3.0, 4.0]], (3, 3)),
    "not_in_order": lambda L: L.sparse_coo_tensor([[1, 0]], [1.0, 2.0], (3,), is_coalesced=True, check_invariants=True),
    "cube_of_indices": lambda L: L.sparse_coo_tensor(L.zeros(1, 1, 1, dtype=L.int64), [3.0], (2,)),
    "overflow": lambda L: L.sparse_coo_tensor([[0], [0]], [1.0], (2**40, 2**40)),
    "sparse_values": lambda L: L.sparse_coo_tensor([[0]], L.ones(1).to_sparse(), (2,)),
    "indices_uncoalesced": lambda L: coo(L).indices(),
    "values_uncoalesced": lambda L: coo(L).values(),
    "indices_of_dense": lambda L: L.ones(2).indices(),
    "values_of_dense": lambda L: L.ones(2).values(),
    "coalesce_dense": lambda L: L.ones(2).coalesce(),
    "is_coalesced_dense": lambda L: L.ones(2).is_coalesced(),
    "to_sparse_3": lambda L: L.ones(2).to_sparse(3),
    "to_sparse_0": lambda L: L.ones(2).to_sparse(0),
    "shrunk": lambda L: coo(L).sparse_resize_((2, 2), 2, 0),
    "other_dims": lambda L: coo(L).sparse_resize_((3, 4, 2), 2, 1),
    "resized_dims": lambda L: coo(L).sparse_resize_((3, 4, 2), 2, 2),
    "mask_sizes": lambda L: L.ones(2).sparse_mask(coo(L)),
    "ones": lambda L: L.ones(2, layout=L.sparse_coo),
    "numpy": lambda L: coo(L).numpy(),
    "data_ptr": lambda L: coo(L).data_ptr(),
    "storage": lambda L: coo(L).untyped_storage(),
    "nbytes": lambda L: coo(L).nbytes,
    "nothing": lambda L: L.sparse_coo_tensor(),
    "none": lambda L: L.sparse_coo_tensor(None, [1.0], (2,)),
}


def outcome(call, L):
    try:
        call(L)
    except Exception as error:
        return type(error).__name__, str(error)
    return None, "nothing was raised"


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_begin_with_torchs_words(case):
    import torch

    kind, text = outcome(REFUSED[case], torch)
    ours_kind, ours = outcome(REFUSED[case], adjoint)
    assert ours_kind == kind, (ours, text)
    words = text.split("\n")[0].split(", but expected one of")[0]
    assert ours.startswith(words[: max(20, min(len(words), 60))]), (ours, text)


def test_checks_can_be_asked_for():
    check = adjoint.sparse.check_sparse_tensor_invariants
    assert not check.is_enabled()
    with check():
        assert check.is_enabled()
        with pytest.raises(RuntimeError, match="size is inconsistent with indices"):
            adjoint.sparse_coo_tensor([[9]], [1.0], (3,))
        with check(False):
            adjoint.sparse_coo_tensor([[9]], [1.0], (3,))
    check.enable()
    assert check.is_enabled()
    check.disable()

    @check()
    def make():
        return adjoint.sparse_coo_tensor([[9]], [1.0], (3,))

    with pytest.raises(RuntimeError, match="found index 9"):
        make()


@pytest.mark.parametrize("kind", KINDS)
def test_parts(kind):
    def parts(L):
        x = coo(L, kind)
        return [x._nnz(), x.sparse_dim(), x.dense_dim(), x._dimI(), x._dimV(), x.is_sparse, str(x.layout), x.numel(),
                x.dim(), x.is_leaf, x.stride(), x.storage_offset(), x.type(), len(x) if x.dim() else None,
                x._indices(), x._values(), x.coalesce().indices(), x.coalesce().values()]  # fmt: skip

    same(parts)


@pytest.mark.parametrize("dtype", DTYPES)
def test_types(dtype):
    same(lambda L: seen([coo(L, "uncoalesced", dtype), coo(L, "uncoalesced", dtype).coalesce()]))
    same(lambda L: coo(L, "hybrid", dtype).to_dense())
    same(lambda L: seen([coo(L, "uncoalesced", dtype).to(getattr(L, other)) for other in ("float64", "int64", "bool")
                         if "complex" not in dtype]))  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_text(kind):
    same(lambda L: repr(coo(L, kind)))
    same(lambda L: str(coo(L, kind, "float32").coalesce().requires_grad_()))
    same(lambda L: repr(coo(L, kind, "int64")))
    same(lambda L: repr(coo(L, kind) * coo(L, kind).requires_grad_()).split("grad_fn")[0])


def test_text_of_many_entries():
    def text(L):
        return repr(L.sparse_coo_tensor(L.arange(3000).reshape(2, 1500), L.arange(1500.0) / 7, (3000, 3000)))

    same(text)


def test_entries_outside_are_errors_and_no_more():
    x = adjoint.sparse_coo_tensor([[0, 9], [7, 0]], [1.0, 2.0], (3, 3))
    for call in (
        lambda: x.to_dense(),
        lambda: x @ adjoint.ones(3, 2),
        lambda: x.t() @ adjoint.ones(3, 2),
        lambda: adjoint.sparse.sampled_addmm(x, adjoint.ones(3, 2), adjoint.ones(2, 3)),
        lambda: adjoint.ones(3, 3) + x,
    ):
        with pytest.raises((IndexError, RuntimeError)):
            call()
    y = adjoint.eye(3).to_sparse()
    y.indices()[1, 0] = 100
    with pytest.raises((IndexError, RuntimeError)):
        y @ adjoint.ones(3, 2)
