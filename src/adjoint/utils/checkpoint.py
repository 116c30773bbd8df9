"""Checkpoints, memory for time: what a function saves for backward is dropped, and computed again when asked for.

The function runs under hooks that keep, in place of each tensor, a ticket that knows its number. The first ticket that
backward unpacks runs the function again, which fills all of them. See also checkpoint_reentrant.py, the older way.
"""

import contextlib
import warnings
import weakref
from _thread import get_ident
from collections.abc import Iterable

from .. import _C
from ..autograd.function import Function
from ..autograd.grad_mode import enable_grad
from ..autograd.graph import saved_tensors_hooks
from ._checkpoint_error import CheckpointError as CheckpointError
from ._checkpoint_error import Record, mismatch, surplus
from ._checkpoint_groups import OVERLAP
from ._checkpoint_groups import GraphExecGroup as GraphExecGroup
from ._checkpoint_selective import SAC_IGNORED_OPS as SAC_IGNORED_OPS
from ._checkpoint_selective import CheckpointPolicy as CheckpointPolicy
from ._checkpoint_selective import SelectiveCheckpointContext as SelectiveCheckpointContext
from ._checkpoint_selective import create_selective_checkpoint_contexts as create_selective_checkpoint_contexts
from ._checkpoint_selective import watch, watching
from ._checkpoint_state import DefaultDeviceType as DefaultDeviceType
from ._checkpoint_state import State
from ._checkpoint_state import _infer_device_type as _infer_device_type
from ._checkpoint_state import get_device_states as get_device_states
from ._checkpoint_state import set_device_states as set_device_states
from .checkpoint_reentrant import CheckpointFunction as CheckpointFunction
from .checkpoint_reentrant import check_backward_validity as check_backward_validity
from .checkpoint_reentrant import detach_variable as detach_variable

__all__ = [
    "SAC_IGNORED_OPS",
    "CheckpointError",
    "CheckpointFunction",
    "CheckpointPolicy",
    "DefaultDeviceType",
    "GraphExecGroup",
    "SelectiveCheckpointContext",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]

# What the context managers below have set, for all checkpoints: None where they say nothing.
_early_stop = None
_debug = None


@contextlib.contextmanager
def set_checkpoint_early_stop(enable):
    """Says for all checkpoints made inside whether recomputation ends as soon as everything needed is there.

    >>> import adjoint as torch
    >>> from adjoint.utils.checkpoint import checkpoint, set_checkpoint_early_stop
    >>> x = torch.tensor(1.0, requires_grad=True)
    >>> with set_checkpoint_early_stop(False):
    ...     y = checkpoint(torch.exp, x, use_reentrant=False)
    """
    global _early_stop
    before, _early_stop = _early_stop, enable
    try:
        yield
    finally:
        _early_stop = before


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled):
    """Says for all checkpoints made inside whether their errors list all that was saved; None leaves it to each call.

    >>> from adjoint.utils.checkpoint import set_checkpoint_debug_enabled
    >>> with set_checkpoint_debug_enabled(True):
    ...     pass
    """
    global _debug
    before, _debug = _debug, enabled
    try:
        yield
    finally:
        _debug = before


def noop_context_fn():
    """The contexts of a checkpoint that has none: of its forward, and of its recomputation.

    >>> from adjoint.utils.checkpoint import noop_context_fn
    >>> len(noop_context_fn())
    2
    """
    return contextlib.nullcontext(), contextlib.nullcontext()


class _StopRecomputation(BaseException):
    """Everything that was asked for has been computed again. No Exception: the function may catch those."""


class _Ticket:
    """What a node keeps in place of a tensor."""

    __slots__ = ("__weakref__", "number", "values")

    def __init__(self, number):
        self.number = number
        self.values = {}  # the tensor, computed again, by the run of backward that it is for


class _Inputs(Function):
    """Keeps tensors as any node does: under the hooks of a checkpoint around this one they become tickets, too."""

    _runs_in_levels = True

    @staticmethod
    def forward(ctx, anchor, *tensors):
        ctx.save_for_backward(*tensors)
        return anchor.detach()

    @staticmethod
    def backward(ctx, *grads):
        raise AssertionError("the inputs of a checkpoint are only kept here")


