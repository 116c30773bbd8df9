"""Constraints and the helpers of distributions beside torch's."""

import numpy as np
import pytest

import adjoint

from ..compare import lines, programs, same

program, test_program = programs()

CHECKS = lines("""
    C.boolean.check(T([0.0, 1.0, 0.5, nan]))
    C.one_hot.check(T([[0.0, 1.0], [1.0, 1.0], [0.5, 0.5]]))
    C.nonnegative_integer.check(T([0.0, -1.0, 0.5, 3.0]))
    C.positive_integer.check(T([0, -1, 2]))
    C.integer_interval(1, 3).check(T([0.0, 1.0, 1.5, 3.0, 4.0]))
    C._IntegerLessThan(2).check(T([0.0, 1.5, 3.0]))
    C.real.check(T([0.0, nan, inf]))
    C.real_vector.check(T([[0.0, nan], [1.0, inf]]))
    C.positive.check(T([0.0, 1.0, nan]))
    C.nonnegative.check(T([0.0, -1.0, nan]))
    C.greater_than(T([1.0, 2.0])).check(T([1.5, 1.5]))
    C.greater_than_eq(1).check(T([1, 0]))
    C.less_than(1).check(T([1, 0]))
    C.unit_interval.check(T([0.0, 1.0, 1.5]))
    C.interval(-1, 1).check(T([0.0, 1.0, 1.5]))
    C.half_open_interval(-1, 1).check(T([0.0, 1.0, -1.0]))
    C.simplex.check(T([[0.5, 0.5], [0.6, 0.5], [1.5, -0.5]]))
    C.multinomial(3).check(T([[1.0, 2.0], [2.0, 2.0], [-1.0, 1.0]]))
    C.lower_triangular.check(T([[[1.0, 0.0], [2.0, -3.0]], [[1.0, 1.0], [0.0, 1.0]]]))
    C.lower_cholesky.check(T([[[1.0, 0.0], [2.0, 3.0]], [[1.0, 0.0], [2.0, -3.0]]]))
    C.corr_cholesky.check(T([[[1.0, 0.0], [0.6, 0.8]], [[1.0, 0.0], [2.0, 3.0]]]))
    C.square.check(torch.zeros(4, 2, 3))
    C.square.check(torch.zeros(4, 2, 2))
    C.symmetric.check(T([[[1.0, 2.0], [2.0, 3.0]], [[1.0, 2.0], [0.0, 3.0]]]))
    C.symmetric.check(torch.zeros(4, 2, 3))
    C.positive_semidefinite.check(T([[[1.0, 0.0], [0.0, 0.0]], [[1.0, 2.0], [2.0, 1.0]]]))
    C.positive_definite.check(T([[[1.0, 0.0], [0.0, 0.0]], [[2.0, 1.0], [1.0, 2.0]]]))
    C.positive_definite.check(T([[1.0, 2.0], [0.0, 1.0]]))
    C.independent(C.real, 1).check(T(1.0))
    C.independent(C.positive, 2).check(torch.ones(3, 2, 2))
    C.independent(C.positive, 0).check(torch.ones(3))
    C.independent(3, 1)
    C.independent(C.real, -1)
    C.independent(C.real, 1.5)
    C.stack([C.real, C.positive]).check(T([[1.0, nan], [-1.0, 2.0]]))
    C.stack([C.real, C.positive], -1).event_dim
    C.stack([C.real, C.positive], 5).check(torch.ones(2))
    C.stack([3])
    C.cat([C.real, C.positive], 0, [1, 2]).check(T([-1.0, 2.0, -3.0]))
    C.cat([C.real, C.positive], 0, [1])
    C.cat([C.real, C.boolean]).is_discrete
    C.cat([C.simplex, C.real]).event_dim
    C.cat([3])
    C.MixtureSameFamilyConstraint(C.interval(torch.zeros(3), torch.ones(3))).check(T([0.5, 2.0]))
    C.MixtureSameFamilyConstraint(C.simplex).check(T([[0.5, 0.5], [0.2, 0.2]]))
    C.MixtureSameFamilyConstraint(C.simplex).event_dim
    C.MixtureSameFamilyConstraint(C.boolean).is_discrete
    C.MixtureSameFamilyConstraint(3)
    C.dependent.check(T(1.0))
    C.dependent.is_discrete
    C.dependent.event_dim
    C.dependent(is_discrete=True, event_dim=1).event_dim
    C.is_dependent(torch.distributions.Uniform.support)
    C.is_dependent(C.real)
    C.Constraint().check(1)
    [repr(getattr(C, name)) for name in sorted(C.__all__) if isinstance(getattr(C, name), C.Constraint)]
    [repr(one) for one in (C.interval(T(1.0), T([1.0, 2.0])), C.greater_than(1), C.multinomial(3), C.stack([C.real]))]
    [repr(one) for one in (C.cat([C.real]), C.MixtureSameFamilyConstraint(C.real), C.independent(C.real, 2))]
    [(getattr(C, name).is_discrete, getattr(C, name).event_dim) for name in ("boolean", "simplex", "real", "square")]
    torch.distributions.Uniform.support.event_dim
    torch.distributions.Binomial.support.is_discrete
    sorted(C.__all__)
    sorted(U.__all__)
    U.broadcast_all(1, 2.0)
    U.broadcast_all(1, T([1, 2]))
    U.broadcast_all(1, torch.tensor([1, 2], dtype=torch.float16), T(3.0))
    U.broadcast_all(T([1.0, 2.0]), T([[3.0]]))
    U.broadcast_all(np.float64(2.0), 1)
    U.broadcast_all(1, "a")
    U.logits_to_probs(T([0.3, -1.0]))
    U.logits_to_probs(T([0.3, -1.0]), is_binary=True)
    U.probs_to_logits(T([0.3, 0.7, 0.0]))
    U.probs_to_logits(T([0.3, 0.0, 1.0]), is_binary=True)
    U.clamp_probs(T([0.3, 0.0, 1.0]))
    U.clamp_probs(torch.tensor([0.3, 0.0, 1.0], dtype=torch.float64))
    [U.tril_matrix_to_vec(torch.arange(16.0).reshape(4, 4), diag) for diag in range(-3, 4)]
    U.tril_matrix_to_vec(torch.ones(2, 2), 2)
    U.tril_matrix_to_vec(torch.ones(2, 2), -3)
    [U.vec_to_tril_matrix(torch.arange(1.0, 7.0), diag) for diag in (0, -1)]
    U.vec_to_tril_matrix(torch.arange(8.0).reshape(2, 4) + 1, 1)
    U.vec_to_tril_matrix(torch.ones(2))
    U._sum_rightmost(torch.arange(24.0).reshape(2, 3, 4), 2)
    type(U.lazy_property(len)).__name__
    isinstance(torch.distributions.Bernoulli.logits, property)
""")


