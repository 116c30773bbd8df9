"""The tuples with names that ops return, such as torch.return_types.max; all are containers of trees."""

from .ops import table
from .ops.declaration import COMPOSITE_FIELDS, return_type
from .utils._pytree_containers import register_return_type
from .utils._pytree_nodes import SUPPORTED_NODES

# Ops whose results with out= have a type of their own in torch.
_WITH_OUT = (
    *("aminmax", "cummax", "cummin", "frexp", "geqrf", "histogram", "kthvalue", "linalg_cholesky_ex", "linalg_eig"),
    *("linalg_eigh", "linalg_inv_ex", "linalg_ldl_factor", "linalg_ldl_factor_ex", "linalg_lstsq", "linalg_lu"),
    *("linalg_lu_factor", "linalg_lu_factor_ex", "linalg_qr", "linalg_slogdet", "linalg_solve_ex", "linalg_svd"),
    *("lu_unpack", "max", "median", "min", "mode", "nanmedian", "qr", "slogdet", "sort", "svd", "topk"),
    "triangular_solve",
)


def pytree_register_structseq(cls):
    """Makes a type of C's tuples with names a container of trees."""
    if cls not in SUPPORTED_NODES:
        register_return_type(cls)


_types = {item.result_type.__name__: item.result_type for item in table().values() if item.outputs}
_types |= {name: return_type(name) for name in COMPOSITE_FIELDS}
_types |= {f"{name}_out": return_type(f"{name}_out", _types[name].__match_args__) for name in _WITH_OUT}
_types = {name: made for name, made in _types.items() if not name.startswith("_")}
globals().update(_types)
all_return_types = [_types[name] for name in sorted(_types)]
for _made in all_return_types:
    pytree_register_structseq(_made)
__all__ = ["all_return_types", "pytree_register_structseq", *sorted(_types)]
