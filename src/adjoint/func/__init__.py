"""Functions of functions and of modules."""

from ..nn.utils.stateless import call_with


def functional_call(module, parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """Calls a module with tensors in the place of its parameters and buffers; the module itself stays as it is.

    Those that are not given keep their values, unless `strict`. Parameters that are one tensor under several names are
    replaced together, unless `tie_weights` is false.

    >>> import adjoint as torch
    >>> layer = torch.nn.Linear(2, 1)
    >>> new = {"weight": torch.ones(1, 2), "bias": torch.zeros(1)}
    >>> torch.func.functional_call(layer, new, torch.tensor([[1.0, 2.0]]))
    tensor([[3.]])
    """
    return call_with(module, parameter_and_buffer_dicts, args, kwargs, tie_weights=tie_weights, strict=strict)
