"""What a pass is: a call that changes a GraphModule, with checks before and after."""

import abc
import collections

__all__ = ["PassBase", "PassResult"]


class PassResult(collections.namedtuple("PassResult", ["graph_module", "modified"])):
    """What a pass gives: the module, and whether it was changed.

    >>> from adjoint.fx.passes.infra.pass_base import PassResult
    >>> PassResult(None, False).modified
    False
    """

    __slots__ = ()


class PassBase(abc.ABC):
    """The base of passes: write `call`, and `requires` and `ensures` for what must hold before and after it."""

    def __call__(self, graph_module):
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abc.abstractmethod
    def call(self, graph_module):
        """Changes a module; a PassResult, or None."""

    def requires(self, graph_module):  # noqa: B027 - a check that need not be there
        """Raises if the pass cannot run on a module."""

    def ensures(self, graph_module):  # noqa: B027
        """Raises if the pass has gone wrong."""
