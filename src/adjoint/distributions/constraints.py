"""Constraints: sets of values that parameters of distributions, and what they draw, must lie in."""

from .. import _C
from ..ops import language as ops
from ..ops.checks import holds
from .utils import EPS

__all__ = [
    "Constraint",
    "MixtureSameFamilyConstraint",
    "boolean",
    "cat",
    "corr_cholesky",
    "dependent",
    "dependent_property",
    "greater_than",
    "greater_than_eq",
    "half_open_interval",
    "independent",
    "integer_interval",
    "interval",
    "is_dependent",
    "less_than",
    "lower_cholesky",
    "lower_triangular",
    "multinomial",
    "nonnegative",
    "nonnegative_integer",
    "one_hot",
    "positive",
    "positive_definite",
    "positive_integer",
    "positive_semidefinite",
    "real",
    "real_vector",
    "simplex",
    "square",
    "stack",
    "symmetric",
    "unit_interval",
]


class Constraint:
    """A set of values, of which one element has `event_dim` dimensions.

    >>> import adjoint as torch
    >>> from adjoint.distributions import constraints
    >>> constraints.positive.check(torch.tensor([1.0, -1.0]))
    tensor([ True, False])
    """

    is_discrete = False
    event_dim = 0

    def check(self, value):
        """Which of the elements lie in the set, a tensor of bools."""
        raise NotImplementedError

    def __repr__(self):
        return self.__class__.__name__.removeprefix("_") + "()"


