"""DataParallel: splits a batch over GPUs, of which there are none here."""

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
