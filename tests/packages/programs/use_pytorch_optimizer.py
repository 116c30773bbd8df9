"""A small network trained by a dozen of optimizers, SOAP, Shampoo and Muon among them."""

import pytorch_optimizer
import torch
from report import report, steps

NAMES = (
    "Lion",
    "SOAP",
    "Shampoo",
    "AdaBelief",
    "Adan",
    "Lamb",
    "MADGRAD",
    "Prodigy",
    "Ranger21",
    "SophiaH",
    "AdaFactor",
)
torch.set_default_dtype(torch.float64)
for name in NAMES:
    torch.manual_seed(0)
    x, y = torch.randn(16, 6), torch.randn(16, 6)
    # Square, and more samples than rows: SOAP and Shampoo take eigenvectors, and those of zero would be any.
    model = torch.nn.Sequential(torch.nn.Linear(6, 6, bias=False), torch.nn.Tanh(), torch.nn.Linear(6, 6, bias=False))
    kind = getattr(pytorch_optimizer, name)
    options = {"num_iterations": 10} if name == "Ranger21" else {}
    optimizer = kind(model.parameters(), lr=1e-2, **options)
    losses = []
    for _ in steps(5):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward(create_graph=name == "SophiaH")
        optimizer.step()
        losses.append(loss.detach().clone())
    report(**{name: losses, f"{name} weight": model[0].weight})
