"""DistributedDataParallel: one module in several processes, of which there is one here."""

from ..modules.module import Module


class DistributedDataParallel(Module):
    """A module whose gradients would be averaged over processes: it needs a process group, and there is none.

    isinstance(model, DistributedDataParallel) is False of every model.

    >>> import adjoint as torch
    >>> isinstance(torch.nn.Linear(2, 2), torch.nn.parallel.DistributedDataParallel)
    False
    """

    def __init__(self, module, *args, **kwargs):
        raise ValueError(
            "Default process group has not been initialized, please make sure to call init_process_group. "
            "DistributedDataParallel: Adjoint runs in one process (torch.distributed.is_available() is False); train "
            "the module itself, or use PyTorch"
        )


DistributedDataParallelCPU = DistributedDataParallel
