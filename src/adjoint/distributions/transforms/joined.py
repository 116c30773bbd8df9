"""Several transforms side by side: each for a part of its argument along a dimension."""

from ...ops.language import cat, stack
from .. import constraints
from ..utils import _sum_rightmost, lazy_property
from .base import Transform


def _check(tseq):
    if not all(isinstance(t, Transform) for t in tseq):
        raise AssertionError("All elements of tseq must be Transform instances")


def _check_dim(dim, x):
    if not -x.dim() <= dim < x.dim():
        raise AssertionError(f"dim {dim} out of range for tensor with {x.dim()} dimensions")


class CatTransform(Transform):
    """Transform i for part i along a dimension, of lengths[i] elements.

    >>> import adjoint as torch
    >>> from adjoint.distributions import CatTransform, ExpTransform, identity_transform
    >>> CatTransform([ExpTransform(), identity_transform], lengths=[1, 2])(torch.zeros(3))
    tensor([1., 0., 0.])
    """

    def __init__(self, tseq, dim=0, lengths=None, cache_size=0):
        _check(tseq)
        if cache_size:
            tseq = [t.with_cache(cache_size) for t in tseq]
        super().__init__(cache_size=cache_size)
        self.transforms = list(tseq)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})")
        self.dim = dim

    @lazy_property
    def event_dim(self):
        return max(t.event_dim for t in self.transforms)

    @lazy_property
    def length(self):
        """How many elements there are along the dimension."""
        return sum(self.lengths)

    def with_cache(self, cache_size=1):
        if self._cache_size == cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _parts(self, x):
        _check_dim(self.dim, x)
        if x.shape[self.dim] != self.length:
            raise AssertionError(f"x.size({self.dim}) = {x.shape[self.dim]} must equal length {self.length}")
        return x.split(self.lengths, self.dim)

    def _call(self, x):
        return cat([t(part) for t, part in zip(self.transforms, self._parts(x), strict=True)], self.dim)

    def _inverse(self, y):
        return cat([t.inv(part) for t, part in zip(self.transforms, self._parts(y), strict=True)], self.dim)

    def log_abs_det_jacobian(self, x, y):
        terms = []
        for t, before, after in zip(self.transforms, self._parts(x), self._parts(y), strict=True):
            slope = t.log_abs_det_jacobian(before, after)
            terms.append(_sum_rightmost(slope, self.event_dim - t.event_dim))
        dim = (self.dim if self.dim < 0 else self.dim - x.dim()) + self.event_dim
        return cat(terms, dim) if dim < 0 else sum(terms)

    @property
    def bijective(self):
        return all(t.bijective for t in self.transforms)

    @property
    def domain(self):
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @property
    def codomain(self):
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(Transform):
    """Transform i for element i along a dimension.

    >>> import adjoint as torch
    >>> from adjoint.distributions import ExpTransform, StackTransform, identity_transform
    >>> StackTransform([ExpTransform(), identity_transform])(torch.zeros(2))
    tensor([1., 0.])
    """

    def __init__(self, tseq, dim=0, cache_size=0):
        _check(tseq)
        if cache_size:
            tseq = [t.with_cache(cache_size) for t in tseq]
        super().__init__(cache_size=cache_size)
        self.transforms = list(tseq)
        self.dim = dim

    def with_cache(self, cache_size=1):
        if self._cache_size == cache_size:
            return self
        return StackTransform(self.transforms, self.dim, cache_size)

    def _parts(self, x):
        _check_dim(self.dim, x)
        if x.shape[self.dim] != len(self.transforms):
            count = len(self.transforms)
            raise AssertionError(f"x.size({self.dim}) = {x.shape[self.dim]} must equal len(transforms) {count}")
        return x.unbind(self.dim)

    def _call(self, x):
        return stack([t(part) for t, part in zip(self.transforms, self._parts(x), strict=True)], self.dim)

    def _inverse(self, y):
        return stack([t.inv(part) for t, part in zip(self.transforms, self._parts(y), strict=True)], self.dim)

    def log_abs_det_jacobian(self, x, y):
        parts = zip(self.transforms, self._parts(x), self._parts(y), strict=True)
        return stack([t.log_abs_det_jacobian(before, after) for t, before, after in parts], self.dim)

    @property
    def bijective(self):
        return all(t.bijective for t in self.transforms)

    @property
    def domain(self):
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @property
    def codomain(self):
        return constraints.stack([t.codomain for t in self.transforms], self.dim)
