"""What a program may ask the engine that runs backward: torch's Variable._execution_engine, and names of torch._C."""

from _thread import _local as thread_local

from .. import _C


class _Threads(thread_local):
    allowed = True


_threads = _Threads()


def is_multithreading_enabled():
    """What set_multithreading_enabled was told in this thread; backward runs on the calling thread in any case.

    >>> import adjoint as torch
    >>> torch.autograd.is_multithreading_enabled()
    True
    """
    return _threads.allowed


def set_multithreading(enabled):
    """Keeps what is_multithreading_enabled says."""
    if not isinstance(enabled, bool):
        raise TypeError(
            f"set_multithreading_enabled(): argument 'enabled' (position 1) must be bool, not {type(enabled).__name__}"
        )
    _threads.allowed = enabled


def execution_order():
    """The nodes of the running backward in the order of their turns; asked for where threads are off, as in torch."""
    if _C._current_graph_task_id() >= 0 and _threads.allowed:
        raise RuntimeError(
            "get_current_graph_task_execution_order expects the current backward to be executed with multithreading "
            "disabled, e.g. by running:\n\n>>> with torch.autograd.set_multithreading_enabled(False):\n"
            "...     torch.autograd.grad(...)\n"
        )
    return _C._backward_order()


class ImperativeEngine:
    """The engine as programs see it.

    >>> import adjoint as torch
    >>> engine = torch.autograd.Variable._execution_engine
    >>> x = torch.tensor(1.0, requires_grad=True)
    >>> _ = x.register_hook(lambda g: engine.queue_callback(lambda: print("all gradients are there")))
    >>> (2 * x).backward()
    all gradients are there
    """

    def queue_callback(self, callback):
        """Has a callable called, without arguments, when the running backward has come to its end."""
        _C._queue_callback(callback)

    def is_checkpoint_valid(self):
        """Whether a reentrant checkpoint can run: no running backward was asked for some inputs only."""
        return not _C._backward_is_partial()

    def run_backward(self, tensors, grad_tensors, keep_graph, create_graph, inputs=(), allow_unreachable=False,
                     accumulate_grad=False):  # fmt: skip
        """Runs a backward, with everything that autograd.backward and autograd.grad make of their arguments."""
        chosen = tuple(inputs) or None
        return _C.run_backward(
            tuple(tensors), tuple(grad_tensors), keep_graph, create_graph, chosen,
            accumulate_grad or chosen is None, allow_unreachable,
        )  # fmt: skip


def disabled_message():
    """Why saved_tensors_hooks are forbidden, or None."""
    message = _C._set_saved_tensors_hooks_message(None)
    _C._set_saved_tensors_hooks_message(message)
    return message


def install():
    """Puts the names that programs look for in torch._C there."""
    _C._current_graph_task_execution_order = execution_order
    _C._is_multithreading_enabled = is_multithreading_enabled
    _C._set_multithreading_enabled = set_multithreading
