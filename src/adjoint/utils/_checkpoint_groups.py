"""Several backwards that share what a checkpoint computes again."""

from _thread import _local as thread_local


class _Current(thread_local):
    group = None


_current = _Current()

OVERLAP = (
    "Performing two backward calls that overlap (i.e. require the same saved activation in order to compute gradients) "
    "is not allowed while under the torch.utils.checkpoint.GraphExecGroup context. "
)


class GraphExecGroup:
    """While it holds, a checkpoint runs again once for all backwards, which must not need the same saved tensors.

    >>> import adjoint as torch
    >>> from adjoint.utils.checkpoint import GraphExecGroup, checkpoint
    >>> x = torch.ones(1, requires_grad=True)
    >>> a, b = checkpoint(lambda x: (x.exp(), x.sin()), x, use_reentrant=False)
    >>> with GraphExecGroup():
    ...     a.backward(retain_graph=True)
    ...     b.backward()
    >>> x.grad
    tensor([3.2586])
    """

    def __enter__(self):
        if _current.group is not None:
            raise RuntimeError(
                f"GraphExecGroup contexts cannot be nested. Already inside group {_current.group}; one is enough for "
                "all backwards"
            )
        _current.group = self
        return self

    def __exit__(self, *exception):
        _current.group = None

    @classmethod
    def _get_current_group(cls):
        """The group of this thread, or None."""
        return _current.group