class _Dependent(Constraint):
    """Stands where the set depends on other values.

    >>> import adjoint as torch
    >>> from adjoint.distributions import constraints
    >>> constraints.is_dependent(constraints.dependent)
    True
    """

    def __init__(self, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        self._is_discrete = is_discrete
        self._event_dim = event_dim
        super().__init__()

    @property
    def is_discrete(self):
        if self._is_discrete is NotImplemented:
            raise NotImplementedError(".is_discrete cannot be determined statically")
        return self._is_discrete

    @property
    def event_dim(self):
        if self._event_dim is NotImplemented:
            raise NotImplementedError(".event_dim cannot be determined statically")
        return self._event_dim

    def __call__(self, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        """The same with these facts known."""
        is_discrete = self._is_discrete if is_discrete is NotImplemented else is_discrete
        event_dim = self._event_dim if event_dim is NotImplemented else event_dim
        return _Dependent(is_discrete=is_discrete, event_dim=event_dim)

    def check(self, x):
        raise ValueError("Cannot determine validity of dependent constraint")


def is_dependent(constraint):
    """Whether a constraint depends on other values, so that it cannot be checked by itself.

    >>> from adjoint.distributions import Uniform, constraints
    >>> constraints.is_dependent(Uniform.support), constraints.is_dependent(constraints.real)
    (True, False)
    """
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A property that gives the constraint of an instance; asked of the class, it is a dependent constraint.

    >>> import adjoint as torch
    >>> from adjoint.distributions import constraints
    >>> from adjoint.distributions import Uniform
    >>> type(Uniform.support).__name__, Uniform(0.0, 2.0).support
    ('_DependentProperty', Interval(lower_bound=0.0, upper_bound=2.0))
    """

    def __init__(self, fn=None, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        super().__init__(fn)
        self._is_discrete = is_discrete
        self._event_dim = event_dim

    def __call__(self, fn):
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


class _IndependentConstraint(Constraint):
    """Elements are those of another constraint, `reinterpreted_batch_ndims` dimensions of them together.

    >>> import adjoint as torch
    >>> from adjoint.distributions import constraints
    >>> rows = constraints.independent(constraints.positive, 1)
    >>> rows.check(torch.tensor([[1.0, 2.0], [1.0, -2.0]]))
    tensor([ True, False])
    """

    def __init__(self, base_constraint, reinterpreted_batch_ndims):
        if not isinstance(base_constraint, Constraint):
            raise AssertionError(f"base_constraint must be a Constraint, got {type(base_constraint).__name__}")
        if not isinstance(reinterpreted_batch_ndims, int):
            kind = type(reinterpreted_batch_ndims).__name__
            raise AssertionError(f"reinterpreted_batch_ndims must be an int, got {kind}")
        if reinterpreted_batch_ndims < 0:
            raise AssertionError(f"reinterpreted_batch_ndims must be >= 0, got {reinterpreted_batch_ndims}")
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        super().__init__()

    @property
    def is_discrete(self):
        return self.base_constraint.is_discrete

    @property
    def event_dim(self):
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value):
        result = self.base_constraint.check(value)
        count = self.reinterpreted_batch_ndims
        if result.dim() < count:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        if count == 1:
            return result.all(-1)
        return result.reshape(result.shape[: result.dim() - count] + (-1,)).all(-1)

    def __repr__(self):
        return f"{self.__class__.__name__[1:]}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """Values that every component of a mixture takes; the components are the last dimension of the batch.

    >>> import adjoint as torch
    >>> from adjoint.distributions import constraints
    >>> components = constraints.interval(torch.zeros(2), torch.tensor([1.0, 2.0]))
    >>> constraints.MixtureSameFamilyConstraint(components).check(torch.tensor([0.5, 1.5]))
    tensor([ True, False])
    """

    def __init__(self, base_constraint):
        if not isinstance(base_constraint, Constraint):
            raise AssertionError(f"base_constraint must be a Constraint, got {type(base_constraint).__name__}")
        self.base_constraint = base_constraint
        super().__init__()

    @property
    def is_discrete(self):
        return self.base_constraint.is_discrete

    @property
    def event_dim(self):
        return self.base_constraint.event_dim

    def check(self, value):
        one = value.unsqueeze(-1 - self.event_dim)
        return self.base_constraint.check(one).all(-1)

    def __repr__(self):
        return f"{self.__class__.__name__}({self.base_constraint!r})"


# ---- Numbers


class _Boolean(Constraint):
    is_discrete = True

    def check(self, value):
        return (value == 0) | (value == 1)


class _Real(Constraint):
    def check(self, value):
        return value == value  # not so for nan


class _Bounded(Constraint):
    """A set of numbers that bounds describe, in the order of `_bounds`."""

    _bounds: tuple = ()

    def __repr__(self):
        bounds = ", ".join(f"{name}={getattr(self, name)}" for name in self._bounds)
        return f"{self.__class__.__name__[1:]}({bounds})"


class _Above(_Bounded):
    _bounds = ("lower_bound",)

    def __init__(self, lower_bound):
        self.lower_bound = lower_bound
        super().__init__()


class _Below(_Bounded):
    _bounds = ("upper_bound",)

    def __init__(self, upper_bound):
        self.upper_bound = upper_bound
        super().__init__()


class _Between(_Bounded):
    _bounds = ("lower_bound", "upper_bound")

    def __init__(self, lower_bound, upper_bound):
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound
        super().__init__()


class _IntegerInterval(_Between):
    """Whole numbers from `lower_bound` to `upper_bound`, both included.

    >>> import adjoint as torch
    >>> from adjoint.distributions import constraints
    >>> constraints.integer_interval(0, 2).check(torch.tensor([2.0, 0.5, 3.0]))
    tensor([ True, False, False])
    """

    is_discrete = True

    def check(self, value):
        return (value % 1 == 0) & (self.lower_bound <= value) & (value <= self.upper_bound)


class _IntegerLessThan(_Below):
    is_discrete = True

    def check(self, value):
        return (value % 1 == 0) & (value <= self.upper_bound)


class _IntegerGreaterThan(_Above):
    is_discrete = True

    def check(self, value):
        return (value % 1 == 0) & (value >= self.lower_bound)


class _GreaterThan(_Above):
    """Numbers above `lower_bound`.

    >>> import adjoint as torch
    >>> from adjoint.distributions import constraints
    >>> constraints.greater_than(0).check(torch.tensor([0.0, 1.0]))
    tensor([False,  True])
    """

    def check(self, value):
        return self.lower_bound < value


class _GreaterThanEq(_Above):
    """Numbers from `lower_bound` on.

    >>> import adjoint as torch
    >>> from adjoint.distributions import constraints
    >>> constraints.greater_than_eq(0).check(torch.tensor([0.0, -1.0]))
    tensor([ True, False])
    """

    def check(self, value):
        return self.lower_bound <= value


class _LessThan(_Below):
    """Numbers below `upper_bound`.

    >>> import adjoint as torch
    >>> from adjoint.distributions import constraints
    >>> constraints.less_than(0).check(torch.tensor([0.0, -1.0]))
    tensor([False,  True])
    """

    def check(self, value):
        return value < self.upper_bound


class _Interval(_Between):
    """Numbers from `lower_bound` to `upper_bound`, both included.

    >>> import adjoint as torch
    >>> from adjoint.distributions import constraints
    >>> constraints.interval(0, 1).check(torch.tensor([1.0, 2.0]))
    tensor([ True, False])
    """

    def check(self, value):
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_Between):
    """Numbers from `lower_bound` on, below `upper_bound`.

    >>> import adjoint as torch
    >>> from adjoint.distributions import constraints
    >>> constraints.half_open_interval(0, 1).check(torch.tensor([0.0, 1.0]))
    tensor([ True, False])
    """

    def check(self, value):
        return (self.lower_bound <= value) & (value < self.upper_bound)


# ---- Vectors


class _OneHot(Constraint):
    is_discrete = True
    event_dim = 1

    def check(self, value):
        return ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)


class _Simplex(Constraint):
    event_dim = 1

    def check(self, value):
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(Constraint):
    """Vectors of counts that add up to `upper_bound` at most.

    >>> import adjoint as torch
    >>> from adjoint.distributions import constraints
    >>> constraints.multinomial(3).check(torch.tensor([[1.0, 2.0], [2.0, 2.0]]))
    tensor([ True, False])
    """

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound):
        self.upper_bound = upper_bound

    def check(self, x):
        return (x >= 0).all(-1) & (x.sum(-1) <= self.upper_bound)


# ---- Matrices


class _LowerTriangular(Constraint):
    event_dim = 2

    def check(self, value):
        return (value.tril() == value).flatten(-2).all(-1)


class _LowerCholesky(Constraint):
    event_dim = 2

    def check(self, value):
        return lower_triangular.check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(Constraint):
    event_dim = 2

    def check(self, value):
        slack = EPS[value.dtype] * value.shape[-1] * 10
        lengths = value.detach().norm(dim=-1)
        return lower_cholesky.check(value) & ((lengths - 1).abs() <= slack).all(-1)


class _Square(Constraint):
    event_dim = 2

    def check(self, value):
        return ops.full(value.shape[:-2], value.shape[-2] == value.shape[-1], dtype=_C.bool, device=value.device)


class _Symmetric(_Square):
    def check(self, value):
        if value.shape[-2] != value.shape[-1]:
            return super().check(value)
        return ops.isclose(value, value.mT, atol=1e-6).flatten(-2).all(-1)


class _PositiveSemidefinite(_Symmetric):
    def check(self, value):
        is_symmetric = super().check(value)
        if not holds(is_symmetric):
            return is_symmetric
        return (ops.linalg_eigvalsh(value) >= 0).all(-1)


class _PositiveDefinite(_Symmetric):
    def check(self, value):
        is_symmetric = super().check(value)
        if not holds(is_symmetric):
            return is_symmetric
        return ops.linalg_cholesky_ex(value).info == 0


# ---- Several constraints side by side


class _Cat(Constraint):
    """Constraint i holds for part i along a dimension, of lengths[i] elements.

    >>> import adjoint as torch
    >>> from adjoint.distributions import constraints
    >>> parts = constraints.cat([constraints.positive, constraints.real], lengths=[1, 2])
    >>> parts.check(torch.tensor([-1.0, -1.0, -1.0]))
    tensor([False,  True,  True])
    """

    def __init__(self, cseq, dim=0, lengths=None):
        if not all(isinstance(one, Constraint) for one in cseq):
            raise AssertionError("All elements of cseq must be Constraint instances")
        self.cseq = list(cseq)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match cseq ({len(self.cseq)})")
        self.dim = dim
        super().__init__()

    @property
    def is_discrete(self):
        return any(one.is_discrete for one in self.cseq)

    @property
    def event_dim(self):
        return max(one.event_dim for one in self.cseq)

    def check(self, value):
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} out of range for value with {value.dim()} dimensions")
        parts = value.split([*self.lengths, value.shape[self.dim] - sum(self.lengths)], self.dim)
        return ops.cat([one.check(part) for one, part in zip(self.cseq, parts, strict=False)], self.dim)


class _Stack(Constraint):
    """Constraint i holds for element i along a dimension.

    >>> import adjoint as torch
    >>> from adjoint.distributions import constraints
    >>> parts = constraints.stack([constraints.positive, constraints.real])
    >>> parts.check(torch.tensor([-1.0, -1.0]))
    tensor([False,  True])
    """

    def __init__(self, cseq, dim=0):
        if not all(isinstance(one, Constraint) for one in cseq):
            raise AssertionError("All elements of cseq must be Constraint instances")
        self.cseq = list(cseq)
        self.dim = dim
        super().__init__()

    @property
    def is_discrete(self):
        return any(one.is_discrete for one in self.cseq)

    @property
    def event_dim(self):
        dim = max(one.event_dim for one in self.cseq)
        return dim + 1 if self.dim + dim < 0 else dim

    def check(self, value):
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} out of range for value with {value.dim()} dimensions")
        return ops.stack(
            [one.check(part) for one, part in zip(self.cseq, value.unbind(self.dim), strict=False)], self.dim
        )


dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
cat = _Cat
stack = _Stack
