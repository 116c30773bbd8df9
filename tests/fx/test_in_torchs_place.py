"""Programs that trace, started with Adjoint in torch's place."""

from ..processes import python

PROGRAM = """
import pickle, sys
import torch, torch.fx
from torch import nn
from torch.fx import Graph, GraphModule, Node, Proxy, Tracer, symbolic_trace, wrap
from torch.fx._compatibility import compatibility
from torch.fx._symbolic_trace import is_fx_tracing
from torch.fx.graph_module import _copy_attr, _CodeOnlyModule
from torch.fx.node import Argument, Target, map_aggregate
from torch.fx.passes.shape_prop import ShapeProp
from torch.fx.proxy import Attribute, ParameterProxy, TraceError

@wrap
def leaf(x):
    return int(x.sum())

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
    def forward(self, x):
        return self.layer(x) * leaf(x)

gm = symbolic_trace(Net())
x = torch.ones(1, 2)
again = pickle.loads(pickle.dumps(gm))
print(torch.equal(again(x), gm(x)), b"torch.fx.graph_module" in pickle.dumps(gm), "adjoint" in sys.modules)
print(Graph.__module__, Node.__module__, Tracer.__module__, type(gm.graph._codegen).__module__, TraceError.__module__)
gm.to_folder(sys.argv[1], "Written")
print(open(sys.argv[1] + "/module.py").read().split("\\n")[1])
print(gm.code)
"""


def test_a_program_that_traces(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    lines = python("-m", "adjoint.run", tmp_path / "program.py", tmp_path / "written").stdout.split("\n")
    assert lines[0] == "True True True"
    assert lines[1] == "torch.fx.graph torch.fx.node torch.fx._symbolic_trace torch.fx.graph torch.fx.proxy"
    assert lines[2] == "import torch"
    assert lines[4] == 'torch.fx._symbolic_trace.wrap("__main___leaf")'
