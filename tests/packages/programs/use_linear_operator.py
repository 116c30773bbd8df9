"""Structured matrices: low rank with a diagonal, Toeplitz, a Kronecker product; solved and factorized."""

import torch
from linear_operator import to_linear_operator
from linear_operator.operators import (
    DiagLinearOperator,
    KroneckerProductLinearOperator,
    RootLinearOperator,
    ToeplitzLinearOperator,
)
from report import report, train

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
root = torch.nn.Parameter(torch.randn(8, 2))
diagonal = torch.nn.Parameter(torch.rand(8) + 1)
right = torch.randn(8)


def loss():
    matrix = RootLinearOperator(root) + DiagLinearOperator(diagonal.abs())
    fit, logdet = matrix.inv_quad_logdet(right.unsqueeze(-1), logdet=True)
    return fit + logdet


train({"root": root, "diagonal": diagonal}, loss)
toeplitz = ToeplitzLinearOperator(torch.tensor([4.0, 1.0, 0.5, 0.25]))
product = KroneckerProductLinearOperator(toeplitz, to_linear_operator(2 * torch.eye(2)))
report(solved=product.solve(right), product=product @ right, cholesky=toeplitz.cholesky().to_dense())
