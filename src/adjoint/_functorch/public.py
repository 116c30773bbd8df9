"""What `import functorch` gives in torch's place: the functions of torch.func, by their older address."""

from .. import version
from .._absent import refusing, refusing_type
from ..func import functionalize as functionalize
from ..func import grad as grad
from ..func import grad_and_value as grad_and_value
from ..func import hessian as hessian
from ..func import jacfwd as jacfwd
from ..func import jacrev as jacrev
from ..func import jvp as jvp
from ..func import vjp as vjp
from ..func import vmap as vmap

__version__ = version.__version__
_ADVICE = "modules are called with other parameters by torch.func.functional_call, and stacked by stack_module_state"

FunctionalModule = refusing_type("func", "FunctionalModule", _ADVICE)
FunctionalModuleWithBuffers = refusing_type("func", "FunctionalModuleWithBuffers", _ADVICE)
make_functional = refusing("func", "make_functional", _ADVICE)
make_functional_with_buffers = refusing("func", "make_functional_with_buffers", _ADVICE)
combine_state_for_ensemble = refusing("func", "combine_state_for_ensemble", _ADVICE)
