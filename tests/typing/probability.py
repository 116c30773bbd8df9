"""Distributions: samples, log probabilities, divergences, transforms."""

from collections.abc import Sequence
from typing import assert_type

import adjoint as torch
from adjoint import Tensor
from adjoint import distributions as D
from adjoint.distributions import Categorical, Independent, MultivariateNormal, Normal, TransformedDistribution

mean = torch.zeros(3, requires_grad=True)
normal = Normal(mean, 1.0)
assert_type(normal.sample(), Tensor)
assert_type(normal.rsample((2, 3)), Tensor)
assert_type(normal.sample(torch.Size([4])), Tensor)
assert_type(normal.log_prob(mean), Tensor)
assert_type(normal.entropy().sum(), Tensor)
assert_type(normal.mean, Tensor)
assert_type(normal.stddev, Tensor)
assert_type(normal.batch_shape, torch.Size)
assert_type(normal.loc, Tensor)
assert_type(normal.cdf(mean), Tensor)
assert_type(normal.expand((2, 3)), Normal)
assert_type(D.kl_divergence(normal, Normal(0.0, 1.0)), Tensor)
assert_type(Categorical(logits=torch.zeros(4)).sample(), Tensor)
assert_type(Categorical(probs=torch.ones(4)).logits, Tensor)
assert_type(MultivariateNormal(mean, torch.eye(3)).log_prob(mean), Tensor)
assert_type(Independent(normal, 1).log_prob(mean), Tensor)
assert_type(TransformedDistribution(normal, [D.ExpTransform()]).rsample(), Tensor)
assert_type(D.Beta(2.0, 3.0).sample(), Tensor)
assert_type(D.Bernoulli(0.3).sample((5,)), Tensor)
assert_type(D.Gamma(2.0, torch.ones(3)).rate, Tensor)
assert_type(D.Uniform(0, 1).icdf(mean), Tensor)


class Shifted(Normal):
    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return super().sample(sample_shape) + 1


normal.log_prob("x")  # error: mypy[arg-type] pyright[reportArgumentType]
normal.rsample("shape", 3)  # error: mypy[call-arg] pyright[reportCallIssue]
Categorical(torch.ones(3), logitss=torch.ones(3))  # error: mypy[call-arg] pyright[reportCallIssue]
