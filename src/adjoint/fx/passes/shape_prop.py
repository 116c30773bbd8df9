"""Shapes of a graph's values, found by running it."""

import typing

from ... import _C
from ... import channels_last as channels_last
from ... import channels_last_3d as channels_last_3d
from ... import contiguous_format as contiguous_format
from ..interpreter import Interpreter
from ..node import map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(typing.NamedTuple):
    """What is known of a tensor without its values.

    >>> import adjoint as torch
    >>> from adjoint.fx.passes.shape_prop import _extract_tensor_metadata
    >>> _extract_tensor_metadata(torch.ones(2, 3)).stride
    (3, 1)
    """

    shape: typing.Any
    dtype: typing.Any
    requires_grad: bool
    stride: tuple
    memory_format: typing.Any
    is_quantized: bool
    qparams: dict


def _extract_tensor_metadata(result, include_contiguity=True):
    """The TensorMetadata of a tensor."""
    memory_format = None
    if include_contiguity:
        for candidate in (contiguous_format, channels_last, channels_last_3d):
            needed = {channels_last: 4, channels_last_3d: 5}.get(candidate, result.dim())
            if result.dim() == needed and result.is_contiguous(memory_format=candidate):
                memory_format = candidate
                break
    return TensorMetadata(result.shape, result.dtype, result.requires_grad, result.stride(), memory_format, False, {})


class ShapeProp(Interpreter):
    """Runs a graph and notes, for each node, the type of its value, and the shape and dtype of its tensors.

    The notes are `node.meta["tensor_meta"]` and `node.meta["type"]`.

    >>> import adjoint as torch
    >>> gm = torch.fx.symbolic_trace(torch.nn.Linear(3, 4))
    >>> y = torch.fx.passes.shape_prop.ShapeProp(gm).propagate(torch.ones(2, 3))
    >>> gm.graph.output_node().meta["tensor_meta"].shape
    torch.Size([2, 4])
    """

    def __init__(self, gm, fake_mode=None):
        super().__init__(gm)
        if fake_mode is not None:
            raise NotImplementedError(
                "ShapeProp: fake_mode is not supported; propagate tensors of the meta device for shapes alone"
            )

    def run_node(self, n):
        """The value of a node, which is noted."""
        try:
            result = super().run_node(n)
        except Exception as error:
            raise RuntimeError(f"ShapeProp error for: node={n.format_node()} with meta={n.meta}") from error
        found = False

        def note(value):
            nonlocal found
            if isinstance(value, _C.Tensor):
                found = True
                return _extract_tensor_metadata(value)
            return value

        meta = map_aggregate(result, note)
        if found:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args):
        """Runs the graph for these arguments; what it gives."""
        return super().run(*args)
