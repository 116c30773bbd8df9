"""Distances and similarities of vectors as modules."""

from .. import functional as F
from .module import Module

__all__ = ["CosineSimilarity", "PairwiseDistance"]


class PairwiseDistance(Module):
    """The p-norm distances between the rows of two tensors.

    >>> import adjoint as torch
    >>> torch.nn.PairwiseDistance(p=1)(torch.zeros(1, 2), torch.ones(1, 2))
    tensor([2.0000])
    """

    def __init__(self, p=2.0, eps=1e-6, keepdim=False):
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1, x2):
        """The distances of the vectors."""
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    """The cosines of the angles between vectors.

    >>> import adjoint as torch
    >>> torch.nn.CosineSimilarity()(torch.ones(1, 2), torch.ones(1, 2))
    tensor([1.0000])
    """

    def __init__(self, dim=1, eps=1e-8):
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1, x2):
        """The similarities of the vectors."""
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
