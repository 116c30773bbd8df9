"""The von Mises distribution."""

import math

from .. import _C
from ..autograd.grad_mode import no_grad
from ..ops.checks import holds
from ..ops.language import cos, i0e, i1e, log, rand, sin, where, zeros
from . import constraints
from .distribution import _NO_DIMS, Distribution
from .utils import Size, broadcast_all, lazy_property

__all__ = ["VonMises"]


class VonMises(Distribution):
    """Angles around `loc`: the density is proportional to exp(concentration * cos(x - loc)).

    >>> import adjoint as torch
    >>> torch.distributions.VonMises(torch.tensor([0.0]), torch.tensor([1.0])).log_prob(torch.tensor([0.0]))
    tensor([-1.0738])
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False

    def __init__(self, loc, concentration, validate_args=None):
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, Size(), validate_args)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        # log I0(c) is c + log of the scaled function: c is taken off c cos(x), as cos(x) - 1 = -2 sin(x / 2)^2.
        c = self.concentration
        return -2 * c * sin(0.5 * (value - self.loc)).pow(2) - math.log(2 * math.pi) - log(i0e(c))

    @lazy_property
    def _loc(self):
        return self.loc.to(_C.float64)

    @lazy_property
    def _concentration(self):
        return self.concentration.to(_C.float64)

    @lazy_property
    def _proposal_r(self):
        """The parameter of the wrapped Cauchy distribution that proposes angles (Best and Fisher, 1979)."""
        kappa = self._concentration
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        return where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))

    def sample(self, sample_shape=_NO_DIMS):
        """Angles from [-pi, pi), by rejection, in double precision."""
        with no_grad():
            shape = self._extended_shape(sample_shape)
            r, kappa = self._proposal_r, self._concentration
            x = zeros(shape, dtype=_C.float64, device=self.loc.device)
            done = zeros(shape, dtype=_C.bool, device=self.loc.device)
            while not holds(done):
                u1, u2, u3 = rand((3, *shape), dtype=_C.float64, device=self.loc.device).unbind()
                z = cos(math.pi * u1)
                f = (1 + r * z) / (r + z)
                c = kappa * (r - f)
                accept = ((c * (2 - c) - u2) > 0) | ((c / u2).log() + 1 - c >= 0)
                x = where(accept, (u3 - 0.5).sign() * f.acos(), x)
                done = done | accept
            return ((x + math.pi + self._loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)

    def expand(self, batch_shape, _instance=None):
        return self._expanded(VonMises, _instance, batch_shape, {"loc": 0, "concentration": 0})

    @property
    def mean(self):
        """The circular mean."""
        return self.loc

    @property
    def mode(self):
        return self.loc

    @lazy_property
    def variance(self):
        """The circular variance."""
        return 1 - i1e(self.concentration) / i0e(self.concentration)
