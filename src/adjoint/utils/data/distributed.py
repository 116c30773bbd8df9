"""The sampler of training in several processes."""

import math

from ... import _C
from .sampler import Sampler


class DistributedSampler(Sampler):
    """The share of one of several processes: every num_replicas-th index, the same number for each.

    >>> from adjoint.utils.data import DistributedSampler
    >>> list(DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False))
    [1, 3, 0]
    """

    def __init__(self, dataset, num_replicas=None, rank=None, shuffle=True, seed=0, drop_last=False):
        if num_replicas is None or rank is None:
            raise RuntimeError("Requires distributed package to be available; or pass num_replicas and rank")
        if rank >= num_replicas or rank < 0:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        count = len(dataset)
        self.num_samples = count // num_replicas if drop_last else math.ceil(count / num_replicas)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self):
        indices = list(range(len(self.dataset)))
        if self.shuffle:
            generator = _C.Generator()
            generator.manual_seed(self.seed + self.epoch)
            indices = _C.randperm(len(self.dataset), generator=generator).tolist()
        # Round and round where there are more places than samples; drop_last leaves fewer.
        places = range(self.rank, self.total_size, self.num_replicas)
        return iter([indices[place % len(indices)] for place in places])

    def __len__(self):
        return self.num_samples

    def set_epoch(self, epoch):
        """Sets the epoch, which changes the order."""
        self.epoch = epoch
