"""The graph that backward walks: nodes and edges, hooks on them, and hooks on what they save."""

import collections
import contextlib
from _thread import _local as thread_local  # threading's, without the rest of threading

from .. import _C
from .._C import Node as Node
from ._handles import RemovableHandle, add_hook

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "region_activation_memory_budget",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
    "set_override_stale_capture_stream",
    "set_warn_on_accumulate_grad_stream_mismatch",
]


# ---- Nodes


def register_hook(self, fn):
    """Calls fn(grad_inputs, grad_outputs) after the node was applied; a tuple that it returns replaces grad_inputs.

    >>> import adjoint as torch
    >>> x = torch.tensor(1.0, requires_grad=True)
    >>> y = 2 * x
    >>> _ = y.grad_fn.register_hook(lambda grad_inputs, grad_outputs: print(grad_outputs))
    >>> y.backward()
    (tensor(1.),)
    """
    return add_hook(self._post_hooks, fn)


def register_prehook(self, fn):
    """Calls fn(grad_outputs) before the node is applied; a tuple that it returns replaces grad_outputs.

    >>> import adjoint as torch
    >>> x = torch.tensor(1.0, requires_grad=True)
    >>> y = 2 * x
    >>> _ = y.grad_fn.register_prehook(lambda grad_outputs: (10 * grad_outputs[0],))
    >>> y.backward()
    >>> x.grad
    tensor(20.)
    """
    return add_hook(self._pre_hooks, fn)


for _method in (register_hook, register_prehook):
    setattr(Node, _method.__name__, _method)


class GradientEdge(collections.namedtuple("GradientEdge", "node output_nr ownership_token", defaults=(None,))):
    """A place in the graph where a gradient is collected: a node and the number of one of its outputs.

    >>> import adjoint as torch
    >>> x = torch.tensor(1.0, requires_grad=True)
    >>> torch.autograd.graph.get_gradient_edge(2 * x).output_nr
    0
    """

    __slots__ = ()


def get_gradient_edge(tensor):
    """The edge where the gradient of `tensor` is collected; backward() and grad() take it in place of the tensor.

    >>> import adjoint as torch
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> y = x * x
    >>> edge = torch.autograd.graph.get_gradient_edge(y)
    >>> torch.autograd.grad(2 * y, edge)
    (tensor(2.),)
    """
    if isinstance(tensor, GradientEdge):
        return tensor
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    # A view that was made under no_grad requires grad as its base does, and has no place of its own in the graph.
    if tensor.is_leaf and tensor._is_view() and tensor._base.requires_grad:
        raise AssertionError("Expected gradient function to be set")
    return GradientEdge(*_C._gradient_edge(tensor))


def _get_grad_fn_or_grad_acc(t):
    """The node where the gradient of a tensor, or of an edge, is collected."""
    return get_gradient_edge(t).node


def increment_version(tensor):
    """Says that the values of a tensor, or of several, were changed in a way that could not be seen.

    >>> import adjoint as torch
    >>> x = torch.zeros(2)
    >>> torch.autograd.graph.increment_version(x)
    >>> x._version
    1
    """
    if not isinstance(tensor, _C.Tensor):
        try:
            tensor = list(tensor)
        except TypeError:
            raise RuntimeError("increment_version expect a Iterable[Tensor] as input") from None
    for each in [tensor] if isinstance(tensor, _C.Tensor) else tensor:
        _C._increment_version(each)


# ---- Hooks on several gradients


class _MultiHandle(RemovableHandle):
    """Removes the hooks of several tensors at once."""

    def __init__(self, handles):
        self.handles = tuple(handles)

    def remove(self):
        """Takes all the hooks out."""
        for handle in self.handles:
            handle.remove()

    def __getstate__(self):
        return self.handles

    def __setstate__(self, state):
        self.handles = state


class _Collected(thread_local):
    """What each backward that runs in this thread has collected so far, by its number."""

    def __init__(self):
        self._by_run = {}

    def current(self, make):
        runs = _C._backward_runs()
        run = runs[0]
        if run not in self._by_run:
            # A backward that failed leaves its part behind.
            self._by_run = {k: v for k, v in self._by_run.items() if k in runs}
            self._by_run[run] = make()
        return self._by_run[run]


