"""Functions of functions and of modules: derivatives, batches, Jacobians."""

from .forward import jvp, linearize
from .jacobians import hessian, jacfwd, jacrev
from .modules import functional_call, stack_module_state
from .reverse import grad, grad_and_value, vjp
from .vmap import vmap

__all__ = [
    "functional_call",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "stack_module_state",
    "vjp",
    "vmap",
]
