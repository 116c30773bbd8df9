"""Annotations of tensors by type and shape, checked while a network is trained."""

import torch
from beartype import beartype
from jaxtyping import Float, Int, Shaped, TypeCheckError, jaxtyped
from report import report, train

Logits, Labels, Number = Float[torch.Tensor, "batch classes"], Int[torch.Tensor, "batch"], Float[torch.Tensor, ""]


@jaxtyped(typechecker=beartype)
def loss(logits: Logits, labels: Labels) -> Number:
    """Cross entropy, of matching batches only."""
    return torch.nn.functional.cross_entropy(logits, labels)


torch.manual_seed(0)
x, labels = torch.randn(8, 4), torch.randint(0, 3, (8,))
model = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.Linear(6, 3))
train(model, lambda: loss(model(x), labels))
kinds = Float[torch.Tensor, "a b"], Float[torch.Tensor, "... b"], Shaped[torch.Tensor, "2 _"], Int[torch.Tensor, "*a"]
report(kinds=[[isinstance(value, kind) for kind in kinds] for value in (x, labels, x.double(), x[0], torch.ones(2, 2))])
try:
    loss(model(x), labels[:3])
except TypeCheckError:
    report(refused=True)
