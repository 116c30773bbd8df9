"""A training loop: optimizer, schedule, gradients, autocast, and functions that modes decorate."""

from typing import assert_type

import adjoint as torch
from adjoint import Tensor, nn, optim
from adjoint.optim.lr_scheduler import CosineAnnealingLR, LambdaLR, OneCycleLR, ReduceLROnPlateau, StepLR

model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.99), weight_decay=0)
optim.SGD([{"params": model.parameters(), "lr": 0.1}, {"params": []}], momentum=0.9, nesterov=True)
optim.Adam(model.named_parameters(), lr=torch.tensor(1e-3))
scheduler = CosineAnnealingLR(optimizer, T_max=10)
scaler = torch.amp.GradScaler("cpu", enabled=False)
criterion = nn.MSELoss()


def train(inputs: Tensor, targets: Tensor, epochs: int) -> list[float]:
    model.train()
    losses: list[float] = []
    total = 0.0
    for _ in range(epochs):
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = criterion(model(inputs), targets)
        assert_type(loss, Tensor)
        loss.backward()
        optimizer.step()
        scheduler.step()
        total += loss.item()
        losses.append(loss.item())
    return losses


@torch.no_grad()
def evaluate(inputs: Tensor, targets: Tensor) -> float:
    predicted = model(inputs)
    correct = (predicted.argmax(dim=1) == targets).sum().item()
    return correct / len(targets)


@torch.inference_mode()
def predict(inputs: Tensor) -> Tensor:
    return model(inputs)


@torch.set_grad_enabled(False)
def unrecorded(x: Tensor, y: int = 1) -> tuple[Tensor, int]:
    return x, y


@torch.autocast("cpu")
def lower(x: Tensor) -> Tensor:
    return x @ x


x = torch.randn(3, 4)
assert_type(evaluate(x, x), float)
assert_type(predict(x), Tensor)
assert_type(unrecorded(x, y=2), tuple[Tensor, int])
assert_type(lower(x), Tensor)
assert_type(scheduler.get_last_lr(), list[float])

with torch.no_grad():
    for p in model.parameters():
        p -= 0.1 * p
        if p.grad is not None:
            p.add_(p.grad, alpha=-0.1)
with torch.enable_grad(), torch.set_grad_enabled(True), torch.inference_mode(False):
    pass
with torch.device("cpu"):
    torch.zeros(3)


def closure() -> Tensor:
    loss = criterion(model(x), x)
    loss.backward()
    return loss


assert_type(optim.LBFGS(model.parameters(), lr=1, max_iter=20, line_search_fn="strong_wolfe").step(closure), Tensor)
assert_type(optimizer.step(closure), Tensor)
StepLR(optimizer, step_size=3, gamma=0.5)
LambdaLR(optimizer, lambda epoch: 0.9**epoch)
OneCycleLR(optimizer, max_lr=0.1, total_steps=10)
ReduceLROnPlateau(optimizer, patience=3).step(0.5)

evaluate(x)  # error: mypy[call-arg] pyright[reportCallIssue]
predict("x")  # error: mypy[arg-type] pyright[reportArgumentType]
model[0].weight.grad.zero_()
x.grad.zero_()  # error: mypy[union-attr] pyright[reportOptionalMemberAccess]
optim.Adam(3, lr=0.1)  # error: mypy[arg-type] pyright[reportArgumentType]
torch.autocast("cpu", dtype="bfloat16")  # error: mypy[arg-type] pyright[reportArgumentType]