def _batches():
    """The numbers of the vmaps that are open."""
    return {number for number, size, _ in _C._open_levels() if size is not None}


class _Frame:
    """One call of checkpoint: how to run its function again, and the tickets of what the first run saved."""

    def __init__(self, function, args, kwargs, state, context, *, early_stop, check, debug):
        self.function, self.state, self.context = function, state, context
        self.early_stop, self.check, self.debug = early_stop, check, debug
        self.tickets = []  # weak: with a part of the graph, its tickets go
        self.records = []
        self.filled = {}  # the runs of backward that have got their values, and their threads
        self.batches, self.running = _batches(), True
        # Tensors are kept apart, behind None.
        tensors = [value for value in (*args, *kwargs.values()) if isinstance(value, _C.Tensor)]
        self.args = tuple(None if isinstance(value, _C.Tensor) else value for value in args)
        self.kwargs = {key: None if isinstance(value, _C.Tensor) else value for key, value in kwargs.items()}
        self.places = [isinstance(value, _C.Tensor) for value in (*args, *kwargs.values())]
        self.inputs = _Inputs.apply(_C.empty(0, requires_grad=True), *tensors).grad_fn if tensors else None

    # ---- The forward

    def pack(self, tensor):
        ticket = _Ticket(len(self.tickets))
        self.tickets.append(weakref.ref(ticket))
        place = _C._packing_place()
        self.records.append(Record(tensor, place))
        if watch.frame is self and watch.saved is not None:
            watch.saved.append((tensor, place))
        return ticket

    # ---- The backward

    def unpack(self, ticket):
        runs = _C._backward_runs()
        group = GraphExecGroup._get_current_group()
        # What is unpacked outside of backward is computed for once; for a group, once for all of its backwards.
        run = (runs[0] if runs else object()) if group is None else group
        runs = runs if group is None else [*runs, group]
        if run not in self.filled:
            self.forget(runs)
            self.filled[run] = get_ident()
            self.recompute(run)
        if run not in ticket.values:
            raise CheckpointError(
                "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. "
                f"{OVERLAP if group is not None else ''}If you are calling ctx.saved_tensors in backward, make sure to "
                "do so only once. (What is recomputed is freed as soon as it was used.)"
            )
        value = ticket.values.pop(run)
        if not runs:
            self.forget(runs)
        return value

    def forget(self, runs):
        """Drops what was computed for runs of backward that are over, as far as this thread knows."""
        thread = get_ident()
        known = list(self.filled.items())  # at once: other threads may add theirs
        for over in [run for run, owner in known if owner == thread and run not in runs]:
            del self.filled[over]
            for ticket in filter(None, (reference() for reference in self.tickets)):
                ticket.values.pop(over, None)

    def recompute(self, run):
        """Runs the function again, and gives the tickets what it saves."""
        self.check_batches()
        found = []

        def pack(tensor, place=None):
            record = Record(tensor, _C._packing_place() if place is None else place)
            number = len(found)
            found.append(record)
            if number >= len(self.tickets):
                raise CheckpointError(surplus(self.records, found, self.debug))
            ticket = self.tickets[number]()
            if ticket is not None:
                ticket.values[run] = _C._bare(tensor)
            if self.early_stop and len(found) == len(self.tickets):
                raise _StopRecomputation
            return tensor

        args, kwargs = self.arguments()
        with (
            contextlib.suppress(_StopRecomputation),
            self.state.restored(),
            enable_grad(),
            self.context,
            saved_tensors_hooks(pack, lambda tensor: tensor),
            watching(save=pack),
        ):
            self.function(*args, **kwargs)
        problem = mismatch(self.records, found, self.check, self.debug)
        if problem:
            raise CheckpointError(problem)

    def check_batches(self):
        """Refuses to run the function again where the vmaps are not those that it ran in."""
        batches = _batches()
        if not self.batches <= batches:
            raise RuntimeError(
                "Either your tensor may have escaped from inside a function being vmapped, or its gradient is taken "
                "too late: a checkpoint has run in a vmap that is over, and cannot run again. Take the gradient inside "
                "of the vmap, or put the checkpoint around it"
            )
        if self.running and batches != self.batches:
            raise RuntimeError(
                "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. A checkpoint around "
                "them cannot run again in a vmap before it has ended: put it inside of the function that is "
                "differentiated"
            )

    def arguments(self):
        tensors = iter(self.inputs.saved_tensors if self.inputs is not None else ())
        values = [
            next(tensors) if is_tensor else value
            for is_tensor, value in zip(self.places, (*self.args, *self.kwargs.values()), strict=True)
        ]
        return values[: len(self.args)], dict(zip(self.kwargs, values[len(self.args) :], strict=True))


