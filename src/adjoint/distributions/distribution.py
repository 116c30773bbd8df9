"""What all distributions have: shapes, validation of parameters and values, draws, moments, expansion."""

import warnings

from ..autograd.grad_mode import no_grad
from ..ops.batching import all_values
from ..ops.checks import holds
from .constraints import is_dependent
from .utils import Size, Tensor, lazy_property

__all__ = ["Distribution"]

_NO_DIMS = Size()


def _all(condition):
    """Whether all elements are True; of all elements of a batch, under vmap, where a tensor has no value of its own."""
    try:
        return bool(condition.all())
    except RuntimeError:
        return holds(condition)


def _shown(parameter):
    """A number alone, or the shape of several."""
    return all_values(parameter) if parameter.numel() == 1 else parameter.size()


class Distribution:
    """A distribution: `batch_shape` of them at once, each of whose draws has `event_shape`.

    With `validate_args` parameters and values are checked against `arg_constraints` and `support`.

    >>> import adjoint as torch
    >>> d = torch.distributions.Normal(torch.zeros(3), 1.0)
    >>> d.batch_shape, d.event_shape, d.sample((2,)).shape
    (torch.Size([3]), torch.Size([]), torch.Size([2, 3]))
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value):
        """Whether distributions made from here on validate, where they are not told."""
        if value not in [True, False]:
            raise ValueError(f"set_default_validate_args: expected True or False; got {value!r}")
        Distribution._validate_args = value

    def __init__(self, batch_shape=_NO_DIMS, event_shape=_NO_DIMS, validate_args=None):
        self._batch_shape = batch_shape
        self._event_shape = event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()

    def _check_parameters(self):
        try:
            arg_constraints = self.arg_constraints
        except NotImplementedError:
            arg_constraints = {}
            warnings.warn(
                f"{self.__class__} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or "
                "initialize the distribution with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
        own = self.__dict__
        for name, constraint in arg_constraints.items():
            if is_dependent(constraint):
                continue
            value = own.get(name)
            if value is None:
                if isinstance(getattr(type(self), name), lazy_property):
                    continue  # made from another parameter, which is checked
                value = getattr(self, name)
            if not _all(constraint.check(value)):
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of "
                    f"distribution {self!r} to satisfy the constraint {constraint!r}, "
                    f"but found invalid values:\n{all_values(value)}"
                )

    def expand(self, batch_shape, _instance=None):
        """The same distribution for a larger batch, without copies of the parameters."""
        raise NotImplementedError

    def _expanded(self, cls, _instance, batch_shape, event_dims):
        """An instance of expanded parameters; `event_dims` says how many dimensions of each belong to events."""
        new = self._get_checked_instance(cls, _instance)
        batch_shape = Size(batch_shape)
        for name, count in event_dims.items():
            value = self.__dict__.get(name)
            if value is not None:
                tail = value.shape[value.dim() - count :] if count else ()
                setattr(new, name, value.expand(batch_shape + tail))
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def batch_shape(self):
        """The shape of the parameters: that of distributions side by side."""
        return self._batch_shape

    @property
    def event_shape(self):
        """The shape of one draw of one of the distributions."""
        return self._event_shape

    @property
    def arg_constraints(self):
        """The constraints of the parameters by name."""
        raise NotImplementedError

    @property
    def support(self):
        """The constraint that draws satisfy."""
        raise NotImplementedError

    @property
    def mean(self):
        """The expectation of a draw."""
        raise NotImplementedError

    @property
    def mode(self):
        """The most likely value."""
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self):
        """The expected square of the distance to the mean."""
        raise NotImplementedError

    @property
    def stddev(self):
        """The square root of the variance."""
        return self.variance.sqrt()

    def sample(self, sample_shape=_NO_DIMS):
        """Draws of this shape from each distribution, without gradients."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=_NO_DIMS):
        """Draws of this shape from each distribution, as differentiable functions of the parameters."""
        raise NotImplementedError

    def sample_n(self, n):
        """n draws; an old name of sample((n,))."""
        warnings.warn("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", FutureWarning, stacklevel=2)
        return self.sample(Size((n,)))

    def log_prob(self, value):
        """The logarithm of the density, or of the probability, at a value."""
        raise NotImplementedError

    def cdf(self, value):
        """The probability of draws up to a value."""
        raise NotImplementedError

    def icdf(self, value):
        """The value up to which draws have this probability."""
        raise NotImplementedError

    def enumerate_support(self, expand=True):
        """All values of a discrete distribution along a new first dimension; those after it expanded to the batch."""
        raise NotImplementedError

    def entropy(self):
        """The expectation of -log_prob."""
        raise NotImplementedError

    def perplexity(self):
        """exp(entropy())."""
        return self.entropy().exp()

    def _extended_shape(self, sample_shape=_NO_DIMS):
        """The shape of draws of this shape."""
        if not sample_shape:
            return self._batch_shape + self._event_shape
        return Size(sample_shape) + self._batch_shape + self._event_shape

    def _validate_sample(self, value):
        """Refuses values that the distribution has no density of."""
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        if self._event_shape or value.shape != self._batch_shape:
            self._check_shape(value.shape, self._batch_shape + self._event_shape)
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{self.__class__} does not define `support` to enable sample validation. Please initialize the "
                "distribution with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
            return
        if not _all(support.check(value)):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the "
                f"support ({support!r}) of the distribution {self!r}, but found invalid values:\n{all_values(value)}"
            )

    def _check_shape(self, given, expected):
        count = len(self._event_shape)
        if given[len(given) - count :] != self._event_shape if count <= len(given) else True:
            raise ValueError(f"The right-most size of value must match event_shape: {given} vs {self._event_shape}.")
        for a, b in zip(reversed(given), reversed(expected), strict=False):
            if a != 1 and b != 1 and a != b:
                raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {given} vs {expected}.")

    def _get_checked_instance(self, cls, _instance=None):
        """An instance to be filled by expand()."""
        if _instance is None and type(self).__init__ != cls.__init__:
            raise NotImplementedError(
                f"Subclass {self.__class__.__name__} of {cls.__name__} that defines a custom __init__ method must "
                "also define a custom .expand() method."
            )
        return self.__new__(type(self)) if _instance is None else _instance

    def __repr__(self):
        own = self.__dict__
        shown = ", ".join(f"{name}: {_shown(own[name])}" for name in self.arg_constraints if name in own)
        return f"{self.__class__.__name__}({shown})"
