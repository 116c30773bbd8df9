"""Curvature as linear operators: products with the Hessian, with Gauss-Newton's matrix and with Fisher's."""

import numpy as np
import torch
from curvlinops import EFLinearOperator, GGNLinearOperator, HessianLinearOperator
from report import report, steps

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
data = [(torch.randn(5, 4), torch.randint(0, 3, (5,))) for _ in range(2)]
model = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Tanh(), torch.nn.Linear(5, 3))
parameters = list(model.parameters())
loss = torch.nn.CrossEntropyLoss()
vector = torch.randn(sum(parameter.numel() for parameter in parameters))
for kind in (HessianLinearOperator, GGNLinearOperator, EFLinearOperator):
    for _ in steps(1):
        operator = kind(model, loss, parameters, data)
        product = operator @ vector
    report(**{kind.__name__: np.asarray(product)})
