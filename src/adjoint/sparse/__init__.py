"""Sparse tensors: few elements of many. See docs/sparse.md for what there is, and _patterns.py for how they are made.

>>> import adjoint as torch
>>> x = torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))
>>> torch.sparse.mm(x, torch.ones(3, 1))
tensor([[3.],
        [4.]])
"""

from .. import _C
from . import _calls as _calls
from ._compressed_creation import _validate_sparse_bsc_tensor_args as _validate_sparse_bsc_tensor_args
from ._compressed_creation import _validate_sparse_bsr_tensor_args as _validate_sparse_bsr_tensor_args
from ._compressed_creation import _validate_sparse_compressed_tensor_args as _validate_sparse_compressed_tensor_args
from ._compressed_creation import _validate_sparse_csc_tensor_args as _validate_sparse_csc_tensor_args
from ._compressed_creation import _validate_sparse_csr_tensor_args as _validate_sparse_csr_tensor_args
from ._compressed_creation import sparse_bsc_tensor as sparse_bsc_tensor
from ._compressed_creation import sparse_bsr_tensor as sparse_bsr_tensor
from ._compressed_creation import sparse_compressed_tensor as sparse_compressed_tensor
from ._compressed_creation import sparse_csc_tensor as sparse_csc_tensor
from ._compressed_creation import sparse_csr_tensor as sparse_csr_tensor
from ._compressed_products import sampled_addmm as sampled_addmm
from ._creation import _validate_sparse_coo_tensor_args as _validate_sparse_coo_tensor_args
from ._creation import check_sparse_tensor_invariants as check_sparse_tensor_invariants
from ._creation import sparse_coo_tensor as sparse_coo_tensor
from ._functions import addmm as addmm
from ._functions import log_softmax as log_softmax
from ._functions import mm as mm
from ._functions import softmax as softmax
from ._functions import spdiags as spdiags
from ._functions import spsolve as spsolve
from ._functions import sum as sum
from ._gradcheck import as_sparse_gradcheck as as_sparse_gradcheck
from ._products import hspmm as hspmm
from ._products import smm as smm
from ._products import sspaddmm as sspaddmm

__all__ = [
    "addmm",
    "as_sparse_gradcheck",
    "check_sparse_tensor_invariants",
    "log_softmax",
    "mm",
    "sampled_addmm",
    "softmax",
    "spdiags",
    "spsolve",
    "sum",
]

# Old names of the products, which are functions of torch.
hsmm = hspmm
spmm = dsmm = _C.op_object("mm")
saddmm = addmm


def __getattr__(name):
    from .._legacy_types import SPARSE_TYPES

    if name in SPARSE_TYPES:
        return SPARSE_TYPES[name]
    from .._install import MissingName

    raise MissingName(__name__, name)
