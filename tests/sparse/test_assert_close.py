"""torch.testing.assert_close of sparse tensors, and every word of what it says."""

import warnings

import pytest

from ..compare import programs, raised, same
from ..test_testing import word_for_word

program, test_program = programs()


def sparse(L, layout, entry=1.0, place=1):
    """A matrix with this entry in its first row; "dense" is a layout, too."""
    dense = L.tensor([[0.0, 0.0, 0.0], [2.0, 0.0, 3.0]])
    dense[0, place] = entry
    block = ((1, 1),) if layout in ("bsr", "bsc") else ()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch says once that a layout is new
        return dense if layout == "dense" else getattr(dense, f"to_sparse_{layout}".removesuffix("_coo"))(*block)


@pytest.mark.parametrize("layout", ["coo", "csr", "csc", "bsr", "bsc"])
def test_sparse_pairs(layout):
    others = [(layout, 1.0), (layout, 2.0), (layout, 0.0), (layout, 1.0, 2), ("dense", 1.0), ("coo", 1.0)]
    for other in others:
        for options in ({}, {"check_layout": False}, {"check_stride": True}):
            same(
                lambda L: L.testing.assert_close(sparse(L, layout), sparse(L, *other), **options),  # noqa: B023 - called at once
                error=word_for_word,
            )


@program
def sparse_pairs_of_other_kinds(L):
    plain = L.sparse_coo_tensor([[0, 1], [0, 0]], [1.0, 2.0], (3, 1))
    hybrid = L.sparse_coo_tensor([[0, 1]], [[1.0], [2.0]], (3, 1))
    twice = L.sparse_coo_tensor([[0, 0]], [1.0, 2.0], (2,))
    pairs = [(plain, hybrid), (hybrid, hybrid), (twice, twice), (twice, twice.coalesce()), ([plain], [plain * 2])]
    pairs += [(plain, plain.double()), (plain, L.ones(3, device="meta")), (L.ones(2, device="meta"),) * 2]
    return [raised(lambda: L.testing.assert_close(*pair)) for pair in pairs]  # noqa: B023 - called at once
