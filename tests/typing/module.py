"""A module with layers: attributes keep their types, forward may narrow its signature, a call gives what it returns."""

from collections import OrderedDict
from typing import assert_type

import adjoint as torch
from adjoint import Tensor, nn
from adjoint.nn import functional as F


class Net(nn.Module):
    def __init__(self, width: int, depth: int = 2) -> None:
        super().__init__()
        self.first = nn.Linear(4, width)
        self.norm = nn.BatchNorm1d(width)
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])
        self.head = nn.Sequential(nn.Dropout(0.1), nn.Linear(width, 1))
        self.scale = nn.Parameter(torch.ones(1))
        self.mask: Tensor
        self.register_buffer("mask", torch.ones(width))

    def forward(self, x: Tensor, *, twice: bool = False) -> Tensor:
        x = F.relu(self.norm(self.first(x))) * self.mask
        for layer in self.layers:
            x = x + torch.tanh(layer(x))
        return self.head(x) * (2 * self.scale if twice else self.scale)


class Pair(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(3, 5, num_layers=2, batch_first=True)
        self.attention = nn.MultiheadAttention(8, 2, dropout=0.1, batch_first=True)
        self.conv = nn.Conv2d(3, 8, kernel_size=(3, 3), stride=2, padding="valid", bias=False)
        self.embedding = nn.Embedding(10, 4, padding_idx=0)

    def forward(self, x: Tensor, state: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        out, (h, c) = self.lstm(x, state)
        assert_type(out, Tensor)
        assert_type(h, Tensor)
        attended, _ = self.attention(x, x, x, need_weights=False)
        assert_type(attended, Tensor)
        assert_type(self.embedding(x), Tensor)
        return out, h + c


class NoForward(nn.Module):
    pass


net = Net(8)
assert_type(net.first, nn.Linear)
assert_type(net.first.in_features, int)
assert_type(net.first.weight, nn.Parameter)
assert_type(net.head, nn.Sequential)
assert_type(net.scale, nn.Parameter)
assert_type(net(torch.randn(2, 4)), Tensor)
assert_type(net(torch.randn(2, 4), twice=True), Tensor)
assert_type(Pair()(torch.randn(1, 2, 3)), tuple[Tensor, Tensor])
assert_type(nn.Sequential(nn.Linear(2, 3), nn.ReLU())(torch.ones(1, 2)), Tensor)
assert_type(nn.Sequential(OrderedDict([("one", nn.Linear(2, 3)), ("two", nn.Linear(3, 2))]))(torch.ones(2)), Tensor)
assert_type(nn.CrossEntropyLoss(reduction="sum")(torch.ones(2, 3), torch.tensor([1, 2])), Tensor)
assert_type(net.eval(), Net)
assert_type(net.train(mode=False).to("cpu").double(), Net)
assert_type(net.to(torch.float32), Net)
assert_type([p.numel() for p in net.parameters() if p.requires_grad], list[int])
assert_type([name for name, _ in net.named_parameters()], list[str])
assert_type(dict(net.named_modules()), dict[str, nn.Module])
nn.init.zeros_(net.first.bias)
nn.init.kaiming_uniform_(net.first.weight, a=0.1, nonlinearity="relu")
nn.utils.clip_grad_norm_(net.parameters(), max_norm=1.0)
net.apply(lambda module: module.requires_grad_(False))
assert_type(len(net.layers), int)
print(NoForward(), net.get_submodule("head"), net.training)

net(torch.ones(2, 4), 3)  # error: mypy[call-arg] pyright[reportCallIssue]
net("words")  # error: mypy[arg-type] pyright[reportArgumentType]
net(torch.ones(2, 4), twicee=True)  # error: mypy[call-arg] pyright[reportCallIssue]
nn.Linear("4", 2)  # error: mypy[arg-type] pyright[reportArgumentType]
nn.Linear(4)  # error: mypy[call-arg] pyright[reportCallIssue]
nn.Sequential(nn.Linear(2, 2), F.relu)  # error: mypy[call-overload] pyright[reportArgumentType]
net.register_parameter("w", torch.ones(2))  # error: mypy[arg-type] pyright[reportArgumentType]
net.first.in_features = "four"  # error: mypy[assignment] pyright[reportAttributeAccessIssue]
