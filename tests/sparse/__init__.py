"""Sparse tensors beside torch: tensors of every kind made for both libraries, and what is seen of a sparse result."""

import torch

from ..compare import LIBRARIES

# torch warns once that it does not check; asked not to, it is quiet.
torch.sparse.check_sparse_tensor_invariants.disable()

KINDS = ("coalesced", "uncoalesced", "hybrid", "empty", "no_rows", "vector", "cube")


def coo(L, kind="uncoalesced", dtype="float64", seed=0):
    """A sparse tensor of a kind, of the same numbers in both libraries."""
    generator = torch.Generator().manual_seed(seed)
    sparse_size, dense_size, count = {
        "coalesced": ((4, 5), (), 7),
        "uncoalesced": ((3, 4), (), 9),
        "hybrid": ((3, 4), (2,), 8),
        "empty": ((3, 4), (), 0),
        "no_rows": ((0, 4), (), 0),
        "vector": ((6,), (), 4),
        "cube": ((2, 3, 4), (), 10),
    }[kind]
    places = [torch.randint(0, max(size, 1), (count,), generator=generator).tolist() for size in sparse_size]
    values = torch.rand(count, *dense_size, generator=generator, dtype=torch.float64) * 3 + 0.25
    values = values.round().to(getattr(torch, dtype)) if "int" in dtype else values.to(getattr(torch, dtype))
    if dtype.startswith("complex"):
        values = values * (1 - 0.5j)
    ours = L.tensor(values.tolist(), dtype=getattr(L, dtype)).reshape(count, *dense_size)
    indices = L.tensor(places, dtype=L.int64).reshape(len(sparse_size), count)
    tensor = L.sparse_coo_tensor(indices, ours, (*sparse_size, *dense_size))
    return tensor.coalesce() if kind == "coalesced" else tensor


def dense(L, *shape, seed=1, dtype="float64"):
    """A dense tensor of the same numbers in both libraries."""
    generator = torch.Generator().manual_seed(seed)
    numbers = torch.rand(*shape, generator=generator, dtype=torch.float64).tolist()
    return L.tensor(numbers, dtype=getattr(L, dtype)).reshape(shape)


def seen(result):
    """What can be compared of a result: of a sparse tensor its parts."""
    if isinstance(result, list | tuple):
        return [seen(item) for item in result]
    if not isinstance(result, tuple(L.Tensor for L in LIBRARIES)) or str(result.layout) == "torch.strided":
        return result
    parts = (result._indices(), result._values().detach(), result.is_coalesced())
    return (str(result.layout), *parts, tuple(result.shape), result.requires_grad, result.sparse_dim())


def settled(result):
    """The same of a coalesced result: entries may come in another order, and in several pieces."""
    if isinstance(result, list | tuple):
        return [settled(item) for item in result]
    return seen(result.coalesce()) if getattr(result, "is_sparse", False) else result
