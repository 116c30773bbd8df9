"""The older checkpoint: a Function whose backward runs the function again, and a backward of its own through it."""

import warnings

from .. import _C
from ..autograd import backward as run_backward
from ..autograd.function import Function
from ..autograd.grad_mode import enable_grad, no_grad
from ._checkpoint_state import State


def detach_variable(inputs):
    """A tuple with its tensors detached from their graphs, each requiring grad as before.

    >>> import adjoint as torch
    >>> from adjoint.utils.checkpoint import detach_variable
    >>> detach_variable((2 * torch.ones(1, requires_grad=True), 3))
    (tensor([2.], requires_grad=True), 3)
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple(
        _C._requiring_grad(value.detach(), value.requires_grad) if isinstance(value, _C.Tensor) else value
        for value in inputs
    )


def check_backward_validity(inputs):
    """Warns when no tensor of `inputs` requires grad: a reentrant checkpoint then gives no gradients at all.

    >>> import adjoint as torch
    >>> from adjoint.utils.checkpoint import check_backward_validity
    >>> check_backward_validity((torch.ones(1, requires_grad=True),))
    """
    if not any(value.requires_grad for value in inputs if isinstance(value, _C.Tensor)):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)


class CheckpointFunction(Function):
    """The node of a reentrant checkpoint.

    >>> import adjoint as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> torch.utils.checkpoint.checkpoint(torch.exp, x, use_reentrant=True).grad_fn.name()
    'CheckpointFunctionBackward'
    """

    @staticmethod
    def forward(ctx, run_function, preserve_rng_state, *args):
        """Runs the function without recording, and keeps its arguments."""
        check_backward_validity(args)
        ctx.run_function, ctx.state = run_function, State(preserve_rng_state)
        ctx.args = tuple(None if isinstance(value, _C.Tensor) else value for value in args)
        ctx.places = [place for place, value in enumerate(args) if isinstance(value, _C.Tensor)]
        ctx.save_for_backward(*[args[place] for place in ctx.places])
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx, *grads):
        """Runs the function again, recorded, and a backward through it."""
        if _C._backward_is_partial():
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` "
                "parameter to .backward(). To resolve this error, you can either set use_reentrant=False, or call "
                ".backward() without passing the `inputs` argument."
            )
        args = list(ctx.args)
        for place, tensor in zip(ctx.places, ctx.saved_tensors, strict=True):
            args[place] = tensor
        detached = detach_variable(tuple(args))
        with ctx.state.restored(), enable_grad():
            outputs = ctx.run_function(*detached)
        outputs = (outputs,) if isinstance(outputs, _C.Tensor) else outputs
        pairs = [
            (output, grad)
            for output, grad in zip(outputs, grads, strict=True)
            if isinstance(output, _C.Tensor) and output.requires_grad
        ]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        run_backward([output for output, _ in pairs], [grad for _, grad in pairs])
        return None, None, *[value.grad if isinstance(value, _C.Tensor) else None for value in detached]
