"""What torch.jit does after compiling: fusing, freezing, saving. Switches are kept; what needs code refuses."""

import contextlib
import os

from ..futures import Future
from ._script import NOT_COMPILED, ScriptModule, _unsaved

_fusion = [("STATIC", 2), ("DYNAMIC", 10)]
_onednn = False


def freeze(mod, preserved_attrs=None, optimize_numerics=True):
    """The scripted module, in eval mode; torch would make constants of its parameters.

    >>> import adjoint as torch
    >>> frozen = torch.jit.freeze(torch.jit.script(torch.nn.Linear(2, 1)).eval())
    >>> frozen(torch.zeros(3, 2)).shape
    torch.Size([3, 1])
    """
    if not isinstance(mod, ScriptModule):
        raise RuntimeError(
            "Freezing expects a ScriptModule as input. Please use torch.jit.script or torch.jit.trace to script your "
            f"'nn.Module'; got {type(mod).__name__}."
        )
    if mod.training:
        raise RuntimeError(
            "Freezing is currently only implemented for modules in eval mode. Please call .eval() on your module "
            "before freezing."
        )
    return mod


def run_frozen_optimizations(mod, optimize_numerics=True, preserved_methods=None):
    """Does nothing: there is no compiled code to make faster.

    >>> import adjoint as torch
    >>> torch.jit.run_frozen_optimizations(torch.jit.script(torch.nn.Tanh()).eval())
    """
    freeze(mod)


def optimize_for_inference(mod, other_methods=None):
    """The scripted module, in eval mode; there is no compiled code to make faster.

    >>> import adjoint as torch
    >>> scripted = torch.jit.script(torch.nn.Tanh()).eval()
    >>> torch.jit.optimize_for_inference(scripted) is scripted
    True
    """
    if not isinstance(mod, ScriptModule):
        raise RuntimeError(
            "optimize_for_inference expects a ScriptModule as input. Please use torch.jit.script or torch.jit.trace to "
            f"script your 'nn.Module'; got {type(mod).__name__}."
        )
    return freeze(mod)


def set_fusion_strategy(strategy):
    """Keeps how torch would fuse, and returns what it was: nothing is fused.

    >>> import adjoint as torch
    >>> before = torch.jit.set_fusion_strategy([("STATIC", 1)])
    >>> torch.jit.set_fusion_strategy(before)
    [('STATIC', 1)]
    """
    global _fusion
    new = [(str(kind), int(depth)) for kind, depth in strategy]
    if wrong := [kind for kind, _ in new if kind not in ("STATIC", "DYNAMIC")]:
        raise RuntimeError(f"FusionBehavior only supported 'STATIC' or 'DYNAMIC', got: {wrong[0]}")
    before, _fusion = _fusion, new
    return before


def enable_onednn_fusion(enabled):
    """Keeps whether torch would fuse with oneDNN: nothing is fused.

    >>> import adjoint as torch
    >>> torch.jit.enable_onednn_fusion(False)
    """
    global _onednn
    _onednn = bool(enabled)


def onednn_fusion_enabled():
    """What enable_onednn_fusion() was given last.

    >>> import adjoint as torch
    >>> torch.jit.onednn_fusion_enabled()
    False
    """
    return _onednn


class strict_fusion(contextlib.nullcontext):
    """A context in which torch would complain of what it did not fuse, in compiled code; in Python it does nothing.

    >>> import adjoint as torch
    >>> with torch.jit.strict_fusion():
    ...     pass
    """

    def __init__(self):
        super().__init__()


@contextlib.contextmanager
def optimized_execution(should_optimize):
    """A context in which torch would make compiled code faster, or not.

    >>> import adjoint as torch
    >>> with torch.jit.optimized_execution(False):
    ...     pass
    """
    yield


@contextlib.contextmanager
def fuser(name):
    """A context in which torch would fuse compiled code in one way.

    >>> import adjoint as torch
    >>> with torch.jit.fuser("fuser1"):
    ...     pass
    """
    if name not in ("fuser0", "fuser1", "fuser2", "fuser3"):
        raise Exception(f"unrecognized fuser option (name: {name})")
    yield


def export_opnames(m):
    """Raises: there is no compiled code, whose ops it would name."""
    raise NotImplementedError(f"export_opnames: {NOT_COMPILED}; adjoint.inspect shows what a call computes")


def save(m, f, _extra_files=None):
    """Raises: there is no compiled code to save; save state_dict() by torch.save."""
    raise RuntimeError(_unsaved("save"))


def load(f, map_location=None, _extra_files=None, _restore_shapes=False):
    """Raises: a file of compiled code needs torch's interpreter; torch.load reads weights."""
    if isinstance(f, (str, os.PathLike)):
        if not os.path.exists(f):
            raise ValueError(f"The provided filename {f} does not exist")
        if os.path.isdir(f):
            raise ValueError(f"The provided filename {f} is a directory")
    raise RuntimeError(
        "load: a TorchScript file holds code for torch's interpreter, which is not here; make the module from its "
        "class in Python and give it weights: with PyTorch, torch.save(torch.jit.load(f).state_dict(), g), here "
        "module.load_state_dict(torch.load(g))"
    )


def fork(func, *args, **kwargs):
    """Calls the function at once, as torch does in Python; the result is in the Future.

    >>> import adjoint as torch
    >>> torch.jit.wait(torch.jit.fork(torch.add, torch.ones(2), 1))
    tensor([2., 2.])
    """
    future = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future):
    """The result of a Future.

    >>> import adjoint as torch
    >>> torch.jit.wait(torch.jit.fork(abs, -1))
    1
    """
    if not isinstance(future, Future):
        raise TypeError(f"wait(): incompatible function arguments: expected a Future; got {type(future).__name__}")
    return future.wait()
