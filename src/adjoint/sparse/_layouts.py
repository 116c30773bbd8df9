"""The compressed layouts, CSR, CSC, BSR and BSC: what coordinates hand over to them."""


def _refusal(layout):
    return NotImplementedError(f"tensors of the layout {layout} are not there yet; use torch.sparse_coo")


def converted(tensor, layout, blocksize, dense_dim, sparse_dim):
    """A tensor in another layout, one of the two compressed."""
    raise _refusal(layout)


def no_entries(size, layout, dtype=None, device=None, like=None):
    """A compressed tensor of zeros."""
    raise _refusal(layout)


def rebuilt(layout, parts):
    """A compressed tensor of what its pattern gave as saved(); a file may hold anything, and is checked."""
    raise _refusal(layout)
