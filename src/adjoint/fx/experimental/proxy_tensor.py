"""Tracing with tensors that record: the names are here so that programs import; they refuse when they are called."""

__all__ = ["get_proxy_mode", "make_fx"]


def make_fx(f, *args, **kwargs):
    """Traces a function below its autograd, which is not supported; `torch.fx.symbolic_trace` traces above it."""
    raise NotImplementedError(
        "make_fx: tracing by tensors that record their operations is not supported; torch.fx.symbolic_trace(f) gives a "
        "graph of the functions that f calls"
    )


def get_proxy_mode():
    """The tracing mode that is on: none.

    >>> from adjoint.fx.experimental.proxy_tensor import get_proxy_mode
    >>> get_proxy_mode()
    """
    return None
