"""Softmax and its logarithm, with fused backwards."""

from .batching import behind, call
from .language import _log_softmax_backward_data, _softmax, _softmax_backward_data, composite, exp, op


def chosen_dim(dim, ndim):
    """The dimension that a call without `dim` means."""
    if dim is not None:
        return dim
    return 0 if ndim in (0, 1, 3) else 1


# ---- Batch rules; see batching.py


def _softmax_batch(op, size, batched, input, dim, *rest):
    rank = input.dim() - 1
    place = behind(chosen_dim(dim, rank), rank)
    return call(op, input, place, *rest) if rank else call(op, input.unsqueeze(1), place, *rest).squeeze(1)


softmax = op(
    "_softmax(input, dim=None, dtype=None, _stacklevel=3)", native="softmax", node="SoftmaxBackward0",
    autocast="none, float32", out="exact",
    loop="softmax_lastdim_kernel_impl", public=False, shown="softmax",
    input=lambda g, out, dim: _softmax_backward_data(g, out, chosen_dim(dim, out.ndim)),
    doc="exp(x) over its sum along a dimension.",
   batch=_softmax_batch)  # fmt: skip
log_softmax = op(
    "_log_softmax(input, dim=None, dtype=None, _stacklevel=3)", native="log_softmax",
    autocast="none, float32", node="LogSoftmaxBackward0",
    out="exact", public=False, shown="log_softmax", loop="log_softmax_lastdim_kernel_impl",
    input=lambda g, out, dim: _log_softmax_backward_data(g, out, chosen_dim(dim, out.ndim)),
    doc="The logarithm of softmax, without overflow.",
   batch=_softmax_batch)  # fmt: skip

for _namespace in ("", "nn.functional"):
    composite(softmax, name="softmax", namespace=_namespace)
    composite(log_softmax, name="log_softmax", namespace=_namespace)

# y (g - sum(g y)) is symmetric as a function of g.
op("_softmax_backward_data(grad, output, dim)", native="softmax_backward", public=False, linear="grad",
   grad=lambda g, output, dim: _softmax_backward_data(g, output, dim),
   output=lambda g, grad, output, dim:
       g * (grad - (grad * output).sum(dim, True)) - grad * (g * output).sum(dim, True),
   batch="dim")  # fmt: skip
# g - exp(y) sum(g)
op("_log_softmax_backward_data(grad, output, dim)", native="log_softmax_backward", public=False, linear="grad",
   grad=lambda g, output, dim: g - (g * exp(output)).sum(dim, True),
   output=lambda g, grad, output, dim: -g * exp(output) * grad.sum(dim, True),
   batch="dim")  # fmt: skip


@composite(namespace="nn.functional", autocast="none, float32")
def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """Softmax of the negated elements.

    >>> import adjoint as torch
    >>> torch.nn.functional.softmin(torch.tensor([1.0, 1.0]), dim=0)
    tensor([0.5000, 0.5000])
    """
    if dim is None:
        from .._warning import warn_user

        chosen = chosen_dim(dim, input.ndim)
        warn_user(
            "Implicit dimension choice for softmin has been deprecated. Change the call to include dim=X as an "
            f"argument; here dim={chosen} of {list(input.shape)} was taken."
        )
    return _softmax(-input, chosen_dim(dim, input.ndim), dtype)
