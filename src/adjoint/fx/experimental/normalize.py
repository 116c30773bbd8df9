"""Arguments of calls by name."""

from ..interpreter import Transformer
from ..operator_schemas import normalize_function, normalize_module

__all__ = ["NormalizeArgs"]


class NormalizeArgs(Transformer):
    """Gives calls of functions and modules whose signatures are known all of their arguments, by name.

    >>> import adjoint as torch
    >>> from adjoint.fx.experimental.normalize import NormalizeArgs
    >>> gm = torch.fx.symbolic_trace(lambda x: torch.nn.functional.relu(x))
    >>> print(NormalizeArgs(gm).transform().code.strip())
    def forward(self, x):
        relu = torch.nn.functional.relu(input = x, inplace = False);  x = None
        return relu
    """

    def __init__(self, module, normalize_to_only_use_kwargs=True):
        super().__init__(module)
        self.node_map = {}
        self.normalize_to_only_use_kwargs = normalize_to_only_use_kwargs

    def run_node(self, n):
        """The new node's proxy; `node_map` says from which node it comes."""
        result = super().run_node(n)
        if n.op != "output":
            self.node_map[result] = n
            result.node.meta, result.node.type = n.meta, n.type
        return result

    def call_function(self, target, args, kwargs):
        """A call with its arguments by name, if the signature is known."""
        pair = normalize_function(target, args, kwargs, normalize_to_only_use_kwargs=self.normalize_to_only_use_kwargs)
        return super().call_function(target, *(pair or (args, kwargs)))

    def call_module(self, target, args, kwargs):
        """A call with its arguments by name, if it is of a module of torch.nn."""
        pair = normalize_module(
            self.module, target, args, kwargs, normalize_to_only_use_kwargs=self.normalize_to_only_use_kwargs
        )
        return super().call_module(target, *(pair or (args, kwargs)))
