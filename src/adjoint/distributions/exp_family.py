"""Distributions of an exponential family: the entropy by the gradient of the normalizer."""

from ..autograd import grad
from .distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """Densities exp(t(x) · natural parameters - F(natural parameters) + k(x)).

    A subclass gives its natural parameters and F, from which entropies and divergences follow.

    >>> import adjoint as torch
    >>> isinstance(torch.distributions.Normal(0.0, 1.0), torch.distributions.ExponentialFamily)
    True
    """

    @property
    def _natural_params(self):
        """The natural parameters, a tuple of tensors."""
        raise NotImplementedError

    def _log_normalizer(self, *natural_params):
        """F of the natural parameters."""
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self):
        """The expectation of k(x)."""
        raise NotImplementedError

    def entropy(self):
        """F - its gradient · natural parameters - the mean carrier measure."""
        result = -self._mean_carrier_measure
        params = [p.detach().requires_grad_() for p in self._natural_params]
        normalizer = self._log_normalizer(*params)
        gradients = grad(normalizer.sum(), params, create_graph=True)
        result += normalizer
        for p, g in zip(params, gradients, strict=True):
            result -= (p * g).reshape(self._batch_shape + (-1,)).sum(-1)
        return result
