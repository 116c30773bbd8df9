"""Gaussian processes: exact, fitted by the marginal likelihood, and variational, with inducing points."""

import gpytorch
import torch
from report import report, train


class Exact(gpytorch.models.ExactGP):
    """A constant mean and a scaled RBF kernel."""

    def __init__(self, x, y, likelihood):
        super().__init__(x, y, likelihood)
        self.mean = gpytorch.means.ConstantMean()
        self.kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))


class Variational(gpytorch.models.ApproximateGP):
    """Four inducing points and a Matérn kernel."""

    def __init__(self, points):
        posterior = gpytorch.variational.CholeskyVariationalDistribution(len(points))
        super().__init__(gpytorch.variational.VariationalStrategy(self, points, posterior))
        self.mean, self.kernel = gpytorch.means.LinearMean(1), gpytorch.kernels.MaternKernel(nu=1.5)

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))


torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
x = torch.linspace(0, 1, 12)
y = torch.sin(6 * x) + 0.1 * torch.randn(12)
likelihood = gpytorch.likelihoods.GaussianLikelihood()
model = Exact(x, y, likelihood)
evidence = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
train(model, lambda: -evidence(model(x), y))
model.eval(), likelihood.eval()
with torch.no_grad():
    predicted = likelihood(model(torch.linspace(0, 1, 5)))
report(mean=predicted.mean, variance=predicted.variance)
likelihood = gpytorch.likelihoods.GaussianLikelihood()
sparse = Variational(x[::3].unsqueeze(-1).clone())
bound = gpytorch.mlls.VariationalELBO(likelihood, sparse, num_data=12)
loss = -bound(sparse(x.unsqueeze(-1)), y)
loss.backward()
report(bound=loss, points=sparse.variational_strategy.inducing_points.grad)
