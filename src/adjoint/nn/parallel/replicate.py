"""Copies of a module for several GPUs, whose gradients go to the module's own parameters."""

from . import comm


def _replica(module):
    """A module of the same class and attributes; what it holds by name is its own to change."""
    copy = module.__new__(type(module))
    vars(copy).update(vars(module))
    copy._parameters, copy._buffers, copy._modules = {}, dict(module._buffers), dict(module._modules)
    copy._is_replica = True
    return copy


def _copies(tensors, devices, detach):
    """The tensors on each device, by the tensors themselves."""
    sent = [each.detach() for each in tensors] if detach else tensors
    return [dict(zip(tensors, row, strict=True)) for row in comm.broadcast_coalesced(sent, devices)]


def replicate(network, devices, detach=False):
    """Copies of a module for GPUs. Their parameters are copies with gradients back to those of the module.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     (copy,) = torch.nn.parallel.replicate(torch.nn.Linear(2, 2).cuda(), [0])
    """
    devices, parameters = list(devices), list(network.parameters())
    if devices and not all(each.is_cuda for each in parameters):
        raise AssertionError("Broadcast function not implemented for CPU tensors; move the module by .cuda()")
    buffers = list(network.buffers())
    rows = zip(_copies(parameters, devices, detach), _copies(buffers, devices, True), strict=True)
    return [_on_device(network, held | kept) for held, kept in rows]


def _on_device(network, copies):
    """A copy of a module and of those in it, with other tensors."""
    replicas = {module: _replica(module) for module in network.modules()}
    for module, copy in replicas.items():
        copy._modules = {name: child and replicas[child] for name, child in module._modules.items()}
        copy._buffers = {name: value if value is None else copies[value] for name, value in module._buffers.items()}
        for name, value in module._parameters.items():
            if value is None:
                copy._parameters[name] = None
            else:
                vars(copy)[name] = copies[value]  # a result with a history, and no parameter
    return replicas[network]
