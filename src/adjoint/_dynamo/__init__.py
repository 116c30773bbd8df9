"""The names of torch's compiler of Python, for programs that give it hints: nothing is compiled, and hints are heard.

docs/jit.md says what becomes of compiled code.
"""

from .. import _C
from .._absent import refusing
from ..compiler import _Decorator as _Decorator
from ..compiler import allow_in_graph as allow_in_graph
from ..compiler import assume_constant_result as assume_constant_result
from ..compiler import is_compiling as is_compiling
from ..compiler import list_backends as list_backends
from ..compiler import lookup_backend as lookup_backend
from ..compiler import register_backend as register_backend
from ..compiler import reset as reset
from ..compiler import set_stance as set_stance
from ..compiler import substitute_in_graph as substitute_in_graph
from . import config as config
from . import eval_frame as eval_frame
from . import exc as exc
from . import utils as utils
from .eval_frame import OptimizedModule as OptimizedModule
from .eval_frame import is_dynamo_supported as is_dynamo_supported
from .eval_frame import is_inductor_supported as is_inductor_supported

patch_dynamo_config = config.patch
_ADVICE = "nothing is compiled here, and there is no graph of the function; adjoint.inspect shows what a call computes"

explain = refusing("_dynamo", "explain", _ADVICE)
export = refusing("_dynamo", "export", _ADVICE)
replay = refusing("_dynamo", "replay", _ADVICE)


def optimize(backend="inductor", **options):
    """A decorator that returns its function: nothing is compiled.

    >>> import adjoint as torch
    >>> torch._dynamo.optimize("eager")(abs)(-1)
    1
    """
    lookup_backend(backend)
    return lambda function: function


optimize_assert = optimize


def disable(fn=None, recursive=True, *, reason=None, wrapping=True):
    """The function itself, or a decorator that returns it."""
    return fn if fn is not None else lambda function: function


def _itself(fn=None):
    """The function itself, or a decorator that returns it: a hint for a compiler."""
    return fn if fn is not None else lambda function: function


disallow_in_graph = forbid_in_graph = nonstrict_trace = run = disable_nested_graph_breaks = dont_skip_tracing = _itself


def graph_break(msg=""):
    """Does nothing: where a compiler would stop and begin anew."""


skip_frame = step_unsupported = graph_break


def mark_dynamic(t, index, *, hint_override=None, min=None, max=None, specialize_on=None):
    """Does nothing: a dimension of which a compiler should not assume the size.

    >>> import adjoint as torch
    >>> torch._dynamo.mark_dynamic(torch.ones(2, 3), 0)
    """
    _check_tensor("mark_dynamic", t)


def maybe_mark_dynamic(t, index):
    """Does nothing: a dimension whose size may change."""
    _check_tensor("maybe_mark_dynamic", t)


def mark_static(t, index=None):
    """Does nothing: a dimension whose size will not change."""


def mark_static_address(t, guard=False):
    """Does nothing: a tensor that will stay where it is."""
    _check_tensor("mark_static_address", t)


def _check_tensor(name, t):
    if not isinstance(t, _C.Tensor):
        raise TypeError(f"{name} expects a tensor but received {type(t)}")


def error_on_graph_break(error_on_graph_break):
    """A context, or a decorator: where a compiler would complain of breaks."""
    return _Decorator()


def reset_code_caches():
    """Does nothing: there is no compiled code."""


def is_dynamo_disable_recursive(method):
    """Whether a function was left out of compiling: None, nothing is compiled."""
    return None
