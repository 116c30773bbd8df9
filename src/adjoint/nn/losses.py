"""What the losses of nn.functional take beside tensors: distances as objects, and options."""

from . import functional


class PairwiseDistance:
    """pairwise_distance() with its arguments, as a function of two tensors.

    >>> import adjoint as torch
    >>> torch.nn.PairwiseDistance(p=1)(torch.zeros(1, 2), torch.ones(1, 2))
    tensor([2.0000])
    """

    def __init__(self, p=2.0, eps=1e-6, keepdim=False):
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def __call__(self, x1, x2):
        """The distances of the vectors."""
        return functional.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class LinearCrossEntropyOptions:
    """How linear_cross_entropy() is divided into parts in torch; here without effect."""

    def __init__(
        self,
        allow_retain_graph=False,
        batch_chunk_size=None,
        chunking_method="auto",
        acc_policy="auto",
        acc_dtype=None,
    ):
        vars(self).update(
            allow_retain_graph=allow_retain_graph,
            batch_chunk_size=batch_chunk_size,
            chunking_method=chunking_method,
            acc_policy=acc_policy,
            acc_dtype=acc_dtype,
        )
