"""What sparse tensors are made of: values joined with a pattern and taken out of it, conversions, sums and products.

The work is done in src/adjoint/sparse, which is imported when it is first needed; what else programs call there is made
of these and of ordinary ops. `sparse=True` says that an op takes sparse arguments itself.
"""

from .. import _C
from .batching import call
from .language import _sparse_product, _sparse_sampled, _sparse_solve, composite, index_select, op, stack, to_dense


def _room():
    from ..sparse import _parts

    return _parts


# ---- Sparse gradients, for the rules of embeddings and of gather()


def embedded_rows(g, weight_meta, indices, padding_idx, by_frequency):
    """The gradient of a table of which embedding() has read rows: an entry for each of them."""
    from ..sparse import _rows_read

    return _rows_read.embedded(g, weight_meta, indices, padding_idx, by_frequency)


def bagged_rows(g, weight_meta, indices, mode, factors, bags, details, padding_idx, by_frequency):
    """The same for bags."""
    from ..sparse import _rows_read

    return _rows_read.bagged(g, weight_meta, indices, mode, factors, bags, details, padding_idx, by_frequency)


def gathered_places(g, input_meta, dim, index):
    """The gradient of what gather() has read: an entry for each element."""
    from ..sparse import _rows_read

    return _rows_read.gathered(g, input_meta, dim, index)


# ---- Batch rules; see batching.py


def _one_by_one(op, size, batched, first, second, rows):
    """What differs from element to element of the batch is computed for each of them."""
    pairs = ((first[i] if batched[0] else first, second[i] if batched[1] else second) for i in range(size))
    return stack([call(op, *pair, rows) for pair in pairs])


def _pack_batch(op, size, batched, values, pattern):
    raise NotImplementedError(
        "vmap: a sparse tensor cannot have values that differ from element to element of a batch; compute with dense "
        "tensors, or write a loop"
    )


def _product_batch(op, size, batched, values, dense, rows):
    if batched[0]:
        return _one_by_one(op, size, batched, values, dense, rows)
    found = call(op, values, dense.movedim(0, 1).flatten(1, 2), rows)  # matrices side by side are one wide matrix
    return found.unflatten(1, (size, dense.shape[2])).movedim(1, 0)


# fmt: off
# ---- Values and patterns

op("_sparse_pack(values, pattern)", forward=lambda values, pattern: pattern.tensor(values), public=False,
   node="SparseCooTensorWithDimsAndTensorsBackward0",
   values=lambda g, pattern: pattern.at(g),
   batch=_pack_batch,
   doc="The sparse tensor that has these values in this pattern.")
op("_sparse_pack_compressed(values, pattern)", forward=lambda values, pattern: pattern.tensor(values), public=False,
   node="SparseCompressedTensorBackward0",
   values=lambda g, pattern: pattern.at(g),
   batch=_pack_batch,
   doc="The same, for patterns of compressed rows or columns.")
op("_sparse_unpack(input, pattern)", forward=lambda input, pattern: _C._sparse_values(input), public=False, sparse=True,
   node="ValuesBackward0",
   input=lambda g, pattern: pattern.spread(g),
   doc="The values of a sparse tensor that has this pattern.")

# ---- Conversions

op("coalesce(input)", forward=lambda input: _room().coalesced(input), function=False, sparse=True,
   input=lambda g: g,
   doc="The sparse tensor with entries in order, and those of one place added.")
op("to_dense(input, dtype=None, *, masked_grad=None)", function=False, sparse=True,
   forward=lambda input, dtype, masked_grad: _room().dense(input, dtype),
   input=lambda g, input, masked_grad: _room().of_layout(g, input, masked_grad),
   doc="The tensor with all of its elements.")
op("_to_sparse(input, sparse_dim, layout, blocksize, dense_dim)", public=False, sparse=True,
   forward=lambda input, sparse_dim, layout, blocksize, dense_dim:
       _room().of_dense(input, sparse_dim, layout, blocksize, dense_dim),
   node="ToSparseBackward1",
   input=lambda g: to_dense(g),
   doc="A dense tensor in a sparse layout.")
op("sparse_mask(input, mask)", forward=lambda input, mask: _room().masked(input, mask), function=False, sparse=True,
   input=lambda g, input_meta, mask: _room().unmasked(g, input_meta, mask),
   doc="The elements of `input` where the sparse `mask` has entries.")
op("_sparse_coo_at(input, pattern)", forward=lambda input, pattern: pattern.found(input), public=False,
   node="IndexBackward0", linear="input",
   input=lambda g, pattern, input_meta: pattern.added(g, input_meta),
   doc="The elements of a dense tensor where a pattern has entries.")

# ---- Sums and products of entries

