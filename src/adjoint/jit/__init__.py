"""torch.jit, for programs that use it: what they compile runs as the Python that it is. docs/jit.md has the details."""

from .._jit_internal import Final as Final
from .._jit_internal import _drop as _drop
from .._jit_internal import _isinstance as _isinstance
from .._jit_internal import _overload as _overload
from .._jit_internal import _overload_method as _overload_method
from .._jit_internal import export as export
from .._jit_internal import ignore as ignore
from .._jit_internal import is_scripting as is_scripting
from .._jit_internal import unused as unused
from ..futures import Future as Future
from . import annotations as annotations
from . import mobile as mobile
from ._script import Attribute as Attribute
from ._script import CompilationUnit as CompilationUnit
from ._script import RecursiveScriptModule as RecursiveScriptModule
from ._script import ScriptFunction as ScriptFunction
from ._script import ScriptModule as ScriptModule
from ._script import ScriptWarning as ScriptWarning
from ._script import _unwrap_optional as _unwrap_optional
from ._script import interface as interface
from ._script import script as script
from ._script import script_method as script_method
from ._settings import enable_onednn_fusion as enable_onednn_fusion
from ._settings import export_opnames as export_opnames
from ._settings import fork as fork
from ._settings import freeze as freeze
from ._settings import fuser as fuser
from ._settings import load as load
from ._settings import onednn_fusion_enabled as onednn_fusion_enabled
from ._settings import optimize_for_inference as optimize_for_inference
from ._settings import optimized_execution as optimized_execution
from ._settings import run_frozen_optimizations as run_frozen_optimizations
from ._settings import save as save
from ._settings import set_fusion_strategy as set_fusion_strategy
from ._settings import strict_fusion as strict_fusion
from ._settings import wait as wait
from ._trace import ONNXTracedModule as ONNXTracedModule
from ._trace import TopLevelTracedModule as TopLevelTracedModule
from ._trace import TracedModule as TracedModule
from ._trace import TracerWarning as TracerWarning
from ._trace import TracingCheckError as TracingCheckError
from ._trace import _get_trace_graph as _get_trace_graph
from ._trace import _script_if_tracing as _script_if_tracing
from ._trace import is_tracing as is_tracing
from ._trace import script_if_tracing as script_if_tracing
from ._trace import trace as trace
from ._trace import trace_module as trace_module

__all__ = [
    *("Attribute", "CompilationUnit", "Error", "Future", "ScriptFunction", "ScriptModule", "annotate"),
    *(
        "enable_onednn_fusion",
        "export",
        "export_opnames",
        "fork",
        "freeze",
        "interface",
        "ignore",
        "isinstance",
        "load",
    ),
    *("onednn_fusion_enabled", "optimize_for_inference", "save", "script", "script_if_tracing", "set_fusion_strategy"),
    *("strict_fusion", "trace", "trace_module", "unused", "wait"),
]

_fork, _wait, _set_fusion_strategy = fork, wait, set_fusion_strategy
isinstance = _isinstance


class Error(Exception):
    """What torch raises for an error in compiled code; here the error of the code itself is raised."""


def annotate(the_type, the_value):
    """The value, whose type a compiler would be told.

    >>> import adjoint as torch
    >>> torch.jit.annotate(list[int], [])
    []
    """
    return the_value
