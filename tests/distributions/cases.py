"""Distributions of every family, made in either library from the same numbers.

A case is a function of (D, t): the library's `distributions`, and a function that makes a leaf tensor of numbers, in
the type that a test chooses.
"""

import numpy as np

SPREAD = [[0.4, -1.2, 2.5], [0.1, 3.0, -0.7]]
SCALES = [1.0, 0.5, 2.5]
SHAPES = [[0.7, 1.0, 4.0], [2.5, 0.3, 12.0]]
SHARES = [[0.1, 0.2, 0.7], [0.5, 0.3, 0.2]]
LOGITS = [[0.3, -1.0, 0.8], [1.4, 0.0, -2.0]]
TRIL = [[1.2, 0.0, 0.0], [-0.5, 0.8, 0.0], [0.3, 0.4, 1.5]]
COVARIANCE = (np.array(TRIL) @ np.array(TRIL).T).tolist()
BATCH_TRIL = [TRIL, (np.array(TRIL) * 1.5).tolist()]

CASES = {
    "Bernoulli": lambda D, t: D.Bernoulli(t(SHARES)),
    "Bernoulli of logits": lambda D, t: D.Bernoulli(logits=t(LOGITS)),
    "Beta": lambda D, t: D.Beta(t(SHAPES), t(SCALES)),
    "Binomial": lambda D, t: D.Binomial(7, t(SHARES)),
    "Binomial of logits": lambda D, t: D.Binomial(40, logits=t(LOGITS)),
    "Categorical": lambda D, t: D.Categorical(t(SHARES)),
    "Categorical of logits": lambda D, t: D.Categorical(logits=t(LOGITS)),
    "Cauchy": lambda D, t: D.Cauchy(t(SPREAD), t(SCALES)),
    "Chi2": lambda D, t: D.Chi2(t(SHAPES)),
    "ContinuousBernoulli": lambda D, t: D.ContinuousBernoulli(t([[0.1, 0.4995, 0.7], [0.5, 0.501, 0.98]])),
    "ContinuousBernoulli of logits": lambda D, t: D.ContinuousBernoulli(logits=t(LOGITS)),
    "Dirichlet": lambda D, t: D.Dirichlet(t(SHAPES)),
    "Exponential": lambda D, t: D.Exponential(t(SHAPES)),
    "ExpRelaxedCategorical": lambda D, t: D.relaxed_categorical.ExpRelaxedCategorical(t(0.7), t(SHARES)),
    "FisherSnedecor": lambda D, t: D.FisherSnedecor(t(SHAPES), t([3.0, 5.0, 9.0])),
    "Gamma": lambda D, t: D.Gamma(t(SHAPES), t(SCALES)),
    "GeneralizedPareto": lambda D, t: D.GeneralizedPareto(t(SPREAD), t(SCALES), t([0.2, -0.4, 0.6])),
    "Geometric": lambda D, t: D.Geometric(t(SHARES)),
    "Geometric of logits": lambda D, t: D.Geometric(logits=t(LOGITS)),
    "Gumbel": lambda D, t: D.Gumbel(t(SPREAD), t(SCALES)),
    "HalfCauchy": lambda D, t: D.HalfCauchy(t(SHAPES)),
    "HalfNormal": lambda D, t: D.HalfNormal(t(SHAPES)),
    "Independent": lambda D, t: D.Independent(D.Normal(t(SPREAD), t(SCALES)), 1),
    "InverseGamma": lambda D, t: D.InverseGamma(t(SHAPES), t(SCALES)),
    "Kumaraswamy": lambda D, t: D.Kumaraswamy(t(SHAPES), t(SCALES)),
    "LKJCholesky": lambda D, t: D.LKJCholesky(4, t([0.5, 3.0])),
    "Laplace": lambda D, t: D.Laplace(t(SPREAD), t(SCALES)),
    "LogitRelaxedBernoulli": lambda D, t: D.relaxed_bernoulli.LogitRelaxedBernoulli(t(0.7), t(SHARES)),
    "LogNormal": lambda D, t: D.LogNormal(t(SPREAD), t(SCALES)),
    "LogisticNormal": lambda D, t: D.LogisticNormal(t(SPREAD), t(SCALES)),
    "LowRankMultivariateNormal": lambda D, t: D.LowRankMultivariateNormal(
        t(SPREAD), t([[0.4, 1.0], [0.2, -0.3], [0.9, 0.1]]), t(SCALES)
    ),
    "MixtureSameFamily": lambda D, t: D.MixtureSameFamily(D.Categorical(t(SHARES)), D.Normal(t(SPREAD), t(SCALES))),
    "MixtureSameFamily of vectors": lambda D, t: D.MixtureSameFamily(
        D.Categorical(t([0.4, 0.6])), D.Independent(D.Normal(t(SPREAD), t(SCALES)), 1)
    ),
    "Multinomial": lambda D, t: D.Multinomial(6, t(SHARES)),
    "Multinomial of logits": lambda D, t: D.Multinomial(3, logits=t(LOGITS)),
    "MultivariateNormal of a factor": lambda D, t: D.MultivariateNormal(t(SPREAD), scale_tril=t(TRIL)),
    "MultivariateNormal of factors": lambda D, t: D.MultivariateNormal(t(SPREAD), scale_tril=t(BATCH_TRIL)),
    "MultivariateNormal of several factors": lambda D, t: D.MultivariateNormal(
        t([[[0.1, 0.2, 0.3]] * 2] * 3), scale_tril=t([[row] for row in [TRIL] * 3])
    ),
    "MultivariateNormal": lambda D, t: D.MultivariateNormal(t(SPREAD), t(COVARIANCE)),
    "MultivariateNormal of a precision": lambda D, t: D.MultivariateNormal(
        t(SPREAD[0]), precision_matrix=t(COVARIANCE)
    ),
    "NegativeBinomial": lambda D, t: D.NegativeBinomial(t(SCALES), t(SHARES)),
    "NegativeBinomial of logits": lambda D, t: D.NegativeBinomial(5, logits=t(LOGITS)),
    "Normal": lambda D, t: D.Normal(t(SPREAD), t(SCALES)),
    "Normal of numbers": lambda D, t: D.Normal(0.5, 2),
    "OneHotCategorical": lambda D, t: D.OneHotCategorical(t(SHARES)),
    "OneHotCategoricalStraightThrough": lambda D, t: D.OneHotCategoricalStraightThrough(logits=t(LOGITS)),
    "Pareto": lambda D, t: D.Pareto(t(SHAPES), t([0.8, 1.5, 3.0])),
    "Poisson": lambda D, t: D.Poisson(t(SHAPES)),
    "RelaxedBernoulli": lambda D, t: D.RelaxedBernoulli(t(0.7), t(SHARES)),
    "RelaxedBernoulli of logits": lambda D, t: D.RelaxedBernoulli(t(0.7), logits=t(LOGITS)),
    "RelaxedOneHotCategorical": lambda D, t: D.RelaxedOneHotCategorical(t(0.7), t(SHARES)),
    "RelaxedOneHotCategorical of logits": lambda D, t: D.RelaxedOneHotCategorical(t(0.7), logits=t(LOGITS)),
    "StudentT": lambda D, t: D.StudentT(t([[0.9, 1.5, 2.5], [5.0, 30.0, 2.0]]), t(SPREAD), t(SCALES)),
    "TransformedDistribution": lambda D, t: D.TransformedDistribution(
        D.Normal(t(SPREAD), t(SCALES)), [D.AffineTransform(t(0.3), t(-2.0)), D.SigmoidTransform()]
    ),
    "TransformedDistribution of vectors": lambda D, t: D.TransformedDistribution(
        D.Normal(t(SPREAD), t(SCALES)),
        [D.AffineTransform(t(0.3), t([1.0, 2.0, -1.0]), event_dim=1), D.StickBreakingTransform()],
    ),
    "Uniform": lambda D, t: D.Uniform(t(SPREAD), t([5.0, 4.0, 6.0])),
    "VonMises": lambda D, t: D.VonMises(t(SPREAD), t([0.3, 2.0, 20.0])),
    "Weibull": lambda D, t: D.Weibull(t(SHAPES), t([0.8, 1.5, 3.0])),
    "Wishart": lambda D, t: D.Wishart(t([4.5, 7.0]), t(COVARIANCE)),
    "Wishart of a factor": lambda D, t: D.Wishart(t(5.0), scale_tril=t(TRIL)),
    "Wishart of a precision": lambda D, t: D.Wishart(t(5.0), precision_matrix=t(COVARIANCE)),
}

# What draws them is made of gamma numbers, whose gradients torch computes to three digits.
OF_GAMMA = {"Beta", "Chi2", "Dirichlet", "FisherSnedecor", "Gamma", "InverseGamma", "StudentT"}
WISHART = {"Wishart", "Wishart of a factor", "Wishart of a precision"}
# torch compares its concentration with a float32 zero, and refuses other types.
SINGLE_ONLY = {"GeneralizedPareto"}


class Maker:
    """Makes leaves of a library, and keeps them."""

    def __init__(self, library, dtype="float64", grad=True):
        self.library, self.dtype, self.grad, self.leaves = library, getattr(library, dtype), grad, []

    def __call__(self, numbers):
        leaf = self.library.tensor(numbers, dtype=self.dtype, requires_grad=self.grad)
        self.leaves.append(leaf)
        return leaf


def make(name, library, dtype="float64", grad=True):
    """(the distribution, its leaves)"""
    maker = Maker(library, "float32" if name in SINGLE_ONLY else dtype, grad)
    return CASES[name](library.distributions, maker), maker.leaves
