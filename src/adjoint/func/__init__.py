"""Functions of functions and of modules: derivatives, batches, Jacobians."""

from .._install import say_what_is_absent as _say_what_is_absent
from .forward import jvp, linearize
from .functionalize import debug_unwrap, functionalize
from .implicit import fixed_point, implicit_root
from .jacobians import hessian, jacfwd, jacrev
from .jet import jet
from .laplacian import laplacian
from .modules import functional_call, replace_all_batch_norm_modules_, stack_module_state
from .per_sample import per_sample_grads
from .products import hessian_diag, hvp
from .rearrange import rearrange
from .reverse import grad, grad_and_value, vjp
from .safe import safe_branches, where_safe
from .sparse import sparse_hessian, sparse_jacobian, sparsity
from .vmap import vmap

__all__ = [
    "debug_unwrap",
    "fixed_point",
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "hessian_diag",
    "hvp",
    "implicit_root",
    "jacfwd",
    "jacrev",
    "jet",
    "jvp",
    "laplacian",
    "linearize",
    "per_sample_grads",
    "rearrange",
    "replace_all_batch_norm_modules_",
    "safe_branches",
    "sparse_hessian",
    "sparse_jacobian",
    "sparsity",
    "stack_module_state",
    "vjp",
    "vmap",
    "where_safe",
]

_say_what_is_absent(__name__)