_ADVICE = (
    "use_reentrant=False is recommended, but if you need to preserve the current default behavior, you can pass "
    "use_reentrant=True. Refer to docs for more details on the differences between the two variants."
)


def checkpoint(
    function,
    *args,
    use_reentrant=None,
    context_fn=noop_context_fn,
    determinism_check="default",
    debug=False,
    early_stop=True,
    **kwargs,
):
    """function(*args, **kwargs), which is run again in backward instead of keeping what backward needs of it.

    `preserve_rng_state=False` lets random numbers differ between both runs; `context_fn` returns two context managers,
    one for each of them; `determinism_check="none"` leaves out the comparison of shapes and types.

    - debug: says, in an error, which ops the forward and the recomputation have run.
    - early_stop: ends the recomputation as soon as all that is needed is there.

    >>> import adjoint as torch
    >>> from adjoint.utils.checkpoint import checkpoint
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> y = checkpoint(lambda x: x.exp() * x, x, use_reentrant=False)
    >>> y.backward()
    >>> x.grad
    tensor(22.1672)
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, "
            f"calling checkpoint without use_reentrant will raise an exception. {_ADVICE}",
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn or debug is not False:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return CheckpointFunction.apply(function, preserve, *args)
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check should be one of ['default', 'none'], but got {determinism_check}")
    forward_context, recompute_context = context_fn()
    if not _C.is_grad_enabled():
        return function(*args, **kwargs)
    frame = _Frame(
        function,
        args,
        kwargs,
        State(preserve),
        recompute_context,
        early_stop=early_stop if _early_stop is None else _early_stop,
        check=determinism_check == "default",
        debug=debug if _debug is None else _debug,
    )
    with saved_tensors_hooks(frame.pack, frame.unpack), watching(frame=frame), forward_context:
        result = function(*args, **kwargs)
    frame.running = False
    return result


def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
    """Runs functions one after the other, in segments that are checkpoints, but for the last one.

    >>> import adjoint as torch
    >>> from adjoint.utils.checkpoint import checkpoint_sequential
    >>> x = torch.tensor(0.5, requires_grad=True)
    >>> checkpoint_sequential([torch.sin, torch.exp, torch.cos], 2, x, use_reentrant=False)
    tensor(-0.0443, grad_fn=<CosBackward0>)
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed explicitly. In "
            f"version 2.9 we will raise an exception if use_reentrant is not passed. {_ADVICE}",
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    functions = functions.children() if hasattr(functions, "children") else functions
    if not isinstance(functions, Iterable):
        raise TypeError(
            "checkpoint_sequential(): functions must be a Sequential or a list of functions, not "
            f"{type(functions).__name__}"
        )
    if not isinstance(segments, int):
        raise TypeError(f"checkpoint_sequential(): segments must be an int, not {type(segments).__name__}")
    functions = list(functions)

    def run(part, input):
        for function in part:
            input = function(input)
        return input

    if segments == 0:
        raise ZeroDivisionError("checkpoint_sequential: expected at least one segment; got segments=0")
    size = len(functions) // segments
    last = 0
    for start in range(0, size * (segments - 1), size):
        last = start + size
        part = functions[start:last]
        input = checkpoint(
            lambda input, part=part: run(part, input), input, use_reentrant=use_reentrant, preserve_rng_state=preserve
        )
    return run(functions[last:], input)
