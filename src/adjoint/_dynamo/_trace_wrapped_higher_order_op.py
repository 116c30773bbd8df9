"""TransformGetItemToIndex, which functions of masks are called in."""

import contextlib


class TransformGetItemToIndex(contextlib.nullcontext):
    """A context in which a tensor can be indexed by a number that vmap runs over: it always can.

    >>> import adjoint as torch
    >>> from adjoint._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex
    >>> x = torch.tensor([1, 2, 3])
    >>> with TransformGetItemToIndex():
    ...     torch.vmap(lambda i: x[i])(torch.tensor([2, 0]))
    tensor([3, 1])
    """

    def __init__(self):
        super().__init__()