@pytest.mark.parametrize("text", CHECKS)
def test_checks(text):
    def call(L):
        D = L.distributions
        names = {"torch": L, "C": D.constraints, "U": D.utils, "T": L.tensor, "np": np}
        return eval(text, {**names, "nan": float("nan"), "inf": float("inf")})

    same(call)


def test_no_triangle_of_that_size():
    """torch says so for some sizes, and fails at another step for others."""
    with pytest.raises(ValueError, match="The size of last dimension is 4 which cannot be expressed as the lower"):
        adjoint.distributions.utils.vec_to_tril_matrix(adjoint.ones(4))


@program
def lazy_properties_are_computed_once_and_with_gradients(L):
    calls = []

    class Lazy:
        @L.distributions.utils.lazy_property
        def value(self):
            calls.append(1)
            return L.is_grad_enabled()

    one = Lazy()
    with L.no_grad():
        first = one.value
    return first, one.value, len(calls), vars(one)


@program
def logits_that_were_made_under_no_grad_carry_gradients(L):
    probs = L.tensor([0.2, 0.8], requires_grad=True)
    d = L.distributions.Bernoulli(probs)
    with L.no_grad():
        d.log_prob(L.ones(2))
    (gradient,) = L.autograd.grad(d.log_prob(L.ones(2)).sum(), probs)
    return gradient


@program
def a_dependent_property_of_ones_own(L):
    C = L.distributions.constraints

    class Box:
        bound = 3.0

        @C.dependent_property(is_discrete=False, event_dim=0)
        def support(self):
            return C.less_than(self.bound)

    return repr(Box.support), Box.support.event_dim, repr(Box().support), C.is_dependent(Box.support)