op("_sparse_group(keys, bound)", native="sparse_group", outputs=("order", "groups", "starts"), public=False,
   gradient=False,
   doc="The entries in the order of their keys, the number of each one's key, and where each key begins.")
op("_sparse_sum_groups(values, order, starts, groups)", native="sparse_sum_groups", public=False, linear="values",
   node="CoalesceBackward0",
   values=lambda g, groups: index_select(g, 0, groups),
   doc="The sums of the rows of `values` that _sparse_group() has found to belong together.")
op("_sparse_product(values, dense, rows)", forward=lambda values, dense, rows: rows.times(values, dense), public=False,
   linear="values * dense", node="SparseAddmmBackward0",
   values=lambda g, dense, rows: _sparse_sampled(g, dense.conj(), rows),
   dense=lambda g, values, rows: _sparse_product(values.conj(), g, rows.transposed()),
   batch=_product_batch,
   doc="The matrix that has these values in these rows, times a dense one.")
op("_sparse_rows_product(values, starts, order, columns, dense)", native="sparse_product", public=False,
   gradient=False, doc="The product of _sparse_product(), by the kernel.")
op("_sparse_sampled(first, second, rows)", forward=lambda first, second, rows: rows.sampled(first, second),
   public=False, linear="first * second", node="SparseSampledAddmmBackward0",
   first=lambda g, second, rows: _sparse_product(g, second.conj(), rows),
   second=lambda g, first, rows: _sparse_product(g, first.conj(), rows.transposed()),
   batch=_one_by_one,
   doc="The elements of first @ second.T where these rows have entries.")
op("_sparse_sampled_entries(row, column, first, second)", native="sparse_sampled", public=False,
   gradient=False, doc="The same, by the kernel.")
op("_sparse_solve(values, dense, rows, upper, unitriangular)", public=False, node="TriangularSolveBackward0",
   forward=lambda values, dense, rows, upper, unitriangular: rows.solved(values, dense, upper, unitriangular),
   values=lambda g, values, out, rows, upper, unitriangular: rows.in_triangle(_sparse_sampled(
       -_sparse_solve(values.conj(), g, rows.transposed(), not upper, unitriangular), out.conj(), rows),
       upper, unitriangular),
   dense=lambda g, values, rows, upper, unitriangular:
       _sparse_solve(values.conj(), g, rows.transposed(), not upper, unitriangular),
   doc="The solution of a triangular system: of the matrix that has these values in these rows.")
op("_sparse_rows_solve(values, starts, order, columns, dense, upper, unitriangular)", native="sparse_solve",
   public=False, gradient=False, doc="The same, by the kernel.")
op("_sparse_mm(input, mat2)", forward=lambda input, mat2: _room().product(input, mat2), public=False, sparse=True,
   linear="input * mat2", node="MmBackward0",
   input=lambda g, mat2: g @ mat2.mH,
   mat2=lambda g, input: input.mH @ g,
   doc="mm() of a sparse matrix and a dense one, either of them first. As in torch, the gradients are dense.")
# fmt: on


# ---- Layouts


@composite(function_=False)
def to_sparse(input, sparse_dim=None, *, layout=None, blocksize=None, dense_dim=None):
    """The elements that are not zero, and where they are: as coordinates, or in another sparse layout.

    >>> import adjoint as torch
    >>> torch.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse().values()
    tensor([2., 3.])
    """
    return _room().to_sparse(input, sparse_dim, layout, blocksize, dense_dim)


@composite(function_=False)
def to_sparse_csr(input, dense_dim=None):
    """The elements that are not zero, in compressed rows.

    >>> import adjoint as torch
    >>> torch.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse_csr().crow_indices()
    tensor([0, 1, 2])
    """
    return _room().to_sparse(input, None, _C.sparse_csr, None, dense_dim)


@composite(function_=False)
def to_sparse_csc(input, dense_dim=None):
    """The elements that are not zero, in compressed columns.

    >>> import adjoint as torch
    >>> torch.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse_csc().ccol_indices()
    tensor([0, 1, 2])
    """
    return _room().to_sparse(input, None, _C.sparse_csc, None, dense_dim)


@composite(function_=False)
def to_sparse_bsr(input, blocksize, dense_dim=None):
    """The blocks that have elements other than zero, in compressed rows.

    >>> import adjoint as torch
    >>> torch.eye(4).to_sparse_bsr((2, 2)).col_indices()
    tensor([0, 1])
    """
    return _room().to_sparse(input, None, _C.sparse_bsr, blocksize, dense_dim)


