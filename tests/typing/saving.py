"""State dicts and files."""

import io
from pathlib import Path
from typing import Any, assert_type

import adjoint as torch
from adjoint import Tensor, nn

model = nn.Linear(2, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
state = model.state_dict()
assert_type(state, dict[str, Any])
weight: Tensor = state["weight"]


def save(path: Path) -> None:
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}, path)


def restore(path: str) -> int:
    checkpoint: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    keys = model.load_state_dict(checkpoint["model"], strict=False)
    assert_type(keys.missing_keys, list[str])
    assert_type(keys.unexpected_keys, list[str])
    optimizer.load_state_dict(checkpoint["optimizer"])
    epoch: int = checkpoint["epoch"]
    return epoch


buffer = io.BytesIO()
torch.save(state, buffer)
torch.load(buffer, map_location=torch.device("cpu"))
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
scheduler.load_state_dict(scheduler.state_dict())

torch.save(state)  # error: mypy[call-arg] pyright[reportCallIssue]
torch.load(3)  # error: mypy[arg-type] pyright[reportArgumentType]
model.load_state_dict("model.pt")  # error: mypy[arg-type] pyright[reportArgumentType]
