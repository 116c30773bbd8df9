"""Looking into the graph: what was recorded, what memory it holds, and why a gradient is missing.

>>> import adjoint as torch
>>> x = torch.tensor([1.0, 2.0], requires_grad=True)
>>> y = (x.detach() * 2).sum()
>>> torch.inspect.explain_grad(y, x).reason
'loss_requires_no_grad'
"""

from .._install import say_what_is_absent as _say_what_is_absent
from .drawing import Graph as Graph
from .drawing import graph as graph
from .explain import Explanation as Explanation
from .explain import explain_grad as explain_grad
from .memory import SavedRow as SavedRow
from .memory import SavedTensors as SavedTensors
from .memory import saved_tensors as saved_tensors
from .tracing import Trace as Trace
from .tracing import TraceEvent as TraceEvent
from .tracing import TraceRow as TraceRow
from .tracing import TraceTable as TraceTable
from .tracing import trace as trace
from .training import watch_training as watch_training

_say_what_is_absent(__name__)