@composite(function_=False)
def to_sparse_bsc(input, blocksize, dense_dim=None):
    """The blocks that have elements other than zero, in compressed columns.

    >>> import adjoint as torch
    >>> torch.eye(4).to_sparse_bsc((2, 2)).row_indices()
    tensor([0, 1])
    """
    return _room().to_sparse(input, None, _C.sparse_bsc, blocksize, dense_dim)


@composite(function_=False)
def crow_indices(input):
    """Where each row of a CSR or BSR tensor begins among the entries.

    >>> import adjoint as torch
    >>> torch.eye(2).to_sparse_csr().crow_indices()
    tensor([0, 1, 2])
    """
    return _room().compressed_part(input, "crow_indices")


@composite(function_=False)
def col_indices(input):
    """The column of each entry of a CSR or BSR tensor.

    >>> import adjoint as torch
    >>> torch.eye(2).to_sparse_csr().col_indices()
    tensor([0, 1])
    """
    return _room().compressed_part(input, "col_indices")


@composite(function_=False)
def ccol_indices(input):
    """Where each column of a CSC or BSC tensor begins among the entries.

    >>> import adjoint as torch
    >>> torch.eye(2).to_sparse_csc().ccol_indices()
    tensor([0, 1, 2])
    """
    return _room().compressed_part(input, "ccol_indices")


@composite(function_=False)
def row_indices(input):
    """The row of each entry of a CSC or BSC tensor.

    >>> import adjoint as torch
    >>> torch.eye(2).to_sparse_csc().row_indices()
    tensor([0, 1])
    """
    return _room().compressed_part(input, "row_indices")


# ---- What programs ask a sparse tensor for


@composite(function_=False)
def to_sparse_coo(input):
    """The tensor as a sparse one of coordinates.

    >>> import adjoint as torch
    >>> torch.eye(2).to_sparse_coo().layout
    torch.sparse_coo
    """
    return input.to_sparse()


@composite(function_=False)
def indices(input):
    """Where the entries of a coalesced sparse tensor are, a row for each sparse dimension.

    >>> import adjoint as torch
    >>> torch.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse().indices()
    tensor([[0, 1],
            [1, 0]])
    """
    return _room().indices(input)


@composite(function_=False)
def values(input):
    """The entries of a coalesced sparse tensor.

    >>> import adjoint as torch
    >>> torch.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse().values()
    tensor([2., 3.])
    """
    return _room().values(input)


@composite(function_=False)
def _indices(input):
    """Where the entries are, of a tensor that need not be coalesced."""
    return _room().raw_indices(input)


@composite(function_=False)
def _values(input):
    """The entries, of a tensor that need not be coalesced; without history."""
    return _room().raw_values(input)


@composite(function_=False)
def _nnz(input):
    """How many entries a sparse tensor has."""
    return _room().nnz(input)


@composite(function_=False)
def sparse_dim(input):
    """How many dimensions the indices speak of.

    >>> import adjoint as torch
    >>> torch.eye(2).to_sparse().sparse_dim()
    2
    """
    return _room().sparse_dim(input)


@composite(function_=False)
def dense_dim(input):
    """How many dimensions each entry has.

    >>> import adjoint as torch
    >>> torch.eye(2).to_sparse(1).dense_dim()
    1
    """
    return _room().dense_dim(input)


@composite(function_=False)
def _dimI(input):
    """The same as sparse_dim()."""
    return _room().sparse_dim(input)


@composite(function_=False)
def _dimV(input):
    """The same as dense_dim()."""
    return _room().dense_dim(input)


@composite(function_=False)
def is_coalesced(input):
    """Whether the entries are known to be in order, and of different places.

    >>> import adjoint as torch
    >>> torch.eye(2).to_sparse().is_coalesced()
    True
    """
    return _room().is_coalesced(input)


@composite(name="_coalesced_", function_=False)
def _coalesced_(input, coalesced):
    """Says, of a sparse tensor, whether it is coalesced; nothing is looked at."""
    return _room().set_coalesced(input, coalesced)


@composite(name="sparse_resize_", function_=False)
def sparse_resize_(input, size, sparse_dim, dense_dim):
    """Gives a sparse tensor other sizes; entries stay where they are.

    >>> import adjoint as torch
    >>> torch.eye(2).to_sparse().sparse_resize_((4, 4), 2, 0).shape
    torch.Size([4, 4])
    """
    return _room().resized(input, size, sparse_dim, dense_dim, False)


@composite(name="sparse_resize_and_clear_", function_=False)
def sparse_resize_and_clear_(input, size, sparse_dim, dense_dim):
    """Gives a sparse tensor other sizes, and takes its entries away.

    >>> import adjoint as torch
    >>> torch.eye(2).to_sparse().sparse_resize_and_clear_((4, 4), 2, 0)._nnz()
    0
    """
    return _room().resized(input, size, sparse_dim, dense_dim, True)
