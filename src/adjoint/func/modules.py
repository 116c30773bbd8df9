"""Modules as functions of their parameters."""

from ..nn.modules.batchnorm import _BatchNorm
from ..nn.utils.stateless import call_with
from ..ops.language import stack


def functional_call(module, parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """Calls a module with tensors in the place of its parameters and buffers; the module itself stays as it is.

    Those that are not given keep their values, unless `strict`. Parameters that are one tensor under several names are
    replaced together, unless `tie_weights` is false.

    - parameter_and_buffer_dicts: tensors by the names of the parameters and buffers that they stand for.

    >>> import adjoint as torch
    >>> layer = torch.nn.Linear(2, 1)
    >>> new = {"weight": torch.ones(1, 2), "bias": torch.zeros(1)}
    >>> torch.func.functional_call(layer, new, torch.tensor([[1.0, 2.0]]))
    tensor([[3.]])
    """
    return call_with(module, parameter_and_buffer_dicts, args, kwargs, tie_weights=tie_weights, strict=strict)


def replace_all_batch_norm_modules_(root):
    """Lets all batch norms of a module go without running statistics, which they would change in place; in place.

    >>> import adjoint as torch
    >>> net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    >>> batches = torch.zeros(5, 4, 2)
    >>> torch.vmap(torch.func.replace_all_batch_norm_modules_(net))(batches).shape
    torch.Size([5, 4, 3])
    """
    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root


def stack_module_state(models):
    """(parameters, buffers) of several models of one kind, by name, stacked: for vmap over the models.

    >>> import adjoint as torch
    >>> layers = [torch.nn.Linear(2, 3) for _ in range(5)]
    >>> parameters, buffers = torch.func.stack_module_state(layers)
    >>> parameters["weight"].shape
    torch.Size([5, 3, 2])
    """
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({model.training for model in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if len({type(model) for model in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters = [dict(model.named_parameters()) for model in models]
    buffers = [dict(model.named_buffers()) for model in models]
    return _stacked_by_name(parameters), _stacked_by_name(buffers)


def _stacked_by_name(states):
    return {name: _stacked(name, [state[name] for state in states]) for name in states[0]}


def _stacked(name, tensors):
    """The tensors as one, a leaf that requires grad where they all do."""
    wanted = {tensor.requires_grad for tensor in tensors}
    if len(wanted) > 1:
        raise RuntimeError(
            f"Expected {name} from each model to have the same .requires_grad; got some that do and some that do not"
        )
    together = stack([tensor.detach() for tensor in tensors])
    return together.requires_grad_() if wanted == {True} else together