def register_multi_grad_hook(tensors, fn, *, mode="all"):
    """Calls fn once in each backward: with the gradients of all tensors, or with the first one that is ready.

    With mode="all" fn gets a list of gradients, None for tensors that this backward does not reach. With mode="any" it
    gets the gradient that was computed first.

    >>> import adjoint as torch
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> y = torch.tensor(3.0, requires_grad=True)
    >>> _ = torch.autograd.graph.register_multi_grad_hook((x, y), lambda grads: print(grads))
    >>> (x * y).backward()
    [tensor(3.), tensor(2.)]
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    tensors = tuple(tensors)
    collected = _Collected()
    if mode == "any":

        def first(grad):
            called = collected.current(list)
            if not called:
                called.append(True)
                fn(grad)

        return _MultiHandle([tensor.register_hook(first) for tensor in tensors if tensor.requires_grad])

    if not all(tensor.requires_grad for tensor in tensors):
        raise AssertionError("Expected gradient function to be set: every tensor must require grad")
    edges = [get_gradient_edge(tensor) for tensor in tensors]

    def start():
        return [None] * len(tensors), [sum(_C._backward_executes(edge.node) for edge in edges)]

    def hook(index):
        def inner(grad):
            grads, missing = collected.current(start)
            grads[index] = grad
            missing[0] -= 1
            if missing[0] == 0:
                fn(list(grads))
                grads[:] = [None] * len(grads)

        return inner

    return _MultiHandle([tensor.register_hook(hook(index)) for index, tensor in enumerate(tensors)])


# ---- Hooks on what is saved


class saved_tensors_hooks:
    """While it holds, nodes keep pack_hook(tensor) in place of tensors, and unpack_hook gives the tensor back.

    The hooks of the innermost of several contexts are used. `pack_hook` must not change the tensor; `unpack_hook` must
    return a tensor of the same values.

    >>> import adjoint as torch
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> with torch.autograd.graph.saved_tensors_hooks(lambda t: t.item(), torch.tensor):
    ...     y = x * x
    >>> y.backward()
    >>> x.grad
    tensor(6.)
    """

    def __init__(self, pack_hook, unpack_hook):
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self):
        _C._push_saved_tensors_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *exception):
        _C._pop_saved_tensors_hooks()


class save_on_cpu(saved_tensors_hooks):
    """While it holds, nodes keep what they save in the memory of the CPU; with `pin_memory` it comes back sooner.

    >>> import adjoint as torch
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> with torch.autograd.graph.save_on_cpu():
    ...     y = x * x
    >>> y.backward()
    >>> x.grad
    tensor(6.)
    """

    def __init__(self, pin_memory=False, device_type="cuda"):
        def pack(tensor):
            if not pin_memory or not tensor.is_cuda or tensor.layout is not _C.strided:
                return tensor.device, tensor.cpu()
            kept = _C.empty_like(tensor, device="cpu", pin_memory=True)
            return tensor.device, kept.copy_(tensor)

        def unpack(packed):
            device, tensor = packed
            return tensor.to(device, non_blocking=pin_memory)

        super().__init__(pack, unpack)


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message):
    """Forbids saved_tensors_hooks: using them raises a RuntimeError with this message.

    >>> import adjoint as torch
    >>> with torch.autograd.graph.disable_saved_tensors_hooks("no hooks here"):
    ...     with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
    ...         pass
    Traceback (most recent call last):
        ...
    RuntimeError: no hooks here
    """
    before = _C._set_saved_tensors_hooks_message(error_message)
    try:
        yield
    finally:
        _C._set_saved_tensors_hooks_message(before)


class _AllowMutationOnSavedContext:
    """What is saved meanwhile; `clear()` drops it."""

    def __init__(self):
        from weakref import WeakKeyDictionary  # here: few programs need it

        self.original = WeakKeyDictionary()  # copies by ticket: with a node, its copies go

    def clear(self):
        """Frees the copies: a backward through what was recorded raises from now on."""
        self.original.clear()

    def _pack(self, tensor):
        ticket = _Ticket()
        # Under the ticket, not in it: what a node keeps is no longer of use once the context has ended.
        self.original[ticket] = tensor.detach().clone()
        return ticket

    def _unpack(self, ticket):
        if ticket not in self.original:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context"
                "in which the graph was originally recorded."
            )
        return self.original[ticket]


class _Ticket:
    __slots__ = ("__weakref__",)


_mutation = thread_local()


@contextlib.contextmanager
def allow_mutation_on_saved_tensors():
    """While it holds, tensors that are saved for backward may be changed in place: nodes keep copies of them.

    Record and run backward inside of it.

    >>> import adjoint as torch
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> with torch.autograd.graph.allow_mutation_on_saved_tensors():
    ...     y = x.clone()
    ...     z = y * y
    ...     _ = y.zero_()
    ...     z.backward()
    >>> x.grad
    tensor(6.)
    """
    if getattr(_mutation, "active", False):
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    context = _AllowMutationOnSavedContext()
    with saved_tensors_hooks(context._pack, context._unpack):
        _mutation.active = True
        try:
            yield context
        finally:
            _mutation.active = False
            context.clear()


# ---- What concerns streams and compilers, which are not here


def set_warn_on_accumulate_grad_stream_mismatch(enabled):
    """Accepted: there are no streams that could differ.

    >>> import adjoint as torch
    >>> torch.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(False)
    """
    if not isinstance(enabled, bool):
        raise RuntimeError(f"enabled must be a bool, but got {type(enabled).__name__}")


def set_override_stale_capture_stream(enabled):
    """Accepted: there are no streams that are captured.

    >>> import adjoint as torch
    >>> torch.autograd.graph.set_override_stale_capture_stream(False)
    """
    set_warn_on_accumulate_grad_stream_mismatch(enabled)


def region_activation_memory_budget(budget):
    """For compiled programs, and refused: there is no compiler; see utils.checkpoint for memory.

    >>> import adjoint as torch
    >>> torch.autograd.graph.region_activation_memory_budget(0.5)
    Traceback (most recent call last):
        ...
    RuntimeError: torch.autograd.graph.region_activation_memory_budget can only be used inside a torch.compile region; \
it has no effect in eager mode.
    """
    name = "torch.autograd.graph.region_activation_memory_budget"
    if not isinstance(budget, int | float):
        raise TypeError(f"{name}: expects a float, got {type(budget).__name__}")
    if not 0 <= budget <= 1:
        raise ValueError(f"{name}: must be in [0, 1], got {budget}")
    raise RuntimeError(f"{name} can only be used inside a torch.compile region; it has no effect in eager mode.")
