"""DataParallel: splits a batch over GPUs, of which there are none here."""

from ..._absent import refusing
from ..modules.module import Module


class DataParallel(Module):
    """A module that would be run on parts of a batch on several GPUs; without any it calls the module.

    >>> import adjoint as torch
    >>> model = torch.nn.DataParallel(torch.nn.Linear(2, 3))
    >>> model(torch.zeros(4, 2)).shape, list(model.state_dict())
    (torch.Size([4, 3]), ['module.weight', 'module.bias'])
    """

    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        self.module = module
        self.device_ids = []

    def forward(self, *inputs, **kwargs):
        """Calls the module."""
        return self.module(*inputs, **kwargs)


def data_parallel(module, inputs, device_ids=None, output_device=None, dim=0, module_kwargs=None):
    """Calls the module: there are no GPUs to share the batch among.

    >>> import adjoint as torch
    >>> torch.nn.parallel.data_parallel(torch.nn.Tanh(), torch.zeros(2))
    tensor([0., 0.])
    """
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    return module(*inputs, **(module_kwargs or {}))


def parallel_apply(modules, inputs, kwargs_tup=None, devices=None):
    """Calls each of the modules with its own inputs, one after the other.

    >>> import adjoint as torch
    >>> torch.nn.parallel.parallel_apply([torch.nn.Tanh(), torch.nn.ReLU()], [torch.zeros(1), torch.ones(1)])
    [tensor([0.]), tensor([1.])]
    """
    if len(modules) != len(inputs):
        raise AssertionError(f"The number of modules {len(modules)} is not equal to the number of inputs {len(inputs)}")
    keywords = kwargs_tup or ({},) * len(modules)
    given = [one if isinstance(one, (list, tuple)) else (one,) for one in inputs]
    return [module(*one, **words) for module, one, words in zip(modules, given, keywords, strict=True)]


replicate = refusing("nn.parallel", "replicate", "there are no GPUs to copy a module to; deep copy it instead")
