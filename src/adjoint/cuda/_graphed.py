"""Functions and modules replayed as graphs: what make_graphed_callables() makes."""

from .. import _C
from ..autograd import Function, grad
from ..autograd.function import once_differentiable
from ..nn import Module
from ..utils import _pytree
from ._current import StreamContext, current_stream
from ._devices import synchronize
from .graphs import CUDAGraph, graph, graph_pool_handle
from .streams import Stream


def _checked(function):
    if not isinstance(function, Module):
        return ()
    if function._backward_hooks or function._forward_hooks or function._forward_pre_hooks:
        raise RuntimeError(
            "Modules must not have hooks registered at the time they are passed. However, registering hooks on modules "
            "after passing them through make_graphed_callables is allowed."
        )
    if any(buffer.requires_grad for buffer in function.buffers()):
        raise RuntimeError(
            "In any :class:`~torch.nn.Module` passed to :func:`~make_graphed_callables`, only parameters may be "
            "trainable. All buffers must have ``requires_grad=False``."
        )
    return tuple(function.parameters())


def _gradients(outputs, inputs, cotangents, allow_unused):
    kept = tuple(out for out in outputs if out.requires_grad)
    wanted = tuple(each for each in inputs if each.requires_grad)
    if not kept or not wanted:
        return (None,) * len(inputs)
    given = tuple(each for each in cotangents if each is not None)
    found = iter(grad(kept, wanted, given, only_inputs=True, allow_unused=allow_unused))
    return tuple(next(found) if each.requires_grad else None for each in inputs)


class _Captured:
    """One function: its inputs and outputs, which stay where they are, and the graphs between them."""

    def __init__(self, function, sample, parameters):
        self.function, self.parameters = function, parameters
        self.arguments = _pytree.tree_leaves(sample)
        if not all(isinstance(each, _C.Tensor) for each in self.arguments):
            raise TypeError(
                "In the :func:`~make_graphed_callables` API, sample_args for each callable must contain only Tensors. "
                "Other types are not allowed."
            )
        self.sample = tuple(sample)
        self.inputs = (*self.arguments, *parameters)
        self.forward, self.backward = CUDAGraph(), CUDAGraph()

    def warm_up(self, times, allow_unused):
        for _ in range(times):
            outputs = _pytree.tree_leaves(self.function(*self.sample))
            cotangents = [_C.empty_like(out) for out in outputs if out.requires_grad]
            _gradients(outputs, self.inputs, cotangents, allow_unused)

    def capture_forward(self, pool):
        with graph(self.forward, pool=pool):
            outputs = self.function(*self.sample)
        self.outputs, self.spec = _pytree.tree_flatten(outputs)

    def capture_backward(self, pool, allow_unused):
        self.cotangents = tuple(_C.empty_like(out) if out.requires_grad else None for out in self.outputs)
        with graph(self.backward, pool=pool):
            self.found = _gradients(self.outputs, self.inputs, self.cotangents, allow_unused)
        self.outputs = tuple(out.detach() for out in self.outputs)

    def as_function(self):
        captured = self

        class Graphed(Function):
            @staticmethod
            def forward(ctx, *inputs):
                for mine, given in zip(captured.arguments, inputs, strict=False):
                    if mine.data_ptr() != given.data_ptr():
                        mine.copy_(given)
                captured.forward.replay()
                return tuple(out.detach() for out in captured.outputs)

            @staticmethod
            @once_differentiable
            def backward(ctx, *cotangents):
                for mine, given in zip(captured.cotangents, cotangents, strict=True):
                    if mine is not None and mine.data_ptr() != given.data_ptr():
                        mine.copy_(given)
                captured.backward.replay()
                return tuple(None if each is None else each.detach() for each in captured.found)

        def call(*arguments):
            outputs = Graphed.apply(*_pytree.tree_leaves(arguments), *captured.parameters)
            return _pytree.tree_unflatten(outputs, captured.spec)

        return call


def _in_place_of(module, call):
    """The module itself, with a forward that replays while it is in the mode that was captured."""
    training, plain = module.training, module.forward

    def forward(*arguments):
        return call(*arguments) if module.training == training else plain(*arguments)

    module.forward = forward
    return module


def graphed(callables, sample_args, times, allow_unused, pool):
    """A list of what to call instead."""
    if _C._autocast_gpu_enabled() and _C.is_autocast_cache_enabled():
        raise RuntimeError(
            "make_graphed_callables does not support the autocast caching. Please set `cache_enabled=False`."
        )
    all_captured = [
        _Captured(function, sample, _checked(function)) for function, sample in zip(callables, sample_args, strict=True)
    ]
    pool = graph_pool_handle() if pool is None else pool
    synchronize()
    side = Stream()
    side.wait_stream(current_stream())
    with StreamContext(side):
        for captured in all_captured:
            captured.warm_up(times, allow_unused)
    current_stream().wait_stream(side)
    synchronize()
    for captured in all_captured:
        captured.capture_forward(pool)
    for captured in reversed(all_captured):
        captured.capture_backward(pool, allow_unused)
    made = []
    for function, captured in zip(callables, all_captured, strict=True):
        call = captured.as_function()
        made.append(_in_place_of(function, call) if isinstance(function, Module) else call)
    return made
