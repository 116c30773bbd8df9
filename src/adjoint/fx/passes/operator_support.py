"""Which nodes a backend takes."""

import abc

from ..node import map_arg
from .tools_common import get_node_target

__all__ = ["OpSupports", "OperatorSupport", "OperatorSupportBase", "any_chain", "chain", "create_op_support"]


class OperatorSupportBase(abc.ABC):
    """Says of nodes whether they are taken."""

    @abc.abstractmethod
    def is_node_supported(self, submodules, node):
        """Whether a node is taken; `submodules` are the module's by dotted names."""


class OperatorSupport(OperatorSupportBase):
    """Takes nodes by what they call: a dict of names, with the dtypes of inputs that are taken, or None for all.

    >>> import adjoint as torch
    >>> from adjoint.fx.passes.operator_support import OperatorSupport
    >>> node = torch.fx.Graph().call_function(torch.relu, (1,))
    >>> OperatorSupport({"torch.relu": None}).is_node_supported({}, node)
    True
    """

    def __init__(self, support_dict=None):
        self._support_dict = support_dict or {}

    def is_node_supported(self, submodules, node):
        """Whether a node is taken."""
        if node.op not in ("call_module", "call_function", "call_method"):
            return True
        target = get_node_target(submodules, node)
        if target not in self._support_dict:
            return False
        wanted = self._support_dict[target]
        if wanted is None:
            return True
        dtypes, named = wanted
        for place, allowed in enumerate(dtypes):
            if place < len(node.args) and allowed is not None and _dtype(node.args[place]) not in allowed:
                return False
        return all(
            key not in node.kwargs or allowed is None or _dtype(node.kwargs[key]) in allowed
            for key, allowed in named.items()
        )


def _dtype(arg):
    meta = getattr(arg, "meta", {}).get("tensor_meta")
    return meta.dtype if hasattr(meta, "dtype") else getattr(arg, "dtype", None)


def create_op_support(is_node_supported):
    """An OperatorSupportBase from a function of (submodules, node).

    >>> from adjoint.fx.passes.operator_support import create_op_support
    >>> create_op_support(lambda submodules, node: True).is_node_supported({}, None)
    True
    """

    class FunctionalOperatorSupport(OperatorSupportBase):
        def is_node_supported(self, submodules, node):
            return is_node_supported(submodules, node)

    return FunctionalOperatorSupport()


def chain(*op_support):
    """Takes what all take."""
    return create_op_support(lambda mods, node: all(one.is_node_supported(mods, node) for one in op_support))


def any_chain(*op_support):
    """Takes what one of them takes."""
    return create_op_support(lambda mods, node: any(one.is_node_supported(mods, node) for one in op_support))


class OpSupports:
    """Supports that decline what they are asked to."""

    @classmethod
    def decline_if_input_dtype(cls, dtype):
        """Declines nodes that get a tensor of this dtype."""

        def taken(submodules, node):
            found = []
            map_arg((node.args, node.kwargs), lambda arg: found.append(_dtype(arg)))
            return dtype not in found

        return create_op_support(taken)

    @classmethod
    def decline_if_node_in_names(cls, disallow_set):
        """Declines nodes of these names."""
        return create_op_support(lambda submodules, node: node.name not in disallow_set)
