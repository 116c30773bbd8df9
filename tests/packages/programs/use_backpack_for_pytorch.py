"""More than the gradient: gradients and norms of each sample, variances, and diagonals and factors of curvature."""

import torch
from backpack import backpack, extend
from backpack.extensions import KFAC, BatchGrad, BatchL2Grad, DiagGGNExact, DiagHessian, Variance
from report import report, steps

torch.manual_seed(0)
x, labels = torch.randn(6, 4), torch.randint(0, 3, (6,))
model = extend(torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Sigmoid(), torch.nn.Linear(5, 3)))
lossfunc = extend(torch.nn.CrossEntropyLoss())
extensions = (BatchGrad(), BatchL2Grad(), Variance(), DiagGGNExact(), DiagHessian(), KFAC(mc_samples=1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
losses = []
for _ in steps():
    optimizer.zero_grad()
    loss = lossfunc(model(x), labels)
    with backpack(*extensions):
        loss.backward()
    optimizer.step()
    losses.append(loss)
weight = model[0].weight
report(loss=losses, samples=weight.grad_batch, norms=weight.batch_l2, variance=weight.variance)
report(gauss_newton=weight.diag_ggn_exact, hessian=weight.diag_h, factor=weight.kfac[0])
