"""DataParallel: one batch shared among the GPUs of a machine."""

import itertools

from ... import _C
from ..._utils import _get_device_index
from ..modules.module import Module
from .parallel_apply import parallel_apply
from .replicate import replicate
from .scatter_gather import gather, scatter_kwargs


def _chosen(device_ids):
    """The numbers of the GPUs that are meant: all by default."""
    if device_ids is None:
        return list(range(_C._cuda_device_count()))
    return [_get_device_index(each, optional=True) for each in device_ids]


def _check_place(module, place):
    for tensor in itertools.chain(module.parameters(), module.buffers()):
        if tensor.device != place:
            raise RuntimeError(
                f"module must have its parameters and buffers on device {place} (device_ids[0]) but found one of them "
                f"on device: {tensor.device}"
            )


class DataParallel(Module):
    """A module that is run on parts of a batch on several GPUs; without any it calls the module.

    The module's parameters are on the first GPU, get the gradients of all, and are copied to the others in each call.

    >>> import adjoint as torch
    >>> model = torch.nn.DataParallel(torch.nn.Linear(2, 3))
    >>> list(model.state_dict())
    ['module.weight', 'module.bias']
    """

    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        self.module = module
        self.device_ids = [] if _C._cuda_why_unavailable() else _chosen(device_ids)
        if not self.device_ids:
            return
        self.dim = dim
        self.output_device = self.device_ids[0] if output_device is None else output_device
        if isinstance(self.output_device, str | _C.device) and _C.device(self.output_device).type != "cpu":
            self.output_device = _get_device_index(self.output_device, optional=True)
        self.src_device_obj = _C.device("cuda", self.device_ids[0])
        if len(self.device_ids) == 1:
            self.module.to(self.src_device_obj)

    def forward(self, *inputs, **kwargs):
        """Calls the module on parts of the arguments, and gathers the results."""
        if not self.device_ids:
            return self.module(*inputs, **kwargs)
        _check_place(self.module, self.src_device_obj)
        inputs, kwargs = self.scatter(inputs, kwargs, self.device_ids)
        if not inputs:  # of a call without arguments
            inputs, kwargs = ((),), ({},)
        if len(self.device_ids) == 1:
            return self.module(*inputs[0], **kwargs[0])
        replicas = self.replicate(self.module, self.device_ids[: len(inputs)])
        return self.gather(self.parallel_apply(replicas, inputs, kwargs), self.output_device)

    def replicate(self, module, device_ids):
        """Copies of the module for GPUs."""
        return replicate(module, device_ids, not _C.is_grad_enabled())

    def scatter(self, inputs, kwargs, device_ids):
        """The arguments of a call for each GPU."""
        return scatter_kwargs(inputs, kwargs, device_ids, dim=self.dim)

    def parallel_apply(self, replicas, inputs, kwargs):
        """The results of the copies."""
        return parallel_apply(replicas, inputs, kwargs, self.device_ids[: len(replicas)])

    def gather(self, outputs, output_device):
        """The results side by side on one device."""
        return gather(outputs, output_device, dim=self.dim)


def data_parallel(module, inputs, device_ids=None, output_device=None, dim=0, module_kwargs=None):
    """Calls a module on parts of its inputs on several GPUs, as DataParallel does.

    >>> import adjoint as torch
    >>> if not torch.cuda.is_available():
    ...     _ = torch.nn.parallel.data_parallel(torch.nn.Tanh(), torch.zeros(2))
    """
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    shared = DataParallel(module, device_ids, output_device, dim)
    return shared(*inputs, **(module_kwargs or {}))
